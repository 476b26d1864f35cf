/*
 * A device: memory, a layout for sequence state, and a team of threads that runs a program's steps.
 * CPU kernels run on a CPU device, whose memory is the process's own, and on the mock device, whose
 * memory is separate and locked while no kernel runs: it proves that nothing else follows a device
 * address.
 */
#pragma once
#include "base/error.h"
#include "memory/state.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vv_device;
struct vv_team;
struct vv_launcher; /* device/launch.h */

/* What one thread of a team does; thread 0 is the caller. Every thread passes the same barriers. */
typedef void (*vv_team_body)(void *context, struct vv_team *team, unsigned thread);

struct vv_device_calls {
    void (*close)(struct vv_device *device);
    /* Memory of the device, zeroed, 64-byte aligned. NULL: none left. */
    void *(*allocate)(struct vv_device *device, size_t bytes);
    void (*release)(struct vv_device *device, void *at);
    /* Between the host's memory and the device's. */
    void (*write)(struct vv_device *device, void *to, const void *from, size_t bytes);
    void (*read)(struct vv_device *device, void *to, const void *from, size_t bytes);
    /* Runs `body` on every thread of the team and returns when all are done. */
    void (*run)(struct vv_device *device, vv_team_body body, void *context);
    /* Fills strides and ring of a view for `slots` sequences of up to `tokens` tokens, windows of
     * up to `window` rows in flight; sets `bytes`, leaves `base`. */
    void (*layout)(struct vv_device *device, const struct vv_state_part *part, uint32_t slots,
                   uint32_t tokens, uint32_t window, struct vv_state_view *view);
    /* Copies `count` pieces of `bytes`, which lie `to_stride` and `from_stride` bytes apart. Either
     * side may be the host's memory or the device's; the two don't overlap. It is done, and the
     * host's memory free for other use, after `settle`. */
    void (*copy)(struct vv_device *device, void *to, size_t to_stride, const void *from,
                 size_t from_stride, size_t bytes, size_t count);
    void (*settle)(struct vv_device *device); /* NULL: copies are done when they return */
};

struct vv_device {
    const struct vv_device_calls *calls;
    const char *name;
    uint32_t features; /* VV_CPU_… or VV_CUDA_… of its kernels */
    /* How kernels are queued on a device that runs them itself; NULL: they are functions that the
     * team's threads call. */
    const struct vv_launcher *launcher;
    unsigned threads;
    bool shares_host_memory; /* a host address is a device address: files may be used as mapped */
    unsigned processors;     /* multiprocessors of a GPU */
    uint64_t memory;         /* bytes of it that were free when it was opened; 0: not known */
    const struct vv_layout *layout; /* of all weights there; NULL: the file's order */
    bool packs_weights;             /* wants variants with a weight order of their own */
};

/* Waits for copies. */
static inline void vv_device_settle(struct vv_device *device) {
    if (device->calls->settle) {
        device->calls->settle(device);
    }
}

/* Where a CPU's threads run and its memory lies (device/cpu/placement.h). */
enum vv_numa {
    VV_NUMA_AUTO,   /* spread where there are several nodes, or cores of several speeds; else off */
    VV_NUMA_OFF,    /* as the system likes */
    VV_NUMA_SPREAD, /* a physical core for each thread, on all nodes; memory on all of them */
    VV_NUMA_NODE,   /* threads and memory on one node */
};

struct vv_cpu_options {
    unsigned threads;  /* 0: vv_cpu_default_threads(), or as many as one node has cores */
    uint32_t features; /* VV_CPU_… to use at most; what the CPU lacks is left out */
    enum vv_numa numa;
};
int vv_cpu_device(const struct vv_cpu_options *options, struct vv_device **device,
                  struct vv_error *error);
/* The mock takes the same options, but places nothing. */
int vv_mock_device(const struct vv_cpu_options *options, struct vv_device **device,
                   struct vv_error *error);

/* Physical cores inside the affinity mask and the cgroup's quota, at least 1. */
unsigned vv_cpu_default_threads(void);
/* A sentence in `text` if this process can't run `threads` threads at once on cores of their own.
 */
bool vv_cpu_threads_warn(unsigned threads, char *text, size_t size);

/* Waits until every thread of the team is here; what each wrote before, all see after. */
void vv_team_barrier(struct vv_team *team);
/* The same; whoever comes last calls `last` with its own context before any goes on. */
void vv_team_meet(struct vv_team *team, void (*last)(void *context), void *context);
unsigned vv_team_threads(const struct vv_team *team);

/*
 * A thread's share where work is dealt by the speed of the cores that threads run on: of `all`
 * parts `own`, behind `before` others. The row of threads begins another one further back with each
 * `turn`, so that work of few parts falls to different threads.
 */
struct vv_share {
    uint32_t before, own, all;
};
struct vv_share vv_team_share(const struct vv_team *team, unsigned thread, size_t turn);

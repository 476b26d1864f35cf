/*
 * What a variant that runs on a device of its own (a GPU) starts its kernels with, and how a
 * program's steps are queued there. `launch` functions run on the host: they read the args' counts,
 * handles and strides, and start kernels that do to device memory what `run` does to the host's.
 */
#pragma once
#include "base/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vv_device;

/* A window's memory as the host writes it, and the device's copy of it. */
struct vv_mirror {
    const uint8_t *host;
    uint8_t *copy;
    size_t bytes;
};
enum { VV_MIRRORS_MAX = 2 };

struct vv_launch {
    void *stream;                            /* where the kernels of this step go (cudaStream_t) */
    struct vv_mirror mirror[VV_MIRRORS_MAX]; /* the program's window, and the one it looks at */
    /* Device: the least (step << 8 | -code) of all trouble; all ones: none. */
    unsigned long long *status;
    uint32_t step;
    void *scratch; /* device memory of this step alone, as its variant's `scratch` asked for */
    int32_t depth; /* every row's position is below it; the same launch serves all such rows */
    unsigned processors;        /* multiprocessors of the device */
    struct vv_meeting *meeting; /* device memory by which blocks of one launch meet, the device's
                                 * own (device/cuda/grid.cuh) */
};

/* The device's address of `at`, which may lie in a window's memory. */
static inline const void *vv_on_device(const struct vv_launch *on, const void *at) {
    for (int i = 0; i < VV_MIRRORS_MAX; i++) {
        size_t offset = (size_t)((uintptr_t)at - (uintptr_t)on->mirror[i].host);
        if (at && offset < on->mirror[i].bytes) {
            return on->mirror[i].copy + offset;
        }
    }
    return at;
}

/* What the device can do at most, by kernels that do nothing else; a second. */
struct vv_device_rates {
    double read, copy; /* bytes of memory far larger than its caches; copied: read and written */
    double int8, f32;  /* operations, a product and its addition are two: of matrix units; of fma */
};

/* Kinds of formats, by how the integers of their products are put together (docs/arithmetic.md,
 * 3.3). */
enum vv_roof {
    VV_ROOF_BLOCK,        /* a float scale for each 32 values */
    VV_ROOF_BLOCK_OFFSET, /* and an offset */
    VV_ROOF_BLOCK_16,     /* a float scale for each 16 */
    VV_ROOF_SUPER,        /* an integer sub-scale for each 32, under a float one */
    VV_ROOF_SUPER_OFFSET, /* and an offset */
    VV_ROOF_SUPER_16,     /* a sub-scale for each 16 */
    VV_ROOF_FOLDED,       /* a sub-scale of each that leaves its codes signed bytes */
    VV_ROOFS
};
struct vv_device_roof {
    double rate;      /* operations a second */
    const char *form; /* in which that is reached */
};

/* Steps are queued on branches, which run side by side; `join` makes all that follows wait for all
 * that came before. Calls return VV_OK or an error code with its sentence. */
struct vv_launcher {
    /* Begins a queue, to be run at once, or recorded to be played later. Fills what of `launch` is
     * the device's own. */
    int (*begin)(struct vv_device *device, bool record, struct vv_launch *launch,
                 struct vv_error *error);
    int (*branch)(struct vv_device *device, unsigned branch, struct vv_launch *launch,
                  struct vv_error *error);
    int (*join)(struct vv_device *device, struct vv_launch *launch, struct vv_error *error);
    /* `recording`: out, if it was recorded. */
    int (*end)(struct vv_device *device, void **recording, struct vv_error *error);
    int (*play)(struct vv_device *device, void *recording, struct vv_error *error);
    void (*forget)(struct vv_device *device, void *recording);
    /* Copies to the device in the queue's order; `from` may change at once. */
    int (*upload)(struct vv_device *device, void *to, const void *from, size_t bytes,
                  struct vv_error *error);
    /* Copies to the host's memory in the queue's order: it is there after the wait. */
    int (*download)(struct vv_device *device, void *to, const void *from, size_t bytes,
                    struct vv_error *error);
    /* Waits until the device is idle; `status` as above, and made anew. */
    int (*wait)(struct vv_device *device, uint64_t *status, struct vv_error *error);
    /* Moments of the queue: notes moment `index`; seconds between two of them, after a wait. */
    int (*mark)(struct vv_device *device, size_t index, struct vv_error *error);
    double (*seconds)(struct vv_device *device, size_t from, size_t to);
    /* Memory that host and kernels reach at the same address, for checks. NULL: none left. */
    void *(*share)(struct vv_device *device, size_t bytes);
    void (*unshare)(struct vv_device *device, void *at);
    /* Memory of the host's that copies are fastest to and from. NULL: none left. */
    void *(*host)(struct vv_device *device, size_t bytes);
    void (*unhost)(struct vv_device *device, void *at);
    int (*rates)(struct vv_device *device, struct vv_device_rates *rates, struct vv_error *error);
    /* What exact products of each kind reach at most, from registers; `roofs` comes zeroed. */
    int (*roofs)(struct vv_device *device, struct vv_device_roof *roofs /* [VV_ROOFS] */,
                 struct vv_error *error);
    /* Seconds of a product of BF16 by the vendor's library. VV_ERROR_UNSUPPORTED: it isn't here. */
    int (*multiply_bf16)(struct vv_device *device, size_t inputs, size_t outputs, size_t rows,
                         double *seconds, struct vv_error *error);
};

/*
 * What the machine offers to this process. All is read from the system's files below `root`: "" is
 * this machine, a folder with such files another one.
 */
#pragma once
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    VV_CPUS_MAX = 4096,  /* CPU numbers are below */
    VV_NODES_MAX = 64,   /* likewise those of NUMA nodes that are told apart */
    VV_FULL_SPEED = 1024 /* of the fastest cores, as Linux's cpu_capacity has it */
};

struct vv_core {
    unsigned cpu;   /* the first of its CPUs that this process may run on */
    unsigned node;  /* NUMA node; 0 where the system tells none */
    unsigned speed; /* of VV_FULL_SPEED */
};

struct vv_topology {
    struct vv_core *core; /* [cores] fastest first, by CPU among equals */
    unsigned cores;       /* at least 1 */
    unsigned cpus;        /* logical ones, at least 1 */
    unsigned quota;       /* CPUs that a container's limit is worth, rounded up; UINT_MAX: none */
    uint64_t nodes;       /* bit n: node n has one of the cores */
};

/* `allowed` is a set of VV_CPUS_MAX CPUs. False: no memory. */
bool vv_topology_read(const char *root, const cpu_set_t *allowed, struct vv_topology *topology);
void vv_topology_free(struct vv_topology *topology);

/* The tightest limit on CPU time of this process's control group and those above it, versions 1 and
 * 2, in CPUs rounded up; UINT_MAX: none. */
unsigned vv_cpu_quota(const char *root);

/* Bytes that this process may still take, by the system and by those groups; 0: not known. */
uint64_t vv_memory_available(const char *root);

/* Threads to use: one a core (SMT siblings share the units that a kernel saturates), slow ones too,
 * since shares go by speed; no more than the quota. */
unsigned vv_topology_threads(const struct vv_topology *topology);

/* A sentence in `text` if `threads` can't all run at once, or not on cores of their own. */
bool vv_topology_warns(const struct vv_topology *topology, unsigned threads, char *text,
                       size_t size);

/* This machine's as it is now. False: no memory. */
bool vv_topology_here(struct vv_topology *topology);

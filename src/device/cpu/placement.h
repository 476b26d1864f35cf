/*
 * Where a team's threads run and where its memory lies. Cores that are alike, of one NUMA node and
 * one speed, are a zone; a thread may run on any core of its zone, one CPU of each, so that the
 * system can still move it away from a core that another program uses, and no two of our threads
 * end up on the siblings of one core.
 */
#pragma once
#include "device/cpu/topology.h"
#include "device/device.h"

struct vv_zone {
    cpu_set_t *cpus; /* of VV_CPUS_MAX: the first CPU of each of its cores */
    unsigned node, speed;
    unsigned threads; /* that run there */
};

struct vv_placement {
    unsigned threads;
    struct vv_zone *zones; /* [zone_count]; none: the system decides */
    unsigned zone_count;
    unsigned *zone_of; /* [threads] */
    /* Bit n: memory lies on node n, page by page in turn on several; 0: the system decides. */
    uint64_t nodes;
};

/*
 * `threads` 0: vv_topology_threads, or with VV_NUMA_NODE as many as that node has cores. Spread
 * takes the fastest cores, those of all nodes in turn; more threads than cores are left to the
 * system. Node takes that of the greatest speed in all; VV_ERROR_INVALID: it has fewer cores.
 */
int vv_place(const struct vv_topology *topology, enum vv_numa numa, unsigned threads,
             struct vv_placement *placement, struct vv_error *error);
/* On this machine as it is now. */
int vv_place_here(enum vv_numa numa, unsigned threads, struct vv_placement *placement,
                  struct vv_error *error);
void vv_placement_free(struct vv_placement *placement);

/* "16 threads: 8 on node 0, 8 on node 1; memory in turn on both" */
void vv_placement_text(const struct vv_placement *placement, char *text, size_t size);

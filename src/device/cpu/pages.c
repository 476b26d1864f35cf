#include "device/cpu/pages.h"
#include "device/cpu/topology.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { HEADER = 64 }; /* holds the size; keeps the rest aligned */

static uint64_t nodes;

static void find_nodes(void) {
    struct vv_topology topology;
    if (vv_topology_here(&topology)) {
        nodes = topology.nodes;
        vv_topology_free(&topology);
    }
}

/*
 * On a machine of several NUMA nodes large memory lies page by page on all whose cores we use:
 * every thread reads what others wrote, and one node's channels would be the limit of all. A policy
 * that the process was started with (numactl) stays, and a system that refuses keeps its own.
 */
static void spread(void *map, size_t bytes) {
    enum { LARGE = 1 << 20, MPOL_DEFAULT = 0, MPOL_INTERLEAVE = 3 }; /* linux/mempolicy.h */
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (bytes < LARGE) {
        return;
    }
    pthread_once(&once, find_nodes);
    int policy = MPOL_DEFAULT;
    bool several = (nodes & (nodes - 1)) != 0;
    if (several && syscall(SYS_get_mempolicy, &policy, NULL, 0, NULL, 0) == 0 &&
        policy == MPOL_DEFAULT) {
        unsigned long mask = nodes;
        syscall(SYS_mbind, map, bytes, MPOL_INTERLEAVE, &mask, sizeof mask * 8 + 1, 0);
    }
}

void *vv_pages_new(size_t bytes) {
    if (bytes > SIZE_MAX - HEADER) {
        return NULL;
    }
    size_t room = bytes + HEADER;
    size_t *map = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) {
        return NULL;
    }
    spread(map, room);
    *map = room;
    return (uint8_t *)map + HEADER;
}

void vv_pages_free(void *at) {
    if (at) {
        size_t *map = (size_t *)(void *)((uint8_t *)at - HEADER);
        munmap(map, *map);
    }
}

#include "device/cpu/pages.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { HEADER = 64, LARGE = 1 << 20 }; /* a header holds the size and keeps the rest aligned */

enum { MPOL_DEFAULT = 0, MPOL_PREFERRED = 1, MPOL_INTERLEAVE = 3 }; /* linux/mempolicy.h */

static int policy_of(uint64_t nodes) {
    return (nodes & (nodes - 1)) != 0 ? MPOL_INTERLEAVE : MPOL_PREFERRED;
}

/* A policy that the process was started with stays. */
static bool may_choose(uint64_t nodes) {
    int policy = MPOL_DEFAULT;
    return nodes != 0 && syscall(SYS_get_mempolicy, &policy, NULL, 0, NULL, 0) == 0 &&
           policy == MPOL_DEFAULT;
}

bool vv_pages_prefer(uint64_t nodes) {
    unsigned long mask = nodes;
    return may_choose(nodes) &&
           syscall(SYS_set_mempolicy, policy_of(nodes), &mask, sizeof mask * 8 + 1) == 0;
}

void vv_pages_prefer_none(void) {
    syscall(SYS_set_mempolicy, MPOL_DEFAULT, NULL, 0);
}

void *vv_pages_new(size_t bytes, uint64_t nodes) {
    if (bytes > SIZE_MAX - HEADER) {
        return NULL;
    }
    size_t room = bytes + HEADER;
    size_t *map = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) {
        return NULL;
    }
    if (room >= LARGE && may_choose(nodes)) { /* a system that refuses keeps its own policy */
        unsigned long mask = nodes;
        syscall(SYS_mbind, map, room, policy_of(nodes), &mask, sizeof mask * 8 + 1, 0);
    }
    *map = room;
    return (uint8_t *)map + HEADER;
}

void vv_pages_free(void *at) {
    if (at) {
        size_t *map = (size_t *)(void *)((uint8_t *)at - HEADER);
        munmap(map, *map);
    }
}

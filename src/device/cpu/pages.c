#include "device/cpu/pages.h"

#include <stdint.h>
#include <sys/mman.h>

enum { HEADER = 64 }; /* holds the size; keeps the rest aligned */

void *vv_pages_new(size_t bytes) {
    if (bytes > SIZE_MAX - HEADER) {
        return NULL;
    }
    size_t room = bytes + HEADER;
    size_t *map = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) {
        return NULL;
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

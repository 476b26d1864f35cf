/* The size of the last cache, as far as the system tells. */
#pragma once
#include <stddef.h>
#include <unistd.h>

static inline size_t vv_cache_bytes(void) {
    long bytes = -1;
#if defined(_SC_LEVEL3_CACHE_SIZE)
    bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
#endif
    return bytes > 0 ? (size_t)bytes : (size_t)32 << 20;
}

#include "base/checksum.h"

#ifdef VARVE_XXHASH
#define XXH_INLINE_ALL /* a header is all there is of it: nothing to link */
#include <xxhash.h>

bool vv_has_checksum(void) {
    return true;
}

uint64_t vv_checksum(const void *bytes, size_t size, uint64_t seed) {
    return XXH3_64bits_withSeed(bytes, size, seed);
}
#else
bool vv_has_checksum(void) {
    return false;
}

uint64_t vv_checksum(const void *bytes, size_t size, uint64_t seed) {
    (void)bytes;
    (void)size;
    (void)seed;
    return 0;
}
#endif

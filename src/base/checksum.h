/* Checksums by xxhash, in builds that have it (option VARVE_XXHASH). */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Without it nothing that needs a checksum may be written or read. */
bool vv_has_checksum(void);

/* XXH3, 64 bits; to go on over several pieces, the last one's result is the next one's seed. 0 in
 * a build without. */
uint64_t vv_checksum(const void *bytes, size_t size, uint64_t seed);

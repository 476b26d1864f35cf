/* Compression by zstd, in builds that have it (option VARVE_ZSTD); others store bytes as they are.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

bool vv_has_compression(void);

/* Compresses into `to` [room]. Returns how many bytes that are; 0: not within `room`, or not here.
 */
size_t vv_compress(const void *from, size_t size, void *to, size_t room);

/* Whether `from` decompressed into all of `to` [size] and nothing more. */
bool vv_decompress(const void *from, size_t from_size, void *to, size_t size);

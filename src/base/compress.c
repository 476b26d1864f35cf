#include "base/compress.h"

#ifdef VARVE_ZSTD
#include <zstd.h>

bool vv_has_compression(void) {
    return true;
}

size_t vv_compress(const void *from, size_t size, void *to, size_t room) {
    enum { LEVEL = 1 };
    size_t bytes = ZSTD_compress(to, room, from, size, LEVEL);
    return ZSTD_isError(bytes) ? 0 : bytes;
}

bool vv_decompress(const void *from, size_t from_size, void *to, size_t size) {
    size_t bytes = ZSTD_decompress(to, size, from, from_size);
    return !ZSTD_isError(bytes) && bytes == size;
}
#else
bool vv_has_compression(void) {
    return false;
}

size_t vv_compress(const void *from, size_t size, void *to, size_t room) {
    (void)from;
    (void)size;
    (void)to;
    (void)room;
    return 0;
}

bool vv_decompress(const void *from, size_t from_size, void *to, size_t size) {
    (void)from;
    (void)from_size;
    (void)to;
    (void)size;
    return false;
}
#endif

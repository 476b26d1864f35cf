/* How a session file lies on the disk: little-endian, no gaps; for src/session/save*.c alone. */
#pragma once
#include "session/saved.h"

enum { VV_SAVED_VERSION = 1, VV_SAVED_NOTE_MOST = 1 << 24 };
#define VV_SAVED_MAGIC "varve.s\n"

struct vv_saved_header {
    char magic[8];
    uint32_t version;
    uint32_t bytes; /* of this header */
    struct vv_saved_origin origin;
    struct vv_saved_counts counts;
    uint64_t checksum; /* of all before */
};

enum vv_saved_packing {
    VV_SAVED_PLAIN,
    VV_SAVED_ZSTD, /* the bytes in four planes: all first bytes of four, then all second ones … */
};

/* Before the bytes of every block; the end has none. */
struct vv_saved_block_header {
    uint32_t kind, packing;
    uint64_t position;
    uint64_t size, stored; /* bytes: unpacked, and as they lie here */
    uint64_t checksum;     /* of the fields above and the bytes as they lie here */
};

_Static_assert(sizeof(struct vv_saved_header) == 96, "no gaps");
_Static_assert(sizeof(struct vv_saved_block_header) == 40, "no gaps");

uint64_t vv_saved_checksum(const struct vv_saved_block_header *header, const void *stored);

/* Writes session files. */
#include "base/checksum.h"
#include "base/compress.h"
#include "session/saved_format.h"

#include <stdlib.h>
#include <string.h>

struct vv_saving {
    struct vv_output *output;
    uint8_t *planes, *packed; /* [room] */
    size_t room;
};

uint64_t vv_saved_checksum(const struct vv_saved_block_header *header, const void *stored) {
    uint64_t fields =
        vv_checksum(header, offsetof(struct vv_saved_block_header, checksum), VV_SAVED_VERSION);
    return vv_checksum(stored, header->stored, fields);
}

int vv_saving_open(const char *path, const struct vv_saved_origin *origin,
                   const struct vv_saved_counts *counts, struct vv_saving **saving,
                   struct vv_error *error) {
    struct vv_saved_header header = {.magic = VV_SAVED_MAGIC,
                                     .version = VV_SAVED_VERSION,
                                     .bytes = sizeof header,
                                     .origin = *origin,
                                     .counts = *counts};
    if (!vv_has_checksum()) {
        return vv_fail(error, VV_ERROR_UNSUPPORTED,
                       "%s can't be written: this varve was built without xxhash, which session "
                       "files need",
                       vv_path_tail(path));
    }
    if (counts->note_bytes > VV_SAVED_NOTE_MOST) {
        return vv_fail(error, VV_ERROR_INVALID,
                       "%s can't be written: its note has %llu bytes, and %d are the most",
                       vv_path_tail(path), (unsigned long long)counts->note_bytes,
                       VV_SAVED_NOTE_MOST);
    }
    header.checksum = vv_checksum(&header, offsetof(struct vv_saved_header, checksum), 0);
    struct vv_saving *s = calloc(1, sizeof *s);
    if (!s) {
        return vv_fail_memory(error, sizeof *s, "a session file");
    }
    int code = vv_output_open(path, &s->output, error);
    if (code == VV_OK) {
        code = vv_output_write(s->output, &header, sizeof header, error);
    }
    if (code != VV_OK) {
        vv_saving_abandon(s);
        return code;
    }
    *saving = s;
    return VV_OK;
}

static int make_room(struct vv_saving *s, size_t size, struct vv_error *error) {
    if (size <= s->room) {
        return VV_OK;
    }
    free(s->planes);
    free(s->packed);
    s->planes = malloc(size);
    s->packed = malloc(size);
    s->room = s->planes && s->packed ? size : 0;
    return s->room ? VV_OK : vv_fail_memory(error, 2 * size, "packing a session file");
}

/* Signs and exponents of floats are alike, the rest of them is not: apart they pack better. */
static void part_planes(const uint8_t *from, size_t size, uint8_t *to) {
    size_t quarter = size / 4;
    for (size_t plane = 0; plane < 4; plane++) {
        for (size_t i = 0; i < quarter; i++) {
            to[plane * quarter + i] = from[4 * i + plane];
        }
    }
    memcpy(to + 4 * quarter, from + 4 * quarter, size % 4);
}

int vv_saving_block(struct vv_saving *s, enum vv_saved_kind kind, uint64_t position,
                    const void *bytes, size_t size, struct vv_error *error) {
    struct vv_saved_block_header header = {.kind = (uint32_t)kind,
                                           .position = position,
                                           .size = size,
                                           .stored = size,
                                           .packing = VV_SAVED_PLAIN};
    int code = make_room(s, size, error);
    if (code != VV_OK) {
        return code;
    }
    if (vv_has_compression() && size > 0) {
        part_planes(bytes, size, s->planes);
        size_t packed = vv_compress(s->planes, size, s->packed, size - 1);
        if (packed > 0) {
            header.packing = VV_SAVED_ZSTD;
            header.stored = packed;
            bytes = s->packed;
        }
    }
    header.checksum = vv_saved_checksum(&header, bytes);
    code = vv_output_write(s->output, &header, sizeof header, error);
    return code == VV_OK ? vv_output_write(s->output, bytes, header.stored, error) : code;
}

static void free_saving(struct vv_saving *s) {
    free(s->planes);
    free(s->packed);
    free(s);
}

int vv_saving_finish(struct vv_saving *s, struct vv_error *error) {
    int code = vv_saving_block(s, VV_SAVED_END, vv_output_size(s->output), NULL, 0, error);
    if (code != VV_OK) {
        vv_saving_abandon(s);
        return code;
    }
    code = vv_output_finish(s->output, error);
    free_saving(s);
    return code;
}

void vv_saving_abandon(struct vv_saving *s) {
    if (s) {
        vv_output_abandon(s->output);
        free_saving(s);
    }
}

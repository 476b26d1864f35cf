/*
 * Session files of any bytes. Checksums are put right first, as far as headers can be followed, so
 * that the reader gets beyond them. It gives whole blocks of the size they must have, in their
 * order, or one sentence.
 */
#include "base/checksum.h"
#include "gguf/types.h"
#include "session/saved_format.h"

#include <stdlib.h>
#include <string.h>

static const struct vv_state_part parts[] = {
    {.name = "k", .kind = VV_STATE_ROWS, .type = VV_TYPE_F16, .width = 3, .every = 1, .lag = 1},
    {.name = "pooled", .kind = VV_STATE_ROWS, .type = VV_TYPE_F32, .width = 1, .every = 3},
    {.name = "delta", .kind = VV_STATE_FIXED, .type = VV_TYPE_F32, .width = 4, .every = 1},
    {.name = "ids",
     .kind = VV_STATE_RING,
     .type = VV_TYPE_I32,
     .width = 1,
     .every = 1,
     .history = 2},
};
static const struct vv_saved_expected expected = {
    .origin = {.page_tokens = 4}, .parts = parts, .part_count = 4, .context = 40};

static void must(int condition) {
    if (!condition) {
        abort();
    }
}

/* Checksums over what there is; stops where a block doesn't fit. */
static void put_right(uint8_t *bytes, size_t size) {
    struct vv_saved_header header;
    size_t at = sizeof header;
    if (size < sizeof header) {
        return;
    }
    memcpy(&header, bytes, sizeof header);
    header.checksum = vv_checksum(&header, offsetof(struct vv_saved_header, checksum), 0);
    memcpy(bytes, &header, sizeof header);
    while (size - at >= sizeof(struct vv_saved_block_header)) {
        struct vv_saved_block_header h;
        memcpy(&h, bytes + at, sizeof h);
        if (h.stored > size - at - sizeof h) {
            return;
        }
        h.checksum = vv_saved_checksum(&h, bytes + at + sizeof h);
        memcpy(bytes + at, &h, sizeof h);
        at += sizeof h + (size_t)h.stored;
    }
}

static int read_all(struct vv_saved *saved, struct vv_error *error) {
    struct vv_saved_counts counts = vv_saved_counts(saved);
    struct vv_saved_block block;
    volatile uint64_t sum = 0; /* a use of all bytes, which no compiler takes out */
    uint64_t pages = 0;
    uint32_t marks = 0;
    do {
        int code = vv_saved_next(saved, &block, error);
        if (code != VV_OK) {
            return code;
        }
        sum = sum ^ (block.size > 0 ? vv_checksum(block.bytes, block.size, 0) : 0);
        must(block.kind == VV_SAVED_END || block.position <= counts.tokens);
        pages = block.kind == VV_SAVED_PAGE ? block.position : pages;
        marks += block.kind == VV_SAVED_MARK;
    } while (block.kind != VV_SAVED_END);
    must(pages == counts.tokens && marks == counts.marks);
    return VV_OK;
}

static int read_input(const uint8_t *data, size_t size) {
    struct vv_error error = {0};
    struct vv_file file;
    struct vv_saved *saved;
    uint8_t *bytes = malloc(size + 1);
    must(bytes != NULL);
    if (size > 0) {
        memcpy(bytes, data, size);
    }
    put_right(bytes, size);
    must(vv_file_from_memory(bytes, size, "input", &file, &error) == VV_OK);
    int code = vv_saved_open(&file, &expected, &saved, &error);
    if (code == VV_OK) {
        code = read_all(saved, &error);
        vv_saved_close(saved);
    }
    must(code == VV_OK || (error.code == code && error.message[0]));
    vv_file_close(&file);
    free(bytes);
    return code;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    read_input(data, size);
    return 0;
}

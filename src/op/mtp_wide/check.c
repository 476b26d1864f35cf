/*
 * Rows from the trunk's buffer and from the ring, told apart from: the row's own place in the
 * buffer, the neighbouring position of the ring, another sequence's ring.
 */
#include "registry/check.h"
#include "op/mtp_wide/internal.h"

#include <string.h>

enum { SLOTS = 3, RING = 5, TRUNK_ROWS = 9 };

void vv_check_mtp_wide(struct vv_check *check);

static void one_case(struct vv_check *check, int32_t rows, size_t width) {
    const int32_t first[SLOTS] = {0, 3, 11};
    struct vv_window *w = vv_check_window(check, rows, rows < SLOTS ? rows : SLOTS, first, 100);
    w->source = vv_check_memory(check, (size_t)rows * sizeof *w->source);
    for (int32_t r = 0; r < rows; r++) {
        w->source[r] = r % 2 ? -1 : (int32_t)vv_check_below(check, TRUNK_ROWS);
    }
    size_t stride = width * sizeof(float);
    struct vv_mtp_wide args = {
        .wide = vv_check_normals(check, TRUNK_ROWS * width),
        .wide_rows = TRUNK_ROWS,
        .ring = {.base = (uint8_t *)vv_check_normals(check, SLOTS * RING * width),
                 .slot_stride = RING * stride,
                 .entry_stride = stride,
                 .ring = RING,
                 .width = width,
                 .bytes = SLOTS * RING * stride},
        .h = vv_check_floats(check, (size_t)rows * width),
        .window = w,
        .rows = {&w->rows, 1},
        .width = width};
    vv_check_variants(check, &vv_mtp_wide, &args, "%d rows of %zu", rows, width);
    const float *ring = (const float *)args.ring.base;
    for (int32_t r = 0; r < rows; r++) {
        size_t entry = (size_t)(w->slot[r] * RING + w->position[r] % RING);
        const float *right =
            w->source[r] >= 0 ? args.wide + (size_t)w->source[r] * width : ring + entry * width;
        vv_check_true(check, memcmp(args.h + (size_t)r * width, right, stride) == 0,
                      "row %d of %d is another one's", r, rows);
    }

    float *wrong = vv_check_floats(check, (size_t)rows * width);
    for (int which = 0; which < 3; which++) {
        static const char *const names[] = {"own row of the buffer", "next position of the ring",
                                            "next sequence's ring"};
        memcpy(wrong, args.h, (size_t)rows * stride);
        for (int32_t r = 0; r < rows; r++) {
            const float *from = NULL;
            if (which == 0 && w->source[r] >= 0) {
                from = args.wide + (size_t)(r % TRUNK_ROWS) * width;
            } else if (which == 1 && w->source[r] < 0) {
                from = vv_state_at(&args.ring, w->slot[r], w->position[r] + 1);
            } else if (which == 2 && w->source[r] < 0) {
                from = vv_state_at(&args.ring, (w->slot[r] + 1) % SLOTS, w->position[r]);
            }
            if (from) {
                memcpy(wrong + (size_t)r * width, from, stride);
            }
        }
        if (rows > TRUNK_ROWS) {
            vv_check_misreading(check, names[which], args.h, wrong, (size_t)rows * width, 1e-3);
        }
    }
    vv_check_reset(check);
}

void vv_check_mtp_wide(struct vv_check *check) {
    static const size_t widths[] = {1, 7, 96, 256};
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        for (int32_t rows = 1; rows <= 8; rows++) {
            one_case(check, rows, widths[i]);
        }
        one_case(check, 33, widths[i]);
    }
}

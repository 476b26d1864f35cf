/* What the checks of several operations need beside registry/check.h. */
#pragma once
#include "memory/state.h"
#include "registry/check.h"
#include <math.h>
#include <string.h>

/* The reference against the formula in double precision: passes when no element is further off than
 * `most` times the largest one. */
static inline void vv_check_near(struct vv_check *check, const char *what, const float *got,
                                 const double *want, size_t n, double most) {
    double largest = 0, far = 0;
    for (size_t i = 0; i < n; i++) {
        double d = fabs((double)got[i] - want[i]);
        largest = fmax(largest, fabs(want[i]));
        far = isnan(d) ? (double)INFINITY : fmax(far, d);
    }
    vv_check_true(check, far <= most * largest, "%s: off by %g of %g", what, far, largest);
}

static inline double *vv_check_doubles(struct vv_check *check, size_t n) {
    return vv_check_memory(check, n * sizeof(double));
}

static inline float *vv_check_narrow(struct vv_check *check, const double *from, size_t n) {
    float *to = vv_check_floats(check, n);
    for (size_t i = 0; i < n; i++) {
        to[i] = (float)from[i];
    }
    return to;
}

/* Gives the window's sequences other slots than their numbers: sequence i lies in the slot
 * `slots` - 1 - i. */
static inline void vv_check_turn_slots(struct vv_window *w, int32_t slots) {
    for (int32_t r = 0; r < w->rows; r++) {
        w->slot[r] = slots - 1 - w->slot[r];
    }
}

/*
 * Room for a part of a state: `slots` sequences of `entries` entries of `width` elements of 4 or 2
 * bytes, with gaps behind each entry and each slot. `ring` as in struct vv_state_view. The bytes
 * are poison.
 */
static inline struct vv_state_view vv_check_state(struct vv_check *check, int type,
                                                  size_t element_bytes, size_t width,
                                                  size_t entries, size_t slots, bool ring) {
    struct vv_state_view view = {.type = type, .width = width};
    view.entry_stride = (width * element_bytes + 3) / 4 * 4 + 4 * vv_check_below(check, 3);
    view.slot_stride = entries * view.entry_stride + 4 * vv_check_below(check, 5);
    view.ring = ring ? (uint32_t)entries : 0;
    view.bytes = slots * view.slot_stride;
    view.base = vv_check_memory(check, view.bytes);
    return view;
}

/* Positions that sequence `i` has when the window ends. */
static inline int32_t vv_check_length(const struct vv_window *w, int32_t i) {
    return w->position[w->sequence_row[w->sequence_begin[i + 1] - 1]] + 1;
}

/*
 * Puts whole sequences where an operation looks for them: the window's rows into `rows`
 * [rows][bytes], what is older into the ring, and with `stored` the window's rows there too, as
 * cache_write leaves them. `whole`: [sequences], each [positions][bytes].
 */
static inline void vv_check_spread(const struct vv_window *w, const struct vv_state_view *ring,
                                   bool stored, void *const *whole, size_t bytes, void *rows) {
    for (int32_t i = 0; i < w->sequences; i++) {
        const uint8_t *from = whole[i];
        int32_t begin = w->sequence_begin[i], slot = w->slot[w->sequence_row[begin]];
        int32_t start = w->position[w->sequence_row[begin]];
        int32_t end = stored ? vv_check_length(w, i) : start, held = (int32_t)ring->ring;
        for (int32_t at = end > held ? end - held : 0; at < end; at++) {
            memcpy(vv_state_at(ring, slot, at), from + (size_t)at * bytes, bytes);
        }
        for (int32_t k = begin; k < w->sequence_begin[i + 1]; k++) {
            size_t row = (size_t)w->sequence_row[k];
            memcpy((uint8_t *)rows + row * bytes, from + (size_t)w->position[row] * bytes, bytes);
        }
    }
}

/* Lists of blocks of `ratio` tokens for all rows of a window, as top_k leaves them: `keep` random
 * ones of those that a row sees, or all of them, ascending; then -1. */
struct vv_check_lists {
    int32_t *list;   /* [rows][keep] */
    int32_t *listed; /* [rows] */
};

static inline struct vv_check_lists vv_check_lists(struct vv_check *check,
                                                   const struct vv_window *window, size_t rows,
                                                   size_t keep, size_t ratio) {
    struct vv_check_lists l = {vv_check_memory(check, rows * keep * sizeof *l.list),
                               vv_check_memory(check, rows * sizeof *l.listed)};
    for (size_t r = 0; r < rows; r++) {
        size_t blocks = ((size_t)window->position[r] + 1) / ratio, n = 0;
        for (size_t b = 0; b < blocks && n < keep; b++) {
            size_t left = blocks - b;
            if (left <= keep - n || vv_check_below(check, left) < keep - n) {
                l.list[r * keep + n++] = (int32_t)b;
            }
        }
        l.listed[r] = (int32_t)n;
        while (n < keep) {
            l.list[r * keep + n++] = -1;
        }
    }
    return l;
}

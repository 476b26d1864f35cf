/*
 * The whole state after a window against rows written one by one in the order of their positions,
 * for every type, for rings that a window overflows and for parts with an entry a position.
 */
#include "base/half.h"
#include "gguf/types.h"
#include "op/cache_write/contract.h"
#include "op/cache_write/internal.h"
#include "op/check_support.h"

enum { SLOTS = 4 };

enum reading {
    RIGHT,
    ROW_AS_ENTRY,
    NEXT_ENTRY,
    SEQUENCE_AS_SLOT,
    OLDEST_STAYS,
    SOURCE_BY_POSITION,
    HALVES_SWAPPED,
    FIRST_OF_GROUP,
    NEXT_GROUP,
    READINGS
};

static const char *const reading_name[READINGS] = {
    "right",
    "the row's number as entry",
    "entry of the next position",
    "the sequence's number as slot",
    "older rows of a ring written last",
    "source row by position",
    "second half first",
    "a group's first row is kept, not its last",
    "entry of the group that begins",
};

static void put(const struct vv_cache_write *a, enum reading how, int32_t sequence, int32_t row,
                const struct vv_state_view *to) {
    const struct vv_window *w = a->window;
    int32_t position = w->position[row] + a->shift;
    if (a->every > 0) {
        if ((how == FIRST_OF_GROUP ? position : position + 1) % a->every > 0) {
            return;
        }
        position = position / a->every + (how == NEXT_GROUP);
    }
    int64_t entry = how == ROW_AS_ENTRY ? row : how == NEXT_ENTRY ? position + 1 : position;
    int32_t slot = how == SEQUENCE_AS_SLOT ? sequence : w->slot[row];
    size_t source = (size_t)(how == SOURCE_BY_POSITION ? w->position[row] % w->rows : row);
    size_t half = a->second ? to->width / 2 : to->width;
    uint8_t *at = vv_state_at(to, slot, entry);
    for (size_t i = 0; i < to->width; i++) {
        const float *from = (i < half) == (how != HALVES_SWAPPED) ? a->from : a->second;
        const float *value = from + source * a->row_stride + i % half;
        if (to->type == VV_TYPE_F16) {
            uint16_t narrow = vv_to_f16(*value);
            memcpy(at + 2 * i, &narrow, sizeof narrow);
        } else {
            memcpy(at + 4 * i, value, 4);
        }
    }
}

/* `to` [bytes of a part] as it is after the window. */
static void formula(const struct vv_cache_write *a, enum reading how, uint8_t *to) {
    const struct vv_window *w = a->window;
    struct vv_state_view view = a->to;
    view.base = to;
    for (int32_t s = 0; s < w->sequences; s++) {
        int32_t begin = w->sequence_begin[s], n = w->sequence_begin[s + 1] - begin;
        for (int32_t k = 0; k < n; k++) {
            int32_t i = how == OLDEST_STAYS ? n - 1 - k : k;
            put(a, how, s, w->sequence_row[begin + i], &view);
        }
    }
}

/* Values that a half can hold: others are refused. */
static float *values(struct vv_check *check, size_t n) {
    float *x = vv_check_adversarial(check, n);
    for (size_t i = 0; i < n; i++) {
        x[i] = fabsf(x[i]) < 65520.0f ? x[i] : copysignf(65519.996f, x[i]);
    }
    return x;
}

struct shape {
    int type;
    int32_t rows;
    size_t width;
    uint32_t ring; /* 0: an entry for every position */
    bool halves;
    int32_t every; /* 0, or with ring 0 */
};

static struct vv_cache_write make(struct vv_check *check, const struct shape *s) {
    static const int32_t first[] = {5, 0, 31};
    struct vv_window *w = vv_check_window(check, s->rows, s->rows < 3 ? 1 : 3, first, 10);
    vv_check_turn_slots(w, SLOTS);
    size_t part = s->halves ? s->width / 2 : s->width;
    struct vv_cache_write a = {.row_stride = part + vv_check_below(check, 4),
                               .window = w,
                               .rows = {&w->rows, 1},
                               .shift = s->every ? 0 : s->rows % 2,
                               .every = s->every};
    size_t all = ((size_t)s->rows - 1) * a.row_stride + part;
    a.from = values(check, all);
    a.second = s->halves ? values(check, all) : NULL;
    a.to = vv_check_state(check, s->type, s->type == VV_TYPE_F16 ? 2 : 4, s->width,
                          s->ring ? s->ring : (size_t)s->rows + 33, SLOTS, s->ring > 0);
    return a;
}

/* Can the case tell this reading from the right one at all? One of the three sequences has a third
 * of the rows or more. */
static bool tells(const struct shape *s, enum reading how) {
    bool overflows = s->ring > 0 && 3 * s->ring < (uint32_t)s->rows;
    return s->rows > 20 && s->ring != 1 && (how != OLDEST_STAYS || overflows) &&
           (how != HALVES_SWAPPED || s->halves) &&
           ((how != FIRST_OF_GROUP && how != NEXT_GROUP) || s->every > 1);
}

static void one(struct vv_check *check, const struct shape *s) {
    struct vv_cache_write a = make(check, s);
    uint8_t *before = vv_check_memory(check, a.to.bytes), *to = vv_check_memory(check, a.to.bytes);
    memcpy(before, a.to.base, a.to.bytes);
    vv_check_variants(check, &vv_cache_write, &a, "type %d, %d rows of %zu, ring %u", s->type,
                      s->rows, s->width, s->ring);
    for (enum reading how = RIGHT; how < READINGS; how++) {
        if (how != RIGHT && !tells(s, how)) {
            continue;
        }
        memcpy(to, before, a.to.bytes);
        formula(&a, how, to);
        bool equal = memcmp(to, a.to.base, a.to.bytes) == 0;
        if (how == RIGHT) {
            vv_check_true(check, equal, "type %d, %d rows of %zu, ring %u: not the rows in order",
                          s->type, s->rows, s->width, s->ring);
        } else {
            vv_check_true(check, !equal, "blind to the misreading \"%s\"", reading_name[how]);
        }
    }
    vv_check_reset(check);
}

static void refusals(struct vv_check *check) {
    static const float bad[] = {65520.0f, -65520.0f, 1e30f, INFINITY, -INFINITY, NAN};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct vv_cache_write a = make(check, &(struct shape){VV_TYPE_F16, 3, 9, 0, false, 0});
        float *from = vv_check_normals(check, 2 * a.row_stride + 9);
        from[2 * a.row_stride + 8] = bad[i];
        a.from = from;
        vv_check_refuses(check, &vv_cache_write, &a, VV_ERROR_NOT_FINITE, "%g as half",
                         (double)bad[i]);
        vv_check_reset(check);
    }
}

void vv_cache_write_check(struct vv_check *check) {
    static const int types[] = {VV_TYPE_F32, VV_TYPE_F16, VV_TYPE_I32};
    static const size_t widths[] = {1, 2, 5, 16, 33, 512};
    static const uint32_t rings[] = {0, 1, 4, 11};
    for (size_t t = 0; t < 3; t++) {
        for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
            for (int32_t rows = 1; rows <= 8; rows += vv_check_quick(check) ? 3 : 1) {
                struct shape s = {types[t],
                                  rows,
                                  widths[i],
                                  rings[vv_check_below(check, 4)],
                                  widths[i] % 2 == 0 && vv_check_below(check, 2),
                                  0};
                one(check, &s);
            }
        }
        for (size_t i = 0; i < 4; i++) {
            one(check, &(struct shape){types[t], 33, 3, rings[i], false, 0});
            one(check, &(struct shape){types[t], 130, 2, rings[i], true, 0});
        }
        for (int32_t every = 1; every <= 4; every++) {
            one(check, &(struct shape){types[t], 33, 3, 0, false, every});
            one(check, &(struct shape){types[t], every, 16, 0, false, every});
        }
    }
    refusals(check);
}

/*
 * Attention against double precision and ten misreadings of it; a list of all blocks against dense
 * attention, bit for bit.
 */
#include "gguf/types.h"
#include "op/attend/internal.h"
#include "op/check_oracle.h"

enum misreading {
    RIGHT,
    HEAD_MOD, /* query head h with key/value head h mod kv_heads */
    NO_SCALE,
    SILU_GATE,
    NO_GATE,
    GATE_IN_HALVES, /* gates of all heads after all queries, not head by head */
    OTHER_SEQUENCE,
    KEYS_AS_VALUES,
    NOT_CAUSAL, /* dense: one position too many */
    OWN_FORCED, /* list: position p always */
    NO_TAIL,    /* list: blocks only */
    BLOCK_MORE, /* list: the last listed block's successor too, a fixed count of tokens */
};

static const char *const misreadings[] = {
    "",
    "head h mod kv_heads",
    "scale missing",
    "silu of the gate",
    "gate missing",
    "gates in a half of their own",
    "another sequence's keys",
    "keys as values",
    "one position too many",
    "own position forced",
    "tail missing",
    "cells of one more block",
};

struct shape {
    size_t heads, kv_heads, width;
    int k_type, v_type;
};

static struct vv_attend *new_attend(struct vv_check *check, int32_t rows, int32_t sequences,
                                    int32_t first, struct shape s) {
    struct vv_attend *a = vv_check_memory(check, sizeof *a);
    int32_t firsts[3] = {first, first / 2, 0};
    struct vv_window *w = vv_check_window(check, rows, sequences, firsts, 10);
    size_t n = (size_t)rows, entries = (size_t)first + n + 1, row = s.heads * s.width;
    *a = (struct vv_attend){
        .q = vv_check_normals(check, n * row),
        .gate = vv_check_normals(check, n * 2 * row), /* as attn_q leaves them: [q, gate] a head */
        .gate_row = 2 * row,
        .gate_head = 2 * s.width,
        .k = vv_check_empty_state(check, s.k_type, s.kv_heads * s.width, entries, (size_t)sequences,
                                  false),
        .v = vv_check_empty_state(check, s.v_type, s.kv_heads * s.width, entries, (size_t)sequences,
                                  false),
        .y = vv_check_floats(check, n * row),
        .heads = s.heads,
        .kv_heads = s.kv_heads,
        .width = s.width,
        .scale = 1 / sqrtf((float)s.width),
        .window = w,
        .rows = {&w->rows, 1}};
    a->gate += s.width;
    for (int32_t r = 0; r < rows; r++) {
        bool last = true; /* of its sequence */
        for (int32_t other = r + 1; other < rows; other++) {
            last = last && w->slot[other] != w->slot[r];
        }
        for (int64_t p = 0; last && p <= w->position[r]; p++) {
            vv_check_entry(check, &a->k, (size_t)w->slot[r], p);
            vv_check_entry(check, &a->v, (size_t)w->slot[r], p);
        }
    }
    return a;
}

/* Lists for all rows: `keep` random blocks of those a row sees, or all of them. */
static void add_lists(struct vv_check *check, struct vv_attend *a, size_t keep, size_t ratio) {
    struct vv_check_lists l = vv_check_lists(check, a->window, vv_rows(a->rows), keep, ratio);
    a->list = l.list;
    a->listed = l.listed;
    a->keep = keep;
    a->ratio = ratio;
}

static double element(const struct vv_state_view *v, int32_t slot, size_t position, size_t i) {
    const void *at = vv_state_at(v, slot, (int64_t)position);
    return v->type == VV_TYPE_F16 ? (double)vv_from_f16(((const uint16_t *)at)[i])
                                  : (double)((const float *)at)[i];
}

/* Does the row see this position, as `which` reads it? */
static bool sees(const struct vv_attend *a, size_t row, size_t position, enum misreading which) {
    size_t p = (size_t)a->window->position[row];
    if (!a->list) {
        return position <= p;
    }
    size_t block = position / a->ratio, blocks = (p + 1) / a->ratio;
    for (int32_t i = 0; i < a->listed[row]; i++) {
        int32_t b = a->list[row * a->keep + (size_t)i];
        if ((size_t)b == block || (which == BLOCK_MORE && i == a->listed[row] - 1 &&
                                   (size_t)b + 1 == block && block < blocks)) {
            return true;
        }
    }
    return (which == OWN_FORCED && position == p) || (which != NO_TAIL && block == blocks);
}

static void oracle(const struct vv_attend *a, size_t row, size_t head, enum misreading which,
                   double *y) {
    size_t kv = which == HEAD_MOD ? head % a->kv_heads : head / (a->heads / a->kv_heads);
    size_t n = (size_t)a->window->position[row] + 1, width = a->width;
    int32_t slot = a->window->slot[row];
    slot = which == OTHER_SEQUENCE ? (slot + 1) % a->window->sequences : slot;
    const float *q = a->q + (row * a->heads + head) * width;
    const float *gate = a->gate + row * a->gate_row + head * a->gate_head;
    gate = which == GATE_IN_HALVES ? a->gate + row * a->gate_row + head * width : gate;
    double sum = 0, o[512] = {0};
    for (size_t j = 0; j < n + (which == NOT_CAUSAL); j++) {
        double z = 0;
        for (size_t i = 0; i < width; i++) {
            z += (double)q[i] * element(&a->k, slot, j < n ? j : 0, kv * width + i);
        }
        double e = exp(which == NO_SCALE ? z : z * (double)a->scale);
        if (j < n && !sees(a, row, j, which)) {
            continue;
        }
        sum += e;
        for (size_t i = 0; i < width; i++) {
            const struct vv_state_view *v = which == KEYS_AS_VALUES ? &a->k : &a->v;
            o[i] += e * element(v, slot, j < n ? j : 0, kv * width + i);
        }
    }
    for (size_t i = 0; i < width; i++) {
        double g = (double)gate[i];
        g = which == SILU_GATE ? vv_check_silu(g) : which == NO_GATE ? 1 : vv_check_sigmoid(g);
        y[i] = sum > 0 ? o[i] / sum * g : 0;
    }
}

/* Does a row see other positions than it should? */
static bool sees_others(const struct vv_attend *a, enum misreading which) {
    for (size_t r = 0; r < vv_rows(a->rows); r++) {
        for (size_t j = 0; j <= (size_t)a->window->position[r]; j++) {
            if (sees(a, r, j, which) != sees(a, r, j, RIGHT)) {
                return true;
            }
        }
    }
    return false;
}

/* Could this misreading differ from the contract on such args? */
static bool applies(const struct vv_attend *a, enum misreading which) {
    switch (which) {
    case HEAD_MOD:
        return a->kv_heads > 1 && a->heads > a->kv_heads;
    case OTHER_SEQUENCE:
        return a->window->sequences > 1;
    case GATE_IN_HALVES:
        return a->heads > 1;
    case NOT_CAUSAL:
        return !a->list;
    case OWN_FORCED:
    case NO_TAIL:
    case BLOCK_MORE:
        return a->list && sees_others(a, which);
    default:
        return true;
    }
}

static void compare_with_oracle(struct vv_check *check, const struct vv_attend *a) {
    size_t units = vv_rows(a->rows) * a->heads;
    double *truth = vv_check_doubles(check, units * a->width);
    for (int which = RIGHT; which <= BLOCK_MORE; which++) {
        if (!applies(a, (enum misreading)which)) {
            continue;
        }
        for (size_t u = 0; u < units; u++) {
            oracle(a, u / a->heads, u % a->heads, (enum misreading)which, truth + u * a->width);
        }
        if (which == RIGHT) {
            vv_check_near(check, a->list ? "list" : "dense", a->y, truth, units * a->width, 1e-5);
        } else {
            vv_check_misreading(check, misreadings[which], a->y,
                                vv_check_narrow(check, truth, units * a->width), units * a->width,
                                1e-3);
        }
    }
}

static void check_case(struct vv_check *check, int32_t rows, int32_t first, struct shape s) {
    struct vv_attend *a = new_attend(check, rows, rows < 3 ? 1 : 1 + rows % 3, first, s);
    size_t n = vv_rows(a->rows) * s.heads * s.width, ratio = 3 + (size_t)(rows + first) % 2;
    size_t whole = ((size_t)first + (size_t)rows) / ratio + 1;
    bool wide = s.heads > 2 && s.width >= 16 && rows > 3 && first >= 62 && first % 3 == 2;
    vv_check_variants(check, &vv_attend, a, "dense: %zu heads, %zu kv, width %zu, %d rows at %d",
                      s.heads, s.kv_heads, s.width, rows, first);
    float *dense = vv_check_floats(check, n);
    memcpy(dense, a->y, n * sizeof *dense);
    if (wide) {
        compare_with_oracle(check, a);
    }
    add_lists(check, a, whole, ratio);
    vv_check_variants(check, &vv_attend, a, "list of all: %zu heads, width %zu, %d rows at %d",
                      s.heads, s.width, rows, first);
    vv_check_true(check, memcmp(dense, a->y, n * sizeof *dense) == 0,
                  "a list of all blocks is not dense attention: width %zu, %d rows at %d", s.width,
                  rows, first);
    add_lists(check, a, 1 + whole / 3, ratio);
    vv_check_variants(check, &vv_attend, a, "list: %zu heads, width %zu, %d rows at %d, keep %zu",
                      s.heads, s.width, rows, first, a->keep);
    if (wide) {
        compare_with_oracle(check, a);
    }
    vv_check_reset(check);
}

static void check_shapes(struct vv_check *check) {
    enum { F32 = VV_TYPE_F32, F16 = VV_TYPE_F16 };
    static const struct shape shapes[] = {
        {1, 1, 1, F32, F32},   {2, 1, 7, F16, F16},    {4, 2, 16, F16, F16},
        {6, 2, 64, F32, F32},  {6, 3, 80, F16, F32},   {12, 2, 128, F32, F16},
        {3, 1, 160, F16, F16}, {24, 2, 256, F16, F16}, {34, 2, 33, F32, F32},
        {6, 1, 256, F32, F32},
    };
    static const int32_t firsts[] = {0, 1, 62, 63, 64, 65, 126, 127, 128, 254};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        for (size_t f = 0; f < sizeof firsts / sizeof *firsts; f++) {
            int32_t rows = 1 + (int32_t)((i + f) % 8);
            if (!vv_check_quick(check) || shapes[i].heads * shapes[i].width < 1000 ||
                f % 3 == i % 3) {
                check_case(check, rows, firsts[f], shapes[i]);
            }
        }
    }
    check_case(check, 70, 0, shapes[2]); /* a prompt across a chunk's border */
    check_case(check, 1, 1500, shapes[3]);
}

/* Scores of hundreds, equal keys, denormal and huge values. */
static void check_extremes(struct vv_check *check) {
    struct shape s = {4, 2, 72, VV_TYPE_F32, VV_TYPE_F32};
    struct vv_attend *a = new_attend(check, 4, 2, 150, s);
    float *q = (float *)(uintptr_t)a->q;
    for (size_t i = 0; i < 4 * s.heads * s.width; i++) {
        q[i] *= i / s.width % 2 ? 60.0f : 1e-30f;
    }
    vv_check_variants(check, &vv_attend, a, "scores of hundreds");
    compare_with_oracle(check, a);
    const float *nasty = vv_check_adversarial(check, 2 * s.width);
    for (int64_t p = 3; p < 150; p += 5) {
        memcpy(vv_state_at(&a->v, 0, p), nasty, 2 * s.width * sizeof *nasty);
        memcpy(vv_state_at(&a->k, 0, p), vv_state_at(&a->k, 0, 1), 2 * s.width * sizeof *nasty);
    }
    vv_check_variants(check, &vv_attend, a, "equal keys, adversarial values");
    float *key = vv_state_at(&a->k, 0, 64);
    for (size_t i = 0; i < 4 * s.heads * s.width; i++) {
        q[i] = fabsf(q[i]);
    }
    for (size_t i = 0; i < 2 * s.width; i++) {
        key[i] = -INFINITY;
    }
    vv_check_variants(check, &vv_attend, a, "a score of -inf is a weight of +0");
    vv_check_reset(check);
}

static void check_errors(struct vv_check *check) {
    static const float bad[] = {NAN, INFINITY};
    for (size_t i = 0; i < 2; i++) {
        struct vv_attend *a =
            new_attend(check, 2, 1, 130, (struct shape){2, 1, 40, VV_TYPE_F32, VV_TYPE_F32});
        float *q = (float *)(uintptr_t)a->q, *key = vv_state_at(&a->k, 0, 97);
        float was = q[3 * 40];
        q[3 * 40] = bad[i]; /* last head of the last row: NaN or inf scores, some of them -inf */
        vv_check_refuses(check, &vv_attend, a, VV_ERROR_NOT_FINITE, "a query of %g",
                         (double)bad[i]);
        q[3 * 40] = was;
        key[39] = copysignf(bad[i], q[39]);
        vv_check_refuses(check, &vv_attend, a, VV_ERROR_NOT_FINITE, "a key of %g", (double)bad[i]);
        vv_check_reset(check);
    }
    struct vv_attend *a =
        new_attend(check, 2, 1, 130, (struct shape){2, 1, 40, VV_TYPE_F32, VV_TYPE_F32});
    add_lists(check, a, 8, 4);
    int32_t *list = (int32_t *)(uintptr_t)a->list, *listed = (int32_t *)(uintptr_t)a->listed;
    list[15] = 33; /* the row at 131 sees blocks 0 .. 32 */
    vv_check_refuses(check, &vv_attend, a, VV_ERROR_INVALID, "a block that is not complete");
    list[15] = -1;
    vv_check_refuses(check, &vv_attend, a, VV_ERROR_INVALID, "block -1");
    list[15] = 32;
    listed[1] = 9;
    vv_check_refuses(check, &vv_attend, a, VV_ERROR_INVALID, "more blocks than the list has");
    listed[1] = 0; /* and 132 tokens leave no tail */
    vv_check_refuses(check, &vv_attend, a, VV_ERROR_INVALID, "no key at all");
    vv_check_reset(check);
}

/* ---- the core: runs that begin in the middle of a chunk, several of them, sinks ---- */

static const struct {
    uint32_t needs;
    int (*run)(const struct vv_attend_heads *h);
} cores[] = {
    {VV_CPU_ANY, vv_attend_core_portable},
#ifdef __x86_64__
    {VV_CPU_AVX2, vv_attend_core_portable_avx2},
    {VV_CPU_AVX512, vv_attend_core_portable_avx512},
#endif
};

static void check_core(struct vv_check *check, size_t heads, size_t width, size_t runs) {
    enum { ENTRIES = 220 };
    const uint8_t *k = (uint8_t *)vv_check_normals(check, ENTRIES * width);
    const uint8_t *v = (uint8_t *)vv_check_normals(check, ENTRIES * width);
    const float *own = vv_check_normals(check, ENTRIES * width);
    struct vv_attend_run *run = vv_check_memory(check, runs * sizeof *run);
    size_t n = heads * width, stride = width * sizeof(float);
    int32_t *own_row = vv_check_memory(check, ENTRIES * sizeof *own_row);
    for (size_t i = 0; i < ENTRIES; i++) {
        own_row[i] = (int32_t)(ENTRIES - 1 - i);
    }
    for (size_t r = 0; r < runs; r++) {
        size_t first = vv_check_below(check, ENTRIES), left = ENTRIES - first;
        run[r] = (struct vv_attend_run){.k = k,
                                        .v = v,
                                        .k_stride = stride,
                                        .v_stride = stride,
                                        .k_type = VV_TYPE_F32,
                                        .v_type = VV_TYPE_F32,
                                        .slot = vv_check_below(check, 200),
                                        .count = 1 + vv_check_below(check, left),
                                        .ratio = 1,
                                        .next = first};
        if (r == 0 && width % 2) { /* as a window's rows have them: round a ring, then their own */
            run[r].ring = ENTRIES;
            run[r].count = 1 + vv_check_below(check, ENTRIES);
            run[r].own = own;
            run[r].own_row = own_row;
            run[r].own_stride = width;
            run[r].held = vv_check_below(check, run[r].count + 1);
        }
    }
    struct vv_attend_heads h = {.q = vv_check_normals(check, n),
                                .heads = heads,
                                .width = width,
                                .scale = 0.3f,
                                .run = run,
                                .runs = runs,
                                .sink = runs % 2 ? vv_check_normals(check, heads) : NULL};
    float *want = h.y = vv_check_floats(check, n), *got = vv_check_floats(check, n);
    int error = vv_attend_core_reference(&h);
    h.y = got;
    for (size_t i = 0; i < sizeof cores / sizeof *cores; i++) {
        if ((cores[i].needs & ~vv_cpu_features()) == 0) {
            memset(got, 0xff, n * sizeof *got);
            error = error ? error : cores[i].run(&h);
            vv_check_true(check, !error && memcmp(want, got, n * sizeof *got) == 0,
                          "core %zu: %zu heads of %zu, %zu runs, the first of %zu keys at slot %zu",
                          i, heads, width, runs, run[0].count, run[0].slot);
        }
    }
    vv_check_reset(check);
}

void vv_attend_check(struct vv_check *check) {
    check_shapes(check);
    for (size_t i = 0; i < 30; i++) {
        check_core(check, 1 + i % 4 * 6, 30 + i * 7, 1 + i % 3);
    }
    check_extremes(check);
    check_errors(check);
}

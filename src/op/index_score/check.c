/*
 * The scores of all three arithmetics against double precision, and the ways to misread them. Keys
 * come in every type that an arithmetic takes, with and without weights.
 */
#include "op/check_oracle.h"
#include "op/index_score/internal.h"
#include "quant/format.h"

enum misreading {
    RIGHT,
    SIGNED_SUM,  /* no ReLU */
    RELU_OF_SUM, /* ReLU after the sum over heads */
    NO_SCALE,
    ABSOLUTE,       /* |z| */
    NEXT_BLOCK,     /* key of block b + 1 */
    OTHER_SEQUENCE, /* keys of another slot */
    NO_WEIGHT,
    WEIGHTED_BEFORE, /* ReLU of z · w */
    NEXT_WEIGHT,     /* the next head's */
    FIRST_WEIGHTS,   /* row 0's */
    EXACT_VALUES,    /* not rounded to half */
    EXACT_KEYS,
    FIRST_STEP, /* a vector's first block's for all */
    MISREADINGS
};

static const char *const misreadings[] = {
    "",
    "signed sum without ReLU",
    "ReLU of the sum",
    "scale missing",
    "absolute values",
    "next block's key",
    "another sequence's keys",
    "weights missing",
    "ReLU of weighted products",
    "the next head's weight",
    "the first row's weights",
    "values not rounded to half",
    "keys not rounded to half",
    "the first block's step for all",
};

struct shape {
    const struct vv_operation *operation;
    int q_type, key_type;
    bool weighted;
    size_t heads, width, ratio, keep;
};

/* ---- args ---- */

/* Fills a vector: normal values, or codes under steps from 2^-`spread` to 2^`spread`. */
static void fill_vector(struct vv_check *check, int type, size_t width, int spread, void *at) {
    for (size_t i = 0; i < width; i++) {
        float x = vv_check_normal(check);
        if (type == VV_TYPE_F16) {
            ((uint16_t *)at)[i] = vv_to_f16(x);
        } else if (type == VV_TYPE_F32) {
            ((float *)at)[i] = x;
        }
    }
    for (size_t i = 0; type == VV_TYPE_MXFP4 && i < width / 32 * 17; i++) {
        int exponent = (int)vv_check_below(check, 2 * (size_t)spread + 1) - spread;
        ((uint8_t *)at)[i] = (uint8_t)(i % 17 == 0 ? 127 + exponent : (int)vv_check_random(check));
    }
}

static struct vv_state_view new_state(struct vv_check *check, const struct shape *s, size_t entries,
                                      size_t slots) {
    size_t unit = s->key_type == VV_TYPE_MXFP4 ? 1 : 4;
    struct vv_state_view v = {.type = s->key_type, .width = s->width};
    v.entry_stride = (vv_state_entry_bytes(v.type, v.width) + unit - 1) / unit * unit;
    v.entry_stride += unit * vv_check_below(check, 3);
    v.slot_stride = entries * v.entry_stride + unit * vv_check_below(check, 5);
    v.bytes = slots * v.slot_stride;
    v.base = vv_check_memory(check, v.bytes);
    memset(v.base, 0xff, v.bytes); /* NaN, or far too large */
    return v;
}

/* The keys that a row may see, and no others. */
static void fill_keys(struct vv_check *check, const struct vv_index_score *a, int spread) {
    size_t filled[3] = {0};
    for (size_t r = 0; r < vv_rows(a->rows); r++) {
        int32_t slot = a->window->slot[r];
        for (; filled[slot] < ((size_t)a->window->position[r] + 1) / a->ratio; filled[slot]++) {
            fill_vector(check, a->pooled.type, a->width, spread,
                        vv_state_at(&a->pooled, slot, (int64_t)filled[slot]));
        }
    }
}

static struct vv_index_score *new_score(struct vv_check *check, int32_t rows, int32_t sequences,
                                        int32_t first, const struct shape *s, int spread) {
    struct vv_index_score *a = vv_check_memory(check, sizeof *a);
    int32_t firsts[3] = {first, first / 2, 0};
    struct vv_window *w = vv_check_window(check, rows, sequences, firsts, 10);
    size_t n = (size_t)rows, blocks = ((size_t)first + n) / s->ratio + 2;
    size_t bytes = vv_state_entry_bytes(s->q_type, s->width);
    uint8_t *q = vv_check_memory(check, n * s->heads * bytes);
    for (size_t i = 0; i < n * s->heads; i++) {
        fill_vector(check, s->q_type, s->width, spread, q + i * bytes);
    }
    *a = (struct vv_index_score){
        .q = q,
        .q_type = s->q_type,
        .pooled = new_state(check, s, blocks, (size_t)sequences),
        .weight = s->weighted ? vv_check_normals(check, n * s->heads) : NULL,
        .score = vv_check_floats(check, n * blocks),
        .stride = blocks,
        .heads = s->heads,
        .width = s->width,
        .ratio = s->ratio,
        .keep = s->keep,
        .scale = 0.088f,
        .window = w,
        .rows = {&w->rows, 1},
    };
    fill_keys(check, a, spread);
    return a;
}

/* ---- the formula ---- */

static void values(int type, const void *at, size_t n, bool half, enum misreading which,
                   float *to) {
    uint8_t blocks[VV_INDEX_WIDTH_MAX / 32 * 17];
    if (type == VV_TYPE_MXFP4) {
        memcpy(blocks, at, n / 32 * 17);
        for (size_t b = 0; which == FIRST_STEP && b < n / 32; b++) {
            blocks[17 * b] = blocks[0];
        }
        at = blocks;
    }
    vv_format(type)->decode(at, to, n);
    for (size_t i = 0; half && i < n; i++) {
        to[i] = vv_from_f16(vv_to_f16(to[i]));
    }
}

static double oracle(const struct vv_index_score *a, bool half, size_t row, size_t block,
                     enum misreading which) {
    int32_t slot = a->window->slot[row];
    float key[VV_INDEX_WIDTH_MAX], q[VV_INDEX_WIDTH_MAX];
    slot = which == OTHER_SEQUENCE ? (slot + 1) % a->window->sequences : slot;
    block += which == NEXT_BLOCK;
    values(a->pooled.type, vv_state_at(&a->pooled, slot, (int64_t)block), a->width,
           half && which != EXACT_VALUES && which != EXACT_KEYS, which, key);
    double sum = 0;
    for (size_t h = 0; h < a->heads; h++) {
        size_t by = (which == FIRST_WEIGHTS ? 0 : row) * a->heads;
        by += which == NEXT_WEIGHT ? (h + 1) % a->heads : h;
        double z = 0, w = a->weight && which != NO_WEIGHT ? (double)a->weight[by] : 1;
        values(a->q_type, vv_index_query(a, row, h), a->width, half && which != EXACT_VALUES, which,
               q);
        for (size_t i = 0; i < a->width; i++) {
            z += (double)q[i] * (double)key[i];
        }
        z = which == ABSOLUTE ? fabs(z) : z;
        sum += which == SIGNED_SUM || which == RELU_OF_SUM ? z * w
               : which == WEIGHTED_BEFORE                  ? fmax(z * w, 0)
                                                           : fmax(z, 0) * w;
    }
    sum = which == RELU_OF_SUM ? fmax(sum, 0) : sum;
    return which == NO_SCALE ? sum : sum * (double)a->scale;
}

/* Whether a row other than the first is scored (`other`), or one that has a negative weight. */
static bool weights_tell(const struct vv_index_score *a, bool other) {
    for (size_t i = 0; a->weight && i < vv_rows(a->rows) * a->heads; i++) {
        size_t row = i / a->heads;
        if (vv_index_blocks(a, row) > 0 && (other ? row > 0 : a->weight[i] < 0)) {
            return true;
        }
    }
    return false;
}

/* Can the case tell this reading from the right one at all? */
static bool tells(const struct vv_index_score *a, bool half, enum misreading which) {
    bool floats = half && a->q_type == VV_TYPE_F32;
    switch (which) {
    case OTHER_SEQUENCE:
        return a->window->sequences > 1;
    case NO_WEIGHT:
    case NEXT_WEIGHT:
        return a->weight;
    case WEIGHTED_BEFORE:
    case FIRST_WEIGHTS:
        return weights_tell(a, which == FIRST_WEIGHTS);
    case EXACT_VALUES:
        return floats;
    case EXACT_KEYS:
        return floats && a->pooled.type == VV_TYPE_F32;
    case FIRST_STEP:
        return a->pooled.type == VV_TYPE_MXFP4 && a->width > 32;
    default:
        return true;
    }
}

/* Compares what the reference left with every reading; and that it wrote nothing else. */
static void compare_with_oracle(struct vv_check *check, const struct vv_index_score *a, bool half,
                                const float *before) {
    size_t n = vv_rows(a->rows) * a->stride;
    double *truth = vv_check_doubles(check, n);
    for (enum misreading which = RIGHT; which < MISREADINGS; which++) {
        for (size_t i = 0; i < n && tells(a, half, which); i++) {
            size_t row = i / a->stride, block = i % a->stride;
            truth[i] = block < vv_index_blocks(a, row) ? oracle(a, half, row, block, which)
                                                       : (double)before[i];
        }
        if (which == RIGHT) {
            vv_check_near(check, "scores", a->score, truth, n, 1e-6);
        } else if (tells(a, half, which)) {
            vv_check_misreading(check, misreadings[which], a->score,
                                vv_check_narrow(check, truth, n), n,
                                which == EXACT_VALUES || which == EXACT_KEYS ? 1e-5 : 1e-3);
        }
    }
    bool untouched = true;
    for (size_t i = 0; i < n; i++) {
        untouched = untouched && (i % a->stride < vv_index_blocks(a, i / a->stride) ||
                                  vv_bits(a->score[i]) == vv_bits(before[i]));
    }
    vv_check_true(check, untouched, "scores beyond a row's blocks are let be");
}

static void check_case(struct vv_check *check, int32_t rows, int32_t sequences, int32_t first,
                       const struct shape *s) {
    /* steps of a vector up to 4 or 16 times as large as others */
    struct vv_index_score *a = new_score(check, rows, sequences, first, s, 1 + rows % 2);
    size_t n = (size_t)rows * a->stride;
    float *before = vv_check_floats(check, n);
    memcpy(before, a->score, n * sizeof *before);
    vv_check_variants(check, s->operation, a,
                      "%zu heads of %zu, ratio %zu, keep %zu, types %d and %d%s, %d rows of %d "
                      "sequences at %d",
                      s->heads, s->width, s->ratio, s->keep, s->q_type, s->key_type,
                      s->weighted ? ", weighted" : "", rows, sequences, first);
    if (s->heads > 1 && s->width > 8 && rows > 1 && rows <= 4 &&
        first / (int32_t)s->ratio > 4 + (int32_t)s->keep) {
        compare_with_oracle(check, a, s->operation == &vv_index_score_half, before);
    }
    vv_check_reset(check);
}

/* ---- cases ---- */

static void check_sizes(struct vv_check *check, struct shape s) {
    static const struct {
        size_t heads, width, ratio, keep;
    } sizes[] = {
        {1, 1, 1, 1},    {1, 16, 4, 2},   {2, 15, 4, 3},   {3, 33, 3, 2},
        {4, 64, 4, 8},   {4, 127, 4, 2},  {4, 128, 4, 16}, {4, 129, 3, 16},
        {2, 160, 4, 16}, {5, 300, 4, 12}, {4, 128, 2, 32}, {9, 512, 4, 2},
        {6, 96, 4, 3},   {11, 32, 4, 7},  {20, 64, 4, 5},  {67, 64, 4, 40},
    };
    static const int32_t firsts[] = {0, 3, 60, 127, 251, 252, 255, 256, 259, 516};
    bool packed = s.q_type == VV_TYPE_MXFP4 || s.key_type == VV_TYPE_MXFP4;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        s.heads = sizes[i].heads;
        s.ratio = sizes[i].ratio;
        s.keep = sizes[i].keep;
        s.width = packed ? (sizes[i].width + 31) / 32 * 32 : sizes[i].width;
        for (size_t f = 0; f < sizeof firsts / sizeof *firsts; f += vv_check_quick(check) ? 4 : 1) {
            int32_t rows = 1 + (int32_t)((i + f) % 8), sequences = rows < 3 ? 1 : 1 + rows % 3;
            check_case(check, rows, sequences, firsts[f], &s);
        }
        check_case(check, 37, 3, 200, &s);
    }
}

/* Values that a half can hold. */
static void adversarial(struct vv_check *check, struct vv_index_score *a, bool half) {
    size_t n = vv_rows(a->rows) * a->heads * a->width;
    float *q = vv_check_adversarial(check, n);
    for (size_t i = 0; half && i < n; i++) {
        q[i] = fabsf(q[i]) < 65504.0f ? q[i] : copysignf(65504.0f, q[i]);
    }
    a->q = q;
}

static void check_extremes(struct vv_check *check, const struct vv_operation *operation) {
    bool half = operation == &vv_index_score_half;
    const struct shape s = {operation, VV_TYPE_F32, VV_TYPE_F32, false, 4, 144, 4, 16};
    struct vv_index_score *a = new_score(check, 3, 1, 300, &s, 2);
    adversarial(check, a, half);
    vv_check_variants(check, operation, a, "adversarial queries");
    float *key = vv_state_at(&a->pooled, 0, 5);
    for (size_t i = 0; i < a->width; i++) {
        key[i] = 0;
    }
    vv_check_variants(check, operation, a, "a key of zeros");
    vv_check_true(check, vv_bits(a->score[5]) == 0, "a key of zeros scores +0");
    key[0] = NAN;
    for (const struct vv_variant *v = operation->variants; v->name; v++) {
        if ((v->needs & ~vv_cpu_features()) == 0) {
            v->run(a, 0, operation->units(a));
            vv_check_true(check, isnan(a->score[5]), "%s: NaN is passed on", v->name);
        }
    }
    vv_check_reset(check);
}

/* Steps so far apart that their products, or the sums, round. */
static void check_steps(struct vv_check *check) {
    for (int spread = 8; spread <= 52; spread += 22) {
        const struct shape s = {
            &vv_index_score_integer, VV_TYPE_MXFP4, VV_TYPE_MXFP4, true, 64, 128, 4, 16};
        struct vv_index_score *a = new_score(check, 3, 1, 700, &s, spread);
        uint8_t *q = (uint8_t *)(uintptr_t)a->q;
        for (size_t i = 0; i < 3 * 64 * 4; i++) { /* denormal steps, and codes of 0 */
            q[17 * i] = vv_check_below(check, 9) ? q[17 * i] : (uint8_t)vv_check_below(check, 3);
            if (vv_check_below(check, 9) == 0) {
                memset(q + 17 * i + 1, 0x80, 16);
            }
        }
        vv_check_variants(check, s.operation, a, "steps 2^%d apart", 2 * spread);
        vv_check_reset(check);
    }
}

/* Steps that are near each other, and all of them far from 1; weights that are, too. */
static void check_distant_steps(struct vv_check *check) {
    const struct shape s = {
        &vv_index_score_integer, VV_TYPE_MXFP4, VV_TYPE_MXFP4, true, 20, 128, 4, 16};
    for (int by = -50; by <= 46; by += 4) {
        struct vv_index_score *a = new_score(check, 2, 1, 300, &s, 1);
        uint8_t *q = (uint8_t *)(uintptr_t)a->q;
        float *weight = (float *)(uintptr_t)a->weight;
        for (size_t i = 0; i < 2 * s.heads * 4; i++) {
            q[17 * i] = (uint8_t)(q[17 * i] + by);
        }
        for (int64_t b = 0; b < 75; b++) {
            uint8_t *key = vv_state_at(&a->pooled, 0, b);
            for (size_t i = 0; i < 4; i++) {
                key[17 * i] = (uint8_t)(key[17 * i] + by);
            }
        }
        weight[3] *= by % 8 ? 1e-30f : 1;
        weight[5] = 0;
        vv_check_variants(check, s.operation, a, "steps near 2^%d", by);
        vv_check_reset(check);
    }
}

/* Codes that reach the largest sums: |dot| = 4,608 in every block. */
static void check_largest(struct vv_check *check) {
    const struct shape s = {
        &vv_index_score_integer, VV_TYPE_MXFP4, VV_TYPE_MXFP4, false, 4, 128, 4, 16};
    struct vv_index_score *a = new_score(check, 2, 1, 300, &s, 0);
    for (size_t i = 0; i < 2 * 4 * 4; i++) {
        memset((uint8_t *)(uintptr_t)a->q + 17 * i + 1, i % 8 < 4 ? 0x77 : 0xff, 16);
    }
    for (int64_t b = 0; b < 75; b++) {
        for (size_t i = 0; i < 4; i++) {
            memset((uint8_t *)vv_state_at(&a->pooled, 0, b) + 17 * i + 1, b % 2 ? 0x77 : 0xff, 16);
        }
    }
    vv_check_variants(check, s.operation, a, "largest codes");
    /* Two of the four heads are positive: 128 products of 6 · 6 each. */
    vv_check_true(check, a->score[1] == 2 * 4608.0f * 0.088f, "largest codes give %g",
                  (double)a->score[1]);
    vv_check_reset(check);
}

void vv_index_score_check(struct vv_check *check) {
    static const struct shape kinds[] = {
        {.operation = &vv_index_score},
        {.operation = &vv_index_score, .weighted = true, .key_type = VV_TYPE_F16},
        {&vv_index_score, VV_TYPE_MXFP4, VV_TYPE_MXFP4, true, 0, 0, 0, 0},
        {.operation = &vv_index_score_half, .weighted = true},
        {.operation = &vv_index_score_half, .key_type = VV_TYPE_F16},
        {&vv_index_score_half, VV_TYPE_MXFP4, VV_TYPE_MXFP4, true, 0, 0, 0, 0},
        {&vv_index_score_integer, VV_TYPE_MXFP4, VV_TYPE_MXFP4, true, 0, 0, 0, 0},
        {&vv_index_score_integer, VV_TYPE_MXFP4, VV_TYPE_MXFP4, false, 0, 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        check_sizes(check, kinds[i]);
    }
    check_extremes(check, &vv_index_score);
    check_extremes(check, &vv_index_score_half);
    check_steps(check);
    check_distant_steps(check);
    check_largest(check);
}

/*
 * Every format, with widths that end in the middle of a segment, windows on both sides of the
 * kernels' row blocks, and numbers of outputs that leave a group of interleaved rows incomplete.
 * Activations of one row have the signs of a weight row, so that integers are as large as they
 * get; another row's magnitudes differ from unit to unit, so that a scale from elsewhere shows.
 */
#include "op/gemv/internal.h"
#include "op/quantize_rows/check_planes.h"
#include "quant/format.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void vv_gemv_check(struct vv_check *check);

/* ---- cases ---- */

/* Decodes row `o` of the weight. */
static float *decoded_row(struct vv_check *check, const struct vv_weight *w, size_t o) {
    float *to = vv_check_floats(check, w->width);
    vv_format(w->type)->decode(w->data + o * w->row_bytes, to, w->width);
    return to;
}

static float *activations(struct vv_check *check, const struct vv_weight *w, size_t rows) {
    float *x = vv_check_normals(check, rows * w->width);
    for (size_t r = 0; r < rows; r++) {
        float *row = x + r * w->width;
        const float *aligned = decoded_row(check, w, vv_check_below(check, w->rows));
        const float *wild = vv_check_adversarial(check, w->width);
        for (size_t i = 0; i < w->width; i++) {
            if (r % 4 == 0) { /* aligned */
                row[i] = copysignf(vv_check_uniform(check, 0.97f, 1.0f), aligned[i]);
            } else if (r % 4 == 1) { /* a magnitude for each unit */
                row[i] *= ldexpf(1.0f, (int)(i / 32 * 7 % 23) - 11);
            } else if (r % 4 == 2) {
                row[i] = wild[i];
            }
        }
    }
    return x;
}

/* Some blocks hold nothing but ones, or nothing: the largest codes with their scale, zeros. */
static void make_extreme(struct vv_check *check, struct vv_weight *w) {
    const struct vv_format *f = vv_format(w->type);
    if (f->arithmetic == VV_ARITHMETIC_FLOAT) {
        return;
    }
    uint8_t *data = (uint8_t *)(uintptr_t)w->data;
    size_t blocks = w->rows * w->row_bytes / f->block_bytes;
    for (size_t b = 0; b < blocks; b++) {
        uint8_t old[512], *block = data + b * f->block_bytes;
        memcpy(old, block, f->block_bytes);
        size_t what = vv_check_below(check, 8);
        if (what < 2) {
            memset(block, what == 0 ? 0 : 0xff, f->block_bytes);
        }
        /* A block of ones may have a scale that isn't a number. */
        bool out = w->type == VV_TYPE_MXFP4 && block[0] > 150;
        if (out || vv_first_bad_block(f, block, 1) == 0) {
            memcpy(block, old, f->block_bytes);
        }
    }
}

static struct vv_gemv make(struct vv_check *check, int type, size_t width, size_t outputs,
                           const int32_t *rows) {
    struct vv_weight *w = vv_check_weight(check, type, width, outputs, 1);
    struct vv_gemv a = {.weight = w, .y_row = outputs, .rows = {rows, 1}};
    const float *x = activations(check, w, (size_t)*rows);
    bool floats = vv_format(type)->arithmetic == VV_ARITHMETIC_FLOAT;
    a.x = vv_check_planes(check, x, (size_t)*rows, width,
                          floats ? 0 : VV_PLANES_COARSE | VV_PLANES_FINE);
    return a;
}

static void check_case(struct vv_check *check, int type, size_t width, size_t outputs,
                       int32_t rows) {
    struct vv_gemv a = make(check, type, width, outputs, &rows);
    float *scale = vv_check_floats(check, 1);
    *scale = vv_check_uniform(check, 0.3f, 3.0f);
    a.weight->scale = type == VV_TYPE_NVFP4 || vv_check_below(check, 4) == 0 ? scale : NULL;
    a.x.float_only = vv_check_below(check, 4) == 0;
    a.y_row = outputs + (vv_check_below(check, 3) == 0 ? 5 : 0);
    if (vv_check_below(check, 2)) {
        make_extreme(check, a.weight);
    }
    a.y = vv_check_floats(check, (size_t)rows * a.y_row);
    vv_check_variants(check, &vv_gemv, &a, "%s, %zu inputs, %zu outputs, %d rows%s",
                      vv_format(type)->name, width, outputs, (int)rows,
                      a.x.float_only ? ", float activations" : "");
    vv_check_reset(check);
}

/* ---- the largest integers ---- */

/* What a segment of a super-block format, or a step of a block format, can sum up to (the table of
 * docs/arithmetic.md, section 2). Grids may have no entry with the largest value everywhere. */
static const struct {
    int type;
    bool reached;
    int32_t largest;
} bounds[] = {
    {VV_TYPE_Q1_0, true, 16256},        {VV_TYPE_Q2_K, true, 731520},
    {VV_TYPE_Q3_K, true, 2080768},      {VV_TYPE_Q4_K, true, 15361920},
    {VV_TYPE_Q5_K, true, 31747968},     {VV_TYPE_Q6_K, true, 66584576},
    {VV_TYPE_IQ1_S, false, 2194560},    {VV_TYPE_IQ1_M, false, 2194560},
    {VV_TYPE_IQ2_XXS, false, 21669248}, {VV_TYPE_IQ2_XS, true, 21669248},
    {VV_TYPE_IQ2_S, true, 21669248},    {VV_TYPE_IQ3_XXS, false, 31244032},
    {VV_TYPE_IQ3_S, false, 7559040},    {VV_TYPE_IQ4_XS, true, 66064384},
    {VV_TYPE_TQ1_0, true, 16256},       {VV_TYPE_TQ2_0, true, 32512},
    {VV_TYPE_Q4_0, true, 32512},        {VV_TYPE_Q4_1, true, 60960},
    {VV_TYPE_Q5_0, true, 65024},        {VV_TYPE_Q5_1, true, 125984},
    {VV_TYPE_Q8_0, true, 520192},       {VV_TYPE_IQ4_NL, true, 516128},
    {VV_TYPE_MXFP4, true, 48768},       {VV_TYPE_Q2_0, true, 8128},
    {VV_TYPE_NVFP4, true, 24384},
};

static struct vv_segment part_of(const struct vv_format *f, const uint8_t *block, size_t part) {
    struct vv_segment s;
    size_t values = f->block_values < 128 ? f->block_values : 128;
    f->unpack(block, f->block_bytes, part, values, &s);
    return s;
}

/* The block has the floats of `sane`. */
static bool keeps_floats(const struct vv_format *f, const uint8_t *block, const uint8_t *sane) {
    struct vv_segment a = part_of(f, block, 0), b = part_of(f, sane, 0);
    if (f->step == 0) {
        return a.d == b.d && (!f->has_offset || a.dmin == b.dmin);
    }
    size_t bytes = f->block_values / f->step * sizeof *a.step_d;
    return memcmp(a.step_d, b.step_d, bytes) == 0 &&
           (!f->has_offset || memcmp(a.step_m, b.step_m, bytes) == 0);
}

/* The sum of |scale * w| of values from .. to - 1. */
static int32_t sum_of(const struct vv_format *f, const struct vv_segment *s, size_t from,
                      size_t to) {
    int32_t sum = 0;
    for (size_t i = from; i < to; i++) {
        sum += abs(f->step == 0 ? s->scale[i / 16] * s->w[i] : s->w[i]);
    }
    return sum;
}

/* What of the block counts as large: values, and minimums. */
static int32_t size_of(const struct vv_format *f, const uint8_t *block) {
    int32_t size = 0;
    for (size_t part = 0; part == 0 || part < f->block_values / 128; part++) {
        struct vv_segment s = part_of(f, block, part);
        size += sum_of(f, &s, 0, f->block_values < 128 ? f->block_values : 128);
        for (size_t k = 0; k < 8 && f->step == 0 && f->has_offset; k++) {
            size += s.min[k];
        }
    }
    return size;
}

/* Changes all but the block's floats: byte for byte to `fill`, then to what makes it largest. */
static void enlarge(struct vv_check *check, const struct vv_format *f, uint8_t fill,
                    uint8_t *block) {
    uint8_t sane[512];
    memcpy(sane, block, f->block_bytes);
    for (size_t i = 0; i < f->block_bytes; i++) {
        block[i] = fill;
        block[i] = keeps_floats(f, block, sane) ? fill : sane[i];
    }
    int32_t size = size_of(f, block);
    for (size_t i = 0; i < f->block_bytes; i++) {
        for (unsigned v = 0; v < 256; v++) {
            bool skipped = vv_check_quick(check) && (v & 15) != 0 && (v & 15) != 15;
            uint8_t old = block[i];
            block[i] = (uint8_t)v;
            if (!skipped && keeps_floats(f, block, sane) && size_of(f, block) > size) {
                size = size_of(f, block);
            } else {
                block[i] = old;
            }
        }
    }
}

/* The largest integer that the block makes with activations of 127 and its signs. */
static int32_t largest_of(const struct vv_format *f, const uint8_t *block) {
    int32_t largest = 0;
    for (size_t part = 0; part == 0 || part < f->block_values / 128; part++) {
        struct vv_segment s = part_of(f, block, part);
        size_t length = f->step == 0 ? 128 : f->step;
        for (size_t at = 0; at == 0 || at < (f->step == 0 ? 0 : f->block_values); at += length) {
            int32_t sum = 127 * sum_of(f, &s, at, at + length);
            largest = sum > largest ? sum : largest;
        }
    }
    return largest;
}

/* All blocks are as large as they get; activations are 127 with the signs of the weights, with the
 * other signs, or all of one sign. Returns the largest integer. */
static int32_t check_largest(struct vv_check *check, const struct vv_format *f, uint8_t fill,
                             int32_t rows) {
    enum { OUTPUTS = 17 };
    size_t width = f->block_values < 128 ? 448 : 512;
    struct vv_weight *w = vv_check_weight(check, f->type, width, OUTPUTS, 1);
    uint8_t *data = (uint8_t *)(uintptr_t)w->data;
    enlarge(check, f, fill, data);
    for (size_t at = f->block_bytes; at < OUTPUTS * w->row_bytes; at += f->block_bytes) {
        memcpy(data + at, data, f->block_bytes);
    }
    float *x = vv_check_floats(check, (size_t)rows * width);
    const float *aligned = decoded_row(check, w, 0);
    for (size_t i = 0; i < (size_t)rows * width; i++) {
        float sign = i / width % 2 ? -1.0f : 1.0f;
        x[i] = i / width % 4 < 2 ? copysignf(1.0f, aligned[i % width]) * sign : sign;
    }
    struct vv_gemv a = {.weight = w, .y_row = OUTPUTS, .rows = {&rows, 1}};
    a.x = vv_check_planes(check, x, (size_t)rows, width, VV_PLANES_COARSE | VV_PLANES_FINE);
    a.y = vv_check_floats(check, (size_t)rows * OUTPUTS);
    vv_check_variants(check, &vv_gemv, &a, "%s, the largest integers, from %02x, %d rows", f->name,
                      fill, (int)rows);
    int32_t largest = largest_of(f, data);
    vv_check_reset(check);
    return largest;
}

static void check_bounds(struct vv_check *check) {
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
        const struct vv_format *f = vv_format(bounds[i].type);
        int32_t zeros = check_largest(check, f, 0, 36), ones = check_largest(check, f, 0xff, 5);
        int32_t largest = zeros > ones ? zeros : ones;
        bool right = bounds[i].reached ? largest == bounds[i].largest : largest < bounds[i].largest;
        vv_check_true(check, right, "%s: integers reach %d, not %d", f->name, largest,
                      bounds[i].largest);
        check_largest(check, f, 0, 1);
        check_largest(check, f, 0xff, 36);
    }
}

/* ---- many rows ---- */

/* More rows than kernels take at a time, with and without rows laid out for panels, and rows too
 * long for a kernel's memory. */
static void check_passes(struct vv_check *check) {
    static const int types[] = {VV_TYPE_Q5_1, VV_TYPE_Q4_K, VV_TYPE_F16};
    static const size_t shapes[][2] = {{300, 256}, {150, 2560}, {2, 349696}}; /* rows, width */
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
            int32_t rows = (int32_t)shapes[k][0];
            struct vv_gemv a = make(check, types[i], shapes[k][1], 3, &rows);
            a.y = vv_check_floats(check, shapes[k][0] * 3);
            for (int panels = 1; panels >= 0; panels--) {
                vv_check_variants(check, &vv_gemv, &a, "%s, %d rows of %zu",
                                  vv_format(types[i])->name, (int)rows, shapes[k][1]);
                a.x.coarse_panel = a.x.fine_panel = NULL;
            }
            vv_check_reset(check);
        }
    }
}

/* More outputs than a block of any kernel takes, by rows that end within one's tile. */
static void check_blocks(struct vv_check *check) {
    static const int types[] = {VV_TYPE_Q8_0, VV_TYPE_Q5_1, VV_TYPE_IQ4_NL,  VV_TYPE_Q4_K,
                                VV_TYPE_Q6_K, VV_TYPE_Q2_K, VV_TYPE_IQ2_XXS, VV_TYPE_F32};
    enum { OUTPUTS = 277 };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        const struct vv_format *f = vv_format(types[i]);
        size_t width = f->block_values == 256 ? 768 : 416;
        int32_t rows = types[i] == VV_TYPE_F32 ? 141 : 73;
        struct vv_gemv a = make(check, types[i], width, OUTPUTS, &rows);
        a.y = vv_check_floats(check, (size_t)rows * OUTPUTS);
        vv_check_variants(check, &vv_gemv, &a, "%s, %d outputs, %d rows of %zu", f->name, OUTPUTS,
                          (int)rows, width);
        vv_check_reset(check);
    }
}

/* Rows so long that blocks of some kernels hold few of them, the last block fewer. */
static void check_long_rows(struct vv_check *check) {
    static const int types[] = {VV_TYPE_Q8_0, VV_TYPE_F16, VV_TYPE_F32};
    enum { OUTPUTS = 21, WIDTH = 4096 };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        for (int32_t rows = 1; rows <= 3; rows += 2) {
            struct vv_gemv a = make(check, types[i], WIDTH, OUTPUTS, &rows);
            a.y = vv_check_floats(check, (size_t)rows * OUTPUTS);
            vv_check_variants(check, &vv_gemv, &a, "%s, %d outputs, %d rows of %d",
                              vv_format(types[i])->name, OUTPUTS, (int)rows, WIDTH);
            vv_check_reset(check);
        }
    }
}

/* Few outputs of floats by many rows, which end within a block's; and of rows so long that a block
 * has memory for the sums of no more outputs than there are. */
static void check_few_outputs(struct vv_check *check) {
    static const int types[] = {VV_TYPE_F32, VV_TYPE_F16, VV_TYPE_BF16};
    static const size_t outputs[] = {1, 24, 63, 130}, widths[] = {1664, 1701};
    const int32_t rows = 37;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        for (size_t o = 0; o < sizeof outputs / sizeof *outputs; o++) {
            for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
                struct vv_gemv a = make(check, types[i], widths[w], outputs[o], &rows);
                a.y = vv_check_floats(check, (size_t)rows * outputs[o]);
                vv_check_variants(check, &vv_gemv, &a, "%s, %zu outputs, %d rows of %zu",
                                  vv_format(types[i])->name, outputs[o], (int)rows, widths[w]);
                vv_check_reset(check);
            }
        }
    }
    const size_t long_width = 16384;
    struct vv_gemv a = make(check, VV_TYPE_F32, long_width, 24, &rows);
    a.y = vv_check_floats(check, (size_t)rows * 24);
    vv_check_variants(check, &vv_gemv, &a, "24 outputs, %d rows of %zu", (int)rows, long_width);
    vv_check_reset(check);
}

/* ---- misreadings ---- */

enum misreading {
    RIGHT,
    OTHER_PLANES,
    NEXT_SCALE,     /* d_x of the next unit */
    NEXT_ROW,       /* q of the next row of activations */
    NEXT_OUTPUT,    /* the next weight row */
    NEXT_SUB_SCALE, /* super: of the next 16 values; block: d of the next step */
    SIGN_OF_MIN,
    NEXT_SUM,  /* sum16 of the next 16 values */
    BRACKETS,  /* d * (d_x * integer) */
    UNFUSED,   /* a product and a sum for an fma */
    DESCENDING /* segments added from the last to the first */
};
static const char *const misreading_name[] = {
    "",
    "the other planes",
    "the next unit's activation scale",
    "the next row's q",
    "the next output's weights",
    "the next sub-scale",
    "the offset's sign",
    "the next sum16",
    "d * (d_x * integer)",
    "no fma",
    "segments in descending order",
};

struct reading {
    const struct vv_gemv *a;
    enum misreading how;
    const struct vv_format *f;
    size_t rows;
};

/* Product and sum of one step of either kind: at `first`, `values` of it. */
static float step(const struct reading *m, float d, float dx, int32_t dot, float s) {
    if (m->how == BRACKETS) {
        return fmaf(d, dx * (float)dot, s);
    }
    return m->how == UNFUSED ? (d * dx) * (float)dot + s : fmaf(d * dx, (float)dot, s);
}

static float segment(const struct reading *m, const struct vv_segment *w, size_t values, size_t r,
                     size_t first) {
    const struct vv_planes *p = &m->a->x;
    size_t width = p->width;
    bool super = m->f->step == 0, coarse = super != (m->how == OTHER_PLANES);
    size_t qr = m->how == NEXT_ROW ? (r + 1) % m->rows : r, length = super ? 128 : m->f->step;
    const int8_t *q = (coarse ? p->coarse_q : p->fine_q) + qr * width + first;
    const int16_t *sum16 = (coarse ? p->coarse_sum16 : p->fine_sum16) + (qr * width + first) / 16;
    float s = 0.0f;
    for (size_t at = 0; at < values; at += length) {
        size_t unit = coarse ? 128 : 32, units = (width + unit - 1) / unit;
        size_t scale = (first + at) / unit + (m->how == NEXT_SCALE);
        float dx = (coarse ? p->coarse_scale : p->fine_scale)[r * units + scale % units];
        size_t next = m->how == NEXT_SUB_SCALE, steps = values / length;
        int32_t dot = 0, sum = 0;
        for (size_t i = at; i < at + length; i++) {
            dot += w->w[i] * q[i] * (super ? w->scale[(i / 16 + next) % 8] : 1);
        }
        for (size_t k = at / 16; k < (at + length) / 16; k++) {
            size_t from = m->how == NEXT_SUM ? (k + 1) % (values / 16) : k;
            sum += sum16[from] * (super && m->f->has_offset ? w->min[k] : 1);
        }
        float d = super ? w->d : w->step_d[(at / length + next) % steps];
        s = step(m, d, dx, dot, s);
        if (m->f->has_offset) {
            float offset = super ? -w->dmin : w->step_m[at / length];
            s = step(m, m->how == SIGN_OF_MIN ? -offset : offset, dx, sum, s);
        }
    }
    return s;
}

static float product(const struct reading *m, size_t r, size_t o) {
    const struct vv_weight *w = m->a->weight;
    size_t segments = (w->width + 127) / 128, from = m->how == NEXT_OUTPUT ? o + 1 : o;
    float y = 0.0f;
    for (size_t k = 0; k < segments; k++) {
        size_t s = m->how == DESCENDING ? segments - 1 - k : k, first = 128 * s;
        size_t values = w->width - first < 128 ? w->width - first : 128;
        struct vv_segment g;
        m->f->unpack(w->data + from % w->rows * w->row_bytes, m->f->block_bytes, s, values, &g);
        y += segment(m, &g, values, r, first);
    }
    return y;
}

/* Whether the format has what the misreading is about. MXFP4's and NVFP4's scales have so few bits
 * that brackets cannot show; a fork's Q2_0 and Q1_0 have one scale a segment. */
static bool applies(enum misreading how, const struct vv_format *f) {
    bool one_scale = f->type == VV_TYPE_Q1_0 || f->type == VV_TYPE_TQ1_0 ||
                     f->type == VV_TYPE_TQ2_0 || f->type == VV_TYPE_Q2_0_128;
    bool few_bits = f->type == VV_TYPE_MXFP4 || f->type == VV_TYPE_NVFP4;
    switch (how) {
    case NEXT_SUB_SCALE:
        return !one_scale;
    case SIGN_OF_MIN:
        return f->has_offset;
    case NEXT_SUM:
        return f->has_offset;
    case BRACKETS:
        return !few_bits;
    case UNFUSED:
        return f->step != 0 || f->has_offset;
    default:
        return true;
    }
}

static void check_misreadings(struct vv_check *check, const struct vv_format *f) {
    enum { ROWS = 4, OUTPUTS = 24, WIDTH = 768 };
    const int32_t rows = ROWS;
    struct vv_gemv a = make(check, f->type, WIDTH, OUTPUTS, &rows);
    float *right = a.y = vv_check_floats(check, ROWS * OUTPUTS);
    float *wrong = vv_check_floats(check, ROWS * OUTPUTS);
    vv_check_true(check, vv_gemv.variants->run(&a, 0, OUTPUTS) == VV_OK, "%s: fails", f->name);
    for (enum misreading how = RIGHT; how <= DESCENDING; how++) {
        struct reading m = {&a, how, f, ROWS};
        for (size_t i = 0; applies(how, f) && i < ROWS * OUTPUTS; i++) {
            wrong[i] = product(&m, i / OUTPUTS, i % OUTPUTS);
        }
        if (how == RIGHT) {
            vv_check_true(check, memcmp(right, wrong, ROWS * OUTPUTS * sizeof *right) == 0,
                          "%s: the check's own formula differs from the reference", f->name);
        } else if (applies(how, f)) {
            char name[80] = "";
            snprintf(name, sizeof name, "%s: %s", f->name, misreading_name[how]);
            vv_check_misreading(check, name, right, wrong, ROWS * OUTPUTS, 0.0);
        }
    }
    a.x.float_only = true;
    a.y = wrong;
    vv_check_true(check, vv_gemv.variants->run(&a, 0, OUTPUTS) == VV_OK, "%s: fails", f->name);
    vv_check_misreading(check, "planes in the validation mode", right, wrong, ROWS * OUTPUTS, 0.0);
    vv_check_reset(check);
}

/* ---- refusals ---- */

static void check_refusal(struct vv_check *check, struct vv_gemv *a, const char *what) {
    vv_check_refuses(check, &vv_gemv, a, VV_ERROR_NOT_FINITE, "%s", what);
    vv_check_reset(check);
}

static void check_refusals(struct vv_check *check) {
    const int32_t rows = 2;
    struct vv_gemv a = make(check, VV_TYPE_MXFP4, 160, 5, &rows);
    a.y = vv_check_floats(check, 10);
    uint8_t *last = (uint8_t *)(uintptr_t)a.weight->data + 5 * a.weight->row_bytes - 17;
    memset(last, 0x77, 17); /* every code the largest */
    last[0] = 255;
    memset(a.x.fine_q + 160 + 128, 127, 32);
    a.x.fine_panel = NULL; /* made before */
    check_refusal(check, &a, "MXFP4 with a scale of 2^127");

    a = make(check, VV_TYPE_NVFP4, 64, 3, &rows);
    a.y = vv_check_floats(check, 6);
    float *scale = vv_check_floats(check, 1);
    *scale = INFINITY;
    a.weight->scale = scale;
    check_refusal(check, &a, "NVFP4 with an infinite separate scale");

    a = make(check, VV_TYPE_F32, 33, 3, &rows);
    a.y = vv_check_floats(check, 6);
    ((float *)(uintptr_t)a.x.x)[65] = NAN;
    check_refusal(check, &a, "NaN among float activations");
}

/* ---- vv_rows_dot with a list of rows, which gemv itself never passes ---- */

typedef void rows_dot(const struct vv_weight_row *w, const struct vv_planes *x, const int32_t *row,
                      size_t rows, float *y, size_t y_stride);
static const struct {
    uint32_t needs;
    rows_dot *dot;
} copies[] = {
    {VV_CPU_ANY, vv_rows_dot},
#ifdef __x86_64__
    {VV_CPU_AVX2, vv_rows_dot_avx2},
    {VV_CPU_AVX512, vv_rows_dot_avx512},
#endif
};

static void check_picked(struct vv_check *check, const struct vv_format *f) {
    enum { ROWS = 12, PICKED = 19 };
    const int32_t rows = ROWS;
    struct vv_gemv a = make(check, f->type, 512, 1, &rows);
    a.y = vv_check_floats(check, ROWS);
    int32_t *row = vv_check_memory(check, PICKED * sizeof *row);
    for (size_t i = 0; i < PICKED; i++) {
        row[i] = (int32_t)vv_check_below(check, ROWS);
    }
    vv_check_true(check, vv_gemv.variants->run(&a, 0, 1) == VV_OK, "%s: fails", f->name);
    struct vv_weight_row w = vv_weight_row(a.weight, 0, 0);
    for (size_t c = 0; c < sizeof copies / sizeof *copies; c++) {
        if (copies[c].needs & ~vv_cpu_features()) {
            continue;
        }
        float *y = vv_check_floats(check, 2 * PICKED);
        copies[c].dot(&w, &a.x, row, PICKED, y, 2);
        bool same = true;
        for (size_t i = 0; i < PICKED; i++) {
            same = same && memcmp(&y[2 * i], &a.y[row[i]], sizeof *y) == 0;
        }
        vv_check_true(check, same, "%s: a list of rows differs from the rows", f->name);
    }
    vv_check_reset(check);
}

void vv_gemv_check(struct vv_check *check) {
    static const size_t widths[] = {1,   2,   15,  16,  17,  32,  33,  64,  96,  127, 128,
                                    129, 160, 192, 256, 300, 320, 384, 512, 640, 2560};
    static const size_t outputs[] = {1, 3, 4, 5, 9, 15, 16, 17, 33}; /* panels have 16 */
    const size_t n = sizeof widths / sizeof *widths - (vv_check_quick(check) ? 1 : 0);
    for (size_t index = 0; vv_format_at(index); index++) {
        const struct vv_format *f = vv_format_at(index);
        if (f->arithmetic == VV_ARITHMETIC_NONE) {
            continue;
        }
        for (size_t i = 0; i < n; i++) {
            for (int32_t rows = 1; widths[i] % f->block_values == 0 && rows <= 10; rows++) {
                size_t o = vv_check_below(check, sizeof outputs / sizeof *outputs);
                check_case(check, f->type, widths[i], outputs[o], rows == 10 ? 33 : rows);
            }
        }
        if (f->arithmetic != VV_ARITHMETIC_FLOAT) {
            check_misreadings(check, f);
        }
        check_picked(check, f);
    }
    check_bounds(check);
    check_passes(check);
    check_blocks(check);
    check_long_rows(check);
    check_few_outputs(check);
    check_refusals(check);
}

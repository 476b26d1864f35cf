/*
 * Both roundings against double precision, and the ways in which engines have misread them: sums of
 * integers are exact, so that the Hadamard transform is too, and the comparison is one of bits.
 */
#include "op/cache_round/internal.h"
#include "op/check_oracle.h"
#include "quant/format.h"

enum reading {
    RIGHT,
    SCALE_BELOW,  /* floor instead of ceil of the logarithm */
    SCALE_OF_MAX, /* A / largest, no power of two */
    ONE_SCALE,    /* for the whole row */
    HALF_BLOCKS,
    TWICE_BLOCKS,
    TOWARDS_ZERO,
    AWAY_ON_TIES,
    ONE_BIT_LESS,  /* of mantissa */
    NO_SUBNORMALS, /* 0 for them */
    COMMON_END,
    FNUZ = COMMON_END, /* largest value 240 */
    FP8_END,
    NO_HADAMARD = COMMON_END,
    NO_FACTOR,     /* sums not multiplied by 1 / sqrt(width) */
    WITHIN_BLOCKS, /* a transform of each 32 values */
    SEQUENCY,      /* rows of the transform by sign changes */
    NEIGHBOURS,    /* values 2i and 2i + 1 share a byte */
    FP4_END
};

static const char *const common_name[COMMON_END] = {
    "right",         "scale below",  "scale of the largest value", "one scale for the row",
    "half blocks",   "twice blocks", "rounded towards zero",       "away from zero on ties",
    "one bit fewer", "subnormals 0"};

/* ---- one block format, in doubles ---- */

struct grid {
    size_t block;
    double floor, most;
    int mantissa, lowest; /* exponent below which steps stay */
};
static const struct grid fp8 = {64, 1e-4f, 448, 3, -6}, fp4 = {32, 6 * 0x1p-126, 6, 1, 0};

static double on_grid(double v, const struct grid *g, enum reading how) {
    int e = v == 0 ? g->lowest : ilogb(v);
    bool low = e < g->lowest;
    int bits = g->mantissa - (how == ONE_BIT_LESS);
    double step = ldexp(1, (low ? g->lowest : e) - bits), n = fabs(v) / step;
    n = how == TOWARDS_ZERO ? floor(n) : how == AWAY_ON_TIES ? floor(n + 0.5) : rint(n);
    n = how == NO_SUBNORMALS && low ? 0 : n;
    return copysign(fmin(n * step, g->most), v);
}

static double scale_of(const double *x, size_t n, const struct grid *g, enum reading how) {
    double a = g->floor;
    for (size_t i = 0; i < n; i++) {
        a = fmax(a, fabs(x[i]));
    }
    double logarithm = log2(a / g->most);
    return how == SCALE_OF_MAX  ? a / g->most
           : how == SCALE_BELOW ? ldexp(1, (int)floor(logarithm))
                                : ldexp(1, (int)ceil(logarithm));
}

static void oracle(double *x, size_t n, const struct grid *g, enum reading how) {
    size_t block = how == ONE_SCALE      ? n
                   : how == HALF_BLOCKS  ? g->block / 2
                   : how == TWICE_BLOCKS ? g->block * 2
                                         : g->block;
    for (size_t at = 0; at < n; at += block) {
        size_t count = n - at < block ? n - at : block;
        double s = scale_of(x + at, count, g, how);
        for (size_t i = at; i < at + count; i++) {
            x[i] = s * on_grid(x[i] / s, g, how);
        }
    }
}

/* ---- round_fp8 ---- */

static struct vv_round_fp8 *new_fp8(struct vv_check *check, int32_t rows, size_t width,
                                    size_t ratio) {
    struct vv_round_fp8 *a = vv_check_memory(check, sizeof *a);
    int32_t firsts[2] = {(int32_t)vv_check_below(check, 300), 5}, sequences = rows < 2 ? 1 : 2;
    struct vv_window *w = vv_check_window(check, rows, sequences, firsts, 10);
    size_t stride = width + vv_check_below(check, 70);
    float *x = vv_check_adversarial(check, ((size_t)rows - 1) * stride + width);
    *a = (struct vv_round_fp8){x, stride, width, ratio, w, {&w->rows, 1}};
    return a;
}

static void fp8_bits(struct vv_check *check) {
    static const size_t widths[] = {1, 31, 63, 64, 65, 100, 128, 448, 449};
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        for (int32_t rows = 1; rows <= 9; rows += 4) {
            size_t ratio = rows == 5 ? 4 : 1;
            struct vv_round_fp8 *a = new_fp8(check, rows, widths[i], ratio);
            vv_check_variants(check, &vv_round_fp8, a, "%d rows of %zu, ratio %zu", rows, widths[i],
                              ratio);
            vv_check_reset(check);
        }
    }
}

/* Halves of the last bit, magnitudes over twenty powers of two, a block of tiny values. */
static void fp8_readings(struct vv_check *check) {
    enum { ROWS = 4, WIDTH = 448, N = ROWS * WIDTH };
    struct vv_round_fp8 *a = new_fp8(check, ROWS, WIDTH, 1);
    a->stride = WIDTH;
    a->x = vv_check_floats(check, N);
    double *x = vv_check_doubles(check, N), *y = vv_check_doubles(check, N);
    for (size_t i = 0; i < N; i++) {
        float value = (float)(int)vv_check_below(check, 64) - 31.5f;
        float size = ldexpf(1, (int)vv_check_below(check, 20) - 20);
        a->x[i] = i / 64 == 9 ? 1e-6f * value : value * size;
        x[i] = (double)a->x[i];
    }
    vv_check_variants(check, &vv_round_fp8, a, "ties and subnormals");
    for (enum reading how = RIGHT; how < FP8_END; how++) {
        struct grid g = fp8;
        g.most = how == FNUZ ? 240 : g.most;
        memcpy(y, x, N * sizeof *y);
        for (size_t r = 0; r < ROWS; r++) {
            oracle(y + r * WIDTH, WIDTH, &g, how);
        }
        if (how == RIGHT) {
            vv_check_near(check, "E4M3", a->x, y, N, 0);
        } else {
            vv_check_misreading(check, how == FNUZ ? "FNUZ" : common_name[how], a->x,
                                vv_check_narrow(check, y, N), N, 1e-8);
        }
    }
    vv_check_reset(check);
}

static void fp8_refusals(struct vv_check *check) {
    static const float bad[] = {INFINITY, -INFINITY, NAN, 0x1p80f};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct vv_round_fp8 *a = new_fp8(check, 2, 70, 1);
        for (size_t k = 0; k < a->stride + 70; k++) {
            a->x[k] = 1;
        }
        a->x[a->stride + 69] = bad[i];
        vv_check_refuses(check, &vv_round_fp8, a, VV_ERROR_NOT_FINITE, "%g", (double)bad[i]);
        vv_check_reset(check);
    }
}

/* ---- round_fp4 ---- */

static struct vv_round_fp4 *new_fp4(struct vv_check *check, int32_t rows, size_t heads,
                                    size_t width, size_t ratio, bool keys) {
    struct vv_round_fp4 *a = vv_check_memory(check, sizeof *a);
    int32_t firsts[2] = {(int32_t)vv_check_below(check, 300), 5}, sequences = rows < 2 ? 1 : 2;
    struct vv_window *w = vv_check_window(check, rows, sequences, firsts, 10);
    size_t n = (size_t)rows, stride = heads * width + vv_check_below(check, 40);
    size_t bytes = width / VV_FP4_BLOCK * VV_FP4_BYTES, entries = (300 + n) / ratio;
    *a = (struct vv_round_fp4){
        .x = vv_check_adversarial(check, (n - 1) * stride + heads * width),
        .stride = stride,
        .heads = heads,
        .width = width,
        .ratio = ratio,
        .window = w,
        .rows = {&w->rows, 1},
    };
    if (keys) {
        a->to = (struct vv_state_view){.type = VV_TYPE_MXFP4, .width = width};
        a->to.entry_stride = bytes + vv_check_below(check, 5);
        a->to.slot_stride = entries * a->to.entry_stride;
        a->to.bytes = (size_t)sequences * a->to.slot_stride;
        a->to.base = vv_check_memory(check, a->to.bytes);
    } else {
        a->y = vv_check_memory(check, n * heads * bytes);
    }
    return a;
}

static void fp4_bits(struct vv_check *check) {
    for (size_t width = 32; width <= VV_FP4_WIDTH_MAX; width *= 2) {
        for (int32_t rows = 1; rows <= 9; rows += 2) {
            bool keys = rows % 4 == 1;
            size_t heads = keys ? 1 : 1 + vv_check_below(check, 5), ratio = rows < 7 ? 1 : 4;
            struct vv_round_fp4 *a = new_fp4(check, rows, heads, width, ratio, keys);
            vv_check_variants(check, &vv_round_fp4, a,
                              "%d rows of %zu vectors of %zu, ratio %zu, %s", rows, heads, width,
                              ratio, keys ? "into a state" : "into rows");
            vv_check_reset(check);
        }
    }
}

/* In a state every `ratio`-th position of a sequence has an entry: it holds what the row's vector
 * gives by itself. */
static void fp4_entries(struct vv_check *check, size_t ratio) {
    enum { ROWS = 9, WIDTH = 64, BYTES = WIDTH / VV_FP4_BLOCK * VV_FP4_BYTES };
    struct vv_round_fp4 *a = new_fp4(check, ROWS, 1, WIDTH, ratio, true), *b;
    b = new_fp4(check, ROWS, 1, WIDTH, 1, false);
    b->x = a->x;
    b->stride = a->stride;
    vv_check_variants(check, &vv_round_fp4, a, "entries of every %zu", ratio);
    vv_check_variants(check, &vv_round_fp4, b, "the same vectors into rows");
    for (size_t r = 0; r < ROWS; r++) {
        size_t next = (size_t)a->window->position[r] + 1, slot = (size_t)a->window->slot[r];
        if (next % ratio == 0) {
            size_t at = slot * a->to.slot_stride + (next / ratio - 1) * a->to.entry_stride;
            vv_check_true(check, memcmp(a->to.base + at, b->y + r * BYTES, BYTES) == 0,
                          "row %zu is not in its entry, ratio %zu", r, ratio);
        }
    }
    vv_check_reset(check);
}

/* Sign of element (row, column) of the transform. */
static double hadamard_sign(size_t row, size_t column) {
    return __builtin_popcountll(row & column) % 2 ? -1 : 1;
}

/* The row of the natural order that has `changes` sign changes. */
static size_t by_changes(size_t changes, size_t n) {
    for (size_t row = 0; row < n; row++) {
        size_t count = 0;
        for (size_t i = 1; i < n; i++) {
            count += hadamard_sign(row, i) != hadamard_sign(row, i - 1);
        }
        if (count == changes) {
            return row;
        }
    }
    return 0;
}

static void transform(const float *x, size_t width, enum reading how, double *y) {
    double unit = how == NO_FACTOR ? 1 : (double)(float)(1 / sqrt((double)width));
    for (size_t k = 0; k < width; k++) {
        size_t row = how == SEQUENCY ? by_changes(k, width) : k;
        double sum = 0;
        for (size_t i = 0; i < width; i++) {
            bool near = how != WITHIN_BLOCKS || i / VV_FP4_BLOCK == row / VV_FP4_BLOCK;
            sum += near ? hadamard_sign(row, i) * (double)x[i] : 0;
        }
        y[k] = how == NO_HADAMARD ? (double)x[k] : (double)(float)(sum * unit);
    }
}

/* What is decoded if neighbours had shared the bytes. */
static void pair_neighbours(double *y, size_t width) {
    for (size_t at = 0; at < width; at += VV_FP4_BLOCK) {
        double block[VV_FP4_BLOCK];
        memcpy(block, y + at, sizeof block);
        for (size_t i = 0; i < VV_FP4_BLOCK; i++) {
            y[at + i] = block[i < 16 ? 2 * i : 2 * i - 31];
        }
    }
}

static void fp4_readings(struct vv_check *check, size_t width) {
    static const char *const name[] = {"no Hadamard", "no 1 / sqrt(width)", "within blocks",
                                       "by sign changes", "neighbours share bytes"};
    enum { ROWS = 3, HEADS = 2 };
    size_t n = ROWS * HEADS * width;
    struct vv_round_fp4 *a = new_fp4(check, ROWS, HEADS, width, 1, false);
    float *x = vv_check_floats(check, n), *got = vv_check_floats(check, n);
    double *y = vv_check_doubles(check, n);
    for (size_t i = 0; i < n; i++) {
        x[i] = 4 * ((float)(int)vv_check_below(check, 9) - 4);
    }
    for (size_t v = 0; v < ROWS * HEADS; v++) {
        for (size_t i = 0; i < width; i++) { /* low sequencies: blocks of unlike magnitude */
            x[v * width + i] += v % 2 ? 24 * (float)hadamard_sign(1 + i % 3, i) : 0;
        }
    }
    x[0] += 256; /* halves of unlike magnitude, of each block of the first vector */
    x[VV_FP4_BLOCK / 2] += 256;
    if (width > VV_FP4_BLOCK) { /* blocks, of the third */
        x[2 * width] += 256;
        x[2 * width + VV_FP4_BLOCK] += 256;
    }
    a->x = x;
    a->stride = HEADS * width;
    vv_check_variants(check, &vv_round_fp4, a, "whole numbers, vectors of %zu", width);
    vv_format(VV_TYPE_MXFP4)->decode(a->y, got, n);
    for (enum reading how = RIGHT; how < FP4_END; how++) {
        for (size_t v = 0; v < ROWS * HEADS; v++) {
            transform(x + v * width, width, how, y + v * width);
            oracle(y + v * width, width, &fp4, how);
            if (how == NEIGHBOURS) {
                pair_neighbours(y + v * width, width);
            }
        }
        bool square = width == 64 || width == 256,
             blind = width == VV_FP4_BLOCK &&
                     (how == ONE_SCALE || how == TWICE_BLOCKS || how == WITHIN_BLOCKS);
        if (how == RIGHT) {
            vv_check_near(check, "E2M1 of the transform", got, y, n, 0);
        } else if (!blind && (how != AWAY_ON_TIES || square)) { /* other factors leave no ties */
            vv_check_misreading(check, how < COMMON_END ? common_name[how] : name[how - COMMON_END],
                                got, vv_check_narrow(check, y, n), n, 1e-3);
        }
    }
    vv_check_reset(check);
}

static void fp4_refusals(struct vv_check *check) {
    static const float bad[] = {INFINITY, -INFINITY, NAN, 0x1p87f};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct vv_round_fp4 *a = new_fp4(check, 3, 2, 64, 1, false);
        float *x = vv_check_normals(check, 2 * a->stride + 128);
        x[2 * a->stride + 127] = bad[i];
        a->x = x;
        vv_check_refuses(check, &vv_round_fp4, a, VV_ERROR_NOT_FINITE, "%g", (double)bad[i]);
        vv_check_reset(check);
    }
}

void vv_cache_round_check(struct vv_check *check) {
    fp8_bits(check);
    fp8_readings(check);
    fp8_refusals(check);
    fp4_bits(check);
    fp4_entries(check, 1);
    fp4_entries(check, 2);
    for (size_t width = 32; width <= 256; width *= 2) {
        fp4_readings(check, width);
    }
    fp4_refusals(check);
}

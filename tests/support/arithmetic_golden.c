#include "support/arithmetic_golden.h"
#include "base/math.h"
#include "op/gemv/contract.h"
#include "op/quantize_rows/contract.h"
#include "quant/dot.h"
#include "quant/format.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static char path[4096];

static void open_file(struct golden *g, const char *folder, const char *name) {
    snprintf(path, sizeof path, "%s/%s.gguf", folder, name);
    golden_open(g, path);
}

static bool runs_here(const struct vv_variant *v, const void *args) {
    return (v->needs & ~vv_cpu_features()) == 0 && (!v->fits || v->fits(args));
}

/* ---- quantize_rows ---- */

enum { VALUES_MAX = 16 * 256 };

struct made_planes {
    int8_t coarse_q[VALUES_MAX], fine_q[VALUES_MAX];
    float coarse_scale[VALUES_MAX / 32], fine_scale[VALUES_MAX / 32];
    int16_t coarse_sum16[VALUES_MAX / 16], fine_sum16[VALUES_MAX / 16];
};

/* Poisons `to` and has a variant make all planes of x [rows][width]. */
static struct vv_planes quantise(const struct vv_variant *v, const float *x, size_t rows,
                                 size_t width, struct made_planes *to) {
    int32_t count = (int32_t)rows;
    memset(to, 0xa5, sizeof *to);
    struct vv_planes p = {.width = width,
                          .x = x,
                          .coarse_q = to->coarse_q,
                          .coarse_scale = to->coarse_scale,
                          .coarse_sum16 = to->coarse_sum16,
                          .fine_q = to->fine_q,
                          .fine_scale = to->fine_scale,
                          .fine_sum16 = to->fine_sum16};
    struct vv_quantize_rows args = {p, {&count, 1}};
    if (v->run(&args, 0, vv_quantize_rows.units(&args)) != VV_OK) {
        memset(to, 0xa5, sizeof *to);
    }
    return p;
}

struct plane {
    const char *name;
    const void *got;
    int type;
    size_t element_bytes, elements;
};

static void compare_planes(struct golden *g, const struct vv_variant *v, const char *prefix,
                           const struct vv_planes *p, size_t rows) {
    size_t values = rows * p->width, coarse = vv_plane_scales(p->width, VV_COARSE_UNIT);
    const struct plane planes[] = {
        {"q", p->coarse_q, VV_TYPE_I8, 1, values},
        {"scale", p->coarse_scale, VV_TYPE_F32, 4, rows * coarse},
        {"sum16", p->coarse_sum16, VV_TYPE_I16, 2, values / 16},
        {"fine.q", p->fine_q, VV_TYPE_I8, 1, values},
        {"fine.scale", p->fine_scale, VV_TYPE_F32, 4, values / 32},
        {"fine.sum16", p->fine_sum16, VV_TYPE_I16, 2, values / 16},
    };
    for (size_t i = 0; i < sizeof planes / sizeof *planes; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s%s", prefix, planes[i].name);
        if (*prefix && !vv_gguf_find_tensor(g->file, name)) {
            continue; /* the ragged rows have some of them */
        }
        const void *want = golden_tensor(g, name, planes[i].type, planes[i].elements);
        bool same =
            want && memcmp(want, planes[i].got, planes[i].elements * planes[i].element_bytes) == 0;
        golden_verdict(g, same, "%s: %s differs", v->name, name);
    }
}

static void run_quantize_rows(struct golden *g, const char *folder) {
    enum { ROWS = 16, WIDTH = 256, CUT = 160 };
    static struct made_planes made;
    static float cut[ROWS * CUT];
    open_file(g, folder, "quantize_rows");
    const float *x = golden_tensor(g, "x", VV_TYPE_F32, ROWS * WIDTH);
    for (const struct vv_variant *v = vv_quantize_rows.variants; x && v->name; v++) {
        if (!runs_here(v, NULL)) {
            continue;
        }
        struct vv_planes p = quantise(v, x, ROWS, WIDTH, &made);
        compare_planes(g, v, "", &p, ROWS);
        for (size_t r = 0; r < ROWS; r++) {
            memcpy(cut + r * CUT, x + r * WIDTH, CUT * sizeof *x);
        }
        p = quantise(v, cut, ROWS, CUT, &made);
        compare_planes(g, v, "ragged.", &p, ROWS);
    }
    golden_close(g);
}

/* ---- quantised products ---- */

enum { OUTPUTS = 8, ACTIVATIONS = 4, K = 512, SEGMENTS = K / 128 };

/* Runs a variant of gemv, with its own order of weights if it has one. */
static int gemv(const struct vv_variant *v, const struct vv_planes *x, size_t rows, int type,
                const uint8_t *blocks, size_t row_bytes, size_t outputs, float *y) {
    static uint8_t packed[1 << 16];
    int32_t count = (int32_t)rows;
    struct vv_weight w = {"golden", type, x->width, outputs, 1, row_bytes, blocks, NULL, NULL};
    if (v->layout) {
        v->layout->pack(&w, packed);
        w.data = packed;
        w.layout = v->layout;
    }
    struct vv_gemv args = {*x, &w, y, outputs, {&count, 1}};
    if (!runs_here(v, &args)) {
        return VV_ERROR_UNSUPPORTED;
    }
    memset(y, 0xa5, rows * outputs * sizeof *y);
    return v->run(&args, 0, outputs);
}

/* s of segment `s`, weight row `o` and activation row `r`. */
static float segment(const struct vv_format *f, const uint8_t *blocks, const struct vv_planes *x,
                     size_t s, size_t o, size_t r) {
    struct vv_segment g;
    size_t row_bytes = K / f->block_values * f->block_bytes, at = r * K + 128 * s;
    f->unpack(blocks + o * row_bytes, f->block_bytes, s, 128, &g);
    if (f->arithmetic == VV_ARITHMETIC_SUPER) {
        vv_fold_scales(&g);
        return vv_dot_super(&g, f->has_offset, x->coarse_q + at, x->coarse_scale[at / 128],
                            x->coarse_sum16 + at / 16);
    }
    return vv_dot_block(&g, f->has_offset, (int)f->step, 128, x->fine_q + at,
                        x->fine_scale + at / 32, x->fine_sum16 + at / 16);
}

static void run_format(struct golden *g, const struct vv_format *f, const float *shared) {
    static struct made_planes made;
    float x[ACTIVATIONS * K];
    char name[4][48], lower[16];
    size_t n = 0, row_bytes = K / f->block_values * f->block_bytes;
    for (; f->name[n] && n + 1 < sizeof lower; n++) {
        lower[n] = (char)tolower((unsigned char)f->name[n]);
    }
    lower[n] = 0;
    const char *const parts[] = {"x", "blocks", "segments", "y"};
    for (int i = 0; i < 4; i++) {
        snprintf(name[i], sizeof name[i], "%s.%s", lower, parts[i]);
    }
    const float *own = golden_tensor(g, name[0], VV_TYPE_F32, K);
    const uint8_t *blocks = golden_tensor(g, name[1], VV_TYPE_I8, OUTPUTS * row_bytes);
    const float *segments =
        golden_tensor(g, name[2], VV_TYPE_F32, SEGMENTS * OUTPUTS * ACTIVATIONS);
    const float *want = golden_tensor(g, name[3], VV_TYPE_F32, OUTPUTS * ACTIVATIONS);
    if (!own || !blocks || !segments || !want) {
        return;
    }
    memcpy(x, shared, 3 * K * sizeof *x);
    memcpy(x + 3 * K, own, K * sizeof *x);
    struct vv_planes p = quantise(vv_quantize_rows.variants, x, ACTIVATIONS, K, &made);
    for (size_t i = 0; i < SEGMENTS * OUTPUTS * ACTIVATIONS; i++) {
        size_t s = i % SEGMENTS, o = i / SEGMENTS % OUTPUTS, r = i / SEGMENTS / OUTPUTS;
        float got = segment(f, blocks, &p, s, o, r);
        golden_verdict(g, golden_same_floats(&got, &segments[i], 1),
                       "%s: segment %zu of output %zu, row %zu: %a, not %a", f->name, s, o, r,
                       (double)got, (double)segments[i]);
    }
    for (const struct vv_variant *v = vv_gemv.variants; v->name; v++) {
        float y[OUTPUTS * ACTIVATIONS];
        int code = gemv(v, &p, ACTIVATIONS, f->type, blocks, row_bytes, OUTPUTS, y);
        if (code != VV_ERROR_UNSUPPORTED) {
            golden_verdict(g, code == VV_OK && golden_same_floats(y, want, OUTPUTS * ACTIVATIONS),
                           "%s: %s differs", v->name, f->name);
        }
    }
}

static void run_ragged(struct golden *g, const float *shared) {
    enum { WIDTHS = 5, ROWS = 3, ROW_BYTES = K / 32 * 34 };
    static struct made_planes made;
    const uint8_t *blocks = golden_tensor(g, "ragged.blocks", VV_TYPE_I8, OUTPUTS * ROW_BYTES);
    const int32_t *widths = golden_tensor(g, "ragged.widths", VV_TYPE_I32, WIDTHS);
    const float *want = golden_tensor(g, "ragged.y", VV_TYPE_F32, WIDTHS * ROWS * OUTPUTS);
    for (size_t i = 0; blocks && widths && want && i < WIDTHS; i++) {
        size_t width = (size_t)widths[i];
        float x[ROWS * K];
        for (size_t r = 0; r < ROWS; r++) {
            memcpy(x + r * width, shared + r * K, width * sizeof *x);
        }
        struct vv_planes p = quantise(vv_quantize_rows.variants, x, ROWS, width, &made);
        for (const struct vv_variant *v = vv_gemv.variants; v->name; v++) {
            float y[OUTPUTS * ROWS];
            /* Rows of the golden weight are longer than what is read of them: one at a time. */
            for (size_t o = 0; o < OUTPUTS; o++) {
                float one[ROWS];
                int code = gemv(v, &p, ROWS, VV_TYPE_Q8_0, blocks + o * ROW_BYTES, width / 32 * 34,
                                1, one);
                for (size_t r = 0; r < ROWS; r++) {
                    y[r * OUTPUTS + o] = code == VV_OK ? one[r] : NAN;
                }
            }
            if ((v->needs & ~vv_cpu_features()) == 0) {
                golden_verdict(g, golden_same_floats(y, want + i * ROWS * OUTPUTS, ROWS * OUTPUTS),
                               "%s: Q8_0 of %zu values differs", v->name, width);
            }
        }
    }
}

static void run_quant_dot(struct golden *g, const char *folder) {
    static struct made_planes made;
    open_file(g, folder, "quant_dot");
    const float *x = golden_tensor(g, "x", VV_TYPE_F32, 3 * K);
    for (const struct vv_variant *v = vv_quantize_rows.variants; x && v->name; v++) {
        if (runs_here(v, NULL)) {
            struct vv_planes p = quantise(v, x, 3, K, &made);
            compare_planes(g, v, "", &p, 3);
        }
    }
    for (size_t i = 0; x && vv_format_at(i); i++) {
        const struct vv_format *f = vv_format_at(i);
        bool weight = f->arithmetic == VV_ARITHMETIC_SUPER || f->arithmetic == VV_ARITHMETIC_BLOCK;
        if (weight && f->type != VV_TYPE_Q2_0_128) {
            run_format(g, f, x);
        }
    }
    if (x) {
        run_ragged(g, x);
    }
    golden_close(g);
}

/* ---- float products ---- */

static void run_float_type(struct golden *g, int type, const char *weights, const char *results) {
    enum { LONGEST = 10240, WIDTHS = 305 };
    const float *x = golden_tensor(g, "x", VV_TYPE_F32, LONGEST);
    const void *w = golden_tensor(g, weights, type, LONGEST);
    const int32_t *widths = golden_tensor(g, "widths", VV_TYPE_I32, WIDTHS);
    const float *want = golden_tensor(g, results, VV_TYPE_F32, WIDTHS);
    for (size_t i = 0; x && w && widths && want && i < WIDTHS; i++) {
        struct vv_planes p = {.width = (size_t)widths[i], .x = x};
        for (const struct vv_variant *v = vv_gemv.variants; v->name; v++) {
            float y;
            int code = gemv(v, &p, 1, type, w, p.width * vv_format(type)->block_bytes, 1, &y);
            if (code != VV_ERROR_UNSUPPORTED) {
                golden_verdict(g, code == VV_OK && golden_same_floats(&y, &want[i], 1),
                               "%s: %s, %zu values: %a, not %a", v->name, weights, p.width,
                               (double)y, (double)want[i]);
            }
        }
    }
}

static void run_float_dot(struct golden *g, const char *folder) {
    open_file(g, folder, "float_dot");
    if (g->file) {
        run_float_type(g, VV_TYPE_F32, "w_f32", "y_f32");
        run_float_type(g, VV_TYPE_F16, "w_f16", "y_f16");
        run_float_type(g, VV_TYPE_BF16, "w_bf16", "y_bf16");
    }
    golden_close(g);
}

/* ---- elementwise functions ---- */

static void run_function(struct golden *g, const char *name, const char *argument,
                         float (*function)(float)) {
    const struct vv_gguf_tensor *t = vv_gguf_find_tensor(g->file, argument);
    size_t n = t ? t->elements : 0;
    const float *x = golden_tensor(g, argument, VV_TYPE_F32, n);
    const float *want = golden_tensor(g, name, VV_TYPE_F32, n);
    for (size_t i = 0; x && want && i < n; i++) {
        float got = function(x[i]);
        golden_verdict(g, golden_same_floats(&got, &want[i], 1), "%s(%a) is %a, not %a", name,
                       (double)x[i], (double)got, (double)want[i]);
    }
}

static void run_turns(struct golden *g) {
    enum { TURNS = 1024 };
    const int64_t *turn = golden_tensor(g, "turn", VV_TYPE_I64, TURNS);
    const float *sine = golden_tensor(g, "sin", VV_TYPE_F32, TURNS);
    const float *cosine = golden_tensor(g, "cos", VV_TYPE_F32, TURNS);
    for (size_t i = 0; turn && sine && cosine && i < TURNS; i++) {
        float s, c;
        vv_sincos_turn((uint64_t)turn[i], &s, &c);
        golden_verdict(g, golden_same_floats(&s, &sine[i], 1), "sine %zu differs", i);
        golden_verdict(g, golden_same_floats(&c, &cosine[i], 1), "cosine %zu differs", i);
    }
}

static void run_elementwise(struct golden *g, const char *folder) {
    open_file(g, folder, "elementwise");
    if (g->file) {
        run_function(g, "exp", "x", vv_exp);
        run_function(g, "sigmoid", "x", vv_sigmoid);
        run_function(g, "silu", "x", vv_silu);
        run_function(g, "softplus", "x", vv_softplus);
        run_function(g, "log", "log.x", vv_log);
        run_turns(g);
    }
    golden_close(g);
}

void arithmetic_golden_run(struct golden *g, const char *folder) {
    run_quantize_rows(g, folder);
    run_quant_dot(g, folder);
    run_float_dot(g, folder);
    run_elementwise(g, folder);
}

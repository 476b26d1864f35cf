/* Dense matrices of released models. */
#include "op/gemv/contract.h"
#include "op/gemv/internal.h"
#include "op/quantize_rows/check_planes.h"
#include "quant/format.h"
#include "registry/bench.h"

void vv_gemv_bench(struct vv_bench *bench);

static const struct {
    const char *name;
    int type;
    size_t inputs, outputs;
} shapes[] = {
    {"Qwen3.8-Flash-Next attn_qkv Q8_0", VV_TYPE_Q8_0, 2560, 10240},
    {"Qwen3.8-Flash-Next attn_qkv Q5_K", VV_TYPE_Q5_K, 2560, 10240},
    {"Qwen3.8-Flash-Next attn_qkv NVFP4", VV_TYPE_NVFP4, 2560, 10240},
    {"Qwen3.8-Flash-Next attn_output Q6_K", VV_TYPE_Q6_K, 6144, 2560},
    {"Qwen3.8-Flash-Next attn_k Q8_0", VV_TYPE_Q8_0, 2560, 512},
    {"Qwen3.8-Flash-Next ffn_gate_inp F32", VV_TYPE_F32, 2560, 512},
    {"Qwen3.8-Flash-Next ssm_alpha F32", VV_TYPE_F32, 2560, 48},
    {"Qwen3.8-Flash-Next output Q6_K", VV_TYPE_Q6_K, 2560, 32768}, /* an eighth of its rows */
};

static void bench_shape(struct vv_bench *bench, size_t shape, int32_t rows) {
    struct vv_check *memory = vv_bench_check(bench);
    const struct vv_format *f = vv_format(shapes[shape].type);
    size_t n = (size_t)rows, in = shapes[shape].inputs, out = shapes[shape].outputs;
    struct vv_gemv a = {
        .x = vv_check_planes(memory, vv_check_normals(memory, n * in), n, in,
                             VV_PLANES_COARSE | VV_PLANES_FINE),
        .weight = vv_check_weight(memory, shapes[shape].type, in, out, 1),
        .y = vv_check_floats(memory, n * out),
        .y_row = out,
        .rows = {&rows, 1},
    };
    vv_bench_case(
        bench, &vv_gemv, &a, rows, shapes[shape].name,
        (struct vv_bench_work){2.0 * (double)(n * in * out), f->arithmetic != VV_ARITHMETIC_FLOAT});
}

/* ---- products of the same activations ---- */

enum { TOGETHER_MOST = 5 };

static const struct set {
    const char *name;
    size_t inputs;
    struct {
        int type;
        size_t outputs;
    } of[TOGETHER_MOST];
} sets[] = {
    {"Qwen3.8-Flash-Next attn_qkv + attn_gate + ssm_alpha + ssm_beta",
     2560,
     {{VV_TYPE_Q8_0, 10240}, {VV_TYPE_Q8_0, 6144}, {VV_TYPE_F32, 48}, {VV_TYPE_F32, 48}}},
    {"Qwen3.8-Flash-Next attn_q + attn_k + attn_v + indexer",
     2560,
     {{VV_TYPE_Q8_0, 12288},
      {VV_TYPE_Q8_0, 512},
      {VV_TYPE_Q8_0, 512},
      {VV_TYPE_BF16, 512},
      {VV_TYPE_BF16, 128}}},
    {"Qwen3.8-Flash-Next attn_k Q6_K + attn_v IQ4_XS",
     2560,
     {{VV_TYPE_Q6_K, 512}, {VV_TYPE_IQ4_XS, 512}}},
    {"Qwen3.8-Flash-Next router + shared gate + gate_shexp + up_shexp",
     2560,
     {{VV_TYPE_F32, 512}, {VV_TYPE_F32, 1}, {VV_TYPE_Q8_0, 640}, {VV_TYPE_Q8_0, 640}}},
    {"varve-tiny attn_qkv + attn_gate + ssm_alpha + ssm_beta",
     256,
     {{VV_TYPE_Q6_K, 1280}, {VV_TYPE_Q6_K, 768}, {VV_TYPE_F32, 6}, {VV_TYPE_F32, 6}}},
};

/* Results that the products of any layer share, and a set of weights for each layer. */
struct products {
    struct vv_planes x;
    struct vv_weight *weights[TOGETHER_MOST];
    float *y[TOGETHER_MOST];
    size_t count;
};

static void record(struct vv_bench *bench, const void *context, size_t layer) {
    const struct products *c = context;
    for (size_t i = 0; i < c->count; i++) {
        struct vv_weight *w = &c->weights[i][layer];
        const struct vv_gemv a = {.x = c->x,
                                  .weight = w,
                                  .y = c->y[i],
                                  .y_row = w->rows,
                                  .rows = {&vv_bench_window(bench)->rows, 1}};
        vv_bench_step(bench, &vv_gemv, &a);
    }
}

static size_t bytes_of(const struct set *s, size_t i) {
    const struct vv_format *f = vv_format(s->of[i].type);
    return s->of[i].outputs * s->inputs / f->block_values * f->block_bytes;
}

static void bench_set(struct vv_bench *bench, const struct set *s) {
    struct vv_check *memory = vv_bench_check(bench);
    size_t n = (size_t)vv_bench_rows_within(bench, 1, INT32_MAX), bytes = 0;
    struct vv_bench_work work = {0, true};
    struct products c = {0};
    for (; c.count < TOGETHER_MOST && s->of[c.count].outputs; c.count++) {
        bytes += bytes_of(s, c.count);
        work.operations += 2.0 * (double)(s->inputs * s->of[c.count].outputs);
    }
    size_t layers = vv_bench_layer_count(bench, bytes);
    c.x = vv_check_planes_as(memory, vv_check_normals(memory, n * s->inputs), n, s->inputs,
                             VV_PLANES_COARSE | VV_PLANES_FINE, vv_bench_on_host(bench));
    for (size_t i = 0; i < c.count; i++) {
        c.weights[i] = vv_bench_weights(bench, s->of[i].type, s->inputs, s->of[i].outputs, layers);
        c.y[i] = vv_check_floats(memory, n * s->of[i].outputs);
    }
    vv_bench_layers(bench, &(struct vv_bench_layers){.name = "gemv_cat",
                                                     .way = "together",
                                                     .apart = "apart",
                                                     .shape = s->name,
                                                     .least = 1,
                                                     .most = INT32_MAX,
                                                     .count = layers,
                                                     .record = record,
                                                     .context = &c,
                                                     .work = work});
}

void vv_gemv_bench(struct vv_bench *bench) {
    for (size_t s = 0; s < sizeof sets / sizeof *sets; s++) {
        if (vv_bench_wants_layers(bench, sets[s].name)) {
            bench_set(bench, &sets[s]);
        }
    }
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        for (size_t i = 0; vv_bench_rows(bench, i); i++) {
            if (vv_bench_wants(bench, &vv_gemv, shapes[s].name)) {
                bench_shape(bench, s, vv_bench_rows(bench, i));
            }
        }
    }
}

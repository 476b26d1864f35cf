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

void vv_gemv_bench(struct vv_bench *bench) {
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        for (size_t i = 0; vv_bench_rows(bench, i); i++) {
            if (vv_bench_wants(bench, &vv_gemv, shapes[s].name)) {
                bench_shape(bench, s, vv_bench_rows(bench, i));
            }
        }
    }
}

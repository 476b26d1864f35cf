/* Inputs of products in released models. */
#include "op/quantize_rows/contract.h"
#include "registry/bench.h"

void vv_quantize_rows_bench(struct vv_bench *bench);

static const struct {
    const char *name;
    size_t width;
    bool coarse, fine;
} shapes[] = {
    {"Qwen3.8-Flash-Next block input", 2560, true, true},
    {"Qwen3.8-Flash-Next streams", 10240, false, true},
    {"Qwen3.8-Flash-Next low rank", 320, false, true},
    {"Qwen3.8-Flash-Next mixer output", 6144, true, false},
    {"Qwen3.8-Flash-Next expert hidden", 640, false, true},
};

static void bench_shape(struct vv_bench *bench, size_t shape, int32_t rows) {
    struct vv_check *memory = vv_bench_check(bench);
    size_t n = (size_t)rows, width = shapes[shape].width, values = n * width;
    struct vv_quantize_rows a = {
        .planes = {.width = width, .x = vv_check_normals(memory, values)},
        .rows = {&rows, 1},
    };
    if (shapes[shape].coarse) {
        a.planes.coarse_q = vv_check_memory(memory, values);
        a.planes.coarse_scale = vv_check_floats(memory, n * vv_plane_scales(width, VV_COARSE_UNIT));
        a.planes.coarse_sum16 = vv_check_memory(memory, values / VV_SUM_UNIT * sizeof(int16_t));
    }
    if (shapes[shape].fine) {
        a.planes.fine_q = vv_check_memory(memory, values);
        a.planes.fine_scale = vv_check_floats(memory, n * vv_plane_scales(width, VV_FINE_UNIT));
        a.planes.fine_sum16 = vv_check_memory(memory, values / VV_SUM_UNIT * sizeof(int16_t));
    }
    vv_bench_case(bench, &vv_quantize_rows, &a, rows, shapes[shape].name,
                  (struct vv_bench_work){0});
}

void vv_quantize_rows_bench(struct vv_bench *bench) {
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        for (size_t i = 0; vv_bench_rows(bench, i); i++) {
            if (vv_bench_wants(bench, &vv_quantize_rows, shapes[s].name)) {
                bench_shape(bench, s, vv_bench_rows(bench, i));
            }
        }
    }
}

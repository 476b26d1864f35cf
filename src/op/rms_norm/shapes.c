/* Norms of released models. */
#include "op/rms_norm/contract.h"
#include "op/rms_norm/internal.h"
#include "registry/bench.h"

static const struct {
    const char *name;
    size_t groups, width;
} shapes[] = {
    {"Qwen3.8-Flash-Next query heads", 24, 256},
    {"Qwen3.8-Flash-Next key heads", 2, 256},
    {"Qwen3.8-Flash-Next index queries", 4, 128},
    {"Qwen3.8-Flash-Next n-gram streams", 4, 2560},
};

static void bench_shape(struct vv_bench *bench, size_t shape, int32_t rows) {
    struct vv_check *memory = vv_bench_check(bench);
    size_t width = shapes[shape].width, row = shapes[shape].groups * width;
    const struct vv_rms_norm a = {
        .x = vv_check_normals(memory, (size_t)rows * row),
        .weight = vv_check_normals(memory, width),
        .y = vv_check_floats(memory, (size_t)rows * row),
        .rows = {&rows, 1},
        .groups = shapes[shape].groups,
        .width = width,
        .x_row = row,
        .x_group = width,
        .y_row = row,
        .y_group = width,
        .eps = 1e-6f,
    };
    /* A square and its sum, a scale and a weight for each value. */
    vv_bench_case(bench, &vv_rms_norm, &a, rows, shapes[shape].name,
                  (struct vv_bench_work){4.0 * (double)((size_t)rows * row), false});
}

void vv_rms_norm_bench(struct vv_bench *bench) {
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        for (size_t i = 0; vv_bench_rows(bench, i); i++) {
            if (vv_bench_wants(bench, &vv_rms_norm, shapes[s].name)) {
                bench_shape(bench, s, vv_bench_rows(bench, i));
            }
        }
    }
}

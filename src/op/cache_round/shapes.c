/* Cache rows and index vectors of released models. */
#include "op/cache_round/internal.h"
#include "registry/bench.h"

static void bench_fp8(struct vv_bench *bench, int32_t rows) {
    enum { WIDTH = 448, STRIDE = 512 };
    struct vv_check *memory = vv_bench_check(bench);
    struct vv_window *w = vv_check_window(memory, rows, 1, NULL, 10);
    const struct vv_round_fp8 a = {
        vv_check_normals(memory, (size_t)rows * STRIDE), STRIDE, WIDTH, 1, w, {&w->rows, 1}};
    vv_bench_case(bench, &vv_round_fp8, &a, rows, "DeepSeek V4 Flash rows",
                  (struct vv_bench_work){0});
}

static void bench_fp4(struct vv_bench *bench, int32_t rows) {
    enum { HEADS = 64, WIDTH = 128, BYTES = WIDTH / VV_FP4_BLOCK * VV_FP4_BYTES };
    struct vv_check *memory = vv_bench_check(bench);
    struct vv_window *w = vv_check_window(memory, rows, 1, NULL, 10);
    const struct vv_round_fp4 a = {
        .x = vv_check_normals(memory, (size_t)rows * HEADS * WIDTH),
        .stride = HEADS * WIDTH,
        .heads = HEADS,
        .width = WIDTH,
        .y = vv_check_memory(memory, (size_t)rows * HEADS * BYTES),
        .ratio = 1,
        .window = w,
        .rows = {&w->rows, 1},
    };
    vv_bench_case(bench, &vv_round_fp4, &a, rows, "DeepSeek V4 Flash index queries",
                  (struct vv_bench_work){0});
}

void vv_cache_round_bench(struct vv_bench *bench) {
    for (size_t i = 0; vv_bench_rows(bench, i); i++) {
        if (vv_bench_wants(bench, &vv_round_fp8, "DeepSeek V4 Flash rows")) {
            bench_fp8(bench, vv_bench_rows(bench, i));
        }
        if (vv_bench_wants(bench, &vv_round_fp4, "DeepSeek V4 Flash index queries")) {
            bench_fp4(bench, vv_bench_rows(bench, i));
        }
    }
}

/* Indexers of released models. */
#include "gguf/types.h"
#include "op/index_score/internal.h"
#include "registry/bench.h"

static const struct {
    const char *name;
    size_t heads, width, ratio, keep;
    int32_t depth; /* tokens before the window */
} shapes[] = {
    {"Qwen3.8-Flash-Next indexer at 8k", 4, 128, 4, 512, 8192},
    {"Qwen3.8-Flash-Next indexer at 32k", 4, 128, 4, 512, 32768},
};

static void bench_shape(struct vv_bench *bench, size_t s, int32_t rows) {
    struct vv_check *memory = vv_bench_check(bench);
    size_t n = (size_t)rows, width = shapes[s].width, heads = shapes[s].heads;
    size_t blocks = ((size_t)shapes[s].depth + n) / shapes[s].ratio;
    const struct vv_state_view pooled = {
        .base = (uint8_t *)vv_check_normals(memory, blocks * width),
        .slot_stride = blocks * width * sizeof(float),
        .entry_stride = width * sizeof(float),
        .type = VV_TYPE_F32,
        .width = width,
        .bytes = blocks * width * sizeof(float),
    };
    const struct vv_index_score a = {
        .q = vv_check_normals(memory, n * heads * width),
        .pooled = pooled,
        .score = vv_check_floats(memory, n * blocks),
        .stride = blocks,
        .heads = heads,
        .width = width,
        .ratio = shapes[s].ratio,
        .keep = shapes[s].keep,
        .scale = 0.088f,
        .window = vv_check_window(memory, rows, 1, &shapes[s].depth, 10),
        .rows = {&rows, 1},
    };
    vv_bench_case(bench, &vv_index_score, &a, rows, shapes[s].name,
                  (struct vv_bench_work){2.0 * (double)(n * blocks * heads * width), false});
}

void vv_index_score_bench(struct vv_bench *bench) {
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        for (size_t i = 0; vv_bench_rows(bench, i); i++) {
            if (vv_bench_wants(bench, &vv_index_score, shapes[s].name)) {
                bench_shape(bench, s, vv_bench_rows(bench, i));
            }
        }
    }
}

/* Rotations of released models. */
#include "base/rotary.h"
#include "op/rope_pairs/internal.h"
#include "registry/bench.h"

static const struct {
    const char *name;
    size_t heads, width;
    bool back;
} shapes[] = {
    {"DeepSeek V4 Flash query heads", 64, 512, false},
    {"DeepSeek V4 Flash attended heads", 64, 512, true},
    {"DeepSeek V4 Flash index queries", 64, 128, false},
};

enum { DIMS = 64 };

static void bench_shape(struct vv_bench *bench, size_t s, int32_t rows) {
    static const int32_t first = 16384;
    struct vv_check *memory = vv_bench_check(bench);
    size_t row = shapes[s].heads * shapes[s].width;
    uint64_t *turn = vv_check_memory(memory, DIMS / 2 * sizeof *turn);
    for (unsigned i = 0; i < DIMS / 2; i++) {
        turn[i] = vv_rotary_turn(160000, i, DIMS);
    }
    const struct vv_rope_pairs a = {.x = vv_check_normals(memory, (size_t)rows * row) +
                                         shapes[s].width - DIMS,
                                    .rows = {&rows, 1},
                                    .window = vv_check_window(memory, rows, 1, &first, 10),
                                    .heads = shapes[s].heads,
                                    .row_stride = row,
                                    .head_stride = shapes[s].width,
                                    .dims = DIMS,
                                    .turn = turn,
                                    .back = shapes[s].back};
    vv_bench_case(
        bench, &vv_rope_pairs, &a, rows, shapes[s].name,
        (struct vv_bench_work){3.0 * (double)((size_t)rows * shapes[s].heads * DIMS), false});
}

void vv_rope_pairs_bench(struct vv_bench *bench) {
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        for (size_t i = 0; vv_bench_rows(bench, i); i++) {
            if (vv_bench_wants(bench, &vv_rope_pairs, shapes[s].name)) {
                bench_shape(bench, s, vv_bench_rows(bench, i));
            }
        }
    }
}

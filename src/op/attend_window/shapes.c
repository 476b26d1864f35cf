/* Attention of released models. */
#include "gguf/types.h"
#include "op/attend_window/internal.h"
#include "registry/bench.h"

enum { HEADS = 64, WIDTH = 512, SPAN = 128, RING = SPAN + 16, KEEP = 512 };

static const struct {
    const char *name;
    size_t ratio; /* 0: the newest rows alone */
    int32_t depth;
} shapes[] = {
    {"DeepSeek V4 Flash newest rows", 0, 16384},
    {"DeepSeek V4 Flash selected rows at 16k", 4, 16384},
    {"DeepSeek V4 Flash all rows of 128 at 16k", 128, 16384},
};

static struct vv_state_view part(struct vv_check *memory, size_t entries, uint32_t ring) {
    return (struct vv_state_view){.base = (uint8_t *)vv_check_normals(memory, entries * WIDTH),
                                  .slot_stride = entries * WIDTH * sizeof(float),
                                  .entry_stride = WIDTH * sizeof(float),
                                  .ring = ring,
                                  .type = VV_TYPE_F32,
                                  .width = WIDTH,
                                  .bytes = entries * WIDTH * sizeof(float)};
}

static void bench_shape(struct vv_bench *bench, size_t s, int32_t rows) {
    struct vv_check *memory = vv_bench_check(bench);
    size_t n = (size_t)rows, ratio = shapes[s].ratio, keys = SPAN;
    struct vv_attend_window a = {.q = vv_check_normals(memory, n * HEADS * WIDTH),
                                 .own = vv_check_normals(memory, n * WIDTH),
                                 .ring = part(memory, RING, RING),
                                 .ratio = ratio,
                                 .span = SPAN,
                                 .sink = vv_check_normals(memory, HEADS),
                                 .y = vv_check_floats(memory, n * HEADS * WIDTH),
                                 .heads = HEADS,
                                 .width = WIDTH,
                                 .scale = 0.044194173824159216f,
                                 .window = vv_check_window(memory, rows, 1, &shapes[s].depth, 10),
                                 .rows = {&rows, 1}};
    if (ratio > 0) {
        size_t blocks = ((size_t)shapes[s].depth + n) / ratio;
        a.pooled = part(memory, blocks, 0);
        keys += blocks < KEEP ? blocks : KEEP;
    }
    if (ratio == 4) {
        int32_t *list = vv_check_memory(memory, n * KEEP * sizeof *list);
        int32_t *listed = vv_check_memory(memory, n * sizeof *listed);
        for (size_t r = 0; r < n; r++) {
            listed[r] = KEEP;
            for (size_t i = 0; i < KEEP; i++) { /* one of each eight */
                list[r * KEEP + i] = (int32_t)(8 * i + vv_check_below(memory, 8));
            }
        }
        a.list = list;
        a.listed = listed;
        a.keep = KEEP;
    }
    vv_bench_case(bench, &vv_attend_window, &a, rows, shapes[s].name,
                  (struct vv_bench_work){4.0 * (double)(n * HEADS * WIDTH * keys), false});
}

void vv_attend_window_bench(struct vv_bench *bench) {
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        for (size_t i = 0; vv_bench_rows(bench, i); i++) {
            if (vv_bench_wants(bench, &vv_attend_window, shapes[s].name)) {
                bench_shape(bench, s, vv_bench_rows(bench, i));
            }
        }
    }
}

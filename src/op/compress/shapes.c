/* Compressors of released models: a window of one row that completes a block, or a prompt's rows.
 */
#include "base/rotary.h"
#include "gguf/types.h"
#include "op/compress/internal.h"
#include "registry/bench.h"

static const struct {
    const char *name;
    size_t ratio, width;
    bool overlap;
} shapes[] = {
    {"DeepSeek V4 Flash rows of 4", 4, 512, true},
    {"DeepSeek V4 Flash rows of 128", 128, 512, false},
    {"DeepSeek V4 Flash index keys", 4, 128, true},
};

enum { DIMS = 64 };

static void bench_shape(struct vv_bench *bench, size_t s, int32_t rows) {
    struct vv_check *memory = vv_bench_check(bench);
    size_t n = (size_t)rows, ratio = shapes[s].ratio, width = shapes[s].width;
    size_t channels = shapes[s].overlap ? 2 * width : width;
    size_t most = shapes[s].overlap ? 2 * ratio : ratio, entry = 2 * channels * sizeof(float);
    int32_t first = (int32_t)(4096 - (n < ratio ? n : 0)); /* few rows end a block */
    uint64_t *turn = vv_check_memory(memory, DIMS / 2 * sizeof *turn);
    for (unsigned i = 0; i < DIMS / 2; i++) {
        turn[i] = vv_rotary_turn(160000, i, DIMS);
    }
    const struct vv_compress_rows a = {
        .k = vv_check_normals(memory, n * channels),
        .g = vv_check_normals(memory, n * channels),
        .ring = {.base = (uint8_t *)vv_check_normals(memory, most * 2 * channels),
                 .slot_stride = most * entry,
                 .entry_stride = entry,
                 .ring = (uint32_t)most,
                 .type = VV_TYPE_F32,
                 .width = 2 * channels,
                 .bytes = most * entry},
        .ape = vv_check_normals(memory, ratio * channels),
        .norm = vv_check_normals(memory, width),
        .turn = turn,
        .y = vv_check_floats(memory, n * width),
        .window = vv_check_window(memory, rows, 1, &first, 10),
        .rows = {&rows, 1},
        .ratio = ratio,
        .width = width,
        .dims = DIMS,
        .eps = 1e-6f,
        .overlap = shapes[s].overlap};
    size_t blocks = (n + ratio - 1) / ratio;
    vv_bench_case(bench, &vv_compress_rows, &a, rows, shapes[s].name,
                  (struct vv_bench_work){25.0 * (double)(blocks * most * width), false});
}

void vv_compress_bench(struct vv_bench *bench) {
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        for (size_t i = 0; vv_bench_rows(bench, i); i++) {
            if (vv_bench_wants(bench, &vv_compress_rows, shapes[s].name)) {
                bench_shape(bench, s, vv_bench_rows(bench, i));
            }
        }
    }
}

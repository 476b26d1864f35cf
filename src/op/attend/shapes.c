/* Attention of released models. */
#include "base/half.h"
#include "gguf/types.h"
#include "op/attend/internal.h"
#include "registry/bench.h"
#include <string.h>

static const struct {
    const char *name;
    size_t heads, kv_heads, width, ratio, keep;
    int32_t depth; /* tokens before the window */
    int type;      /* of keys and values */
} shapes[] = {
    {"Qwen3.8-Flash-Next attention at 512", 24, 2, 256, 4, 512, 512, VV_TYPE_F32},
    {"Qwen3.8-Flash-Next attention at 2048, F16", 24, 2, 256, 4, 512, 2048, VV_TYPE_F16},
    {"Qwen3.8-Flash-Next attention at 16k", 24, 2, 256, 4, 512, 16384, VV_TYPE_F32},
};

static struct vv_state_view cache(struct vv_check *memory, size_t tokens, size_t width, int type) {
    size_t element = type == VV_TYPE_F16 ? sizeof(uint16_t) : sizeof(float);
    float *values = vv_check_normals(memory, tokens * width);
    for (size_t i = 0; i < tokens * width && type == VV_TYPE_F16; i++) {
        uint16_t half = vv_to_f16(values[i]);
        memcpy((uint8_t *)values + i * sizeof half, &half, sizeof half);
    }
    return (struct vv_state_view){
        .base = (uint8_t *)values,
        .slot_stride = tokens * width * element,
        .entry_stride = width * element,
        .type = type,
        .width = width,
        .bytes = tokens * width * element,
    };
}

/* Blocks spread over all that a row sees. */
static void list_blocks(struct vv_check *memory, size_t s, int32_t rows, int32_t *list,
                        int32_t *listed) {
    for (int32_t r = 0; r < rows; r++) {
        size_t keep = shapes[s].keep, taken = 0;
        size_t seen = (size_t)(shapes[s].depth + r + 1) / shapes[s].ratio;
        for (size_t b = 0; b < seen && taken < keep; b++) {
            if (vv_check_below(memory, seen - b) < keep - taken) {
                list[(size_t)r * keep + taken++] = (int32_t)b;
            }
        }
        listed[r] = (int32_t)taken;
    }
}

static void bench_shape(struct vv_bench *bench, size_t s, int32_t rows) {
    struct vv_check *memory = vv_bench_check(bench);
    size_t n = (size_t)rows, heads = shapes[s].heads, width = shapes[s].width;
    size_t tokens = (size_t)shapes[s].depth + n, out = n * heads * width;
    size_t keys = shapes[s].keep * shapes[s].ratio;
    int32_t *list = vv_check_memory(memory, n * shapes[s].keep * sizeof *list);
    int32_t *listed = vv_check_memory(memory, n * sizeof *listed);
    list_blocks(memory, s, rows, list, listed);
    const struct vv_attend a = {
        .q = vv_check_normals(memory, out),
        .gate = vv_check_normals(memory, out),
        .gate_row = heads * width,
        .gate_head = width,
        .k = cache(memory, tokens, shapes[s].kv_heads * width, shapes[s].type),
        .v = cache(memory, tokens, shapes[s].kv_heads * width, shapes[s].type),
        .list = list,
        .listed = listed,
        .keep = shapes[s].keep,
        .ratio = shapes[s].ratio,
        .y = vv_check_floats(memory, out),
        .heads = heads,
        .kv_heads = shapes[s].kv_heads,
        .width = width,
        .scale = 0.0625f,
        .window = vv_check_window(memory, rows, 1, &shapes[s].depth, 10),
        .rows = {&rows, 1},
    };
    keys = keys < tokens ? keys : tokens;
    vv_bench_case(bench, &vv_attend, &a, rows, shapes[s].name,
                  (struct vv_bench_work){4.0 * (double)(keys * out), false});
}

void vv_attend_bench(struct vv_bench *bench) {
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        for (size_t i = 0; vv_bench_rows(bench, i); i++) {
            if (vv_bench_wants(bench, &vv_attend, shapes[s].name)) {
                bench_shape(bench, s, vv_bench_rows(bench, i));
            }
        }
    }
}

/* Gated DeltaNet layers of released models. */
#include "gguf/types.h"
#include "op/gdn_step/internal.h"
#include "registry/bench.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    size_t key_heads, value_heads, key_dim, value_dim, kernel;
} shapes[] = {
    {"Qwen3.8-Flash-Next delta rule", 16, 48, 128, 128, 4},
};

/* One sequence's part of a state, zeroed. */
static struct vv_state_view view(struct vv_check *memory, size_t width, uint32_t ring) {
    struct vv_state_view v = {.type = VV_TYPE_F32, .width = width, .ring = ring};
    v.entry_stride = width * sizeof(float);
    v.slot_stride = v.bytes = (ring ? ring : 1) * v.entry_stride;
    v.base = vv_check_memory(memory, v.bytes);
    memset(v.base, 0, v.bytes);
    return v;
}

static float *decays(struct vv_check *memory, size_t n) {
    float *a = vv_check_floats(memory, n);
    for (size_t i = 0; i < n; i++) {
        a[i] = vv_check_uniform(memory, -16, -1);
    }
    return a;
}

/* A window of one sequence, in the midst of it: verified, as drafts are, or added. */
static void bench_shape(struct vv_bench *bench, size_t s, int32_t rows, enum vv_gdn_mode mode) {
    struct vv_check *memory = vv_bench_check(bench);
    const int32_t first = 100;
    size_t n = (size_t)rows, heads = shapes[s].value_heads, values = heads * shapes[s].value_dim;
    size_t state = heads * shapes[s].key_dim * shapes[s].value_dim;
    size_t channels = 2 * shapes[s].key_heads * shapes[s].key_dim + values;
    uint32_t ring = (uint32_t)(shapes[s].kernel + n);
    const struct vv_gdn_step a = {
        .qkv = vv_check_normals(memory, n * channels),
        .z = vv_check_normals(memory, n * values),
        .alpha = vv_check_normals(memory, n * heads),
        .beta = vv_check_normals(memory, n * heads),
        .conv = vv_check_normals(memory, channels * shapes[s].kernel),
        .a = decays(memory, heads),
        .dt_bias = vv_check_normals(memory, heads),
        .norm = vv_check_normals(memory, shapes[s].value_dim),
        .state = view(memory, state, 0),
        .conv_ring = view(memory, channels, ring),
        .gate_ring = view(memory, 2 * heads, ring),
        .work = mode == VV_GDN_VERIFY ? vv_check_floats(memory, state) : NULL,
        .y = vv_check_floats(memory, n * values),
        .window = vv_check_window(memory, rows, 1, &first, 10),
        .key_heads = shapes[s].key_heads,
        .value_heads = heads,
        .key_dim = shapes[s].key_dim,
        .value_dim = shapes[s].value_dim,
        .kernel = shapes[s].kernel,
        .eps = 1e-6f,
        .mode = mode,
    };
    char name[100];
    snprintf(name, sizeof name, "%s, %s", shapes[s].name,
             mode == VV_GDN_VERIFY ? "verify" : "advance");
    /* Decay, dot with the key, update, dot with the query. */
    vv_bench_case(bench, &vv_gdn_step, &a, rows, name,
                  (struct vv_bench_work){7.0 * (double)(n * state), false});
}

void vv_gdn_step_bench(struct vv_bench *bench) {
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        for (size_t i = 0; vv_bench_rows(bench, i); i++) {
            if (vv_bench_wants(bench, &vv_gdn_step, shapes[s].name)) {
                bench_shape(bench, s, vv_bench_rows(bench, i), VV_GDN_ADVANCE);
                bench_shape(bench, s, vv_bench_rows(bench, i), VV_GDN_VERIFY);
            }
        }
    }
}

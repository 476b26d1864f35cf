/* Gated DeltaNet layers of released models. */
#include "gguf/types.h"
#include "op/gdn_step/internal.h"
#include "registry/bench.h"

#include <stdio.h>
#include <string.h>

enum { WINDOW_MOST = 16 }; /* rows that are verified; more are read as a prompt, by a scan */

static const struct {
    const char *name;
    size_t key_heads, value_heads, key_dim, value_dim, kernel;
} shapes[] = {
    {"Qwen3.8-Flash-Next delta rule", 16, 48, 128, 128, 4},
    {"varve-tiny delta rule", 2, 6, 128, 128, 4},
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

/* Values of a matrix for each head. */
static size_t state_of(size_t s) {
    return shapes[s].value_heads * shapes[s].key_dim * shapes[s].value_dim;
}

/* All but state, rings and window. */
static struct vv_gdn_step step(struct vv_check *memory, size_t s, size_t n, enum vv_gdn_mode mode) {
    size_t heads = shapes[s].value_heads, values = heads * shapes[s].value_dim;
    size_t channels = 2 * shapes[s].key_heads * shapes[s].key_dim + values;
    return (struct vv_gdn_step){
        .qkv = vv_check_normals(memory, n * channels),
        .z = vv_check_normals(memory, n * values),
        .alpha = vv_check_normals(memory, n * heads),
        .beta = vv_check_normals(memory, n * heads),
        .conv = vv_check_normals(memory, channels * shapes[s].kernel),
        .a = decays(memory, heads),
        .dt_bias = vv_check_normals(memory, heads),
        .norm = vv_check_normals(memory, shapes[s].value_dim),
        .work = mode == VV_GDN_VERIFY ? vv_check_floats(memory, state_of(s)) : NULL,
        .y = vv_check_floats(memory, n * values),
        .key_heads = shapes[s].key_heads,
        .value_heads = heads,
        .key_dim = shapes[s].key_dim,
        .value_dim = shapes[s].value_dim,
        .kernel = shapes[s].kernel,
        .eps = 1e-6f,
        .mode = mode,
    };
}

/* Decay, dot with the key, update, dot with the query. */
static struct vv_bench_work work_of(size_t s, size_t rows) {
    return (struct vv_bench_work){7.0 * (double)(rows * state_of(s)), false};
}

/* A window of one sequence, in the midst of it: verified, as drafts are, or added. */
static void bench_shape(struct vv_bench *bench, size_t s, int32_t rows, enum vv_gdn_mode mode) {
    struct vv_check *memory = vv_bench_check(bench);
    const int32_t first = 100;
    struct vv_gdn_step a = step(memory, s, (size_t)rows, mode);
    uint32_t ring = (uint32_t)shapes[s].kernel + (uint32_t)rows;
    a.state = view(memory, state_of(s), 0);
    a.conv_ring = view(memory, vv_gdn_channels(&a), ring);
    a.gate_ring = view(memory, 2 * a.value_heads, ring);
    a.window = vv_check_window(memory, rows, 1, &first, 10);
    char name[100];
    snprintf(name, sizeof name, "%s, %s", shapes[s].name,
             mode == VV_GDN_VERIFY ? "verify" : "advance");
    vv_bench_case(bench, &vv_gdn_step, &a, rows, name, work_of(s, (size_t)rows));
}

/* ---- modes, layer after layer ---- */

/* What layers share, and a state for each. */
struct rules {
    struct vv_gdn_step step;
    struct vv_state_view *states;
};

/* Inputs of verified rows, which a commit takes up. */
static struct vv_state_view filled(struct vv_check *memory, size_t width, uint32_t ring) {
    struct vv_state_view v = view(memory, width, ring);
    v.base = (uint8_t *)vv_check_normals(memory, v.bytes / sizeof(float));
    return v;
}

static void record(struct vv_bench *bench, const void *context, size_t layer) {
    const struct rules *c = context;
    struct vv_gdn_step a = c->step;
    a.window = vv_bench_window(bench);
    a.state = c->states[layer];
    uint32_t ring = (uint32_t)a.kernel + (uint32_t)a.window->rows;
    a.conv_ring = filled(vv_bench_check(bench), vv_gdn_channels(&a), ring);
    a.gate_ring = filled(vv_bench_check(bench), 2 * a.value_heads, ring);
    vv_bench_step(bench, &vv_gdn_step, &a);
}

static void bench_mode(struct vv_bench *bench, size_t s, const char *way, enum vv_gdn_mode mode,
                       int32_t least, int32_t most) {
    struct vv_check *memory = vv_bench_check(bench);
    int32_t rows = vv_bench_rows_within(bench, least, most);
    if (rows == 0 || !vv_bench_wants_layers(bench, shapes[s].name)) {
        return;
    }
    size_t layers = vv_bench_layer_count(bench, state_of(s) * sizeof(float));
    struct rules c = {step(memory, s, (size_t)rows, mode),
                      vv_check_memory(memory, layers * sizeof *c.states)};
    for (size_t i = 0; i < layers; i++) {
        c.states[i] = view(memory, state_of(s), 0);
    }
    vv_bench_layers(bench, &(struct vv_bench_layers){.name = "gdn_step",
                                                     .way = way,
                                                     .shape = shapes[s].name,
                                                     .least = least,
                                                     .most = most,
                                                     .count = layers,
                                                     .record = record,
                                                     .context = &c,
                                                     .work = work_of(s, 1)});
}

static void bench_modes(struct vv_bench *bench, size_t s) {
    bench_mode(bench, s, "advance", VV_GDN_ADVANCE, 1, WINDOW_MOST);
    bench_mode(bench, s, "verify", VV_GDN_VERIFY, 1, WINDOW_MOST);
    bench_mode(bench, s, "commit", VV_GDN_COMMIT, 1, WINDOW_MOST);
    bench_mode(bench, s, "scan", VV_GDN_ADVANCE, WINDOW_MOST + 1, INT32_MAX);
}

void vv_gdn_step_bench(struct vv_bench *bench) {
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        for (size_t i = 0; vv_bench_rows(bench, i); i++) {
            if (vv_bench_wants(bench, &vv_gdn_step, shapes[s].name)) {
                bench_shape(bench, s, vv_bench_rows(bench, i), VV_GDN_ADVANCE);
                bench_shape(bench, s, vv_bench_rows(bench, i), VV_GDN_VERIFY);
            }
        }
        bench_modes(bench, s);
    }
}

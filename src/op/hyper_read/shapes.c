/* Hyper-connection reads of released models. */
#include "op/hyper_read/contract.h"
#include "op/hyper_read/internal.h"
#include "op/quantize_rows/check_planes.h"
#include "quant/format.h"
#include "registry/bench.h"

static const struct {
    const char *name;
    size_t streams, width, rank;
    int type, inject;
} shapes[] = {
    {"Qwen3.8-Flash-Next read Q8_0", 4, 2560, 320, VV_TYPE_Q8_0, VV_TYPE_F32},
    {"varve-tiny read Q8_0", 4, 256, 32, VV_TYPE_Q8_0, VV_TYPE_F32},
};

static struct vv_planes planes(struct vv_check *memory, size_t rows, size_t width) {
    return vv_check_planes(memory, vv_check_normals(memory, rows * width), rows, width,
                           VV_PLANES_FINE);
}

/* The previous block's output is added first, as in all reads but a model's first. */
static void bench_norm(struct vv_bench *bench, size_t s, int32_t rows) {
    struct vv_check *memory = vv_bench_check(bench);
    size_t n = (size_t)rows, wide = shapes[s].streams * shapes[s].width;
    float *gamma = vv_check_floats(memory, n * shapes[s].streams);
    for (size_t i = 0; i < n * shapes[s].streams; i++) {
        gamma[i] = 0x1p-20f; /* x may be added to for a long time */
    }
    const struct vv_hyper_norm a = {
        .x = vv_check_normals(memory, n * wide),
        .o = vv_check_normals(memory, n * shapes[s].width),
        .gamma = gamma,
        .weight = vv_check_normals(memory, wide),
        .h = vv_check_floats(memory, n * wide),
        .rows = {&rows, 1},
        .streams = shapes[s].streams,
        .width = shapes[s].width,
        .eps = 1e-6f,
    };
    vv_bench_case(bench, &vv_hyper_norm, &a, rows, shapes[s].name,
                  (struct vv_bench_work){6.0 * (double)(n * wide), false});
}

static void bench_down(struct vv_bench *bench, size_t s, int32_t rows) {
    struct vv_check *memory = vv_bench_check(bench);
    size_t n = (size_t)rows, streams = shapes[s].streams, wide = streams * shapes[s].width;
    const struct vv_hyper_down a = {
        .h = planes(memory, n, wide),
        .down = vv_check_weight(memory, shapes[s].type, wide, shapes[s].rank, 1),
        .inject = vv_check_weight(memory, shapes[s].inject, wide, streams, 1),
        .a = vv_check_floats(memory, n * shapes[s].rank),
        .gamma = vv_check_floats(memory, n * streams),
        .rows = {&rows, 1},
        .streams = streams,
    };
    vv_bench_case(
        bench, &vv_hyper_down, &a, rows, shapes[s].name,
        (struct vv_bench_work){2.0 * (double)(n * wide * (shapes[s].rank + streams)), true});
}

static void bench_up(struct vv_bench *bench, size_t s, int32_t rows) {
    struct vv_check *memory = vv_bench_check(bench);
    size_t n = (size_t)rows, wide = shapes[s].streams * shapes[s].width;
    const struct vv_hyper_up a = {
        .a = planes(memory, n, shapes[s].rank),
        .up = vv_check_weight(memory, shapes[s].type, shapes[s].rank, wide, 1),
        .h = vv_check_normals(memory, n * wide),
        .u = vv_check_floats(memory, n * shapes[s].width),
        .rows = {&rows, 1},
        .streams = shapes[s].streams,
        .width = shapes[s].width,
    };
    vv_bench_case(bench, &vv_hyper_up, &a, rows, shapes[s].name,
                  (struct vv_bench_work){2.0 * (double)(n * wide * shapes[s].rank), true});
}

/* ---- all steps, one behind the other ---- */

struct buffer {
    float *x;
    struct vv_planes planes;
};

/* What reads of any layer share, as buffers of a program do; and a set of weights for each. */
struct reads {
    size_t shape;
    float *x, *o, *gamma, *weight;
    struct buffer h, a, u;
    struct vv_weight *down, *inject, *up;
};

static void record(struct vv_bench *bench, const void *context, size_t layer) {
    const struct reads *c = context;
    size_t streams = shapes[c->shape].streams, width = shapes[c->shape].width;
    const struct vv_rows rows = {&vv_bench_window(bench)->rows, 1};
    const struct vv_hyper_norm norm = {.x = c->x,
                                       .o = c->o,
                                       .gamma = c->gamma,
                                       .weight = c->weight,
                                       .h = c->h.x,
                                       .rows = rows,
                                       .streams = streams,
                                       .width = width,
                                       .eps = 1e-6f};
    const struct vv_hyper_down down = {.h = c->h.planes,
                                       .down = &c->down[layer],
                                       .inject = &c->inject[layer],
                                       .a = c->a.x,
                                       .gamma = c->gamma,
                                       .rows = rows,
                                       .streams = streams};
    const struct vv_hyper_up up = {.a = c->a.planes,
                                   .up = &c->up[layer],
                                   .h = c->h.x,
                                   .u = c->u.x,
                                   .rows = rows,
                                   .streams = streams,
                                   .width = width};
    vv_bench_step(bench, &vv_hyper_norm, &norm);
    vv_bench_step(bench, &vv_quantize_rows, &(struct vv_quantize_rows){c->h.planes, rows});
    vv_bench_step(bench, &vv_hyper_down, &down);
    vv_bench_step(bench, &vv_quantize_rows, &(struct vv_quantize_rows){c->a.planes, rows});
    vv_bench_step(bench, &vv_hyper_up, &up);
    vv_bench_step(bench, &vv_quantize_rows, &(struct vv_quantize_rows){c->u.planes, rows});
}

static struct buffer buffer(struct vv_bench *bench, size_t rows, size_t width) {
    struct vv_check *memory = vv_bench_check(bench);
    float *x = vv_check_normals(memory, rows * width);
    return (struct buffer){
        x, vv_check_planes_as(memory, x, rows, width, VV_PLANES_FINE, vv_bench_on_host(bench))};
}

static void bench_read(struct vv_bench *bench, size_t s) {
    struct vv_check *memory = vv_bench_check(bench);
    size_t streams = shapes[s].streams, width = shapes[s].width, rank = shapes[s].rank;
    size_t wide = streams * width, weights = wide * (2 * rank + streams);
    size_t n = (size_t)vv_bench_rows_within(bench, 1, INT32_MAX);
    size_t layers = vv_bench_layer_count(bench, weights);
    const struct reads c = {
        .shape = s,
        .x = vv_check_normals(memory, n * wide),
        .o = vv_check_normals(memory, n * width),
        .gamma = vv_check_normals(memory, n * streams),
        .weight = vv_check_normals(memory, wide),
        .h = buffer(bench, n, wide),
        .a = buffer(bench, n, rank),
        .u = buffer(bench, n, width),
        .down = vv_bench_weights(bench, shapes[s].type, wide, rank, layers),
        .inject = vv_bench_weights(bench, shapes[s].inject, wide, streams, layers),
        .up = vv_bench_weights(bench, shapes[s].type, rank, wide, layers),
    };
    vv_bench_layers(bench, &(struct vv_bench_layers){.name = "hyper_read",
                                                     .way = "all steps, as a program runs them",
                                                     .shape = shapes[s].name,
                                                     .least = 1,
                                                     .most = INT32_MAX,
                                                     .count = layers,
                                                     .record = record,
                                                     .context = &c,
                                                     .work = {2.0 * (double)weights, true}});
}

void vv_hyper_read_bench(struct vv_bench *bench) {
    static const struct {
        const struct vv_operation *operation;
        void (*bench)(struct vv_bench *bench, size_t shape, int32_t rows);
    } parts[] = {
        {&vv_hyper_norm, bench_norm}, {&vv_hyper_down, bench_down}, {&vv_hyper_up, bench_up}};
    for (size_t p = 0; p < sizeof parts / sizeof *parts; p++) {
        for (size_t i = 0; vv_bench_rows(bench, i); i++) {
            for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
                if (vv_bench_wants(bench, parts[p].operation, shapes[s].name)) {
                    parts[p].bench(bench, s, vv_bench_rows(bench, i));
                }
            }
        }
    }
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        if (vv_bench_wants_layers(bench, shapes[s].name)) {
            bench_read(bench, s);
        }
    }
}

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
}

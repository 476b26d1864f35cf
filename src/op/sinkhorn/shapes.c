/* Hyper-connections of released models. */
#include "op/sinkhorn/internal.h"
#include "registry/bench.h"

enum { STREAMS = 4, WIDTH = 4096, MIXES = STREAMS * (2 + STREAMS), ROUNDS = 20 };

static void bench_sinkhorn(struct vv_bench *bench, int32_t rows, const char *shape) {
    struct vv_check *memory = vv_bench_check(bench);
    size_t n = (size_t)rows;
    const struct vv_sinkhorn a = {.x = vv_check_normals(memory, n * STREAMS * WIDTH),
                                  .mix = vv_check_normals(memory, n * MIXES),
                                  .scale = vv_check_normals(memory, 3),
                                  .base = vv_check_normals(memory, MIXES),
                                  .pre = vv_check_floats(memory, n * STREAMS),
                                  .post = vv_check_floats(memory, n * STREAMS),
                                  .to = vv_check_floats(memory, n * STREAMS * STREAMS),
                                  .rows = {&rows, 1},
                                  .streams = STREAMS,
                                  .width = WIDTH,
                                  .rounds = ROUNDS,
                                  .eps = 1e-6f,
                                  .floor = 1e-6f};
    vv_bench_case(bench, &vv_sinkhorn, &a, rows, shape,
                  (struct vv_bench_work){2.0 * (double)(n * STREAMS * WIDTH), false});
}

static void bench_read(struct vv_bench *bench, int32_t rows, const char *shape) {
    struct vv_check *memory = vv_bench_check(bench);
    size_t n = (size_t)rows;
    const struct vv_stream_read a = {.x = vv_check_normals(memory, n * STREAMS * WIDTH),
                                     .pre = vv_check_normals(memory, n * STREAMS),
                                     .u = vv_check_floats(memory, n * WIDTH),
                                     .rows = {&rows, 1},
                                     .streams = STREAMS,
                                     .width = WIDTH};
    vv_bench_case(bench, &vv_stream_read, &a, rows, shape,
                  (struct vv_bench_work){2.0 * (double)(n * STREAMS * WIDTH), false});
}

static void bench_write(struct vv_bench *bench, int32_t rows, const char *shape) {
    struct vv_check *memory = vv_bench_check(bench);
    size_t n = (size_t)rows;
    float *to = vv_check_floats(memory, n * STREAMS * STREAMS);
    for (size_t i = 0; i < n * STREAMS * STREAMS; i++) {
        to[i] = 0.25f; /* calls follow one another in place: streams keep their size */
    }
    float *post = vv_check_floats(memory, n * STREAMS);
    for (size_t i = 0; i < n * STREAMS; i++) {
        post[i] = 0.5f;
    }
    const struct vv_stream_write a = {.x = vv_check_normals(memory, n * STREAMS * WIDTH),
                                      .post = post,
                                      .to = to,
                                      .y = vv_check_normals(memory, n * WIDTH),
                                      .rows = {&rows, 1},
                                      .streams = STREAMS,
                                      .width = WIDTH};
    vv_bench_case(
        bench, &vv_stream_write, &a, rows, shape,
        (struct vv_bench_work){2.0 * (double)(n * STREAMS * (STREAMS + 1) * WIDTH), false});
}

void vv_sinkhorn_bench(struct vv_bench *bench) {
    static const char shape[] = "DeepSeek V4 Flash hyper-connections";
    for (size_t i = 0; vv_bench_rows(bench, i); i++) {
        int32_t rows = vv_bench_rows(bench, i);
        if (vv_bench_wants(bench, &vv_sinkhorn, shape)) {
            bench_sinkhorn(bench, rows, shape);
        }
        if (vv_bench_wants(bench, &vv_stream_read, shape)) {
            bench_read(bench, rows, shape);
        }
        if (vv_bench_wants(bench, &vv_stream_write, shape)) {
            bench_write(bench, rows, shape);
        }
    }
}

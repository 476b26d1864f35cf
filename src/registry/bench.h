/*
 * How an operation's folder says what `varve bench` measures (src/op/NAME/shapes.c): for each shape
 * that a real model has, and each number of rows asked for, it builds args as a check does and
 * hands them over.
 *
 *     for (size_t i = 0; vv_bench_rows(bench, i); i++) {
 *         if (vv_bench_wants(bench, &vv_swiglu, shape)) {
 *             …build args from vv_check_normals(vv_bench_check(bench), n) …
 *             vv_bench_case(bench, &vv_swiglu, &args, rows, shape, work);
 *         }
 *     }
 */
#pragma once
#include "registry/check.h"
#include "registry/window.h"

struct vv_bench;

/* What memory and random numbers come from; a case's memory is freed when it has been measured. */
struct vv_check *vv_bench_check(struct vv_bench *bench);

/* The i-th number of rows, of 1 and more; 0 beyond them. */
int32_t vv_bench_rows(const struct vv_bench *bench, size_t i);

/* Whether a shape by this name is asked for; false once the measurement is to end. */
bool vv_bench_wants(struct vv_bench *bench, const struct vv_operation *operation,
                    const char *shape);

/* What one call computes; bytes follow from the operation. */
struct vv_bench_work {
    double operations; /* a product and its addition are two; 0: not told */
    bool int8;         /* they are on 8-bit integers, else on floats */
};

/* Measures every variant that this machine can run. Weights are copied until they are larger than
 * the caches, and each call takes the next copy. */
void vv_bench_case(struct vv_bench *bench, const struct vv_operation *operation, const void *args,
                   int32_t rows, const char *shape, struct vv_bench_work work);

/*
 * Steps as a program runs them: a folder states those of a layer, layer after layer, with weights
 * and state of each layer's own. A case is handed over by vv_bench_layers, which calls `record` for
 * every layer of every program that it measures; `record` adds steps by vv_bench_step, for the
 * window that vv_bench_window gives.
 */
struct vv_bench_layers {
    const char *name, *way, *shape; /* the lines' operation, variant and shape */
    const char *apart;              /* the variant with a barrier after every step; NULL: isn't
                                     * measured */
    int32_t least, most;            /* rows of windows that are measured */
    size_t count;                   /* layers that there is memory for */
    void (*record)(struct vv_bench *bench, const void *context, size_t layer);
    const void *context;
    struct vv_bench_work work; /* of a layer and one row */
};

/* Whether layers by this name are asked for; false once the measurement is to end. */
bool vv_bench_wants_layers(struct vv_bench *bench, const char *shape);

/* Rows of the largest window from `least` to `most`; 0: none is asked for. */
int32_t vv_bench_rows_within(const struct vv_bench *bench, int32_t least, int32_t most);

/* How many layers are more than the caches hold, if one has as many bytes; a model's at most. */
size_t vv_bench_layer_count(const struct vv_bench *bench, size_t bytes);

/* One for each layer, in the order that the device multiplies. */
struct vv_weight *vv_bench_weights(struct vv_bench *bench, int type, size_t width, size_t rows,
                                   size_t layers);

/* Whether the kernels are the CPU's. */
bool vv_bench_on_host(const struct vv_bench *bench);

/* The window of the program that is recorded. */
const struct vv_window *vv_bench_window(const struct vv_bench *bench);
void vv_bench_step(struct vv_bench *bench, const struct vv_operation *operation, const void *args);

void vv_bench_layers(struct vv_bench *bench, const struct vv_bench_layers *layers);

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

/* What the parts of `varve bench OPERATION` share; for src/tune/bench_*.c alone. */
#pragma once
#include "program/program.h"
#include "registry/bench.h"
#include "registry/check_internal.h"
#include "tune/bench_operation.h"

struct vv_bench_timed; /* a program, and its times */

struct vv_bench {
    const struct vv_bench_lines_options *options;
    struct vv_check check;
    struct vv_device *device;
    const struct vv_operation_folder *folder;
    struct vv_bench_timed *timed; /* programs of the case; NULL: none */
    size_t timed_count;
    struct vv_program *recorded; /* the one whose steps are stated */
    bool ended;
    int code;
    struct vv_error *error;
};

/* Bytes of weights that caches don't hold. */
size_t vv_bench_set_bytes(const struct vv_bench *bench);

/* Frees the programs of a case, also where memory ended while they were stated. */
void vv_bench_forget_layers(struct vv_bench *bench);

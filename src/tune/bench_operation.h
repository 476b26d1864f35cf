/* `varve bench OPERATION`: every variant of an operation on the shapes of real models. */
#pragma once
#include "session/session.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vv_bench_line {
    const char *operation, *variant, *shape;
    uint32_t rows;
    const double *seconds; /* [rounds] of a call */
    size_t rounds;
    double bytes, operations; /* of a call; 0 operations: not told */
    bool int8;                /* what the operations are on, else floats */
    bool rule;                /* this variant is the one that varve takes by itself */
    int type; /* of the first weight, which is [outputs][inputs]; -1: there is none */
    size_t inputs, outputs;
};

struct vv_bench_lines_options {
    const char *const *names; /* [name_count] operations or their folders; none: all */
    size_t name_count;
    const char *variant, *shape; /* only names that contain this; NULL: all */
    bool layers; /* vv_bench_operations: steps as a program runs them, not each by itself */
    const uint32_t *rows;
    size_t row_count;
    uint32_t rounds; /* 1 to VV_SAMPLES_MAX */
    unsigned threads;
    enum vv_numa numa;
    enum vv_device_kind device;
    uint32_t features; /* VV_CPU_… */
    uint64_t seed;
    bool (*going_on)(void *context); /* asked before each round; or NULL */
    void (*line)(void *context, const struct vv_bench_line *line);
    void *context;
};

/*
 * Hands over a line a variant, when its case has been measured: in every round all variants run one
 * after another, each as many calls as take some milliseconds, on all threads. The reference is
 * measured only where `variant` asks for it. VV_ERROR_INVALID: a name that no operation has.
 *
 * With `layers` a line is what a folder measures as a program runs it, its times those of a layer:
 * in every round the programs of all numbers of rows run one after another.
 */
int vv_bench_operations(const struct vv_bench_lines_options *options, struct vv_error *error);

/*
 * The same for the steps of a model's trunk, with its shapes and weights (which may be made up) and
 * activations of random tokens: call after call takes the next layer's. Variants are those that
 * read weights as they lie. VV_ERROR_INVALID: a name that no step has.
 */
int vv_bench_steps(const struct vv_gguf *file, const struct vv_family *family, const void *geometry,
                   const struct vv_session_options *session,
                   const struct vv_bench_lines_options *options, struct vv_error *error);

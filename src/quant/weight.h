/*
 * A weight as the engine sees it: a handle. The model asks for weights by name and passes handles
 * to operations; only kernels follow `data`, which may be a mapped file, a packed copy in another
 * order, or another device's memory, and may move between two runs.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct vv_weight;

/*
 * An order of a weight's blocks other than the file's. Static; compared by address. `pack` writes
 * one whole weight of `bytes(w)` bytes, reading `w->data` in the file's order; bits of results
 * never depend on the order.
 */
struct vv_layout {
    const char *name;
    size_t (*bytes)(const struct vv_weight *w);
    void (*pack)(const struct vv_weight *w, void *to);
};

struct vv_weight {
    const char *name;    /* as in the file, without ".weight" */
    int type;            /* enum vv_type */
    size_t width;        /* inputs: ne0 */
    size_t rows;         /* outputs: ne1 */
    size_t slices;       /* experts: ne2, 1 for a plain matrix */
    size_t row_bytes;    /* of one row in the file's order; a slice is rows * row_bytes */
    const uint8_t *data; /* device address; [slices][rows][row_bytes] or as `layout` says */
    const struct vv_layout *layout; /* NULL: the file's order */
    const float *scale;             /* [slices], device address; NULL: 1 (NVFP4's separate scale) */
};

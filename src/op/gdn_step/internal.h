/*
 * The operation's variants, and the delta rule alone on prepared inputs, which the golden tests
 * exercise.
 */
#pragma once
#include "op/gdn_step/contract.h"
#include "registry/check.h"

enum {
    VV_GDN_COLUMNS = 32, /* value columns that a portable kernel takes through a few rows … */
    VV_GDN_ROWS = 8,     /* … at a time */
};

/* One token: S = state [key_dim][value_dim] moves; y [value_dim] is the readout, or NULL. */
void vv_gdn_delta_reference(float *state, size_t key_dim, size_t value_dim, const float *q,
                            const float *k, const float *v, float decay, float beta, float *y);

/* Some columns of a state, and the tokens to take them through. */
struct vv_gdn_block {
    const float *from;  /* [key_dim] rows of `columns` floats, `stride` apart; NULL: zeros */
    float *to;          /* the same afterwards; may be `from`; NULL: not wanted */
    size_t stride;      /* floats */
    size_t columns;     /* 1 .. VV_GDN_COLUMNS */
    size_t key_dim;     /* 1 .. VV_GDN_KEY_DIM_MAX */
    size_t rows;        /* 1 .. VV_GDN_ROWS */
    const float *q, *k; /* [rows][key_dim] q̂, k̂ */
    const float *v;     /* [rows][VV_GDN_COLUMNS] */
    const float *decay; /* [rows] exp(g) */
    const float *beta;  /* [rows] */
    float *y;           /* [rows] rows of `columns` floats, `y_stride` apart; NULL: not wanted */
    size_t y_stride;
};

void vv_gdn_delta_portable(const struct vv_gdn_block *b);
void vv_gdn_delta_portable_avx2(const struct vv_gdn_block *b);
void vv_gdn_delta_portable_avx512(const struct vv_gdn_block *b);

int vv_gdn_step_reference(const void *args, size_t begin, size_t end);
int vv_gdn_step_portable(const void *args, size_t begin, size_t end);
int vv_gdn_step_portable_avx2(const void *args, size_t begin, size_t end);
int vv_gdn_step_portable_avx512(const void *args, size_t begin, size_t end);

struct vv_gdn_step_shape {
    size_t key_heads, value_heads, key_dim, value_dim, kernel, calls; /* calls a token */
};
extern const struct vv_gdn_step_shape vv_gdn_step_shapes[]; /* ends with {0} */

void vv_gdn_step_check(struct vv_check *check);

/*
 * The operation's variants, and the delta rule alone on prepared inputs, which the golden tests
 * exercise.
 */
#pragma once
#include "op/gdn_step/contract.h"
#include "registry/check.h"

enum {
    VV_GDN_COLUMNS = 128, /* value columns that a portable kernel takes through a few rows … */
    VV_GDN_ROWS = 16,     /* … at a time */
    VV_GDN_SLOTS = VV_GDN_KEY_DIM_MAX,
};

/* Where element i of q̂ or k̂ stands for the portable kernel: lanes (i mod 16) that are 8 apart
 * alternate, so that a lane's elements follow each other. */
static inline size_t vv_gdn_slot(size_t i) {
    size_t lane = i % 16;
    return i / 128 * 128 + lane % 8 * 16 + i % 128 / 16 * 2 + lane / 8;
}

/* The value head of a unit: those of one key head follow each other. */
static inline size_t vv_gdn_head(const struct vv_gdn_step *a, size_t unit) {
    size_t group = a->value_heads / a->key_heads, u = unit % a->value_heads;
    return u % group * a->key_heads + u / group;
}

/* One token: S = state [key_dim][value_dim] moves; y [value_dim] is the readout, or NULL. */
void vv_gdn_delta_reference(float *state, size_t key_dim, size_t value_dim, const float *q,
                            const float *k, const float *v, float decay, float beta, float *y);

/* Some columns of a state, and the tokens to take them through. */
struct vv_gdn_block {
    const float *from; /* [key_dim] rows of `columns` floats, `from_stride` apart; NULL: zeros */
    float *to;         /* the same afterwards; may be `from`; NULL: not wanted */
    size_t from_stride, to_stride; /* floats */
    size_t columns;                /* 1 .. VV_GDN_COLUMNS */
    size_t key_dim;                /* 1 .. VV_GDN_KEY_DIM_MAX */
    size_t rows;                   /* 1 or more */
    const float *q, *k;            /* [rows][VV_GDN_SLOTS] q̂, k̂ by slot */
    const float *v;                /* [rows][VV_GDN_COLUMNS] */
    const float *decay;            /* [rows] exp(g) */
    const float *beta;             /* [rows] */
    float *y;                      /* [rows][VV_GDN_COLUMNS]; NULL: not wanted, but `to` is */
};

void vv_gdn_delta_portable(const struct vv_gdn_block *b);
void vv_gdn_delta_portable_avx2(const struct vv_gdn_block *b);
void vv_gdn_delta_portable_avx512(const struct vv_gdn_block *b);

int vv_gdn_step_reference(const void *args, size_t begin, size_t end);
int vv_gdn_step_portable(const void *args, size_t begin, size_t end);
int vv_gdn_step_portable_avx2(const void *args, size_t begin, size_t end);
int vv_gdn_step_portable_avx512(const void *args, size_t begin, size_t end);

void vv_gdn_step_check(struct vv_check *check);
void vv_gdn_step_bench(struct vv_bench *bench);

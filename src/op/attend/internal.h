/*
 * The operation's variants, and the attention core that they are made of. The core knows more than
 * the operation asks for: several runs of keys and a sink (docs/arithmetic.md, section 5), which
 * the golden tests exercise.
 */
#pragma once
#include "op/attend/contract.h"
#include "registry/check.h"

enum { VV_ATTEND_CHUNK = 64 }; /* slots that form a chunk */

/* A run of keys and values of one key/value head, ascending in slot. */
struct vv_attend_run {
    const uint8_t *k, *v;      /* entry 0 */
    size_t k_stride, v_stride; /* bytes from entry to entry */
    int k_type, v_type;        /* VV_TYPE_F32 or VV_TYPE_F16 */
    size_t slot;               /* of the first key; the others follow */
    size_t count;              /* keys */
    const int32_t *block;      /* [blocks] the first blocks · ratio keys are their entries */
    size_t blocks, ratio;
    size_t next; /* entry of the key after those; the others follow */
    size_t ring; /* that come round after so many entries; 0: never */
    /* Keys from `held` on are no entries but rows of the window, floats that are values, too. */
    const float *own;       /* row 0; NULL: there are none */
    const int32_t *own_row; /* of key held + i */
    size_t own_stride;      /* floats */
    size_t held;
};

/* Query heads that share their keys. */
struct vv_attend_heads {
    const float *q; /* [heads][width] */
    size_t heads, width;
    float scale;
    const struct vv_attend_run *run; /* [runs] */
    size_t runs;
    const float *sink; /* [heads], or NULL: none */
    float *y;          /* [heads][width] = o · (1 / l) */
};

/* The entry of key i of a run. */
static inline size_t vv_attend_entry(const struct vv_attend_run *run, size_t i) {
    size_t listed = run->blocks * run->ratio;
    if (i < listed) {
        return (size_t)run->block[i / run->ratio] * run->ratio + i % run->ratio;
    }
    size_t entry = run->next + (i - listed);
    return run->ring ? entry % run->ring : entry;
}

/* Is key i a row of the window? */
static inline bool vv_attend_owns(const struct vv_attend_run *run, size_t i) {
    return run->own && i >= run->held;
}

/* Row of the window that key i is. */
static inline const uint8_t *vv_attend_own(const struct vv_attend_run *run, size_t i) {
    return (const uint8_t *)(run->own + (size_t)run->own_row[i - run->held] * run->own_stride);
}

/* The keys that `row` sees of a key/value head, as one run; VV_ERROR_INVALID as the contract says.
 */
int vv_attend_keys(const struct vv_attend *a, size_t row, size_t kv_head,
                   struct vv_attend_run *run);

int vv_attend_core_reference(const struct vv_attend_heads *h);
int vv_attend_core_portable(const struct vv_attend_heads *h);
int vv_attend_core_portable_avx2(const struct vv_attend_heads *h);
int vv_attend_core_portable_avx512(const struct vv_attend_heads *h);

int vv_attend_reference(const void *args, size_t begin, size_t end);
int vv_attend_portable(const void *args, size_t begin, size_t end);
int vv_attend_portable_avx2(const void *args, size_t begin, size_t end);
int vv_attend_portable_avx512(const void *args, size_t begin, size_t end);

void vv_attend_check(struct vv_check *check);
void vv_attend_bench(struct vv_bench *bench);

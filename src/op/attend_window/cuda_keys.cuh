/* What a row attends to, and where it lies: chunks of the newest rows, then of pooled ones. */
#pragma once
#include "op/attend/cuda_softmax.cuh"
VV_C_BEGIN
#include "op/attend_window/contract.h"
VV_C_END

namespace {

struct task {
    struct vv_attend_window a; /* with the device's window */
    vv_trouble trouble;
};

struct keys {
    int32_t slot;          /* of the state */
    uint32_t first, end;   /* positions */
    uint32_t held;         /* from this one on they are rows of the window */
    const int32_t *own;    /* those rows */
    uint32_t pooled, seen; /* keys of the second run; blocks that there are */
    const int32_t *block;  /* [pooled]; or null: all */
};

struct entry {
    const uint8_t *at;
    int type;
};

/* Rows of the window of the sequence in `slot`, ascending. */
__device__ inline const int32_t *own_rows(const vv_window *w, int32_t slot) {
    const int32_t *rows = w->sequence_row;
    for (int32_t i = 0; i < w->sequences; i++) {
        const int32_t *these = w->sequence_row + w->sequence_begin[i];
        rows = w->slot[*these] == slot ? these : rows;
    }
    return rows;
}

/* The newest rows, and blocks that there are. */
__device__ inline keys newest_keys(const struct vv_attend_window &a, size_t row) {
    const vv_window *w = a.window;
    keys k = {};
    k.slot = w->slot[row];
    k.end = (uint32_t)w->position[row] + 1;
    k.first = k.end > a.span ? k.end - (uint32_t)a.span : 0;
    k.own = own_rows(w, k.slot);
    k.held = (uint32_t)w->position[*k.own];
    k.seen = a.pooled.base ? k.end / (uint32_t)a.ratio : 0;
    return k;
}

__device__ inline keys keys_of(const struct vv_attend_window &a, size_t row) {
    keys k = newest_keys(a, row);
    k.pooled = k.seen;
    if (a.pooled.base && a.list) {
        k.block = a.list + row * a.keep;
        k.pooled = (uint32_t)a.listed[row];
    }
    return k;
}

/* What the window alone tells: all blocks, where a list would have room for them. */
__device__ inline keys keys_guessed(const struct vv_attend_window &a, size_t row) {
    keys k = newest_keys(a, row);
    k.pooled = a.list && k.seen > a.keep ? 0 : k.seen;
    return k;
}

__device__ inline entry newest_entry(const task &t, const keys &k, uint32_t position) {
    if (position >= k.held) {
        const float *row = t.a.own + (size_t)k.own[position - k.held] * t.a.width;
        return {reinterpret_cast<const uint8_t *>(row), VV_TYPE_F32};
    }
    return {static_cast<const uint8_t *>(vv_state_at(&t.a.ring, k.slot, position)), t.a.ring.type};
}

/* A block that the row doesn't see is trouble. */
__device__ inline entry pooled_entry(const task &t, const keys &k, uint32_t i) {
    uint32_t block = k.block ? (uint32_t)k.block[i] : i;
    if (block >= k.seen) {
        vv_report(t.trouble, VV_ERROR_INVALID);
        block = 0;
    }
    return {static_cast<const uint8_t *>(vv_state_at(&t.a.pooled, k.slot, block)), t.a.pooled.type};
}

/* Slots low … high - 1 of a run, all of one chunk. */
struct stretch {
    uint32_t low, high;
    bool pooled;
};

__device__ inline uint32_t newest_chunks(const keys &k) {
    return (k.end - 1) / CHUNK - k.first / CHUNK + 1;
}

__device__ inline uint32_t chunks_of(const keys &k) {
    return newest_chunks(k) + (k.pooled + CHUNK - 1) / CHUNK;
}

__device__ inline stretch chunk_at(const keys &k, uint32_t i) {
    uint32_t newest = newest_chunks(k), first = k.first, end = k.end, at = k.first / CHUNK + i;
    if (i >= newest) {
        first = 0;
        end = k.pooled;
        at = i - newest;
    }
    uint32_t low = at * CHUNK, high = low + CHUNK;
    return {low > first ? low : first, high < end ? high : end, i >= newest};
}

/* A list that is longer than it can be is told. */
__device__ inline bool keys_valid(const task &t, const keys &k) {
    bool valid = !k.block || k.pooled <= t.a.keep;
    if (!valid) {
        vv_report(t.trouble, VV_ERROR_INVALID);
    }
    return valid;
}

__device__ inline entry entry_at(const task &t, const keys &k, const stretch &s, uint32_t slot) {
    return s.pooled ? pooled_entry(t, k, slot) : newest_entry(t, k, slot);
}

} // namespace

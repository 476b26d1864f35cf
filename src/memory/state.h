/*
 * The state of sequences (keys and values, index keys, recurrent matrices, convolution tails, token
 * history) lives in slots. The model declares the parts; the device lays them out and hands kernels
 * a view of each. What a part holds is defined by its kind alone, so a snapshot has one serial form
 * however it lies in memory.
 */
#pragma once
#include "base/both.h"
#include "gguf/types.h"
#include <stddef.h>
#include <stdint.h>

enum vv_state_kind {
    VV_STATE_FIXED, /* one entry a sequence, moved in place (gated delta rule's matrix) */
    VV_STATE_RING,  /* entries by position; only the last `history` before the end count */
    VV_STATE_ROWS,  /* one entry for every `every` tokens, all of them count */
};

/* A part as declared. Serial form: its live entries in ascending position, each `width` elements.
 */
struct vv_state_part {
    char name[48]; /* "blk.3.k" */
    enum vv_state_kind kind;
    int type;     /* VV_TYPE_F32, VV_TYPE_F16, VV_TYPE_I32 or VV_TYPE_MXFP4 */
    size_t width; /* elements of an entry, whole blocks of the type */
    uint32_t
        every; /* rows: tokens an entry covers; entry b is complete at length (b + 1) * every */
    uint32_t history; /* ring: entries that must survive */
    uint32_t lag;     /* entries of positions below length - lag count (draft block: 1) */
};

/* Where a device put a part. Kernels index it with vv_state_at. */
struct vv_state_view {
    uint8_t *base;
    size_t slot_stride; /* bytes from one sequence's part to the next one's */
    size_t entry_stride;
    uint32_t ring; /* entries of the ring; 0: not a ring */
    int type;
    size_t width;
    size_t bytes; /* of the whole part, all slots */
};

/* Entry `index` of `slot`: the position for a ring or per-token rows, the block number for rows
 * that cover several tokens, 0 for fixed parts. */
VV_BOTH void *vv_state_at(const struct vv_state_view *v, int32_t slot, int64_t index) {
    size_t entry = v->ring ? (size_t)index % v->ring : (size_t)index;
    return v->base + (size_t)slot * v->slot_stride + entry * v->entry_stride;
}

/* Bytes of an entry of `width` elements. */
static inline size_t vv_state_entry_bytes(int type, size_t width) {
    const struct vv_type_info *info = vv_type_info(type);
    return width / info->block_values * info->block_bytes;
}

/* Entries that a part needs for a sequence of up to `tokens` tokens of which up to `window` may
 * still be taken back (a verify window's rows). */
static inline size_t vv_state_entries(const struct vv_state_part *part, uint32_t tokens,
                                      uint32_t window) {
    switch (part->kind) {
    case VV_STATE_FIXED:
        return 1;
    case VV_STATE_RING:
        return (size_t)part->history + window;
    default:
        return ((size_t)tokens + part->every - 1) / part->every;
    }
}

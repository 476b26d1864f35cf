/*
 * attend: gated softmax attention of the window's rows over their sequences' keys and values.
 *
 *   y[r][h] = (softmax over keys j of (scale · q[r][h] · k_j) · v_j) ⊙ sigmoid(gate[r][h])
 *
 * Query head h uses key/value head h div (heads / kv_heads). A row at position p sees
 *   - dense (list NULL): the positions 0 .. p;
 *   - with a list: the tokens of its listed blocks, ascending, then the tail, positions
 *     (p + 1) div ratio · ratio .. p. Nothing else: p itself only if a listed block or the tail
 *     has it (spec of qwen4exp, 4.7.2).
 * Keys and values of the window's own rows are in the cache already.
 *
 * Order (docs/arithmetic.md, section 5). A key's slot is its position (dense) or its ordinal
 * (list); keys with equal slot div 64 form a chunk. Per chunk: z_j = dot(k_j, q) · scale, m_c = max
 * z_j, p_j = exp(z_j - m_c), l_c = the p_j in 16 lanes (slot mod 16), ascending, tree 8 4 2 1,
 * o_c[d] = fma(p_j, v_j[d], o_c[d]) ascending from +0. Merge, chunks ascending, from m = -inf, l =
 * o = +0: m' = max(m, m_c), a = exp(m - m'), b = exp(m_c - m'), l = fma(l_c, b, l · a), o =
 * fma(o_c, b, o · a). At the end y = (o · (1 / l)) · sigmoid(gate). F16 keys and values are widened
 * exactly. A list of all blocks gives the bits of dense attention.
 *
 * A chunk whose l_c is NaN (a score is NaN or +inf, or all are -inf) is VV_ERROR_NOT_FINITE; a
 * listed block that the row does not see, or no key at all, is VV_ERROR_INVALID. A unit is one
 * (row, head): unit = row · heads + head.
 */
#pragma once
#include "memory/state.h"
#include "registry/operation.h"
#include "registry/window.h"

struct vv_attend {
    const float *q;             /* [rows][heads][width] normed and rotated */
    const float *gate;          /* of (row, head): [width] at row · gate_row + head · gate_head */
    size_t gate_row, gate_head; /* floats */
    struct vv_state_view k, v;  /* rows, F32 or F16; an entry is [kv_heads][width] */
    const int32_t *list;        /* [rows][keep] blocks, ascending, as top_k leaves them; or NULL */
    const int32_t *listed;      /* [rows] */
    size_t keep, ratio;         /* blocks a list, tokens a block */
    float *y;                   /* [rows][heads · width] */
    size_t heads, kv_heads;     /* heads a multiple of kv_heads */
    size_t width;
    float scale;
    const struct vv_window *window;
    struct vv_rows rows;
};

extern const struct vv_operation vv_attend;

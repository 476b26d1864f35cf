/* What comes before the delta rule: a sequence's rows, the short convolution, the gates. */
#pragma once
#include "op/cuda/dot.cuh"
VV_C_BEGIN
#include "op/gdn_step/contract.h"
VV_C_END

namespace {

/* The operation as a kernel takes it: the window's arrays where the device has them. */
struct task {
    struct vv_gdn_step a;
    size_t channels;
    const int32_t *position, *slot, *sequence_begin, *sequence_row;
    int32_t rows, sequences;
    unsigned together; /* columns of S that lie at a multiple of their size: 1, 2 or 4 */
    bool fours;        /* four taps, whose weights begin at multiples of 16 bytes */
    float query_scale; /* 1 / sqrt(key_dim) */
    vv_trouble trouble;
};

/* A sequence's rows: numbers begin … end - 1 of sequence_row, from position `first` on. */
struct stretch {
    int32_t begin, end, slot, first;
};

__device__ stretch stretch_of(const task &t, int32_t sequence) {
    stretch s = {0, t.rows, 0, 0};
    if (t.sequences > 1) {
        s.begin = t.sequence_begin[sequence];
        s.end = t.sequence_begin[sequence + 1];
    }
    if (s.begin < s.end) {
        int32_t row = t.sequence_row[s.begin];
        s.slot = t.slot[row];
        s.first = t.position[row];
    }
    return s;
}

__device__ float *entry(const struct vv_state_view &ring, int32_t slot, int32_t position) {
    return reinterpret_cast<float *>(ring.base + (size_t)slot * ring.slot_stride +
                                     (uint32_t)position % ring.ring * ring.entry_stride);
}

/* The matrix of a value head. */
__device__ float *matrix_of(const task &t, int32_t slot, size_t head) {
    float *all = reinterpret_cast<float *>(t.a.state.base + (size_t)slot * t.a.state.slot_stride);
    return all + head * t.a.key_dim * t.a.value_dim;
}

/* The qkv of the sequence's position first + i, before the window's rows if i is negative; NULL:
 * before the sequence's start. */
__device__ const float *input_of(const task &t, const stretch &s, int32_t i) {
    int32_t position = s.first + i;
    if (position < 0) {
        return nullptr;
    }
    if (i < 0 || t.a.mode == VV_GDN_COMMIT) {
        return entry(t.a.conv_ring, s.slot, position);
    }
    return t.a.qkv + (size_t)t.sequence_row[s.begin + i] * t.channels;
}

enum { FOUR_BEFORE = 3 }; /* inputs before a row's own, of four taps */

/* Four taps' weights in one channel, and its inputs: those before the first row, then the rows'. */
template <int ROWS> struct four_taps {
    float4 w;
    float x[FOUR_BEFORE + ROWS];
};

/* Inputs from … to - 1; the weights with the first. tap[0] is the oldest row of qkv that the first
 * row needs, and so on. */
template <int ROWS>
__device__ void load_taps(const task &t, const float *const *tap, int32_t from, int32_t to,
                          size_t channel, bool here, four_taps<ROWS> *in) {
    if (from == 0) {
        in->w = here ? reinterpret_cast<const float4 *>(t.a.conv)[channel]
                     : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    }
    VV_UNROLL
    for (int i = 0; i < FOUR_BEFORE + ROWS; i++) {
        if (i >= from && (i < FOUR_BEFORE) == (from == 0)) {
            const float *at = here && i < to ? tap[i] : nullptr;
            in->x[i] = at ? at[channel] : 0.0f;
        }
    }
}

/* silu of the convolution in one channel of n rows, ROWS at most: (row, value) go to `store`. */
template <int ROWS, typename Store>
__device__ void convolve_four(const four_taps<ROWS> &in, int32_t n, Store store) {
    VV_UNROLL
    for (int r = 0; r < ROWS; r++) {
        float sum = fmaf(in.w.x, in.x[r], 0.0f);
        sum = fmaf(in.w.y, in.x[r + 1], sum);
        sum = fmaf(in.w.z, in.x[r + 2], sum);
        sum = fmaf(in.w.w, in.x[r + 3], sum);
        if (r < n) {
            store(r, vv_silu(sum));
        }
    }
}

/* The same of any number of taps; of four everything is read before anything is computed. */
template <int ROWS, typename Store>
__device__ void convolve(const task &t, const float *const *tap, int32_t n, size_t channel,
                         Store store) {
    if (t.fours) {
        four_taps<ROWS> in;
        load_taps(t, tap, 0, FOUR_BEFORE, channel, true, &in);
        load_taps(t, tap, FOUR_BEFORE, n + FOUR_BEFORE, channel, true, &in);
        convolve_four(in, n, store);
        return;
    }
    for (int32_t r = 0; r < n; r++) {
        float sum = 0.0f;
        for (size_t m = 0; m < t.a.kernel; m++) {
            const float *from = tap[(size_t)r + m];
            float x = from ? from[channel] : 0.0f;
            sum = fmaf(t.a.conv[channel * t.a.kernel + m], x, sum);
        }
        store(r, vv_silu(sum));
    }
}

/* alpha and beta of a value head for the sequence's row i, the window's `row`. */
__device__ float2 raw_gates(const task &t, const stretch &s, int32_t i, int32_t row, size_t head) {
    const float *alpha, *beta;
    if (t.a.mode == VV_GDN_COMMIT) {
        alpha = entry(t.a.gate_ring, s.slot, s.first + i);
        beta = alpha + t.a.value_heads;
    } else {
        size_t at = (size_t)row * t.a.value_heads;
        alpha = t.a.alpha + at;
        beta = t.a.beta + at;
    }
    return make_float2(alpha[head], beta[head]);
}

/* exp(g) and β; `rate` is a. */
__device__ float2 gates_from(float2 raw, float rate, float bias) {
    return make_float2(vv_exp(rate * vv_softplus(raw.x + bias)), vv_sigmoid(raw.y));
}

} // namespace

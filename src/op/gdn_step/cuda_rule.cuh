/*
 * The delta rule on registers. Eight threads of a warp share some value columns: thread g of them
 * holds the keys of the contract's lanes g and g + 8, so that the tree's first addition is its own
 * and exchanging with the threads 4, 2, 1 apart is the rest. Keys beyond key_dim are zeros, which
 * leave every lane as it is. q̂ and k̂ come from shared memory in the order that lets those threads
 * read them 16 bytes at a time (staged_at).
 */
#pragma once
#include "op/cuda/dot.cuh"
VV_C_BEGIN
#include "op/gdn_step/contract.h"
VV_C_END

namespace {

enum {
    SHARERS = 8,                  /* threads that share columns */
    GROUPS = 32 / SHARERS,        /* of a warp */
    SEGMENT_KEYS = 128 / SHARERS, /* keys of a segment that a thread holds */
    ROUNDS = SEGMENT_KEYS / 2,    /* of those in one lane */
    PIECES = SEGMENT_KEYS / 4,    /* 16 bytes each */
};

/* Where key i stands when it is staged. */
__device__ size_t staged_at(size_t i) {
    size_t lane = i % VV_LANES, mine = lane / SHARERS * ROUNDS + i % VV_SEGMENT / VV_LANES;
    return i / VV_SEGMENT * VV_SEGMENT + (mine / 4 * SHARERS + lane % SHARERS) * 4 + mine % 4;
}

/* The key that a thread's element e is, where SHARE threads share columns. */
template <int SHARE = SHARERS> __device__ unsigned key_of(unsigned g, int e) {
    constexpr int lane_keys = (int)VV_LANE_VALUES, keys = VV_SEGMENT / SHARE;
    int in = e % keys;
    return (unsigned)(e / keys * VV_SEGMENT + in % lane_keys * VV_LANES + in / lane_keys * SHARE) +
           g;
}

__device__ float4 piece(const float *staged, int segment, int i, unsigned g) {
    return reinterpret_cast<const float4 *>(staged + segment * VV_SEGMENT)[i * SHARERS + (int)g];
}

/* C columns of S, of which a thread has those keys; r is Sᵀ k̂ of the next row. */
template <int C, int SEGMENTS> struct columns {
    float s[C][SEGMENTS * SEGMENT_KEYS], k[SEGMENTS * SEGMENT_KEYS], r[C];
};

/* Ends a segment: the sum over the threads that share it, onto the total. */
template <int C> __device__ void add_lanes(const float (&lane)[2][C], float (&total)[C]) {
    for (int c = 0; c < C; c++) {
        float sum = lane[0][c] + lane[1][c];
        for (int apart = SHARERS / 2; apart > 0; apart /= 2) {
            sum += __shfl_xor_sync(0xffffffffu, sum, apart);
        }
        total[c] += sum;
    }
}

/* The same where one thread needs each column: halves of the columns are exchanged for halves of
 * the sums. `total` is that of column `scattered_column`. */
template <int C>
__device__ void add_lanes_scattered(const float (&lane)[2][C], unsigned g, float *total) {
    float sum[C];
    for (int c = 0; c < C; c++) {
        sum[c] = lane[0][c] + lane[1][c];
    }
    int n = C;
    VV_UNROLL
    for (int apart = SHARERS / 2; apart > 0; apart /= 2) {
        bool upper = (g & (unsigned)apart) != 0;
        if (n > 1) {
            n /= 2;
            for (int c = 0; c < n; c++) {
                float mine = upper ? sum[n + c] : sum[c], other = upper ? sum[c] : sum[n + c];
                sum[c] = mine + __shfl_xor_sync(0xffffffffu, other, apart);
            }
        } else {
            sum[0] += __shfl_xor_sync(0xffffffffu, sum[0], apart);
        }
    }
    *total += sum[0];
}
template <int C> __device__ unsigned scattered_column(unsigned g) {
    return g / (SHARERS / C);
}
/* Whether of the threads that then have a column this one writes it. */
template <int C> __device__ bool scattered_writer(unsigned g) {
    return g % (SHARERS / C) == 0;
}

/* S = S · decay; r = Sᵀ k̂, before the first row. */
template <int C, int SEGMENTS>
__device__ void begin_rows(columns<C, SEGMENTS> &x, float decay, const float *k, unsigned g) {
    for (int c = 0; c < C; c++) {
        x.r[c] = 0.0f;
    }
    VV_UNROLL
    for (int segment = 0; segment < SEGMENTS; segment++) {
        float lane[2][C] = {};
        VV_UNROLL
        for (int i = 0; i < PIECES; i++) {
            float4 four = piece(k, segment, i, g);
            const float next[4] = {four.x, four.y, four.z, four.w};
            VV_UNROLL
            for (int j = 0; j < 4; j++) {
                int e = segment * SEGMENT_KEYS + 4 * i + j, half = (4 * i + j) / ROUNDS;
                x.k[e] = next[j];
                for (int c = 0; c < C; c++) {
                    x.s[c][e] *= decay;
                    lane[half][c] = fmaf(x.s[c][e], next[j], lane[half][c]);
                }
            }
        }
        add_lanes<C>(lane, x.r);
    }
}

/*
 * One row, in one pass over S: S = S + k̂ δᵀ, y = Sᵀ q̂; and of the next row (MORE) S = S · decay,
 * r = Sᵀ next. y is that of the column scattered_column.
 */
template <bool MORE, int C, int SEGMENTS>
__device__ float step_row(columns<C, SEGMENTS> &x, const float (&delta)[C], const float *q,
                          const float *next, float decay, unsigned g) {
    float y = 0.0f;
    for (int c = 0; c < C; c++) {
        x.r[c] = 0.0f;
    }
    VV_UNROLL
    for (int segment = 0; segment < SEGMENTS; segment++) {
        float read[2][C] = {}, ahead[2][C] = {};
        VV_UNROLL
        for (int i = 0; i < PIECES; i++) {
            float4 q4 = piece(q, segment, i, g), n4 = q4;
            if (MORE) {
                n4 = piece(next, segment, i, g);
            }
            const float qs[4] = {q4.x, q4.y, q4.z, q4.w}, ns[4] = {n4.x, n4.y, n4.z, n4.w};
            VV_UNROLL
            for (int j = 0; j < 4; j++) {
                int e = segment * SEGMENT_KEYS + 4 * i + j, half = (4 * i + j) / ROUNDS;
                for (int c = 0; c < C; c++) {
                    float s = fmaf(x.k[e], delta[c], x.s[c][e]);
                    read[half][c] = fmaf(s, qs[j], read[half][c]);
                    if (MORE) {
                        s *= decay;
                        ahead[half][c] = fmaf(s, ns[j], ahead[half][c]);
                    }
                    x.s[c][e] = s;
                }
                if (MORE) {
                    x.k[e] = ns[j];
                }
            }
        }
        if (MORE) {
            add_lanes<C>(ahead, x.r);
        }
        add_lanes_scattered<C>(read, g, &y);
    }
    return y;
}

/* C columns of a row of S at once. */
template <int C>
using together_type = std::conditional_t<C == 4, float4, std::conditional_t<C == 2, float2, float>>;

template <int C> __device__ void load_together(float (&one)[C], const float *at, bool here) {
    together_type<C> all = {};
    if (here) {
        all = *reinterpret_cast<const together_type<C> *>(at);
    }
    memcpy(one, &all, sizeof one);
}
template <int C> __device__ void store_together(const float (&one)[C], float *at) {
    together_type<C> all;
    memcpy(&all, one, sizeof all);
    *reinterpret_cast<together_type<C> *>(at) = all;
}

/*
 * What a thread has of S [key_dim][value_dim] from column `column` on; `from` NULL: zeros. Columns
 * are read as many at once as `together` says.
 */
template <int SHARE = SHARERS, int C, int ELEMENTS>
__device__ void load_state(float (&s)[C][ELEMENTS], const float *from, size_t key_dim,
                           size_t value_dim, size_t column, unsigned together, unsigned g) {
    unsigned row = (unsigned)value_dim; /* floats; a matrix has few enough for 32 bits */
    const float *at = from + column;
    auto here = [&](int e) { return from && key_of<SHARE>(g, e) < key_dim; };
    if (together >= C) {
        VV_UNROLL
        for (int e = 0; e < ELEMENTS; e++) {
            float one[C];
            load_together<C>(one, at + key_of<SHARE>(g, e) * row, here(e) && column < value_dim);
            for (int c = 0; c < C; c++) {
                s[c][e] = one[c];
            }
        }
        return;
    }
    VV_UNROLL
    for (int e = 0; e < ELEMENTS; e++) {
        for (int c = 0; c < C; c++) {
            bool inside = here(e) && column + (size_t)c < value_dim;
            s[c][e] = inside ? at[key_of<SHARE>(g, e) * row + (size_t)c] : 0.0f;
        }
    }
}

template <int SHARE = SHARERS, int C, int ELEMENTS>
__device__ void store_state(const float (&s)[C][ELEMENTS], float *to, size_t key_dim,
                            size_t value_dim, size_t column, unsigned together, unsigned g) {
    unsigned row = (unsigned)value_dim; /* floats; a matrix has few enough for 32 bits */
    float *at = to + column;
    if (together >= C) {
        VV_UNROLL
        for (int e = 0; e < ELEMENTS; e++) {
            float one[C];
            for (int c = 0; c < C; c++) {
                one[c] = s[c][e];
            }
            if (key_of<SHARE>(g, e) < key_dim && column < value_dim) {
                store_together<C>(one, at + key_of<SHARE>(g, e) * row);
            }
        }
        return;
    }
    VV_UNROLL
    for (int e = 0; e < ELEMENTS; e++) {
        for (int c = 0; c < C; c++) {
            if (key_of<SHARE>(g, e) < key_dim && column + (size_t)c < value_dim) {
                at[key_of<SHARE>(g, e) * row + (size_t)c] = s[c][e];
            }
        }
    }
}

} // namespace

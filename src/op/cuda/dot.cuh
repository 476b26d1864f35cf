/*
 * The contract's float dot product (docs/arithmetic.md, section 4) by sixteen threads: thread l of
 * a half warp is lane l, and exchanging with the threads 8, 4, 2, 1 apart is the tree over the
 * lanes, after which all sixteen hold the sum.
 */
#pragma once
#include "op/cuda/kernel.cuh"

static __device__ inline float vv_add_lanes_across(float lane) {
    for (int apart = VV_LANES / 2; apart > 0; apart /= 2) {
        lane += __shfl_xor_sync(0xffffffffu, lane, apart);
    }
    return lane;
}

/*
 * Of N sums that threads APART, APART / 2, … LAST apart have parts of, the whole ones, by a tree of
 * that order: while their number is even, halves of them are exchanged for halves of the parts; of
 * those that are left each thread gets all. `me`: the thread's number. A thread gets the
 * vv_scattered<…> sums from vv_scattered_first<…>(me) on.
 */
template <int N, int APART, int LAST>
static __device__ __forceinline__ void vv_scatter_sums(float *sum, unsigned me) {
    constexpr int LEFT = N % 2 == 0 ? N / 2 : N;
    VV_UNROLL
    for (int i = 0; i < LEFT; i++) {
        bool upper = me & APART;
        float mine = N % 2 == 0 && upper ? sum[N / 2 + i] : sum[i];
        float other = N % 2 != 0 || upper ? sum[i] : sum[N / 2 + i];
        sum[i] = mine + __shfl_xor_sync(0xffffffffu, other, APART);
    }
    if constexpr (APART > LAST) {
        vv_scatter_sums<LEFT, APART / 2, LAST>(sum, me);
    }
}
template <int N, int APART, int LAST>
constexpr int vv_scattered =
    APART < LAST ? N : vv_scattered<N % 2 == 0 ? N / 2 : N, APART / 2, LAST>;
template <int N, int LAST> constexpr int vv_scattered<N, 0, LAST> = N;
template <int N, int APART, int LAST>
static __device__ __forceinline__ unsigned vv_scattered_first(unsigned me) {
    if constexpr (APART < LAST) {
        return 0;
    } else if constexpr (N % 2 == 0) {
        return (me & APART ? N / 2 : 0) + vv_scattered_first<N / 2, APART / 2, LAST>(me);
    } else {
        return vv_scattered_first<N, APART / 2, LAST>(me);
    }
}

/* One segment of n values, 128 or fewer; all threads of the warp come here, with segments of their
 * own half (n = 0: none). Values are i -> a(i), b(i). */
template <typename A, typename B>
static __device__ inline float vv_dot_segment_across(A a, B b, size_t n) {
    float lane = 0.0f;
    for (size_t i = threadIdx.x % VV_LANES; i < n; i += VV_LANES) {
        lane = fmaf(a(i), b(i), lane);
    }
    return vv_add_lanes_across(lane);
}

static __host__ __device__ inline size_t vv_segments(size_t width) {
    return (width + VV_SEGMENT - 1) / VV_SEGMENT;
}

/* Values of a segment that a thread of a half warp holds: those of its lane. */
constexpr unsigned VV_LANE_VALUES = VV_SEGMENT / VV_LANES;

/* The thread's values of the segment of x [width] that begins at `first`, asked for together; +0
 * where x has none, which leaves sums as they are. */
static __device__ inline void vv_load_lane(float (&to)[VV_LANE_VALUES], const float *x,
                                           unsigned first, unsigned width) {
    VV_UNROLL
    for (unsigned m = 0; m < VV_LANE_VALUES; m++) {
        unsigned i = first + m * VV_LANES + threadIdx.x % VV_LANES;
        to[m] = i < width ? x[i] : 0.0f;
    }
}

/* store(i, m) for each value m of the thread, i in the row, that is within it. */
template <typename Store>
static __device__ inline void vv_store_lane(Store store, unsigned first, unsigned width) {
    VV_UNROLL
    for (unsigned m = 0; m < VV_LANE_VALUES; m++) {
        unsigned i = first + m * VV_LANES + threadIdx.x % VV_LANES;
        if (i < width) {
            store(i, m);
        }
    }
}

/* The sum of a segment's squares, by its half warp. */
static __device__ inline float vv_square_lanes(const float (&x)[VV_LANE_VALUES]) {
    float lane = 0.0f;
    VV_UNROLL
    for (unsigned m = 0; m < VV_LANE_VALUES; m++) {
        lane = fmaf(x[m], x[m], lane);
    }
    return vv_add_lanes_across(lane);
}

/* Threads of a block that takes such rows a half warp a segment, as many at once as there can be.
 */
static inline unsigned vv_segment_threads(size_t width) {
    size_t threads = (vv_segments(width) * VV_LANES + 31) / 32 * 32;
    return (unsigned)(threads < 1024 ? threads : 1024);
}

/* Segments' sums lie in shared memory by fours, behind the last there are zeros. */
static __host__ __device__ inline unsigned vv_parts(size_t width) {
    return (unsigned)(vv_segments(width) + 3) / 4 * 4;
}

/*
 * The sum of squares of a row by such a block: load(first) puts the thread's values of the segment
 * that begins there into x. `part` [vv_parts] is shared memory.
 */
template <typename Load>
static __device__ inline float vv_squares_block(float (&x)[VV_LANE_VALUES], Load load,
                                                unsigned width, float *part) {
    unsigned segments = (unsigned)vv_segments(width), parts = vv_parts(width);
    unsigned halves = blockDim.x / VV_LANES;
    if (threadIdx.x < parts - segments) {
        part[segments + threadIdx.x] = 0.0f;
    }
    VV_UNROLL_BY(1)
    for (unsigned first = 0; first < segments; first += halves) {
        unsigned s = first + threadIdx.x / VV_LANES;
        load(s * VV_SEGMENT);
        float squares = vv_square_lanes(x);
        if (s < segments && threadIdx.x % VV_LANES == 0) {
            part[s] = squares;
        }
    }
    __syncthreads();
    float sum = 0.0f;
    auto fours = reinterpret_cast<const float4 *>(part);
    float4 next = fours[0];
    VV_UNROLL_BY(1) /* kernels of few rows run once: their code is fetched as they go */
    for (unsigned s = 0; s < parts; s += 4) {
        float4 four = next;
        next = fours[s + 4 < parts ? s / 4 + 1 : 0];
        sum += four.x;
        sum += four.y;
        sum += four.z;
        sum += four.w;
    }
    return sum;
}

/*
 * A whole block's dot product: `part` [segments] is shared memory. Every thread returns the sum.
 * The caller syncs before it uses `part` again.
 */
template <typename A, typename B>
static __device__ inline float vv_dot_block(A a, B b, size_t width, float *part) {
    size_t halves = blockDim.x / VV_LANES, half = threadIdx.x / VV_LANES;
    size_t segments = vv_segments(width);
    VV_UNROLL_BY(1)
    for (size_t first = 0; first < segments; first += halves) {
        size_t s = first + half, at = s * VV_SEGMENT;
        size_t n = s >= segments ? 0 : width - at < VV_SEGMENT ? width - at : VV_SEGMENT;
        float sum = vv_dot_segment_across([&](size_t i) { return a(at + i); },
                                          [&](size_t i) { return b(at + i); }, n);
        if (n > 0 && threadIdx.x % VV_LANES == 0) {
            part[s] = sum;
        }
    }
    __syncthreads();
    float sum = 0.0f;
    for (size_t s = 0; s < segments; s++) {
        sum += part[s];
    }
    return sum;
}

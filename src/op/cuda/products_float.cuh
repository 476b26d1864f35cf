/*
 * Weights of float formats, and the validation mode, which decodes weights: the contract's float
 * dot product (op/cuda/dot.cuh).
 */
#pragma once
#include "op/cuda/dot.cuh"
#include "op/cuda/products_place.cuh"

namespace vv_products {

static __device__ __forceinline__ float float_at(int type, const uint8_t *row, unsigned i) {
    switch (type) {
    case VV_TYPE_F16:
        return __half2float(__ushort_as_half(reinterpret_cast<const uint16_t *>(row)[i]));
    case VV_TYPE_BF16:
        return vv_from_bf16(reinterpret_cast<const uint16_t *>(row)[i]);
    default:
        return reinterpret_cast<const float *>(row)[i];
    }
}

/* Values i and i + 1 of a row, i even. */
template <int TYPE>
static __device__ __forceinline__ float2 two_floats(const uint8_t *row, unsigned i) {
    if constexpr (TYPE == VV_TYPE_F32) {
        return *reinterpret_cast<const float2 *>(row + 4 * i);
    } else {
        uint32_t both = *reinterpret_cast<const uint32_t *>(row + 2 * i);
        if constexpr (TYPE == VV_TYPE_BF16) {
            return {vv_from_bits(both << 16), vv_from_bits(both & 0xffff0000u)};
        } else {
            return {__half2float(__ushort_as_half((unsigned short)(both & 0xffff))),
                    __half2float(__ushort_as_half((unsigned short)(both >> 16)))};
        }
    }
}
/* Those of them that are among the first `left` values. */
template <int TYPE>
static __device__ __forceinline__ float2 few_floats(const uint8_t *row, unsigned i, unsigned left) {
    return {i < left ? float_at(TYPE, row, i) : 0.0f,
            i + 1 < left ? float_at(TYPE, row, i + 1) : 0.0f};
}

/*
 * A segment of two weight rows by one row, each from a thread's first value of it on, eight threads
 * a segment: thread t has lanes 2t and 2t + 1, so adding across those 4, 2 and 1 apart, then both
 * lanes, is the tree. Not WHOLE: values from the thread's `left`-th on aren't there, and none need
 * lie at an even place. The first four threads get the first row's sum, the others the second's.
 */
template <int TYPE, bool WHOLE>
static __device__ __forceinline__ float two_segments(const uint8_t *const (&weights)[2],
                                                     const float *x, unsigned left) {
    constexpr unsigned steps = VV_SEGMENT / VV_LANES;
    auto row = reinterpret_cast<const uint8_t *>(x);
    float lane[4] = {};
    auto add = [&](const float2 &near, const float2 &a, const float2 &b) {
        lane[0] = fmaf(a.x, near.x, lane[0]);
        lane[1] = fmaf(a.y, near.y, lane[1]);
        lane[2] = fmaf(b.x, near.x, lane[2]);
        lane[3] = fmaf(b.y, near.y, lane[3]);
    };
    if (WHOLE) {
        float2 near[steps];
        VV_UNROLL
        for (unsigned i = 0; i < steps; i++) { /* asked for together */
            near[i] = two_floats<VV_TYPE_F32>(row, VV_LANES * i);
        }
        VV_UNROLL
        for (unsigned i = 0; i < steps; i++) {
            add(near[i], two_floats<TYPE>(weights[0], VV_LANES * i),
                two_floats<TYPE>(weights[1], VV_LANES * i));
        }
    } else {
        VV_UNROLL_BY(1)
        for (unsigned i = 0; i < VV_SEGMENT; i += VV_LANES) {
            add(few_floats<VV_TYPE_F32>(row, i, left), few_floats<TYPE>(weights[0], i, left),
                few_floats<TYPE>(weights[1], i, left));
        }
    }
    unsigned t = threadIdx.x % 8;
    vv_scatter_sums<4, 4, 1>(lane, t); /* of even lanes, or of odd ones where t has bit 1 */
    return lane[0] + __shfl_xor_sync(0xffffffffu, lane[0], 2);
}

/* A warp takes four segments of two held rows, then others: so many in all. */
static __host__ __device__ inline unsigned float_tasks(unsigned segments, unsigned shift) {
    return ((segments << (shift ? shift - 1 : 0)) + 3) / 4;
}

/* Asks for the span of the rows of activations, which all of the block's weight rows meet. */
template <unsigned R>
static __device__ __forceinline__ void ask_for_floats(const vv_product_job &job, const span &part,
                                                      const rows_in_hand<R> &rows) {
    constexpr unsigned line = 32; /* floats */
    unsigned width = (unsigned)job.x.width, start = part.first * VV_SEGMENT;
    unsigned end = start + part.segments * VV_SEGMENT;
    end = end < width ? end : width;
    VV_UNROLL_BY(1)
    for (unsigned row = 0; row < rows.count; row++) {
        const float *x = job.x.x + (size_t)rows.x(row) * width;
        VV_UNROLL_BY(1)
        for (unsigned i = start + line * threadIdx.x; i < end; i += line * blockDim.x) {
            vv_prefetch<true>(x + i);
        }
    }
}

/* A warp's neighbouring eights of threads take the same segment of neighbouring rows, which lie
 * in different banks. */
template <int TYPE, unsigned R>
static __device__ __forceinline__ void float_rows(const vv_product_job &job, const place &at,
                                                  const span &part, const rows_in_hand<R> &rows,
                                                  const uint8_t *held, const sums_of_block &to) {
    constexpr unsigned bytes = TYPE == VV_TYPE_F32 ? 4 : 2;
    unsigned width = (unsigned)job.x.width, lane = threadIdx.x % 32;
    unsigned start = part.first * VV_SEGMENT, values = width - start; /* of the span */
    values = values < part.segments * VV_SEGMENT ? values : part.segments * VV_SEGMENT;
    bool whole = values % VV_SEGMENT == 0 && width % 2 == 0;
    unsigned pairs = at.shift ? at.shift - 1 : 0, tasks = float_tasks(part.segments, at.shift);
    VV_UNROLL_BY(1)
    for (unsigned task = threadIdx.x / 32; task < tasks; task += blockDim.x / 32) {
        unsigned unit = 4 * task + lane / 8, slot = 2 * (unit & ((1u << pairs) - 1));
        unsigned segment = unit >> pairs;
        bool there = segment < part.segments; /* else it repeats the last one */
        segment = there ? segment : part.segments - 1;
        unsigned first = segment * VV_SEGMENT + 2 * (lane % 8), mine = slot + lane / 4 % 2;
        unsigned left = values > first ? values - first : 0;
        const uint8_t *weights[2] = {held_row(at, held, slot) + first * bytes,
                                     held_row(at, held, slot + 1) + first * bytes};
        VV_UNROLL_BY(1)
        for (unsigned row = 0; row < rows.count; row++) {
            const float *x = job.x.x + (size_t)rows.x(row) * width + start + first;
            float sum = whole ? two_segments<TYPE, true>(weights, x, left)
                              : two_segments<TYPE, false>(weights, x, left);
            if (lane % 4 == 0 && there && mine < at.used) {
                to.store((mine * rows.tile + row) * at.stride + part.first + segment, sum);
            }
        }
    }
}

/* Validation mode: every thread a segment, decoded where it lies. */
template <int TYPE>
static __device__ __forceinline__ void decoded_row(const vv_product_job &job, const place &at,
                                                   unsigned row, float *sum) {
    unsigned width = (unsigned)job.x.width;
    const float *x = job.x.x + (size_t)row * width;
    for (unsigned t = threadIdx.x; t < at.segments << at.shift; t += blockDim.x) {
        unsigned slot = t & ((1u << at.shift) - 1), segment = t >> at.shift;
        if (slot >= at.used) {
            continue;
        }
        const uint8_t *weights = row_of_slot(at, slot);
        float lane[16] = {};
        for (unsigned k = 4 * segment; k < 4 * segment + 4 && k < width / 32; k++) {
            vv_group g;
            vv_unpack_group<TYPE>(weights, width, k, g);
            VV_UNROLL
            for (int i = 0; i < 32; i++) {
                lane[i % 16] =
                    fmaf(vv_group_value<TYPE>(g, i), x[32 * k + (unsigned)i], lane[i % 16]);
            }
        }
        sum[slot * at.stride + segment] = vv_add_lanes(lane);
    }
}

/* ---- many rows ---- */

/*
 * A block multiplies 32 weight rows with 32 rows of activations, sixteen threads 8 of each: a
 * thread holds its lane of 64 products, and adding across the threads leaves four whole ones with
 * each. The two halves of a warp take every other of 16 rows, whose banks differ.
 */
constexpr unsigned PLAIN = 32, PLAIN_STRIDE = 128 + 16, PLAIN_TILE = 8;

union plain_memory {
    struct {
        float weight[PLAIN][PLAIN_STRIDE], x[PLAIN][PLAIN_STRIDE];
    } stage[2];
    float total[PLAIN * (PLAIN + 1)];
};

/* What a thread stages: four values of every eighth row, by copies behind its back where rows lie
 * so that they can be; one value after another where a row's width is odd. */
struct plain_rows_of_thread {
    const uint8_t *weight[4];
    const float *x[4];
    unsigned width;
    int type;
    VV_DEVICE plain_rows_of_thread(const vv_product_job &job, const place &at,
                                   const rows_in_hand<PLAIN> &rows)
        : width((unsigned)job.x.width), type(at.part->type) {
        VV_UNROLL
        for (unsigned i = 0; i < 4; i++) {
            unsigned r = threadIdx.x / 32 + 8 * i;
            weight[i] = row_of_slot(at, r);
            x[i] = job.x.x + (size_t)rows.x(r) * width;
        }
    }
    VV_DEVICE void stage(unsigned segment, plain_memory &memory) const {
        auto &to = memory.stage[segment % 2];
        unsigned column = threadIdx.x % 32 * 4, value = 128 * segment + column;
        bool even = width % 4 == 0, here = value < width;
        VV_UNROLL
        for (unsigned i = 0; i < 4; i++) {
            unsigned r = threadIdx.x / 32 + 8 * i;
            if (even) {
                vv_copy_async<16, true>(&to.x[r][column], x[i] + (here ? value : 0), here ? 16 : 0);
            }
            if (even && type == VV_TYPE_F32) {
                vv_copy_async<16, true>(
                    &to.weight[r][column],
                    reinterpret_cast<const float *>(weight[i]) + (here ? value : 0), here ? 16 : 0);
                continue;
            }
            VV_UNROLL
            for (unsigned k = 0; k < 4; k++) {
                bool in = value + k < width;
                to.weight[r][column + k] = in ? float_at(type, weight[i], value + k) : 0.0f;
                if (!even) {
                    to.x[r][column + k] = in ? x[i][value + k] : 0.0f;
                }
            }
        }
        vv_copy_commit();
    }
};

static __device__ __forceinline__ void plain_rows(const vv_product_job &job, const place &at,
                                                  const rows_in_hand<PLAIN> &rows,
                                                  plain_memory &memory) {
    constexpr int N = PLAIN_TILE;
    unsigned warp = threadIdx.x / 32, half = threadIdx.x % 32 / 16, l = threadIdx.x % 16;
    unsigned slot = warp / 2 * N, row = warp % 2 * 2 * N + half; /* every other row from it on */
    float total[N * N / 16] = {};
    plain_rows_of_thread mine(job, at, rows);
    mine.stage(0, memory);
    for (unsigned segment = 0; segment < at.segments; segment++) {
        vv_copy_wait<0>();
        __syncthreads();
        if (segment + 1 < at.segments) {
            mine.stage(segment + 1, memory);
        }
        const auto &stage = memory.stage[segment % 2];
        float v[N * N] = {};
        VV_UNROLL
        for (int k = 0; k < 8; k++) {
            float w[N], x[N];
            VV_UNROLL
            for (int i = 0; i < N; i++) {
                w[i] = stage.weight[slot + (unsigned)i][16 * k + (int)l];
                x[i] = stage.x[row + 2 * (unsigned)i][16 * k + (int)l];
            }
            VV_UNROLL
            for (int i = 0; i < N * N; i++) {
                v[i] = fmaf(w[i / N], x[i % N], v[i]);
            }
        }
        vv_scatter_sums<N * N, VV_LANES / 2, 1>(v, l);
        VV_UNROLL
        for (int i = 0; i < N * N / 16; i++) {
            total[i] += v[i];
        }
    }
    __syncthreads();
    VV_UNROLL
    for (unsigned i = 0; i < N * N / 16; i++) {
        unsigned at_tile = N * N / 16 * l + i;
        unsigned r = row + 2 * (at_tile % N), o = slot + at_tile / N;
        memory.total[r * (PLAIN + 1) + o] = total[i];
    }
    __syncthreads();
    finish<PLAIN>(job, at, rows,
                  [&](unsigned o, unsigned r) { return memory.total[r * (PLAIN + 1) + o]; });
}

/* ---- many rows, few weight rows ---- */

/*
 * THIN rows of activations by all the part's weight rows, of which there are few: a warp takes a
 * segment at a time, each half of it for half of the rows, so that both want the same weights. A
 * thread holds its lane of all its rows' values while it meets one weight row after another: what
 * it loads of activations is used that often, and weights, which come from the second cache, by all
 * rows. Nothing is staged, and warps go their own ways until all segments' sums lie in shared
 * memory.
 *
 * Lanes from 8 on hold the second half of their rows first, so that the tree's first exchange is
 * one of values that lie at the same places.
 */
constexpr unsigned THIN = 16, THIN_OUTPUTS = 64, THIN_THREADS = 384;
constexpr unsigned THIN_ROWS = THIN / 2, THIN_SLOTS = 4; /* of a half warp; at a time */

static __host__ __device__ inline size_t thin_bytes(unsigned outputs, unsigned segments) {
    return (size_t)outputs * THIN * (segments | 1) * sizeof(float);
}

/* Row r of a thread's, among the block's. */
static VV_DEVICE unsigned thin_row(unsigned r) {
    return threadIdx.x / 16 % 2 * THIN_ROWS + (r ^ threadIdx.x / 8 % 2 * (THIN_ROWS / 2));
}

/* WHOLE: rows are whole segments. */
template <int TYPE, bool WHOLE>
static VV_DEVICE void thin_segment(const vv_product_job &job, const place &at,
                                   const rows_in_hand<THIN> &rows, unsigned segment, float *sum) {
    constexpr unsigned N = THIN_ROWS * THIN_SLOTS, steps = VV_SEGMENT / VV_LANES;
    constexpr unsigned bytes = TYPE == VV_TYPE_F32 ? 4 : 2;
    unsigned width = (unsigned)job.x.width, l = threadIdx.x % 16, begin = segment * VV_SEGMENT + l;
    auto there = [&](unsigned i) { return WHOLE || begin + VV_LANES * i < width; };
    float x[THIN_ROWS][steps], next[steps];
    VV_UNROLL
    for (unsigned r = 0; r < THIN_ROWS; r++) {
        const float *from = job.x.x + (size_t)rows.x(thin_row(r)) * width + begin;
        VV_UNROLL
        for (unsigned i = 0; i < steps; i++) {
            x[r][i] = there(i) ? from[VV_LANES * i] : 0.0f;
        }
    }
    auto ask = [&](unsigned slot) {
        const uint8_t *from = weight_row(at, slot < at.used ? slot : at.used - 1, 0);
        from += (size_t)begin * bytes;
        VV_UNROLL
        for (unsigned i = 0; i < steps; i++) {
            next[i] = there(i) ? float_at(TYPE, from, VV_LANES * i) : 0.0f;
        }
    };
    ask(0);
    VV_UNROLL_BY(1)
    for (unsigned slot = 0; slot < at.used; slot += THIN_SLOTS) {
        float v[N];
        VV_UNROLL
        for (unsigned o = 0; o < THIN_SLOTS; o++) {
            float w[steps];
            VV_UNROLL
            for (unsigned i = 0; i < steps; i++) {
                w[i] = next[i];
            }
            ask(slot + o + 1);
            VV_UNROLL
            for (unsigned i = 0; i < steps; i++) {
                VV_UNROLL
                for (unsigned r = 0; r < THIN_ROWS; r++) {
                    float &to = v[r * THIN_SLOTS + o];
                    to = fmaf(w[i], x[r][i], i ? to : 0.0f);
                }
            }
        }
        VV_UNROLL
        for (unsigned i = 0; i < N / 2; i++) {
            v[i] += __shfl_xor_sync(0xffffffffu, v[N / 2 + i], VV_LANES / 2);
        }
        vv_scatter_sums<N / 2, VV_LANES / 4, 1>(v, l);
        VV_UNROLL
        for (unsigned i = 0; i < vv_scattered<N / 2, VV_LANES / 4, 1>; i++) {
            unsigned n = vv_scattered_first<N / 2, VV_LANES / 4, 1>(l) + i;
            unsigned mine = slot + n % THIN_SLOTS, row = thin_row(n / THIN_SLOTS);
            if (mine < at.used) {
                sum[(row * at.used + mine) * at.stride + segment] = v[i];
            }
        }
    }
}

template <int TYPE>
static VV_DEVICE void thin_segments(const vv_product_job &job, const place &at,
                                    const rows_in_hand<THIN> &rows, float *sum) {
    constexpr unsigned warps = THIN_THREADS / 32, line = 32; /* floats */
    unsigned width = (unsigned)job.x.width, lane = threadIdx.x % 32;
    VV_UNROLL_BY(1)
    for (unsigned segment = threadIdx.x / 32; segment < at.segments; segment += warps) {
        unsigned ahead = (segment + warps) * VV_SEGMENT + lane % 4 * line;
        VV_UNROLL
        for (unsigned r = lane / 4; r < THIN; r += 32 / 4) {
            if (ahead < width) {
                vv_prefetch<false>(job.x.x + (size_t)rows.x(r) * width + ahead);
            }
        }
        if (width % VV_SEGMENT == 0) {
            thin_segment<TYPE, true>(job, at, rows, segment, sum);
        } else {
            thin_segment<TYPE, false>(job, at, rows, segment, sum);
        }
    }
}

static __device__ __forceinline__ void thin_rows(const vv_product_job &job, const place &at,
                                                 const rows_in_hand<THIN> &rows, float *sum) {
    switch (at.part->type) {
    case VV_TYPE_F16:
        thin_segments<VV_TYPE_F16>(job, at, rows, sum);
        break;
    case VV_TYPE_BF16:
        thin_segments<VV_TYPE_BF16>(job, at, rows, sum);
        break;
    default:
        thin_segments<VV_TYPE_F32>(job, at, rows, sum);
        break;
    }
    __syncthreads();
    finish<THIN>(job, at, rows, [&](unsigned slot, unsigned r) {
        return add_up(sum + (r * at.used + slot) * at.stride, at.segments);
    });
}

} // namespace vv_products

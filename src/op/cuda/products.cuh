/*
 * Kernels for windows of few rows. A block has a number of slots; a slot is one weight row, which
 * `lanes` neighbouring threads share. Whatever the number, each segment's sum s is computed alone
 * and kept in shared memory, and one thread adds a row's segments in ascending order: so no choice
 * here changes a bit.
 */
#pragma once
#include "op/cuda/group.cuh"
#include "op/cuda/products.h"

namespace vv_products {

enum { THREADS = 256 };

/* Where a block is in the job. */
struct place {
    const vv_product_part *part;
    unsigned slots, lanes; /* of the block */
    unsigned first_output; /* of the block */
    unsigned slot, sub;    /* this thread's; sub: which of the slot's lanes it is */
    unsigned segments;
    unsigned expert; /* slice of the weights */
};

/* The rows that a block has in hand: x's row, and the row of the result. */
template <int R> struct rows_in_hand {
    unsigned count;
    unsigned x[R], to[R];
};

static __device__ __forceinline__ const uint8_t *
weight_row(const vv_product_part &p, unsigned expert, unsigned output, unsigned matrix) {
    bool apart = matrix > 0 && p.matrix_rows == 0;
    size_t row = output + (apart ? 0 : (size_t)matrix * p.matrix_rows);
    return p.data[apart] + expert * p.slice_bytes[apart] + row * p.row_bytes;
}

/* This thread's weight row; slots beyond the last output repeat it, and are not stored. */
static __device__ __forceinline__ const uint8_t *row_of_slot(const place &at) {
    const vv_product_part &p = *at.part;
    unsigned output = at.first_output + at.slot / p.matrices;
    output = output < p.outputs ? output : p.outputs - 1;
    return weight_row(p, at.expert, output, at.slot % p.matrices);
}

template <int R>
static __device__ void take_rows(const vv_product_job &job, unsigned first, unsigned end,
                                 rows_in_hand<R> &rows) {
    rows.count = end - first < R ? end - first : R;
    VV_UNROLL
    for (int r = 0; r < R; r++) {
        unsigned i = first + ((unsigned)r < rows.count ? (unsigned)r : 0);
        unsigned row = job.pair ? (unsigned)job.pair[i] : i;
        rows.to[r] = row;
        rows.x[r] = row / job.used;
    }
}

/* ---- the end: sums of segments, and what becomes of them ---- */

static __device__ void store(const vv_product_job &job, const vv_product_part &p, unsigned output,
                             unsigned x_row, unsigned to_row, const float *y) {
    float result = y[0], streams = (float)job.streams;
    switch (p.end) {
    case VV_END_SILU:
        result = vv_silu(y[0] / streams);
        break;
    case VV_END_GAMMA:
        result = 2.0f * vv_sigmoid(y[0] / streams);
        break;
    case VV_END_GATED_MEAN:
        result = 0.0f;
        for (unsigned m = 0; m < p.matrices; m++) {
            size_t at = ((size_t)x_row * job.streams + m) * p.outputs + output;
            result = fmaf(vv_sigmoid(y[m]), job.with[at], result);
        }
        result = result / streams;
        break;
    case VV_END_SWIGLU:
        result = vv_gated(y[0], y[1], vv_limit(job.limit));
        result = job.row_weight ? result * job.row_weight[to_row] : result;
        break;
    default:
        break;
    }
    p.to[(size_t)to_row * p.to_row + output] = result;
}

/* `sum` [slots][R][segments]: every segment's s of the block. */
template <int R>
static __device__ void finish(const vv_product_job &job, const place &at,
                              const rows_in_hand<R> &rows, const float *sum) {
    const vv_product_part &p = *at.part;
    unsigned outputs = at.slots / p.matrices;
    for (unsigned i = threadIdx.x; i < outputs * rows.count; i += THREADS) {
        unsigned o = i / rows.count, r = i % rows.count, output = at.first_output + o;
        if (output >= p.outputs) {
            continue;
        }
        float y[VV_MATRICES_MAX];
        bool good = true;
        for (unsigned m = 0; m < p.matrices; m++) {
            const float *s = sum + (((size_t)o * p.matrices + m) * R + r) * at.segments;
            float total = 0.0f;
            for (unsigned k = 0; k < at.segments; k++) {
                total += s[k];
            }
            const float *scale = p.scale[m > 0 && p.matrix_rows == 0];
            y[m] = scale ? total * scale[at.expert] : total;
            good = good && isfinite(y[m]);
        }
        unsigned x_row = 0, to_row = 0;
        VV_UNROLL
        for (int k = 0; k < R; k++) {
            x_row = (unsigned)k == r ? rows.x[k] : x_row;
            to_row = (unsigned)k == r ? rows.to[k] : to_row;
        }
        if (good) {
            store(job, p, output, x_row, to_row, y);
        } else {
            vv_report({job.trouble.status, job.trouble.step}, VV_ERROR_NOT_FINITE);
        }
    }
}

/* ---- integers ---- */

/* One group's activations of a row. */
struct activations {
    int q[8];
    int sum[2]; /* of values 0..15, 16..31 */
    float scale;
};

template <bool SUPER, bool SUMS>
static __device__ __forceinline__ void load(const vv_planes &x, unsigned row, unsigned k,
                                            activations &a) {
    unsigned width = (unsigned)x.width;
    size_t at = (size_t)row * width + 32 * k;
    const int4 *q = reinterpret_cast<const int4 *>((SUPER ? x.coarse_q : x.fine_q) + at);
    int4 low = q[0], high = q[1];
    a.q[0] = low.x, a.q[1] = low.y, a.q[2] = low.z, a.q[3] = low.w;
    a.q[4] = high.x, a.q[5] = high.y, a.q[6] = high.z, a.q[7] = high.w;
    if (SUMS) {
        short2 s =
            *reinterpret_cast<const short2 *>((SUPER ? x.coarse_sum16 : x.fine_sum16) + at / 16);
        a.sum[0] = s.x;
        a.sum[1] = s.y;
    }
    a.scale =
        SUPER ? x.coarse_scale[(size_t)row * ((width + 127) / 128) + k / 4] : x.fine_scale[at / 32];
}

/* What a group and a row give: integers of a super-block format, or one or two factors and integers
 * of the chain of a block format. */
struct terms {
    int i, j;
    float p, v, p2, v2;
};

template <int TYPE>
static __device__ __forceinline__ void multiply(const vv_group &g, const activations &a, terms &t) {
    using f = vv_codes::of<TYPE>;
    int dot[2] = {0, 0};
    VV_UNROLL
    for (int i = 0; i < 4; i++) {
        dot[0] = __dp4a(g.w[i], a.q[i], dot[0]);
        dot[1] = __dp4a(g.w[4 + i], a.q[4 + i], dot[1]);
    }
    if (f::BIAS) {
        dot[0] -= f::BIAS * a.sum[0];
        dot[1] -= f::BIAS * a.sum[1];
    }
    if (f::SUPER) {
        t.i = g.scale[0] * dot[0] + g.scale[1] * dot[1];
        t.j = f::OFFSET ? g.min[0] * a.sum[0] + g.min[1] * a.sum[1] : 0;
        return;
    }
    t.p = g.d * a.scale;
    if (f::TWO_STEPS) {
        t.v = (float)dot[0];
        t.p2 = g.second * a.scale;
        t.v2 = (float)dot[1];
        return;
    }
    t.v = (float)(dot[0] + dot[1]);
    if (f::OFFSET) {
        t.p2 = g.second * a.scale;
        t.v2 = (float)(a.sum[0] + a.sum[1]);
    }
}

static __device__ __forceinline__ int add_quad(int v) {
    v += __shfl_xor_sync(0xffffffffu, v, 1);
    return v + __shfl_xor_sync(0xffffffffu, v, 2);
}

/* Of four rows' integers in each of four lanes: lane c gets the sum of row c's. */
static __device__ __forceinline__ int scatter_quad(const int (&v)[4], unsigned c) {
    bool odd = c & 1, upper = c & 2;
    int a = odd ? v[1] : v[0], b = odd ? v[3] : v[2];
    a += __shfl_xor_sync(0xffffffffu, odd ? v[0] : v[1], 1);
    b += __shfl_xor_sync(0xffffffffu, odd ? v[2] : v[3], 1);
    return (upper ? b : a) + __shfl_xor_sync(0xffffffffu, upper ? a : b, 2);
}

/* The same for floats that are not added: lane c gets row c's of all four lanes, in their order. */
static __device__ __forceinline__ void turn_quad(const float (&v)[4], unsigned c, float (&to)[4]) {
    bool odd = c & 1, upper = c & 2;
    float a = odd ? v[1] : v[0], b = odd ? v[3] : v[2];
    float a1 = __shfl_xor_sync(0xffffffffu, odd ? v[0] : v[1], 1);
    float b1 = __shfl_xor_sync(0xffffffffu, odd ? v[2] : v[3], 1);
    /* of my pair of lanes, in order: rows c mod 2 and 2 + c mod 2 */
    float a_low = odd ? a1 : a, a_high = odd ? a : a1, b_low = odd ? b1 : b, b_high = odd ? b : b1;
    float mine_low = upper ? b_low : a_low, mine_high = upper ? b_high : a_high;
    float other_low = __shfl_xor_sync(0xffffffffu, upper ? a_low : b_low, 2);
    float other_high = __shfl_xor_sync(0xffffffffu, upper ? a_high : b_high, 2);
    to[0] = upper ? other_low : mine_low;
    to[1] = upper ? other_high : mine_high;
    to[2] = upper ? mine_low : other_low;
    to[3] = upper ? mine_high : other_high;
}

static __device__ __forceinline__ float quad_float(float v, int lane) {
    return __shfl_sync(0xffffffffu, v, lane, 4);
}

/* One row: every lane of the quad gets the segment's s. */
template <int TYPE>
static __device__ __forceinline__ float segment_sum(const vv_group &g, const terms &t,
                                                    float scale) {
    using f = vv_codes::of<TYPE>;
    if (f::SUPER) {
        int i = add_quad(t.i), j = f::OFFSET ? add_quad(t.j) : 0;
        float s = (g.d * scale) * (float)i;
        return f::OFFSET ? fmaf(-(g.second * scale), (float)j, s) : s;
    }
    float s = 0.0f;
    VV_UNROLL
    for (int b = 0; b < 4; b++) {
        s = fmaf(quad_float(t.p, b), quad_float(t.v, b), s);
        if (f::TWO_STEPS || f::OFFSET) {
            s = fmaf(quad_float(t.p2, b), quad_float(t.v2, b), s);
        }
    }
    return s;
}

/* Four rows: lane c of the quad gets row c's s. */
template <int TYPE>
static __device__ __forceinline__ float segment_sums(const vv_group &g, const terms (&t)[4],
                                                     const float (&scale)[4], unsigned c) {
    using f = vv_codes::of<TYPE>;
    if (f::SUPER) {
        const int i[4] = {t[0].i, t[1].i, t[2].i, t[3].i};
        float dx = c & 2 ? (c & 1 ? scale[3] : scale[2]) : (c & 1 ? scale[1] : scale[0]);
        float s = (g.d * dx) * (float)scatter_quad(i, c);
        if (f::OFFSET) {
            const int j[4] = {t[0].j, t[1].j, t[2].j, t[3].j};
            s = fmaf(-(g.second * dx), (float)scatter_quad(j, c), s);
        }
        return s;
    }
    const float p[4] = {t[0].p, t[1].p, t[2].p, t[3].p};
    const float v[4] = {t[0].v, t[1].v, t[2].v, t[3].v};
    float ps[4], vs[4], p2s[4], v2s[4], s = 0.0f;
    turn_quad(p, c, ps);
    turn_quad(v, c, vs);
    if (f::TWO_STEPS || f::OFFSET) {
        const float p2[4] = {t[0].p2, t[1].p2, t[2].p2, t[3].p2};
        const float v2[4] = {t[0].v2, t[1].v2, t[2].v2, t[3].v2};
        turn_quad(p2, c, p2s);
        turn_quad(v2, c, v2s);
    }
    VV_UNROLL
    for (int b = 0; b < 4; b++) {
        s = fmaf(ps[b], vs[b], s);
        if (f::TWO_STEPS || f::OFFSET) {
            s = fmaf(p2s[b], v2s[b], s);
        }
    }
    return s;
}

/* All segments of the block's slots, for the rows in hand. */
template <int TYPE, int R>
static __device__ __forceinline__ void integer_segments(const vv_product_job &job, const place &at,
                                                        const rows_in_hand<R> &rows, float *sum) {
    using f = vv_codes::of<TYPE>;
    const uint8_t *weights = row_of_slot(at);
    unsigned width = (unsigned)job.x.width, groups = width / 32, c = threadIdx.x % 4;
    for (unsigned first = 0; first < at.segments * 4; first += at.lanes) {
        unsigned k = first + at.sub, segment = k / 4;
        bool here = k < groups;
        vv_group g;
        vv_unpack_group<TYPE>(weights, width, here ? k : 0, g);
        if (R == 1) {
            activations a;
            terms t = {};
            load<f::SUPER, f::BIAS != 0 || f::OFFSET>(job.x, rows.x[0], here ? k : 0, a);
            if (here) {
                multiply<TYPE>(g, a, t);
            }
            float s = segment_sum<TYPE>(g, t, a.scale);
            if (c == 0 && segment < at.segments) {
                sum[(size_t)at.slot * at.segments + segment] = s;
            }
            continue;
        }
        VV_UNROLL
        for (int tile = 0; tile < R; tile += 4) {
            terms t[4] = {};
            float scale[4];
            VV_UNROLL
            for (int r = 0; r < 4; r++) {
                activations a;
                load<f::SUPER, f::BIAS != 0 || f::OFFSET>(job.x, rows.x[(tile + r) % R],
                                                          here ? k : 0, a);
                scale[r] = a.scale;
                if (here) {
                    multiply<TYPE>(g, a, t[r]);
                }
            }
            float s = segment_sums<TYPE>(g, t, scale, c);
            if (segment < at.segments) {
                sum[((size_t)at.slot * R + (unsigned)tile + c) * at.segments + segment] = s;
            }
        }
    }
}

/* ---- floats ---- */

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

/* Sixteen threads a segment: thread l takes values l, l + 16, … (op/cuda/dot.cuh). */
template <int R>
static __device__ __forceinline__ void float_segments(const vv_product_job &job, const place &at,
                                                      const rows_in_hand<R> &rows, float *sum) {
    const uint8_t *weights = row_of_slot(at);
    unsigned width = (unsigned)job.x.width, halves = at.lanes / 16, l = threadIdx.x % 16;
    for (unsigned first = 0; first < at.segments; first += halves) {
        unsigned segment = first + at.sub / 16, begin = segment * 128;
        float w[8];
        VV_UNROLL
        for (int i = 0; i < 8; i++) {
            unsigned k = begin + 16 * (unsigned)i + l;
            w[i] = k < width ? float_at(at.part->type, weights, k) : 0.0f;
        }
        VV_UNROLL
        for (int r = 0; r < R; r++) {
            const float *x = job.x.x + (size_t)rows.x[r] * width;
            float lane = 0.0f;
            VV_UNROLL
            for (int i = 0; i < 8; i++) {
                unsigned k = begin + 16 * (unsigned)i + l;
                lane = k < width ? fmaf(w[i], x[k], lane) : lane;
            }
            for (int apart = 8; apart > 0; apart /= 2) {
                lane += __shfl_xor_sync(0xffffffffu, lane, apart);
            }
            if (l == 0 && segment < at.segments) {
                sum[((size_t)at.slot * R + (unsigned)r) * at.segments + segment] = lane;
            }
        }
    }
}

/* Validation mode: every thread a segment, decoded. */
template <int TYPE>
static __device__ __forceinline__ void decoded_segments(const vv_product_job &job, const place &at,
                                                        const rows_in_hand<1> &rows, float *sum) {
    const uint8_t *weights = row_of_slot(at);
    unsigned width = (unsigned)job.x.width;
    const float *x = job.x.x + (size_t)rows.x[0] * width;
    for (unsigned segment = at.sub; segment < at.segments; segment += at.lanes) {
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
        sum[(size_t)at.slot * at.segments + segment] = vv_add_lanes(lane);
    }
}

/* ---- kernels ---- */

/* A grid's first blocks are of part 0, the rest of part 1; its second dimension is the active
 * experts, its third tiles of rows where there are no experts. */
struct grid_of_job {
    unsigned lanes[2], blocks; /* of part 0 */
};

static __device__ __forceinline__ bool find_place(const vv_product_job &job,
                                                  const grid_of_job &grid, place &at) {
    unsigned second = blockIdx.x >= grid.blocks, block = blockIdx.x - second * grid.blocks;
    at.part = &job.part[second];
    at.lanes = grid.lanes[second];
    at.slots = THREADS / at.lanes / at.part->matrices * at.part->matrices;
    at.first_output = block * (at.slots / at.part->matrices);
    at.slot = threadIdx.x / at.lanes;
    at.sub = threadIdx.x % at.lanes;
    at.segments = (unsigned)((job.x.width + 127) / 128);
    at.expert = 0;
    if (job.active) {
        if ((int)blockIdx.y >= job.active[0]) {
            return false;
        }
        at.expert = (unsigned)job.active[1 + blockIdx.y];
    }
    return true;
}

/* Slots that no matrix has (THREADS / lanes isn't a multiple of the matrices) compute and keep
 * nothing. */
static __device__ __forceinline__ void spare_slots(place &at) {
    at.slot = at.slot < at.slots ? at.slot : at.slots - 1;
}

template <int R, typename SEGMENTS>
static __device__ __forceinline__ void run_rows(const vv_product_job &job, const place &at,
                                                SEGMENTS segments) {
    float *sum = vv_dynamic_shared<float>();
    unsigned first = blockIdx.z * R, end = job.rows;
    if (job.active) {
        first = (unsigned)job.begin[at.expert];
        end = (unsigned)job.begin[at.expert + 1];
    }
    for (; first < end; first += R) {
        rows_in_hand<R> rows;
        take_rows<R>(job, first, end, rows);
        segments(rows, sum);
        __syncthreads();
        finish<R>(job, at, rows, sum);
        __syncthreads();
        if (!job.active) {
            return;
        }
    }
}

/* A block's work; `segments` are those of part 0, where part 1 is of a float format. */
template <int R, typename SEGMENTS>
static __device__ __forceinline__ void run_block(const vv_product_job &job, const grid_of_job &grid,
                                                 SEGMENTS segments) {
    place at;
    if (!find_place(job, grid, at)) {
        return;
    }
    spare_slots(at);
    run_rows<R>(job, at, [&](const rows_in_hand<R> &rows, float *sum) {
        if (at.part == &job.part[0]) {
            segments(at, rows, sum);
        } else {
            float_segments<R>(job, at, rows, sum);
        }
    });
}

template <int TYPE, int R>
__global__ void __launch_bounds__(THREADS)
    integers(const __grid_constant__ vv_product_job job, const __grid_constant__ grid_of_job grid) {
    run_block<R>(job, grid, [&](const place &at, const rows_in_hand<R> &rows, float *sum) {
        integer_segments<TYPE, R>(job, at, rows, sum);
    });
}

template <int R>
__global__ void __launch_bounds__(THREADS)
    floats(const __grid_constant__ vv_product_job job, const __grid_constant__ grid_of_job grid) {
    run_block<R>(job, grid, [&](const place &at, const rows_in_hand<R> &rows, float *sum) {
        float_segments<R>(job, at, rows, sum);
    });
}

template <int TYPE>
__global__ void __launch_bounds__(THREADS)
    decoded(const __grid_constant__ vv_product_job job, const __grid_constant__ grid_of_job grid) {
    run_block<1>(job, grid, [&](const place &at, const rows_in_hand<1> &rows, float *sum) {
        decoded_segments<TYPE>(job, at, rows, sum);
    });
}

/* Starts one of these. */
typedef int start(const vv_product_job &job, const grid_of_job &grid, dim3 blocks, size_t shared,
                  void *stream);

struct kernels {
    start *one, *four, *eight, *decoded;
};

/* The kernels of a quantised type (products_super.cu, products_grid.cu, products_block.cu); NULL:
 * it isn't one. */
const kernels *super_kernels(int type);
const kernels *block_kernels(int type);
const kernels *grid_kernels(int type);

template <int TYPE, int R>
static int start_integers(const vv_product_job &job, const grid_of_job &grid, dim3 blocks,
                          size_t shared, void *stream) {
    return vv_start((integers<TYPE, R>), blocks, THREADS, shared, stream, job, grid);
}
template <int TYPE>
static int start_decoded(const vv_product_job &job, const grid_of_job &grid, dim3 blocks,
                         size_t shared, void *stream) {
    return vv_start(decoded<TYPE>, blocks, THREADS, shared, stream, job, grid);
}
template <int R>
static int start_floats(const vv_product_job &job, const grid_of_job &grid, dim3 blocks,
                        size_t shared, void *stream) {
    return vv_start(floats<R>, blocks, THREADS, shared, stream, job, grid);
}

#define VV_KERNELS(TYPE)                                                                           \
    case VV_TYPE_##TYPE: {                                                                         \
        static const kernels list = {                                                              \
            start_integers<VV_TYPE_##TYPE, 1>, start_integers<VV_TYPE_##TYPE, 4>,                  \
            start_integers<VV_TYPE_##TYPE, 8>, start_decoded<VV_TYPE_##TYPE>};                     \
        return &list;                                                                              \
    }

} // namespace vv_products

/*
 * Where a block of a product's kernel is in its job, the rows of activations that it has in hand,
 * and the end: what becomes of whole products. The kernels themselves differ only in how a block's
 * products come about (products_*.cuh).
 */
#pragma once
#include "op/cuda/group.cuh"
#include "op/cuda/products.h"

namespace vv_products {

constexpr unsigned THREADS = 256;

/* A grid's first blocks are of part 0, the next ones of part 1, …; its second dimension is the
 * active experts, its third tiles of rows where there are no experts. */
struct grid_of_job {
    struct {
        unsigned slots; /* weight rows of a block */
        unsigned lanes; /* threads, or warps, that share a weight row */
        unsigned end;   /* blocks of this part and those before it */
    } part[VV_PARTS_MAX];
};

struct place {
    const vv_product_part *part;
    unsigned lanes;
    unsigned used; /* slots of the block, up to the last output */
    unsigned first_output;
    unsigned segments, stride; /* stride: of a row's sums, odd */
    unsigned expert;           /* slice of the weights */
};

/* The rows that a block has in hand: x's row, and the row of the result; one in registers, several
 * in shared memory. */
template <unsigned R> struct rows_in_hand {
    unsigned count;
    const unsigned *list; /* [2][R] */
    VV_DEVICE unsigned x(unsigned r) const {
        return list[r];
    }
    VV_DEVICE unsigned to(unsigned r) const {
        return list[R + r];
    }
};
template <> struct rows_in_hand<1> {
    unsigned count, row[2];
    VV_DEVICE unsigned x(unsigned) const {
        return row[0];
    }
    VV_DEVICE unsigned to(unsigned) const {
        return row[1];
    }
};

static __host__ __device__ inline unsigned segments_of(const vv_product_job &job) {
    return (unsigned)((job.x.width + 127) / 128);
}

static __device__ __forceinline__ place find_place(const vv_product_job &job,
                                                   const grid_of_job &grid) {
    unsigned i = 0, begin = 0;
    while (blockIdx.x >= grid.part[i].end) {
        begin = grid.part[i++].end;
    }
    place at;
    unsigned slots = grid.part[i].slots;
    at.part = &job.part[i];
    at.lanes = grid.part[i].lanes;
    at.first_output = (blockIdx.x - begin) * (slots / at.part->matrices);
    unsigned left = (at.part->outputs - at.first_output) * at.part->matrices;
    at.used = slots < left ? slots : left;
    at.segments = segments_of(job);
    at.stride = at.segments | 1;
    at.expert = 0;
    return at;
}

/* Which expert's the block is; false: nobody's. */
static __device__ __forceinline__ bool find_expert(const vv_product_job &job, place &at) {
    if (job.active) {
        if ((int)blockIdx.y >= job.active[0]) {
            return false;
        }
        at.expert = (unsigned)job.active[1 + blockIdx.y];
    }
    return true;
}

/* A slot's weight row; those that are not used repeat the last one, and are not stored. */
static __device__ __forceinline__ const uint8_t *row_of_slot(const place &at, unsigned slot) {
    const vv_product_part &p = *at.part;
    slot = slot < at.used ? slot : at.used - 1;
    unsigned output = at.first_output + slot / p.matrices, matrix = slot % p.matrices;
    bool apart = matrix > 0 && p.matrix_rows == 0;
    size_t row = output + (apart ? 0 : (size_t)matrix * p.matrix_rows);
    return p.data[apart] + at.expert * p.slice_bytes[apart] + row * p.row_bytes;
}

/* `list` [2][R] of shared memory; R = 1 doesn't need it. */
template <unsigned R>
static __device__ __forceinline__ rows_in_hand<R>
take_rows(const vv_product_job &job, unsigned first, unsigned end, unsigned *list) {
    rows_in_hand<R> rows = {end - first < R ? end - first : R, list};
    for (unsigned r = threadIdx.x; r < R; r += blockDim.x) {
        unsigned i = first + (r < rows.count ? r : 0);
        unsigned row = job.pair ? (unsigned)job.pair[i] : i;
        list[r] = row / job.used;
        list[R + r] = row;
    }
    __syncthreads();
    return rows;
}
template <>
__device__ __forceinline__ rows_in_hand<1> take_rows<1>(const vv_product_job &job, unsigned first,
                                                        unsigned, unsigned *) {
    unsigned row = job.pair ? (unsigned)job.pair[first] : first;
    return {1, {row / job.used, row}};
}

/*
 * Asks for all that the block will read of its weights, so that it is on its way while the kernel
 * in front ends. Whose weights they are must not hang on what that kernel writes; an expert that is
 * not the right one after all only costs time.
 */
static __device__ __forceinline__ void ask_for_weights(const vv_product_job &job, place at) {
    constexpr unsigned line = 128;
    if (job.active) {
        if (!job.known_before || (int)blockIdx.y >= __ldcg(job.active)) {
            return;
        }
        at.expert = (unsigned)__ldcg(job.active + 1 + blockIdx.y);
        if (at.expert >= job.slices) {
            return;
        }
    }
    unsigned sharers = blockDim.x / at.used, slot = threadIdx.x / sharers;
    if (slot < at.used) {
        const uint8_t *row = row_of_slot(at, slot);
        for (size_t b = threadIdx.x % sharers * line; b < at.part->row_bytes; b += sharers * line) {
            vv_prefetch<false>(row + b);
        }
    }
}

/*
 * What every kernel does: a block's rows, R at a time. `multiply(at, rows)` makes their products
 * whole. The kernel behind one of experts is brought only when their routes are known: it may look
 * at them before it waits.
 */
template <unsigned R, bool ASKS, typename MULTIPLY>
static __device__ __forceinline__ void run_block(const vv_product_job &job, const grid_of_job &grid,
                                                 MULTIPLY multiply) {
    __shared__ unsigned list[2 * R];
    bool late = job.active && !job.known_before;
    if (!late) {
        vv_bring_next();
    }
    place at = find_place(job, grid);
    if (ASKS) {
        ask_for_weights(job, at);
    }
    vv_wait_for_front();
    if (late) {
        vv_bring_next();
    }
    if (!find_expert(job, at)) {
        return;
    }
    unsigned first = blockIdx.z * R, end = job.rows;
    if (job.active) {
        first = (unsigned)job.begin[at.expert];
        end = (unsigned)job.begin[at.expert + 1];
    }
    for (; first < end; first += R) {
        multiply(at, take_rows<R>(job, first, end, list));
        if (!job.active) {
            return;
        }
        __syncthreads();
    }
}

/* ---- the end ---- */

static __device__ __forceinline__ void store(const vv_product_job &job, const vv_product_part &p,
                                             unsigned output, unsigned x_row, unsigned to_row,
                                             const float (&y)[VV_MATRICES_MAX]) {
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
        VV_UNROLL
        for (unsigned m = 0; m < VV_MATRICES_MAX; m++) {
            if (m < p.matrices) {
                size_t at = ((size_t)x_row * job.streams + m) * p.outputs + output;
                result = fmaf(vv_sigmoid(y[m]), job.with[at], result);
            }
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

/* All products of the block; `total(slot, r)` is one without its separate scale. */
template <unsigned R, typename TOTAL>
static __device__ __forceinline__ void finish(const vv_product_job &job, const place &at,
                                              const rows_in_hand<R> &rows, TOTAL total) {
    const vv_product_part &p = *at.part;
    unsigned outputs = at.used / p.matrices;
    for (unsigned i = threadIdx.x; i < outputs * rows.count; i += blockDim.x) {
        unsigned o = i % outputs, r = i / outputs, output = at.first_output + o;
        float y[VV_MATRICES_MAX]; /* by constant indices alone, so that it lies in registers */
        bool good = true;
        VV_UNROLL
        for (unsigned m = 0; m < VV_MATRICES_MAX; m++) {
            y[m] = 0.0f;
            if (m < p.matrices) {
                const float *scale = p.scale[m > 0 && p.matrix_rows == 0];
                y[m] = total(o * p.matrices + m, r);
                y[m] = scale ? y[m] * scale[at.expert] : y[m];
                good = good && isfinite(y[m]);
            }
        }
        if (good) {
            store(job, p, output, rows.x(r), rows.to(r), y);
        } else {
            vv_report({job.status, p.step}, VV_ERROR_NOT_FINITE);
        }
    }
}

/* From `sum` [slots][R][stride]: every segment's s of the block, added in ascending order. */
template <unsigned R>
static __device__ __forceinline__ void finish_sums(const vv_product_job &job, const place &at,
                                                   const rows_in_hand<R> &rows, const float *sum) {
    __syncthreads();
    finish<R>(job, at, rows, [&](unsigned slot, unsigned r) {
        const float *s = sum + (slot * R + r) * at.stride;
        constexpr unsigned together = 10;
        float total = 0.0f;
        unsigned k = 0;
        for (; k + together <= at.segments; k += together) {
            float some[together]; /* fetched before the chain of sums needs them */
            VV_UNROLL
            for (unsigned i = 0; i < together; i++) {
                some[i] = s[k + i];
            }
            VV_UNROLL
            for (unsigned i = 0; i < together; i++) {
                total += some[i];
            }
        }
        for (; k < at.segments; k++) {
            total += s[k];
        }
        return total;
    });
}

} // namespace vv_products

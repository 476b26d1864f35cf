/*
 * Where a block of a product's kernel is in its job, the rows of activations that it has in hand,
 * and the end: what becomes of whole products. The kernels themselves differ only in how a block's
 * products come about (products_*.cuh).
 */
#pragma once
#include "op/cuda/group.cuh"
#include "op/cuda/products.h"

namespace vv_products {

constexpr unsigned THREADS = 256; /* of a block, at most */

/* A grid's first blocks are of part 0, the next ones of part 1, …; its second dimension is the
 * active experts, its third tiles of rows where there are no experts. */
struct grid_of_job {
    struct {
        unsigned slots; /* weight rows of a block: those of whole outputs */
        unsigned shift; /* a power of two that is not less, for what counts in such steps */
        unsigned end;   /* blocks of this part and those before it */
    } part[VV_PARTS_MAX];
    unsigned held; /* bytes of shared memory for a block's weights */
};

struct place {
    const vv_product_part *part;
    unsigned shift;
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
    at.shift = grid.part[i].shift;
    at.first_output = (blockIdx.x - begin) * (slots / at.part->matrices);
    unsigned left = (at.part->outputs - at.first_output) * at.part->matrices;
    at.used = slots < left ? slots : left;
    at.segments = segments_of(job);
    at.stride = at.segments | 1;
    at.expert = 0;
    return at;
}

/* Which expert's the block is; false: nobody's. Past the first cache: what lies there may be older
 * than what was written before this kernel was brought. */
static __device__ __forceinline__ bool find_expert(const vv_product_job &job, place &at) {
    if (job.active) {
        if ((int)blockIdx.y >= __ldcg(job.active)) {
            return false;
        }
        at.expert = (unsigned)__ldcg(job.active + 1 + blockIdx.y);
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

/* ---- weights that a block holds in shared memory ---- */

/* From one held row to the next: neighbouring rows' equal columns lie in different banks. */
static __host__ __device__ inline unsigned held_pitch(size_t row_bytes) {
    return ((unsigned)row_bytes / 16 | 1) * 16;
}

static __device__ __forceinline__ const uint8_t *held_row(const place &at, const uint8_t *held,
                                                          unsigned slot) {
    return held + (slot < at.used ? slot : at.used - 1) * held_pitch(at.part->row_bytes);
}

/* Starts to copy the block's weight rows. */
static __device__ __forceinline__ void start_to_hold(const place &at, uint8_t *held) {
    unsigned sharers = blockDim.x / at.used, slot = threadIdx.x / sharers;
    unsigned chunks = (unsigned)(at.part->row_bytes / 16);
    if (slot < at.used) {
        const uint8_t *from = row_of_slot(at, slot);
        uint8_t *to = held + slot * held_pitch(at.part->row_bytes);
        for (unsigned c = threadIdx.x % sharers; c < chunks; c += sharers) {
            vv_copy_async<16>(to + 16 * c, from + 16 * c);
        }
    }
    vv_copy_commit();
}

/*
 * A block's place, with its weights in shared memory: they are asked for while the kernel in front
 * ends, unless that kernel's end tells whose they are. False: there is nothing to do.
 */
static __device__ __forceinline__ bool hold(const vv_product_job &job, place &at, uint8_t *held) {
    bool early = !job.active || job.known_before, started = false;
    if (early) {
        vv_bring_next(); /* later of experts: the kernel behind may look at their routes */
        if (find_expert(job, at)) {
            start_to_hold(at, held);
            started = true;
        }
    }
    vv_wait_for_front();
    if (!early) {
        vv_bring_next();
        if (find_expert(job, at)) {
            start_to_hold(at, held);
            started = true;
        }
    }
    vv_copy_wait<0>();
    __syncthreads();
    return started;
}

/*
 * What every kernel does: a block's rows, R at a time. `multiply(at, rows)` makes their products
 * whole. `held`: shared memory for the block's weights; NULL: they are read where they lie.
 */
template <unsigned R, typename MULTIPLY>
static __device__ __forceinline__ void run_block(const vv_product_job &job, const grid_of_job &grid,
                                                 uint8_t *held, MULTIPLY multiply) {
    __shared__ unsigned list[2 * R];
    place at = find_place(job, grid);
    if (held) {
        if (!hold(job, at, held)) {
            return;
        }
    } else {
        vv_follow();
        if (!find_expert(job, at)) {
            return;
        }
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

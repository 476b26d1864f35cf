/*
 * Where a block of a product's kernel is in its job, the rows of activations that it has in hand,
 * and the end: what becomes of whole products. The kernels themselves differ only in how a block's
 * products come about (products_*.cuh).
 */
#pragma once
#include "op/cuda/group.cuh"
#include "op/cuda/products.h"

namespace vv_products {

constexpr unsigned THREADS = 256; /* of a block, where its kernel says nothing else */

/* A grid's first blocks are of part 0, the next ones of part 1, …; its second dimension is the
 * active experts, its third tiles of rows where there are no experts. */
struct grid_of_job {
    struct {
        unsigned outputs; /* of a block, which has as many times `matrices` weight rows: slots */
        unsigned shift;   /* a power of two not below its slots, for what counts in such steps */
        unsigned end;     /* blocks of this part and those before it */
    } part[VV_PARTS_MAX];
    unsigned held; /* bytes of shared memory for a block's weights */
    unsigned rows; /* of activations, of a block, where there are no experts */
};

struct place {
    const vv_product_part *part;
    unsigned shift;
    unsigned first_output, outputs;
    unsigned used;             /* slots of the block, up to the last output */
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
    at.part = &job.part[i];
    at.shift = grid.part[i].shift;
    at.first_output = (blockIdx.x - begin) * grid.part[i].outputs;
    unsigned left = at.part->outputs - at.first_output;
    at.outputs = grid.part[i].outputs < left ? grid.part[i].outputs : left;
    at.used = at.outputs * at.part->matrices;
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
    unsigned nth = p.matrices == 1 ? slot : slot / p.matrices; /* divisions are slow */
    unsigned output = at.first_output + nth, matrix = slot - nth * p.matrices;
    bool apart = matrix > 0 && p.matrix_rows == 0;
    size_t row = output + (apart ? 0 : (size_t)matrix * p.matrix_rows);
    return p.data[apart] + at.expert * p.slice_bytes[apart] + row * p.row_bytes;
}

static __device__ __forceinline__ unsigned x_row(const vv_product_job &job, unsigned row) {
    return job.used == 1 ? row : row / job.used;
}

/* `list` [2][R] of shared memory; R = 1 doesn't need it. */
template <unsigned R>
static __device__ __forceinline__ rows_in_hand<R>
take_rows(const vv_product_job &job, unsigned first, unsigned end, unsigned *list) {
    rows_in_hand<R> rows = {end - first < R ? end - first : R, list};
    for (unsigned r = threadIdx.x; r < R; r += blockDim.x) {
        unsigned i = first + (r < rows.count ? r : 0);
        unsigned row = job.pair ? (unsigned)job.pair[i] : i;
        list[r] = x_row(job, row);
        list[R + r] = row;
    }
    __syncthreads();
    return rows;
}
template <>
__device__ __forceinline__ rows_in_hand<1> take_rows<1>(const vv_product_job &job, unsigned first,
                                                        unsigned, unsigned *) {
    unsigned row = job.pair ? (unsigned)job.pair[first] : first;
    return {1, {x_row(job, row), row}};
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

/* Starts to copy the block's weight rows; `arrival`: when they have come. */
static __device__ __forceinline__ void start_to_hold(const place &at, uint8_t *held,
                                                     unsigned long long *arrival) {
    unsigned bytes = (unsigned)at.part->row_bytes, pitch = held_pitch(bytes);
    unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
#if VV_BULK_COPIES
    if (warp == 0) {
        if (lane == 0) {
            vv_bulk_prepare(arrival, at.used * bytes);
        }
        __syncwarp();
        for (unsigned slot = lane; slot < at.used; slot += 32) {
            vv_bulk_copy(held + slot * pitch, row_of_slot(at, slot), bytes, arrival);
        }
    }
#else
    for (unsigned slot = warp; slot < at.used; slot += blockDim.x / 32) {
        const uint8_t *from = row_of_slot(at, slot);
        for (unsigned b = 16 * lane; b < bytes; b += 16 * 32) {
            vv_copy_async<16>(held + slot * pitch + b, from + b);
        }
    }
    vv_copy_commit();
    (void)arrival;
#endif
}

static __device__ __forceinline__ void wait_for_held(unsigned long long *arrival) {
#if VV_BULK_COPIES
    __syncthreads();
    vv_bulk_wait(arrival);
#else
    vv_copy_wait<0>();
    __syncthreads();
    (void)arrival;
#endif
}

/*
 * A block's beginning: its expert, if it has one, and, if it HOLDS them, its weights in shared
 * memory, which are asked for while the kernel in front ends. Kernels of experts whose routes that
 * kernel may have made bring the next one only when they stand: it may look at them before it
 * waits. False: there is nothing to do.
 */
template <bool HOLDS>
static __device__ __forceinline__ bool begin_block(const vv_product_job &job, place &at,
                                                   uint8_t *held, unsigned long long *arrival) {
    bool late = job.active && !job.known_before;
    if (late) {
        vv_wait_for_front();
    }
    vv_bring_next();
    if (!HOLDS && !late) {
        vv_wait_for_front();
    }
    bool found = find_expert(job, at);
    if (HOLDS && found) {
        start_to_hold(at, held, arrival);
    }
    if (HOLDS && !late) {
        vv_wait_for_front();
    }
    if (HOLDS && found) {
        wait_for_held(arrival);
    }
    return found;
}

/*
 * What every kernel does: a block's rows, R at a time. `multiply(at, rows)` makes their products
 * whole. HOLDS: with the block's weights in the shared memory at `held`.
 */
template <unsigned R, bool HOLDS, typename MULTIPLY>
static __device__ __forceinline__ void run_block(const vv_product_job &job, const grid_of_job &grid,
                                                 uint8_t *held, MULTIPLY multiply) {
    __shared__ unsigned list[2 * R];
    __shared__ unsigned long long arrival;
    place at = find_place(job, grid);
    if (!begin_block<HOLDS>(job, at, held, &arrival)) {
        return;
    }
    unsigned first = blockIdx.z * grid.rows, left = job.rows - first;
    unsigned end = first + (left < grid.rows ? left : grid.rows);
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
    for (unsigned i = threadIdx.x; i < at.outputs * rows.count; i += blockDim.x) {
        unsigned r = rows.count == 1 ? 0 : i / at.outputs, o = i - r * at.outputs;
        unsigned output = at.first_output + o;
        float y[VV_MATRICES_MAX]; /* by constant indices alone, so that it lies in registers */
        bool good = true;
        auto product = [&](unsigned m) {
            const float *scale = p.scale[m > 0 && p.matrix_rows == 0];
            float whole = total(o * p.matrices + m, r);
            whole = scale ? whole * scale[at.expert] : whole;
            good = good && isfinite(whole);
            return whole;
        };
        y[0] = product(0);
        if (p.matrices > 1) {
            VV_UNROLL
            for (unsigned m = 1; m < VV_MATRICES_MAX; m++) {
                y[m] = m < p.matrices ? product(m) : 0.0f;
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
        VV_UNROLL_BY(1)
        for (; k < at.segments; k++) {
            total += s[k];
        }
        return total;
    });
}

} // namespace vv_products

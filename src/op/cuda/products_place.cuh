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

/*
 * A grid's first blocks are of part 0, the next ones of part 1, …; its second dimension is the
 * active experts, its third tiles of rows: of experts only where they are few. Blocks that hold
 * weights take a row span by span, or `together` neighbouring ones a span each.
 */
struct grid_of_job {
    struct {
        unsigned outputs; /* of a block, which has as many times `matrices` weight rows: slots */
        unsigned shift;   /* a power of two not below its slots, for what counts in such steps */
        unsigned end;     /* blocks of this part and those before it */
        unsigned heads;   /* where headers begin in a row */
        unsigned code_step, head_step; /* bytes of a row's codes and headers from span to span */
        unsigned pitch;                /* from one held row to the next */
    } part[VV_PARTS_MAX];
    unsigned span, spans, together; /* segments; 1: whole rows */
    /* Tiles of a block, one below the other, and how many of them it holds at once. */
    unsigned turns, buffers;
    unsigned held, near, sums; /* bytes of shared memory for a tile, activations, a tile's sums */
    unsigned tile;             /* rows of activations that it takes at once */
    unsigned rows;             /* of activations, of a block, where there are no experts */
};

struct place {
    const vv_product_part *part;
    unsigned index, shift, pitch;
    unsigned first_output, outputs;
    unsigned used;             /* slots of the block, up to the last output */
    unsigned segments, stride; /* stride: of a row's sums, odd */
    unsigned expert;           /* slice of the weights */
    unsigned rank;             /* among the blocks that are together */
};

/* Some segments of a block's rows, and how they are held: two pieces of each row, codes and
 * headers. */
struct span {
    unsigned first, segments, groups;
    unsigned from[2], bytes[2];  /* of a row; multiples of 16 */
    unsigned codes_at, heads_at; /* in a held row */
};

/* The rows that a block has in hand: x's row, and the row of the result; one in registers, several,
 * of R at most, in shared memory. */
template <unsigned R> struct rows_in_hand {
    unsigned count, tile; /* those that there are, and that there could be */
    const unsigned *list; /* [2][R] */
    VV_DEVICE unsigned x(unsigned r) const {
        return list[r];
    }
    VV_DEVICE unsigned to(unsigned r) const {
        return list[R + r];
    }
};
template <> struct rows_in_hand<1> {
    unsigned count, tile, row[2];
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
    unsigned i = 0, begin = 0, block = blockIdx.x;
    place at;
    at.rank = 0;
    if (grid.together > 1) {
        block = blockIdx.x / grid.together;
        at.rank = blockIdx.x - block * grid.together;
    }
    while (block >= grid.part[i].end) {
        begin = grid.part[i++].end;
    }
    at.part = &job.part[i];
    at.index = i;
    at.shift = grid.part[i].shift;
    at.pitch = grid.part[i].pitch;
    at.segments = segments_of(job);
    at.stride = at.segments | 1;
    at.expert = 0;
    at.first_output = (block - begin) * grid.part[i].outputs * grid.turns;
    unsigned left = at.part->outputs - at.first_output, outputs = grid.part[i].outputs;
    at.outputs = outputs < left ? outputs : left;
    at.used = at.outputs * at.part->matrices;
    return at;
}

/* Tiles that the block has, from the first one's place on; and the n-th of them. */
static __device__ __forceinline__ unsigned tiles_of(const grid_of_job &grid, const place &first) {
    unsigned outputs = grid.part[first.index].outputs;
    unsigned tiles = (first.part->outputs - first.first_output + outputs - 1) / outputs;
    return tiles < grid.turns ? tiles : grid.turns;
}
static __device__ __forceinline__ place nth_tile(const grid_of_job &grid, const place &first,
                                                 unsigned n) {
    place at = first;
    unsigned outputs = grid.part[first.index].outputs;
    at.first_output += n * outputs;
    unsigned left = at.part->outputs - at.first_output;
    at.outputs = outputs < left ? outputs : left;
    at.used = at.outputs * at.part->matrices;
    return at;
}

/* Which expert's the block is; false: nobody's. Past the first cache: what lies there may be older
 * than what was written before this kernel was brought. */
static __device__ __forceinline__ bool find_expert(const vv_product_job &job, place &at) {
    if (!job.active) {
        return true;
    }
    int count = __ldcg(job.active), expert = __ldcg(job.active + 1 + blockIdx.y); /* together */
    at.expert = (unsigned)expert;
    return (int)blockIdx.y < count;
}

/* A block's slots: the first matrix's row of each of its outputs, the second matrix's rows, … */
static __device__ __forceinline__ unsigned slot_of(const place &at, unsigned output, unsigned m) {
    return m * at.outputs + output;
}
static __device__ __forceinline__ const uint8_t *weight_row(const place &at, unsigned output,
                                                            unsigned m) {
    const vv_product_part &p = *at.part;
    bool apart = m > 0 && p.matrix_rows == 0;
    size_t row = at.first_output + output + (apart ? 0 : (size_t)m * p.matrix_rows);
    return p.data[apart] + at.expert * p.slice_bytes[apart] + row * p.row_bytes;
}
/* A slot's weight row; those that are not used repeat the last one, and are not stored. */
static __device__ __forceinline__ const uint8_t *row_of_slot(const place &at, unsigned slot) {
    slot = slot < at.used ? slot : at.used - 1;
    unsigned m = at.part->matrices == 1 ? 0 : slot / at.outputs; /* divisions are slow */
    return weight_row(at, slot - m * at.outputs, m);
}

/* What routes say is read past the first cache, as it may be before the kernel waits. */
static __device__ __forceinline__ unsigned row_of(const vv_product_job &job, unsigned i) {
    return job.pair ? (unsigned)__ldcg(job.pair + i) : i;
}
/* Where a window has one row, nobody waits for the number of its pair. */
static __device__ __forceinline__ unsigned x_row(const vv_product_job &job, unsigned row) {
    return job.used == 1 ? row : job.rows_most == 1 ? 0 : row / job.used;
}

/* `list` [2][R] of shared memory; R = 1 doesn't need it. */
template <unsigned R>
static __device__ __forceinline__ rows_in_hand<R>
take_rows(const vv_product_job &job, unsigned first, unsigned end, unsigned tile, unsigned *list) {
    rows_in_hand<R> rows = {end - first < tile ? end - first : tile, tile, list};
    for (unsigned r = threadIdx.x; r < R; r += blockDim.x) {
        unsigned row = row_of(job, first + (r < rows.count ? r : 0));
        list[r] = x_row(job, row);
        list[R + r] = row;
    }
    __syncthreads();
    return rows;
}
template <>
__device__ __forceinline__ rows_in_hand<1> take_rows<1>(const vv_product_job &job, unsigned first,
                                                        unsigned, unsigned, unsigned *) {
    unsigned row = row_of(job, first);
    return {1, 1, {x_row(job, row), row}};
}

/* ---- weights that a block holds in shared memory ---- */

/* From one held row to the next: equal columns of eight neighbouring rows lie in different banks.
 */
static __host__ __device__ inline unsigned held_pitch(size_t bytes) {
    return ((unsigned)bytes / 16 | 1) * 16;
}

static __device__ __forceinline__ const uint8_t *held_row(const place &at, const uint8_t *held,
                                                          unsigned slot) {
    return held + (slot < at.used ? slot : at.used - 1) * at.pitch;
}

static __device__ __forceinline__ span find_span(const vv_product_job &job, const place &at,
                                                 const grid_of_job &grid, unsigned which) {
    const auto &g = grid.part[at.index];
    unsigned row = (unsigned)at.part->row_bytes, left;
    span s = {};
    s.first = which * grid.span;
    left = at.segments - s.first;
    s.segments = left < grid.span ? left : grid.span;
    left = (unsigned)job.x.width / 32 - 4 * s.first;
    s.groups = left < 4 * s.segments ? left : 4 * s.segments;
    if (grid.spans == 1) {
        s.bytes[0] = row;
        s.heads_at = g.heads;
        return s;
    }
    unsigned codes = which * g.code_step, codes_end = codes + g.code_step;
    unsigned heads = g.heads + which * g.head_step, heads_end = heads + g.head_step;
    codes_end = codes_end < g.heads ? codes_end : g.heads;
    heads_end = heads_end < row ? heads_end : row;
    s.from[0] = codes & ~15u;
    s.from[1] = heads & ~15u;
    s.bytes[0] = ((codes_end + 15) & ~15u) - s.from[0];
    s.bytes[1] = g.head_step ? ((heads_end + 15) & ~15u) - s.from[1] : 0;
    s.codes_at = codes - s.from[0];
    s.heads_at = s.bytes[0] + heads - s.from[1];
    return s;
}

/* Starts to copy the span of the block's weight rows; `arrival`: when they have come, for the
 * turn-th time. */
static __device__ __forceinline__ void start_to_hold(const place &at, const span &part,
                                                     uint8_t *held, unsigned long long *arrival,
                                                     unsigned turn) {
    unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
#if VV_BULK_COPIES
    if (warp == 0) {
        if (lane == 0) {
            unsigned bytes = at.used * (part.bytes[0] + part.bytes[1]);
            turn == 0 ? vv_bulk_prepare(arrival, bytes) : vv_bulk_again(arrival, bytes);
        }
        __syncwarp();
        if (part.bytes[0] == at.pitch && lane < at.part->matrices) { /* whole rows */
            unsigned bytes = at.outputs * at.pitch;
            vv_bulk_copy(held + lane * bytes, weight_row(at, 0, lane), bytes, arrival);
        }
        for (unsigned slot = lane; slot < at.used && part.bytes[0] != at.pitch; slot += 32) {
            const uint8_t *from = row_of_slot(at, slot);
            uint8_t *to = held + slot * at.pitch;
            vv_bulk_copy(to, from + part.from[0], part.bytes[0], arrival);
            if (part.bytes[1]) {
                vv_bulk_copy(to + part.bytes[0], from + part.from[1], part.bytes[1], arrival);
            }
        }
    }
    (void)turn;
#else
    for (unsigned slot = warp; slot < at.used; slot += blockDim.x / 32) {
        const uint8_t *from = row_of_slot(at, slot);
        uint8_t *to = held + slot * at.pitch;
        for (unsigned i = 0; i < 2; i++, to += part.bytes[0]) {
            for (unsigned b = 16 * lane; b < part.bytes[i]; b += 16 * 32) {
                vv_copy_async<16>(to + b, from + part.from[i] + b);
            }
        }
    }
    vv_copy_commit();
    (void)arrival;
    (void)turn;
#endif
}

/* Until all that the block's threads copied is there, and weights of this turn, if there is one. */
static __device__ __forceinline__ void wait_for_copies(unsigned long long *arrival, bool held,
                                                       unsigned turn) {
    vv_copy_wait<0>();
    __syncthreads();
#if VV_BULK_COPIES
    if (held) {
        vv_bulk_wait(arrival, turn);
    }
#else
    (void)arrival;
    (void)held;
    (void)turn;
#endif
}

/* Until weights that start_to_hold asked for are there; where threads copy themselves, with `later`
 * groups of copies behind them. */
static __device__ __forceinline__ void wait_for_held(unsigned long long *arrival, unsigned turn,
                                                     bool later) {
#if VV_BULK_COPIES
    vv_bulk_wait(arrival, turn);
    (void)later;
#else
    if (later) {
        vv_copy_wait<1>();
    } else {
        vv_copy_wait<0>();
    }
    __syncthreads();
    (void)arrival;
    (void)turn;
#endif
}

/*
 * A block's beginning. Kernels of experts whose routes the kernel in front may have made bring the
 * next one only when they stand: it may look at them before it waits. True: it has waited already.
 */
static __device__ __forceinline__ bool begin_block(const vv_product_job &job) {
    bool late = job.active && !job.known_before;
    if (late) {
        vv_wait_for_front();
    }
    vv_bring_next();
    return late;
}

/* The rows of activations of a block: [first, end). */
struct range {
    unsigned first, end;
};
static __device__ __forceinline__ range rows_of(const vv_product_job &job, const place &at,
                                                const grid_of_job &grid) {
    if (job.active) {
        const int32_t *begin = job.begin + at.expert;
        unsigned begins = (unsigned)__ldcg(begin);
        return {begins, job.rows_most == 1 ? begins + 1 : (unsigned)__ldcg(begin + 1)};
    }
    unsigned first = blockIdx.z * grid.rows, left = job.rows - first;
    return {first, first + (left < grid.rows ? left : grid.rows)};
}

/* What kernels do that hold no weights: a block's rows, R at a time, and of an expert's those that
 * fall to it. `multiply(at, rows)` makes their products whole. */
template <unsigned R, typename MULTIPLY>
static __device__ __forceinline__ void run_block(const vv_product_job &job, const grid_of_job &grid,
                                                 MULTIPLY multiply) {
    __shared__ unsigned list[2 * R];
    place at = find_place(job, grid);
    if (!begin_block(job)) {
        vv_wait_for_front();
    }
    if (!find_expert(job, at)) {
        return;
    }
    range all = rows_of(job, at, grid);
    unsigned mine = job.active ? blockIdx.z : 0, blocks = job.active ? gridDim.z : 1;
    for (unsigned first = all.first + mine * R; first < all.end; first += blocks * R) {
        multiply(at, take_rows<R>(job, first, all.end, R, list));
        if (!job.active) {
            return;
        }
        __syncthreads();
    }
}

/* Where a block's sums [slots][tile][stride] of segments go: to its own shared memory, or to that
 * of the first of those that are together. */
struct sums_of_block {
    float *own;
    bool together;
    VV_DEVICE void store(unsigned at, float sum) const {
        if (together) {
            vv_store_first(own + at, sum);
        } else {
            own[at] = sum;
        }
    }
};

/* ---- the end ---- */

/* Of a mean's value o and matrix m: what its gate multiplies. */
static __device__ __forceinline__ float gated(const vv_product_job &job, const vv_product_part &p,
                                              unsigned output, unsigned m, unsigned x_row) {
    return m < p.matrices ? job.with[((size_t)x_row * job.streams + m) * p.outputs + output] : 0.0f;
}
/* A mean of what gates let through. */
static __device__ __forceinline__ float gated_mean(const float (&gate)[VV_MATRICES_MAX],
                                                   const float (&with)[VV_MATRICES_MAX],
                                                   unsigned matrices, float streams) {
    float sum = 0.0f;
    VV_UNROLL
    for (unsigned m = 0; m < VV_MATRICES_MAX; m++) {
        sum = m < matrices ? fmaf(gate[m], with[m], sum) : sum;
    }
    return sum / streams;
}

/* The other ends. */
static __device__ __forceinline__ float end_of(const vv_product_job &job, const vv_product_part &p,
                                               unsigned to_row, const float (&y)[VV_MATRICES_MAX]) {
    float result = y[0], streams = (float)job.streams;
    switch (p.end) {
    case VV_END_SILU:
        return vv_silu(y[0] / streams);
    case VV_END_GAMMA:
        return 2.0f * vv_sigmoid(y[0] / streams);
    case VV_END_SWIGLU:
        result = vv_gated(y[0], y[1], vv_limit(job.limit));
        return job.row_weight ? result * job.row_weight[to_row] : result;
    default:
        return result;
    }
}

static __device__ __forceinline__ void store(const vv_product_job &job, const vv_product_part &p,
                                             unsigned output, unsigned x_row, unsigned to_row,
                                             float (&y)[VV_MATRICES_MAX]) {
    float result;
    if (p.end == VV_END_GATED_MEAN) {
        float with[VV_MATRICES_MAX];
        VV_UNROLL
        for (unsigned m = 0; m < VV_MATRICES_MAX; m++) {
            with[m] = gated(job, p, output, m, x_row);
            y[m] = vv_sigmoid(y[m]);
        }
        result = gated_mean(y, with, p.matrices, (float)job.streams);
    } else {
        result = end_of(job, p, to_row, y);
    }
    p.to[(size_t)to_row * p.to_row + output] = result;
}

/* Whole products of output o and row r, with their separate scales; false: one isn't finite.
 * `total(slot, r)` is one without its scale. By constant indices alone, so that y lies in
 * registers. */
template <typename TOTAL>
static __device__ __forceinline__ bool products_of(const place &at, unsigned o, unsigned r,
                                                   TOTAL total, float (&y)[VV_MATRICES_MAX]) {
    const vv_product_part &p = *at.part;
    bool good = true;
    auto product = [&](unsigned m) {
        const float *scale = p.scale[m > 0 && p.matrix_rows == 0];
        float whole = total(slot_of(at, o, m), r);
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
    return good;
}

/* Which row thing n of all is of, `each` a row; n becomes its number there. */
template <unsigned R>
static __device__ __forceinline__ unsigned row_of_thing(unsigned &n, unsigned each) {
    constexpr unsigned few = 4;
    if (R <= few) {
        return R == 1 ? 0 : vv_few_row(n, each);
    }
    unsigned row = n / each;
    n -= row * each;
    return row;
}

/* All products of the block. */
template <unsigned R, typename TOTAL>
static __device__ __forceinline__ void finish(const vv_product_job &job, const place &at,
                                              const rows_in_hand<R> &rows, TOTAL total) {
    const vv_product_part &p = *at.part;
    for (unsigned i = threadIdx.x; i < at.outputs * rows.count; i += blockDim.x) {
        unsigned o = i, r = rows.count == 1 ? 0 : row_of_thing<R>(o, at.outputs);
        float y[VV_MATRICES_MAX];
        if (products_of(at, o, r, total, y)) {
            store(job, p, at.first_output + o, rows.x(r), rows.to(r), y);
        } else {
            vv_report({job.status, p.step}, VV_ERROR_NOT_FINITE);
        }
    }
}

/* The same of many means: what a thread's gates multiply is asked for by several at a time. */
template <unsigned R, typename TOTAL>
static __device__ __forceinline__ void finish_many_means(const vv_product_job &job, const place &at,
                                                         const rows_in_hand<R> &rows, TOTAL total) {
    constexpr unsigned some = 4;
    const vv_product_part &p = *at.part;
    unsigned all = at.outputs * rows.count;
    VV_UNROLL_BY(1)
    for (unsigned first = threadIdx.x; first < all; first += some * blockDim.x) {
        float with[some][VV_MATRICES_MAX];
        VV_UNROLL
        for (unsigned k = 0; k < some; k++) {
            unsigned i = first + k * blockDim.x, r = i / at.outputs, o = i - r * at.outputs;
            VV_UNROLL
            for (unsigned m = 0; m < VV_MATRICES_MAX; m++) {
                with[k][m] = i < all ? gated(job, p, at.first_output + o, m, rows.x(r)) : 0.0f;
            }
        }
        VV_UNROLL
        for (unsigned k = 0; k < some; k++) {
            unsigned i = first + k * blockDim.x, r = i / at.outputs, o = i - r * at.outputs;
            float y[VV_MATRICES_MAX];
            if (i >= all) {
                break;
            }
            if (!products_of(at, o, r, total, y)) {
                vv_report({job.status, p.step}, VV_ERROR_NOT_FINITE);
                continue;
            }
            VV_UNROLL
            for (unsigned m = 0; m < VV_MATRICES_MAX; m++) {
                y[m] = vv_sigmoid(y[m]);
            }
            p.to[(size_t)rows.to(r) * p.to_row + at.first_output + o] =
                gated_mean(y, with[k], p.matrices, (float)job.streams);
        }
    }
}

/* A chain of sums. */
static __device__ __forceinline__ float add_up(const float *s, unsigned n) {
    constexpr unsigned together = 10;
    float total = 0.0f;
    unsigned k = 0;
    for (; k + together <= n; k += together) {
        float some[together]; /* fetched before the chain needs them */
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
    for (; k < n; k++) {
        total += s[k];
    }
    return total;
}

/* A slot's product with row r, from `sum` [slots][tile][stride]: its segments' in ascending order.
 */
template <unsigned R>
static __device__ __forceinline__ float product_of(const place &at, const float *sum,
                                                   const rows_in_hand<R> &rows, unsigned slot,
                                                   unsigned m, unsigned r) {
    const vv_product_part &p = *at.part;
    float whole = add_up(sum + (slot * rows.tile + r) * at.stride, at.segments);
    const float *scale = p.scale[m > 0 && p.matrix_rows == 0];
    return scale ? whole * scale[at.expert] : whole;
}

/*
 * The end of a mean: a thread makes each gate, in place of its first sum, then one each mean. What
 * gates multiply is on its way meanwhile.
 */
template <unsigned R>
static __device__ __forceinline__ void finish_means(const vv_product_job &job, const place &at,
                                                    const rows_in_hand<R> &rows, float *sum) {
    const vv_product_part &p = *at.part;
    unsigned all = at.outputs * rows.count;
    for (unsigned first = 0; first < all; first += blockDim.x) { /* all threads, for the barriers */
        unsigned i = first + threadIdx.x, o = i < all ? i : 0, r = row_of_thing<R>(o, at.outputs);
        float with[VV_MATRICES_MAX] = {}, gate[VV_MATRICES_MAX] = {};
        VV_UNROLL
        for (unsigned m = 0; m < VV_MATRICES_MAX && i < all; m++) {
            with[m] = gated(job, p, at.first_output + o, m, rows.x(r));
        }
        for (unsigned k = threadIdx.x; k < at.used * rows.count && first == 0; k += blockDim.x) {
            unsigned slot = k, row = row_of_thing<R>(slot, at.used);
            float y = product_of<R>(at, sum, rows, slot, slot / at.outputs, row);
            sum[(slot * rows.tile + row) * at.stride] = isfinite(y) ? vv_sigmoid(y) : y;
        }
        __syncthreads();
        if (i >= all) {
            continue;
        }
        bool good = true;
        VV_UNROLL
        for (unsigned m = 0; m < VV_MATRICES_MAX; m++) {
            if (m < p.matrices) {
                gate[m] = sum[(slot_of(at, o, m) * rows.tile + r) * at.stride];
                good = good && isfinite(gate[m]);
            }
        }
        if (good) {
            p.to[(size_t)rows.to(r) * p.to_row + at.first_output + o] =
                gated_mean(gate, with, p.matrices, (float)job.streams);
        } else {
            vv_report({job.status, p.step}, VV_ERROR_NOT_FINITE);
        }
    }
}

/* Of `sum` [slots][tile][stride], every segment's s of the block; behind a barrier. */
template <unsigned R>
static __device__ __forceinline__ void finish_sums(const vv_product_job &job, const place &at,
                                                   const rows_in_hand<R> &rows, float *sum) {
    if (at.part->end == VV_END_GATED_MEAN) {
        finish_means<R>(job, at, rows, sum);
    } else {
        finish<R>(job, at, rows, [&](unsigned slot, unsigned r) {
            return add_up(sum + (slot * rows.tile + r) * at.stride, at.segments);
        });
    }
}

} // namespace vv_products

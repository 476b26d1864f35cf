/*
 * The kernel of few rows of activations, whose blocks hold their weights in shared memory: parts of
 * any formats in one launch. A block's first weights are asked for while the kernel in front ends.
 */
#pragma once
#include "op/cuda/products_float.cuh"
#include "op/cuda/products_rows.cuh"

namespace vv_products {

#define VV_QUANTISED_TYPES(EACH)                                                                   \
    EACH(Q2_K)                                                                                     \
    EACH(Q3_K)                                                                                     \
    EACH(Q4_K)                                                                                     \
    EACH(Q5_K)                                                                                     \
    EACH(Q6_K)                                                                                     \
    EACH(IQ4_XS)                                                                                   \
    EACH(Q1_0)                                                                                     \
    EACH(TQ1_0)                                                                                    \
    EACH(TQ2_0)                                                                                    \
    EACH(IQ2_XXS)                                                                                  \
    EACH(IQ2_XS)                                                                                   \
    EACH(IQ2_S)                                                                                    \
    EACH(IQ3_XXS)                                                                                  \
    EACH(IQ3_S)                                                                                    \
    EACH(IQ1_S)                                                                                    \
    EACH(IQ1_M)                                                                                    \
    EACH(Q4_0)                                                                                     \
    EACH(Q4_1)                                                                                     \
    EACH(Q5_0)                                                                                     \
    EACH(Q5_1)                                                                                     \
    EACH(Q8_0)                                                                                     \
    EACH(IQ4_NL)                                                                                   \
    EACH(MXFP4)                                                                                    \
    EACH(NVFP4)                                                                                    \
    EACH(Q2_0)                                                                                     \
    EACH(Q2_0_128)

/* A span of a tile's rows, all of it held. A block is of one part, so all its threads go the same
 * way. */
template <unsigned R>
static __device__ __forceinline__ void
some_rows(const vv_product_job &job, const place &at, const span &part, const rows_in_hand<R> &rows,
          const near_rows &x, const uint8_t *held, const sums_of_block &sums) {
    switch (at.part->type) {
#define VV_EACH(TYPE)                                                                              \
    case VV_TYPE_##TYPE:                                                                           \
        multiply_span<VV_TYPE_##TYPE>(at, part, x, rows, held, sums);                              \
        break;
        VV_QUANTISED_TYPES(VV_EACH)
#undef VV_EACH
    case VV_TYPE_F16:
        float_rows<VV_TYPE_F16>(job, at, part, rows, held, sums);
        break;
    case VV_TYPE_BF16:
        float_rows<VV_TYPE_BF16>(job, at, part, rows, held, sums);
        break;
    default:
        float_rows<VV_TYPE_F32>(job, at, part, rows, held, sums);
        break;
    }
}

/* What threads that take whole segments decode by; a barrier has to follow. */
template <unsigned R> static __device__ __forceinline__ void prepare_to_decode(int type) {
    if (R <= FOUR && type == VV_TYPE_IQ2_XXS) {
        prepare_selectors();
    }
}

static __device__ __forceinline__ bool is_super(int type) {
    switch (type) {
#define VV_EACH(TYPE)                                                                              \
    case VV_TYPE_##TYPE:                                                                           \
        return vv_codes::of<VV_TYPE_##TYPE>::SUPER;
        VV_QUANTISED_TYPES(VV_EACH)
#undef VV_EACH
    default:
        return false;
    }
}

/* Threads of a block at most, and registers for two such blocks a processor: so that blocks of the
 * kernel behind find room and ask for their weights. Several rows need more registers. */
template <unsigned R> constexpr unsigned rows_threads = R == 1 ? 512 : R <= FOUR ? 320 : 384;
constexpr unsigned ROWS_BLOCKS = 2;

/* A block has one tile, of whose rows it takes one span after another. */
template <unsigned R>
__global__ void __launch_bounds__(rows_threads<R>, ROWS_BLOCKS)
    rows_kernel(const __grid_constant__ vv_product_job job,
                const __grid_constant__ grid_of_job grid) {
    __shared__ unsigned list[2 * R];
    __shared__ unsigned long long arrival;
    uint8_t *held = vv_dynamic_shared<uint8_t>(), *near = held + grid.held;
    float *sum = reinterpret_cast<float *>(near + grid.near);
    sums_of_block sums = {sum, grid.together > 1};
    if (sums.together) {
        vv_begin_together();
    }
    place at = find_place(job, grid);
    bool waited = begin_block(job), found = find_expert(job, at);
    bool known = found && (job.known_before || !job.active);
    unsigned turn = 0, held_span = at.rank;
    span part = find_span(job, at, grid, held_span);
    range all = {};
    rows_in_hand<R> rows = {};
    if (found) {
        start_to_hold(at, part, held, &arrival, turn);
        prepare_to_decode<R>(at.part->type);
    }
    if (known) {
        all = rows_of(job, at, grid);
        rows = take_rows<R>(job, all.first, all.end, grid.tile, list);
    }
    if (!waited) {
        vv_wait_for_front();
    }
    if (sums.together) {
        vv_all_began();
    }
    if (!found) {
        return;
    }
    if (!known) {
        all = rows_of(job, at, grid);
        rows = take_rows<R>(job, all.first, all.end, grid.tile, list);
    }
    bool floats = vv_is_float_type(at.part->type), new_span = true;
    for (unsigned first = all.first;;) {
        for (unsigned which = at.rank; which < grid.spans; which += grid.together) {
            if (which != held_span) {
                __syncthreads();
                held_span = which;
                part = find_span(job, at, grid, which);
                start_to_hold(at, part, held, &arrival, ++turn);
                new_span = true;
            }
            near_rows x = {};
            if (floats) {
                ask_for_floats(job, part, rows);
            } else {
                x = bring_near<R>(job.x, is_super(at.part->type), rows, part, near);
            }
            wait_for_copies(&arrival, new_span, turn);
            new_span = false;
            some_rows<R>(job, at, part, rows, x, held, sums);
        }
        if (sums.together) {
            vv_end_together();
            if (at.rank > 0) {
                return;
            }
        } else {
            __syncthreads();
        }
        finish_sums<R>(job, at, rows, sum);
        first += grid.tile;
        if (!job.active || first >= all.end) {
            return;
        }
        __syncthreads();
        rows = take_rows<R>(job, first, all.end, grid.tile, list);
    }
}

/* ---- more tiles than there is room for ---- */

/* Fewer blocks, with more registers. */
constexpr unsigned STREAM_THREADS = 320, STREAM_BLOCKS = 2, BUFFERS_MOST = 3;

/* A block has several tiles, one below the other, and asks for the next ones while it multiplies;
 * experts: with all their rows of activations, tile by tile. */
template <unsigned R>
__global__ void __launch_bounds__(STREAM_THREADS, STREAM_BLOCKS)
    stream_kernel(const __grid_constant__ vv_product_job job,
                  const __grid_constant__ grid_of_job grid) {
    __shared__ unsigned list[2 * R];
    __shared__ unsigned long long arrival[BUFFERS_MOST];
    uint8_t *held = vv_dynamic_shared<uint8_t>(), *near = held + grid.buffers * grid.held;
    float *sum = reinterpret_cast<float *>(near + grid.near);
    place top = find_place(job, grid);
    bool waited = begin_block(job), found = find_expert(job, top);
    unsigned tiles = tiles_of(grid, top);
    span part = find_span(job, top, grid, 0);
    for (unsigned n = 0; n < grid.buffers && n < tiles && found; n++) {
        start_to_hold(nth_tile(grid, top, n), part, held + n * grid.held, arrival + n, 0);
    }
    prepare_to_decode<R>(top.part->type);
    if (!waited) {
        vv_wait_for_front();
    }
    if (!found) {
        return;
    }
    range all = rows_of(job, top, grid);
    bool floats = vv_is_float_type(top.part->type), batches = all.end - all.first > grid.tile;
    rows_in_hand<R> rows = take_rows<R>(job, all.first, all.end, grid.tile, list);
    near_rows x = {};
    unsigned buffer = 0, turn = 0, other = 0;
    VV_UNROLL_BY(1)
    for (unsigned n = 0; n < tiles; n++) {
        place at = nth_tile(grid, top, n);
        VV_UNROLL_BY(1)
        for (unsigned first = all.first; first < all.end; first += grid.tile) {
            bool again = n > 0 || first > all.first;
            if (batches && again) {
                __syncthreads();
                rows = take_rows<R>(job, first, all.end, grid.tile, list);
            }
            if (!floats && (batches || !again)) {
                x = bring_near<R>(job.x, is_super(at.part->type), rows, part, near);
                vv_copy_wait<0>();
                __syncthreads();
            }
            if (first == all.first) {
                if (!again) {
                    __syncthreads(); /* what tells of arrivals is prepared */
                }
                wait_for_held(arrival + buffer, turn, n + 1 < tiles && grid.buffers > 1);
            }
            sums_of_block to = {sum + other * (grid.sums / sizeof(float)), false};
            some_rows<R>(job, at, part, rows, x, held + buffer * grid.held, to);
            __syncthreads();
            if (n + grid.buffers < tiles && first + grid.tile >= all.end) {
                start_to_hold(nth_tile(grid, top, n + grid.buffers), part,
                              held + buffer * grid.held, arrival + buffer, turn + 1);
            }
            finish_sums<R>(job, at, rows, to.own);
            other ^= 1;
        }
        turn += ++buffer == grid.buffers;
        buffer = buffer == grid.buffers ? 0 : buffer;
    }
}

} // namespace vv_products

/*
 * The kernels of products. Which of them a job takes, and in what blocks, is products.cu's matter.
 */
#pragma once
#include "op/cuda/products_float.cuh"
#include "op/cuda/products_rows.cuh"
#include "op/cuda/products_strip.cuh"
#include "op/cuda/products_tile.cuh"

namespace vv_products {

/* Tiles of a few and of many rows: warps of 16 by 64 products, and of 64 by 32. */
using tile_of_64 = tile_shape<64, 64, 1, 8>;
using tile_of_128 = tile_shape<128, 128, 4, 4>;
/* Strips of 16 weight rows by 16 rows of activations; of 32 by 64, once and twice. */
using strip_of_16 = strip_shape<1, 2, 1, 4, 4>;
using strip_of_64 = strip_shape<2, 8, 1, 1, 2>;
using strip_of_128 = strip_shape<2, 8, 2, 1, 1>;

/* Starts a kernel. */
typedef int start(const vv_product_job &job, const grid_of_job &grid, dim3 blocks, unsigned threads,
                  size_t shared, void *stream);

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

/* ---- few rows: parts of any formats in one launch ---- */

/* Threads of a block at most, and registers for two such blocks a processor: so that blocks of the
 * kernel behind find room and ask for their weights. */
constexpr unsigned ROWS_THREADS = 512, ROWS_BLOCKS = 2;

/* A span of the block's rows, all of it held. A block is of one part, so all its threads go the
 * same way. */
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
    default:
        float_rows(job, at, part, rows, held, sums);
        break;
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

/* The block's first weights are asked for while the kernel in front ends. */
template <unsigned R>
__global__ void __launch_bounds__(ROWS_THREADS, ROWS_BLOCKS)
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
    bool waited = begin_block(job), found = find_expert(job, at), known = found && job.known_before;
    unsigned turn = 0, held_span = at.rank;
    span part = find_span(job, at, grid, held_span);
    range all = {};
    rows_in_hand<R> rows = {};
    if (found) {
        start_to_hold(at, part, held, &arrival, turn);
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
            if (!floats) {
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

/* products_one.cu, products_eight.cu */
extern start start_one, start_eight;

/* ---- the others: one format ---- */

template <int TYPE>
__global__ void __launch_bounds__(THREADS)
    decoded(const __grid_constant__ vv_product_job job, const __grid_constant__ grid_of_job grid) {
    float *sum = vv_dynamic_shared<float>();
    run_block<1>(job, grid, [&](const place &at, const rows_in_hand<1> &rows) {
        decoded_row<TYPE>(job, at, rows.x(0), sum);
        finish_sums<1>(job, at, rows, sum);
    });
}

template <int TYPE, class SHAPE>
__global__ void __launch_bounds__(SHAPE::THREADS, SHAPE::BLOCKS)
    tile(const __grid_constant__ vv_product_job job, const __grid_constant__ grid_of_job grid) {
    constexpr unsigned TN = SHAPE::TN;
    auto &memory = *vv_dynamic_shared<tile_memory<TYPE, SHAPE>>();
    run_block<TN>(job, grid, [&](const place &at, const rows_in_hand<TN> &rows) {
        tile_rows<TYPE, SHAPE>(job, at, rows, memory);
    });
}

template <int TYPE, class SHAPE>
__global__ void __launch_bounds__(SHAPE::THREADS, SHAPE::BLOCKS)
    strip(const __grid_constant__ vv_product_job job, const __grid_constant__ grid_of_job grid) {
    constexpr unsigned TN = SHAPE::TN;
    auto &memory = *vv_dynamic_shared<strip_memory<TYPE, SHAPE>>();
    run_block<TN>(job, grid, [&](const place &at, const rows_in_hand<TN> &rows) {
        strip_block<TYPE, SHAPE>(job, at, rows, memory);
    });
}

struct kernels {
    start *tile_few, *tile_many, *decoded;
    size_t many_bytes;                          /* of shared memory that tile_many takes */
    start *strip_few, *strip_some, *strip_many; /* or nullptr */
    size_t some_bytes, all_bytes;               /* of shared memory that the last two take */
};

/* The kernels of a quantised type (products_super.cu, products_grid.cu, products_block.cu); NULL:
 * it isn't one. */
const kernels *super_kernels(int type);
const kernels *block_kernels(int type);
const kernels *grid_kernels(int type);

template <int TYPE, class SHAPE>
int start_tile(const vv_product_job &job, const grid_of_job &grid, dim3 blocks, unsigned, size_t,
               void *stream) {
    return vv_start_early((tile<TYPE, SHAPE>), blocks, SHAPE::THREADS,
                          sizeof(tile_memory<TYPE, SHAPE>), stream, job, grid);
}

template <int TYPE>
int start_decoded(const vv_product_job &job, const grid_of_job &grid, dim3 blocks, unsigned threads,
                  size_t shared, void *stream) {
    return vv_start_early(decoded<TYPE>, blocks, threads, shared, stream, job, grid);
}

template <int TYPE, class SHAPE>
int start_strip(const vv_product_job &job, const grid_of_job &grid, dim3 blocks, unsigned, size_t,
                void *stream) {
    return vv_start_early((strip<TYPE, SHAPE>), blocks, SHAPE::THREADS,
                          sizeof(strip_memory<TYPE, SHAPE>), stream, job, grid);
}

template <int TYPE, class SHAPE> constexpr start *strip_starter() {
    if constexpr (lane_codes<TYPE>::HERE) {
        return start_strip<TYPE, SHAPE>;
    } else {
        return nullptr;
    }
}

template <int TYPE> struct starters {
    static constexpr kernels list = {start_tile<TYPE, tile_of_64>,
                                     start_tile<TYPE, tile_of_128>,
                                     start_decoded<TYPE>,
                                     sizeof(tile_memory<TYPE, tile_of_128>),
                                     strip_starter<TYPE, strip_of_16>(),
                                     strip_starter<TYPE, strip_of_64>(),
                                     strip_starter<TYPE, strip_of_128>(),
                                     sizeof(strip_memory<TYPE, strip_of_64>),
                                     sizeof(strip_memory<TYPE, strip_of_128>)};
};

#define VV_KERNELS(TYPE)                                                                           \
    case VV_TYPE_##TYPE:                                                                           \
        return &starters<VV_TYPE_##TYPE>::list;

} // namespace vv_products

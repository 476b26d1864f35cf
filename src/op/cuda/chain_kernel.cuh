/* Steps of chains as the kernel takes them, and the kernel. */
#pragma once
#include "op/attend_window/cuda_merge.cuh"
#include "op/cache_round/cuda_part.cuh"
#include "op/cache_write/cuda_part.cuh"
#include "op/compress/cuda_part.cuh"
#include "op/cuda/chain.h"
#include "op/experts/cuda_sum.cuh"
#include "op/hash_route/cuda_part.cuh"
#include "op/quantize_rows/cuda_segment.cuh"
#include "op/rms_norm/cuda_part.cuh"
#include "op/rope_pairs/cuda_part.cuh"
#include "op/round_half/cuda_part.cuh"
#include "op/route/cuda_row.cuh"
#include "op/sinkhorn/cuda_part.cuh"
VV_C_BEGIN
#include "op/swiglu/contract.h"
VV_C_END

namespace {

enum { THREADS_MOST = 1024 };

/* A step as the kernel takes it: its args with the window where the device has it. */
struct chained {
    int kind;
    uint32_t step;
    union {
        struct vv_rms_norm norm;
        struct vv_rope_pairs rope;
        struct vv_round_fp8 fp8;
        struct {
            struct vv_round_fp4 of;
            float unit;
        } fp4;
        struct vv_round_half half;
        struct {
            vv_planes of;
            unsigned rows;
        } planes;
        struct vv_compress_rows compress;
        cache_job store;
        struct vv_sinkhorn sinkhorn;
        struct vv_stream_read read;
        struct vv_stream_write write;
        struct vv_hash_route route;
        struct vv_route_group group;
        struct vv_swiglu swiglu;
        struct vv_expert_sum sum;
        merge_job attend;
    };
};

struct chain {
    unsigned first, end;    /* tasks */
    unsigned rows, parts;   /* parts of a row; a block has one */
    unsigned begin, blocks; /* of the launch; beyond rows · parts: they make the factors that the
                             * chain itself doesn't need */
};

struct chains {
    chained of[VV_CHAINED_MOST];
    chain list[VV_CHAINS_MOST];
    unsigned count;
    unsigned long long *status;
};

static_assert(sizeof(chains) <= 4096, "what a kernel can be given on any driver");

/* The segments of planes that belong to a part. */
__device__ void planes_part(const vv_planes &p, unsigned rows, unsigned part, unsigned parts,
                            vv_trouble trouble) {
    unsigned width = (unsigned)p.width, segments = (width + VV_COARSE_UNIT - 1) / VV_COARSE_UNIT;
    unsigned each = rows * segments / parts;
    VV_UNROLL_BY(1)
    for (unsigned i = threadIdx.x / 32; i < each; i += blockDim.x / 32) {
        unsigned unit = part * each + i, row = unit / segments, segment = unit % segments;
        unsigned first = segment * VV_COARSE_UNIT + threadIdx.x % 32 * 4;
        const float *x = p.x + (size_t)row * width + first;
        float4 four = first < width ? *reinterpret_cast<const float4 *>(x) : float4{};
        quantise_segment(p, row, segment, four, trouble);
    }
}

/* Calls take(i) for the values of a piece of a row. */
template <typename Take>
__device__ void each_of_piece(size_t width, unsigned part, unsigned parts, Take take) {
    unsigned each = (unsigned)width / parts;
    VV_UNROLL_BY(1)
    for (unsigned i = threadIdx.x; i < each; i += blockDim.x) {
        take(part * each + i);
    }
}

struct place {
    unsigned row, part, parts, rows; /* parts of a row, rows of the chain */
    unsigned which;                  /* of factors */
};

__device__ void run_task(const chained &t, const place &at, vv_trouble trouble) {
    float *shared = vv_dynamic_shared<float>();
    switch (t.kind) {
    case VV_CHAIN_NORM:
        vv_norm_part(t.norm, at.row, at.part, trouble, shared, [] {});
        break;
    case VV_CHAIN_ROPE:
        VV_UNROLL_BY(1)
        for (unsigned i = threadIdx.x; i < t.rope.dims / 2; i += blockDim.x) {
            vv_rotate_pairs<1>(t.rope, t.rope.window->position[at.row], at.row, at.part, i);
        }
        break;
    case VV_CHAIN_FP8:
        VV_UNROLL_BY(1)
        for (unsigned i = threadIdx.x / 32;
             i * VV_FP8_BLOCK < t.fp8.width && vv_completes(t.fp8.window, at.row, t.fp8.ratio);
             i += blockDim.x / 32) {
            round_fp8_block(t.fp8, at.row, i, trouble);
        }
        break;
    case VV_CHAIN_FP4:
        if (threadIdx.x < 32 && vv_completes(t.fp4.of.window, at.row, t.fp4.of.ratio)) {
            round_fp4_vector(t.fp4.of, at.row, at.part, t.fp4.unit, shared, trouble);
        }
        break;
    case VV_CHAIN_HALF:
        VV_UNROLL_BY(1)
        for (size_t i = threadIdx.x; i < t.half.width; i += blockDim.x) {
            vv_round_one(t.half.x + at.row * t.half.width + i, trouble);
        }
        break;
    case VV_CHAIN_PLANES:
        planes_part(t.planes.of, t.planes.rows, at.row * at.parts + at.part, at.rows * at.parts,
                    trouble);
        break;
    case VV_CHAIN_COMPRESS:
        compress_row(t.compress, at.row, reinterpret_cast<compress_memory *>(shared), trouble);
        break;
    case VV_CHAIN_STORE: {
        void *entry = cache_entry(t.store, at.row);
        VV_UNROLL_BY(1)
        for (unsigned i = at.part * blockDim.x + threadIdx.x; i < t.store.a.to.width && entry;
             i += at.parts * blockDim.x) {
            store_elements(t.store, entry, i, load_elements<1>(t.store, at.row, i), trouble);
        }
        break;
    }
    case VV_CHAIN_SINKHORN:
        sinkhorn_row<false>(t.sinkhorn, at.row, at.which,
                            reinterpret_cast<sinkhorn_memory *>(shared), trouble);
        break;
    case VV_CHAIN_WRITE:
        each_of_piece(t.write.width, at.part, at.parts,
                      [&](unsigned i) { write_columns<FEW_STREAMS, 1>(t.write, at.row, i); });
        break;
    case VV_CHAIN_ROUTE:
        hash_route_row(t.route, at.row, reinterpret_cast<uint32_t *>(shared), trouble);
        break;
    case VV_CHAIN_GROUP:
        group_row(t.group, reinterpret_cast<group_memory *>(shared), trouble);
        break;
    case VV_CHAIN_SWIGLU:
        each_of_piece(t.swiglu.width, at.part, at.parts, [&](unsigned i) {
            size_t n = at.row * t.swiglu.width + i;
            t.swiglu.h[n] = vv_gated(t.swiglu.gate[n], t.swiglu.up[n], vv_limit(t.swiglu.limit));
        });
        break;
    case VV_CHAIN_SUM:
        each_of_piece(t.sum.width, at.part, at.parts,
                      [&](unsigned i) { sum_experts<1>(t.sum, at.row, i); });
        break;
    case VV_CHAIN_ATTEND:
        merge_head(t.attend, at.row, at.part, reinterpret_cast<float4 *>(shared));
        break;
    default:
        VV_UNROLL_BY(1)
        for (unsigned i = threadIdx.x; i < t.read.width; i += blockDim.x) {
            read_columns<1>(t.read, at.row, i);
        }
        break;
    }
}

/* Asks for constants before the kernel in front is done. */
__device__ void prefetch(const chained &t, unsigned part) {
    if (t.kind == VV_CHAIN_NORM) {
        const float *weight = t.norm.weight + part * t.norm.weight_group;
        VV_UNROLL_BY(1)
        for (unsigned i = threadIdx.x * 32; i < t.norm.width; i += blockDim.x * 32) {
            vv_prefetch<false>(weight + i);
        }
    }
}

__global__ void __launch_bounds__(THREADS_MOST) run_chains(const __grid_constant__ chains all) {
    unsigned c = 0;
    VV_UNROLL_BY(1)
    while (c + 1 < all.count && blockIdx.x >= all.list[c + 1].begin) {
        c++;
    }
    const chain &mine = all.list[c];
    unsigned block = blockIdx.x - mine.begin, parts = mine.rows * mine.parts;
    bool beside = block >= parts;
    unsigned unit = beside ? block - parts : block;
    place at = {unit / mine.parts, unit % mine.parts, mine.parts, mine.rows,
                beside                 ? WRITING
                : mine.blocks == parts ? READING | WRITING
                                       : (unsigned)READING};
    VV_UNROLL_BY(1)
    for (unsigned i = mine.first; i < mine.end && !beside; i++) {
        prefetch(all.of[i], at.part);
    }
    __shared__ chained step[VV_CHAIN_STEPS]; /* constants that are indexed would be slow */
    unsigned steps = beside ? 1 : mine.end - mine.first;
    auto from = reinterpret_cast<const uint32_t *>(&all.of[mine.first]);
    auto to = reinterpret_cast<uint32_t *>(step);
    VV_UNROLL_BY(1)
    for (unsigned i = threadIdx.x; i < steps * sizeof *step / sizeof *to; i += blockDim.x) {
        to[i] = from[i];
    }
    vv_follow();
    VV_UNROLL_BY(1)
    for (unsigned i = 0; i < steps; i++) {
        __syncthreads();
        run_task(step[i], at, {all.status, step[i].step});
    }
}

} // namespace

/* Few rows: a block has a chunk and eight heads, whose (m_c, l_c, o_c) are merged in order
 * afterwards, by a block a row and head. */
#pragma once
#include "op/attend_window/cuda_merge.cuh"
#include "op/attend_window/cuda_tile.cuh"

namespace {

/* Asks for a chunk's keys that are in the state, as far as the window alone tells which. */
__device__ void prefetch_chunk(const task &t, size_t row, uint32_t i) {
    keys k = keys_guessed(t.a, row);
    if (i >= chunks_of(k)) {
        return;
    }
    stretch s = chunk_at(k, i);
    uint32_t slot = s.low + threadIdx.x / 4;
    bool held = slot < s.high && (s.pooled || slot < k.held);
    const struct vv_state_view &v = s.pooled ? t.a.pooled : t.a.ring;
    auto at = static_cast<const uint8_t *>(vv_state_at(&v, k.slot, slot));
    for (size_t n = threadIdx.x % 4 * 128; n < v.entry_stride && held; n += 4 * 128) {
        vv_prefetch<false>(at + n);
    }
}

/* Blocks: chunks; heads; rows. */
__global__ void __launch_bounds__(TILE_THREADS, 1) one_chunk(task t, partials to) {
    size_t row = blockIdx.z, head = blockIdx.y * TILE_HEADS;
    if (head == 0) {
        prefetch_chunk(t, row, blockIdx.x);
    }
    vv_follow();
    __shared__ entry at[CHUNK];
    keys k = keys_of(t.a, row);
    if (!keys_valid(t, k) || blockIdx.x >= chunks_of(k)) {
        return;
    }
    tile m = tile_of(t.a.width);
    stretch s = chunk_at(k, blockIdx.x);
    unsigned low = s.low % CHUNK, high = low + (s.high - s.low), width = (unsigned)t.a.width;
    if (threadIdx.x < high - low) {
        at[low + threadIdx.x] = entry_at(t, k, s, s.low + threadIdx.x);
    }
    __syncthreads();
    load_keys(at, low, high, width, m.depth, m.key);
    load_queries(t, row, head, m);
    __syncthreads();
    tile_scores(m, low, high, t.a.scale);
    __syncthreads();
    size_t first = (row * t.a.heads + head) * to.chunks + blockIdx.x;
    unsigned h = threadIdx.x / VV_LANES;
    bool here = h < TILE_HEADS && head + h < t.a.heads;
    float2 softmax = chunk_softmax(t.trouble, m.p + (here ? h : 0) * CHUNK, here);
    if (here && threadIdx.x % VV_LANES == 0) {
        to.softmax[first + h * to.chunks] = softmax;
    }
    __syncthreads();
    outputs o;
    tile_values(m, low, high, o);
    VV_UNROLL
    for (unsigned n = 0; n < TILE_HEADS; n++) {
        VV_UNROLL
        for (unsigned c = 0; c < TILE_COLUMNS; c++) {
            unsigned d = threadIdx.x + c * TILE_THREADS;
            if (d < width && head + n < t.a.heads) {
                to.o[(first + n * to.chunks) * width + d] = o.of[n][c];
            }
        }
    }
}

} // namespace

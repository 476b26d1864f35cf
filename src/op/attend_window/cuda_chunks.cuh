/*
 * The kernels made of tiles. Many rows: a block takes all chunks of a row and 32 heads, and keeps o
 * in registers. Few rows: a block a chunk and eight heads, whose (m_c, l_c, o_c) are merged in
 * order afterwards, by a block a row and head.
 */
#pragma once
#include "op/attend_window/cuda_merge.cuh"
#include "op/attend_window/cuda_tile.cuh"

namespace {

/* The chunk's entries, keys and scores; all threads have passed a barrier since the last chunk.
 * Calls load() for what else is to be loaded. */
template <int H, typename Load>
__device__ void begin_chunk(const task &t, const keys &k, const stretch &s, const tile<H> &m,
                            tile_small<H> *small, Load load) {
    if (threadIdx.x < s.high - s.low) {
        small->at[s.low % CHUNK + threadIdx.x] = entry_at(t, k, s, s.low + threadIdx.x);
    }
    __syncthreads();
    unsigned low = s.low % CHUNK, high = low + (s.high - s.low);
    load_keys(small->at, low, high, t.a.width, m.depth, m.key);
    load();
    __syncthreads();
    tile_scores<H>(m, low, high, t.a.scale);
    __syncthreads();
}

/* Calls take(head of the tile, softmax) for each head that there is, by its half warp. */
template <int H, typename Take>
__device__ void each_softmax(const task &t, size_t head, const tile<H> &m, Take take) {
    constexpr unsigned halves = TILE_THREADS / VV_LANES;
    VV_UNROLL
    for (unsigned n = 0; n < (H + halves - 1) / halves; n++) {
        unsigned h = n * halves + threadIdx.x / VV_LANES;
        bool here = h < H && head + h < t.a.heads;
        float2 softmax = chunk_softmax(t.trouble, m.p + (here ? h : 0) * CHUNK, here);
        if (here) {
            take(n, h, softmax);
        }
    }
}

/* Blocks: heads; rows. */
template <int H> __global__ void __launch_bounds__(TILE_THREADS, 1) all_chunks(task t) {
    constexpr unsigned turns = (H + TILE_THREADS / VV_LANES - 1) / (TILE_THREADS / VV_LANES);
    vv_follow();
    __shared__ tile_small<H> small;
    size_t row = blockIdx.y, head = blockIdx.x * H;
    tile<H> m = tile_of<H>(t.a.width);
    keys k = keys_of(t.a, row);
    if (!keys_valid(t, k)) {
        return;
    }
    load_queries<H>(t, row, head, m);
    merged state[turns];
    for (merged &s : state) {
        s = {-INFINITY, 0.0f, 0.0f, 0.0f};
    }
    outputs<H> o = {}, o_c;
    auto keep = [&](unsigned n, unsigned h) {
        if (threadIdx.x % VV_LANES == 0) {
            small.a[h] = state[n].a;
            small.b[h] = state[n].b;
            small.l[h] = state[n].l;
        }
    };
    unsigned first = threadIdx.x / split<H>::APART * VALUE_HEADS;
    for (uint32_t i = 0, chunks = chunks_of(k); i < chunks; i++) {
        stretch s = chunk_at(k, i);
        __syncthreads();
        begin_chunk<H>(t, k, s, m, &small, [] {});
        each_softmax<H>(t, head, m, [&](unsigned n, unsigned h, float2 softmax) {
            merge(&state[n], softmax.x, softmax.y);
            keep(n, h);
        });
        __syncthreads();
        unsigned low = s.low % CHUNK;
        tile_values<H>(m, low, low + (s.high - s.low), o_c);
        VV_UNROLL
        for (unsigned h = 0; h < VALUE_HEADS; h++) {
            float a = small.a[first + h], b = small.b[first + h];
            VV_UNROLL
            for (int c = 0; c < split<H>::COLUMNS; c++) {
                o.of[h][c] = fmaf(o_c.of[h][c], b, o.of[h][c] * a);
            }
        }
    }
    __syncthreads();
    VV_UNROLL
    for (unsigned n = 0; n < turns; n++) {
        unsigned h = n * (TILE_THREADS / VV_LANES) + threadIdx.x / VV_LANES;
        if (h < H && head + h < t.a.heads) {
            merge(&state[n], t.a.sink[head + h], 1.0f);
            keep(n, h);
        }
    }
    __syncthreads();
    float *y = t.a.y + (row * t.a.heads + head) * t.a.width;
    each_output<H>(t, head, [&](unsigned at, unsigned d, unsigned h, unsigned c) {
        float rest = fmaf(0.0f, small.b[at], o.of[h][c] * small.a[at]);
        y[at * t.a.width + d] = rest * (1.0f / small.l[at]);
    });
}

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
template <int H> __global__ void __launch_bounds__(TILE_THREADS, 1) one_chunk(task t, partials to) {
    size_t row = blockIdx.z, head = blockIdx.y * H;
    if (head == 0) {
        prefetch_chunk(t, row, blockIdx.x);
    }
    vv_follow();
    __shared__ tile_small<H> small;
    keys k = keys_of(t.a, row);
    if (!keys_valid(t, k) || blockIdx.x >= chunks_of(k)) {
        return;
    }
    tile<H> m = tile_of<H>(t.a.width);
    stretch s = chunk_at(k, blockIdx.x);
    begin_chunk<H>(t, k, s, m, &small, [&] { load_queries<H>(t, row, head, m); });
    size_t first = (row * t.a.heads + head) * to.chunks + blockIdx.x;
    each_softmax<H>(t, head, m, [&](unsigned, unsigned h, float2 softmax) {
        if (threadIdx.x % VV_LANES == 0) {
            to.softmax[first + h * to.chunks] = softmax;
        }
    });
    __syncthreads();
    outputs<H> o;
    unsigned low = s.low % CHUNK;
    tile_values<H>(m, low, low + (s.high - s.low), o);
    each_output<H>(t, head, [&](unsigned at, unsigned d, unsigned h, unsigned c) {
        to.o[(first + at * to.chunks) * t.a.width + d] = o.of[h][c];
    });
}

} // namespace

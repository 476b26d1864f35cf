/*
 * The kernels made of tiles. Few rows: a block a chunk, whose (m_c, l_c, o_c) another kernel merges
 * in order. Many rows: a block takes all chunks of its row and heads, and keeps o in registers.
 */
#pragma once
#include "op/attend/cuda_shared.cuh"

namespace {

enum { MERGE_THREADS = 128, MERGED_AT_ONCE = 32 };

/* Scratch memory: what chunks leave to be merged, [rows][heads][chunks]. */
struct partials {
    float2 *softmax; /* m_c, l_c */
    float *o;        /* [width] */
    size_t chunks;   /* room for so many */
};

template <int HEADS>
__device__ tile tile_of(const task &t, const tile_shape &shape, size_t row, size_t block,
                        const keys &k, uint8_t *shared) {
    size_t group = t.a.heads / t.a.kv_heads, blocks = (group + 2 * HEADS - 1) / (2 * HEADS);
    size_t kv_head = block / blocks, first = block % blocks * 2 * HEADS;
    size_t left = group - first;
    return {row, kv_head, kv_head * group + first, left < 2 * HEADS ? left : 2 * HEADS,
            k,   shared,  shared + shape.value};
}

/* o = fma(o_c, b, o · a). */
template <int HEADS>
__device__ void merge_tile(const tile_small<HEADS> *m, const float (&o_c)[HEADS][4],
                           float (&o)[HEADS][4]) {
    unsigned first = threadIdx.x / 32 % 2 * HEADS;
    for (int h = 0; h < HEADS; h++) {
        float a = m->a[first + (unsigned)h], b = m->b[first + (unsigned)h];
        for (int i = 0; i < 4; i++) {
            o[h][i] = fmaf(o_c[h][i], b, o[h][i] * a);
        }
    }
}

/* The thread's columns of its heads, if they are any: (head of the tile, column, values) go to
 * `store`. */
template <int HEADS, typename Store>
__device__ void each_output(const task &t, const tile &b, const float (&o)[HEADS][4], Store store) {
    unsigned warp = threadIdx.x / 32, first = warp % 2 * HEADS;
    unsigned d = warp / 2 * (TILE_WIDTH / 2) + threadIdx.x % 32 * 4;
    for (int h = 0; h < HEADS; h++) {
        if (d < t.a.width && first + (unsigned)h < b.heads) {
            store(first + (unsigned)h, d, o[h]);
        }
    }
}

/* The softmax of a chunk for all of the block's heads, a half warp each: (head, m_c and l_c, number
 * of the head among those of the half warp) go to `then`. */
template <int HEADS, typename Then>
__device__ void tile_softmax(const task &t, const tile &b, tile_small<HEADS> *m, Then then) {
    VV_UNROLL
    for (unsigned i = 0; i < softmax_rounds<HEADS>; i++) {
        unsigned head = i * TILE_HALVES + threadIdx.x / VV_LANES;
        bool here = head < b.heads;
        if (head / 2 * 2 < 2 * HEADS) { /* whole warps */
            then(head, chunk_softmax(t.trouble, m->p[here ? head : 0], here), i);
        }
    }
}

/*
 * Chunks first … end - 1, of which the first one's entries are known; `way` is how it is done. ALL:
 * merged and finished, else one that is left in `to`. While the values of a chunk are taken the
 * next keys are on their way, and the next values while those are scored, but for those that share
 * a place.
 */
template <int HEADS, bool ALL, typename Way>
__device__ void take_chunks(const task &t, const tile_shape &shape, const tile &b, uint32_t first,
                            uint32_t end, const partials &to, tile_small<HEADS> *m, Way &way) {
    float o[HEADS][4] = {};
    merged s[softmax_rounds<HEADS>];
    for (merged &one : s) {
        one = {-INFINITY, 0.0f, 0.0f, 0.0f};
    }
    auto count_of = [&](uint32_t chunk) {
        uint32_t left = chunk < end ? b.k.count - chunk * CHUNK : 0;
        return left < CHUNK ? left : (uint32_t)CHUNK;
    };
    auto find = [&](uint32_t chunk) {
        if (threadIdx.x < count_of(chunk)) {
            m->entry[chunk % 2][threadIdx.x] = entry_of(t, b.k, b.row, chunk * CHUNK + threadIdx.x);
        }
    };
    /* After the values in front, all that there's place for; those whose place values had. */
    auto copy_last_keys = [&](uint32_t c) {
        way.template copy_keys<true>(t, b, shape, m->entry[c % 2], count_of(c));
        vv_copy_commit();
        way.template copy_values<false>(t, b, shape, m->entry[c % 2], count_of(c));
        vv_copy_commit();
    };
    __syncthreads();
    way.template copy_keys<false>(t, b, shape, m->entry[first % 2], count_of(first));
    copy_last_keys(first);
    way.begin(t, b);
    for (uint32_t c = first; c < end; c++) {
        uint32_t count = count_of(c);
        vv_copy_wait<1>();
        find(c + 1);
        __syncthreads();
        way.score(t, b, shape, count, m);
        __syncthreads();
        way.template copy_values<true>(t, b, shape, m->entry[c % 2], count);
        vv_copy_commit();
        way.template copy_keys<false>(t, b, shape, m->entry[(c + 1) % 2], count_of(c + 1));
        vv_copy_commit();
        tile_softmax<HEADS>(t, b, m, [&](unsigned head, float2 softmax, unsigned i) {
            bool tells = threadIdx.x % VV_LANES == 0 && head < b.heads;
            if (ALL) {
                merge(&s[i], softmax.x, softmax.y);
                if (tells) {
                    m->a[head] = s[i].a;
                    m->b[head] = s[i].b;
                    m->l[head] = s[i].l;
                }
            } else if (tells) {
                to.softmax[(b.row * t.a.heads + b.head + head) * to.chunks + c] = softmax;
            }
        });
        vv_copy_wait<1>();
        __syncthreads();
        float o_c[HEADS][4];
        way.values(t, b, shape, count, m, o_c);
        if (ALL) {
            merge_tile<HEADS>(m, o_c, o);
            __syncthreads();
            copy_last_keys(c + 1);
        } else {
            each_output<HEADS>(t, b, o_c, [&](size_t h, unsigned d, const float(&x)[4]) {
                size_t at = (b.row * t.a.heads + b.head + h) * to.chunks + c;
                *reinterpret_cast<float4 *>(to.o + at * t.a.width + d) =
                    make_float4(x[0], x[1], x[2], x[3]);
            });
        }
    }
    vv_copy_wait<0>();
    if (ALL) {
        each_output<HEADS>(t, b, o, [&](size_t h, unsigned d, const float(&x)[4]) {
            float inverse = 1.0f / m->l[h];
            float *y = t.a.y + (b.row * t.a.heads + b.head + h) * t.a.width + d;
            for (unsigned i = 0; i < 4; i++) {
                y[i] = gated(t, b.row, b.head + h, d + i, x[i], inverse);
            }
        });
    }
}

/* Blocks: chunks; heads; rows. */
template <int HEADS>
__global__ void __launch_bounds__(TILE_THREADS) one_chunk(task t, tile_shape shape, partials to) {
    __shared__ tile_small<HEADS> m;
    size_t row = blockIdx.z;
    uint32_t first = blockIdx.x * CHUNK, mine = first + threadIdx.x;
    keys k = keys_guessed(t, row);
    tile b = tile_of<HEADS>(t, shape, row, blockIdx.y, k, vv_dynamic_shared<uint8_t>());
    if (first < k.count && k.listed == (t.a.list ? k.seen : 0)) { /* all is attended to, likely */
        prefetch_chunk(t.a.k, t, b.kv_head, k, first);
        prefetch_chunk(t.a.v, t, b.kv_head, k, first);
    }
    vv_follow();
    uint32_t block = threadIdx.x < CHUNK ? listed_block(t, row, mine) : 0;
    b.k = keys_of(t, row);
    if (!keys_valid(t, b.k) || first >= b.k.count) {
        return;
    }
    if (threadIdx.x < CHUNK && mine < b.k.count) {
        m.entry[blockIdx.x % 2][threadIdx.x] = entry_from(t, b.k, mine, block);
    }
    by_own_queries<HEADS> q;
    take_chunks<HEADS, false>(t, shape, b, blockIdx.x, blockIdx.x + 1, to, &m, q);
}

/* All chunks of a row. */
template <int HEADS, typename Way>
__device__ void take_row(const task &t, const tile_shape &shape, size_t row, Way &way) {
    __shared__ tile_small<HEADS> m;
    keys k = keys_of(t, row);
    tile b = tile_of<HEADS>(t, shape, row, blockIdx.x, k, vv_dynamic_shared<uint8_t>());
    way.place(&b);
    if (!keys_valid(t, k)) {
        return;
    }
    if (threadIdx.x < CHUNK && threadIdx.x < k.count) {
        m.entry[0][threadIdx.x] = entry_of(t, k, b.row, threadIdx.x);
    }
    take_chunks<HEADS, true>(t, shape, b, 0, (k.count + CHUNK - 1) / CHUNK, {}, &m, way);
}

/* Blocks: heads; rows, the last ones first, as they have most keys. */
template <int HEADS>
__global__ void __launch_bounds__(TILE_THREADS) all_chunks(task t, tile_shape shape) {
    vv_follow();
    by_own_queries<HEADS> q;
    take_row<HEADS>(t, shape, gridDim.y - 1 - blockIdx.y, q);
}

/* The same with twice as many heads. */
__global__ void __launch_bounds__(TILE_THREADS, 3) all_chunks_shared(task t, tile_shape shape) {
    vv_follow();
    by_shared_queries<SHARED_HEADS> q = {
        reinterpret_cast<float4 *>(vv_dynamic_shared<uint8_t>() + shape.query)};
    take_row<SHARED_HEADS>(t, shape, gridDim.y - 1 - blockIdx.y, q);
}

/* The factors of the chunks from `first` on, a thread each, whose m_c and l_c are `mine`; m:
 * the largest before them, and after that of all. */
__device__ void merge_factors(float2 mine, float *m, float3 *factor, float *warp_top) {
    float top = mine.x;
    for (unsigned apart = 1; apart < 32; apart *= 2) {
        float other = __shfl_up_sync(0xffffffffu, top, apart);
        top = threadIdx.x % 32 >= apart ? fmaxf(top, other) : top;
    }
    float before = __shfl_up_sync(0xffffffffu, top, 1);
    before = threadIdx.x % 32 > 0 ? before : -INFINITY;
    __syncthreads();
    if (threadIdx.x % 32 == 31) {
        warp_top[threadIdx.x / 32] = top;
    }
    __syncthreads();
    float all = *m;
    for (unsigned w = 0; w < MERGE_THREADS / 32; w++) {
        if (w == threadIdx.x / 32) {
            before = fmaxf(before, all);
        }
        all = fmaxf(all, warp_top[w]);
    }
    *m = all;
    float most = fmaxf(before, mine.x);
    factor[threadIdx.x] = make_float3(vv_exp(before - most), vv_exp(mine.x - most), mine.y);
    __syncthreads();
}

/*
 * Blocks: rows and heads; pieces of the columns, a thread each. The largest m so far is found
 * first, so that what is left of the merge is two operations a chunk. What most rows need is
 * asked for at once, before it is known how many chunks there are: as many as the window lets
 * expect.
 */
__global__ void __launch_bounds__(MERGE_THREADS) merge_chunks(task t, partials from) {
    __shared__ float3 factor[MERGE_THREADS]; /* a, b, l_c */
    __shared__ float warp_top[MERGE_THREADS / 32];
    unsigned row = blockIdx.x / (unsigned)t.a.heads, head = blockIdx.x % (unsigned)t.a.heads;
    unsigned width = (unsigned)t.a.width, d = blockIdx.y * MERGE_THREADS + threadIdx.x;
    bool here = d < width;
    const float2 *softmax = from.softmax + blockIdx.x * from.chunks;
    const float *o_c = from.o + blockIdx.x * from.chunks * width + d;
    uint32_t chunks = (keys_guessed(t, row).count + CHUNK - 1) / CHUNK;
    float next[MERGED_AT_ONCE];
    auto load = [&](uint32_t first, uint32_t end) {
        VV_UNROLL
        for (uint32_t i = 0; i < MERGED_AT_ONCE; i++) {
            next[i] = here && first + i < end ? o_c[(size_t)(first + i) * width] : 0.0f;
        }
    };
    auto softmax_of = [&](uint32_t c) {
        return c < chunks ? softmax[c] : make_float2(-INFINITY, 0.0f);
    };
    vv_follow();
    float gate = here ? gate_at(t, row, head, d) : 0.0f;
    float2 mine = softmax_of(threadIdx.x);
    load(0, chunks);
    keys k = keys_of(t, row);
    if (k.count == 0 || k.listed > t.a.keep) {
        return; /* told */
    }
    if (chunks != (k.count + CHUNK - 1) / CHUNK) {
        chunks = (k.count + CHUNK - 1) / CHUNK;
        mine = softmax_of(threadIdx.x);
        load(0, chunks);
    }
    float m = -INFINITY, l = 0.0f, o = 0.0f;
    for (uint32_t first = 0; first < chunks; first += MERGE_THREADS) {
        uint32_t end = chunks - first < MERGE_THREADS ? chunks : first + MERGE_THREADS;
        mine = first > 0 ? softmax_of(first + threadIdx.x) : mine;
        merge_factors(mine, &m, factor, warp_top);
        for (uint32_t c = first; c < end; c += MERGED_AT_ONCE) {
            if (c > 0) {
                load(c, end);
            }
            VV_UNROLL
            for (uint32_t i = 0; i < MERGED_AT_ONCE; i++) {
                if (c + i < end) {
                    float3 f = factor[c + i - first];
                    l = fmaf(f.z, f.y, l * f.x);
                    o = fmaf(next[i], f.y, o * f.x);
                }
            }
        }
    }
    if (here) {
        t.a.y[(size_t)blockIdx.x * width + d] = (o * (1.0f / l)) * vv_sigmoid(gate);
    }
}

} // namespace

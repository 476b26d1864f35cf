/* A block a row and head, chunk after chunk; o is kept in shared memory, each value by one thread.
 */
#include "op/attend/cuda_softmax.cuh"
VV_C_BEGIN
#include "op/attend_window/contract.h"
VV_C_END

namespace {

enum { THREADS = 256, HALVES = THREADS / VV_LANES };

struct task {
    struct vv_attend_window a; /* with the device's window */
    vv_trouble trouble;
};

struct keys {
    int32_t slot;          /* of the state */
    uint32_t first, end;   /* positions */
    uint32_t held;         /* from this one on they are rows of the window */
    const int32_t *own;    /* those rows */
    uint32_t pooled, seen; /* keys of the second run; blocks that there are */
    const int32_t *block;  /* [pooled]; or null: all */
};

struct entry {
    const uint8_t *at;
    int type;
};

/* Rows of the window of the sequence in `slot`, ascending. */
__device__ const int32_t *own_rows(const vv_window *w, int32_t slot) {
    const int32_t *rows = w->sequence_row;
    for (int32_t i = 0; i < w->sequences; i++) {
        const int32_t *these = w->sequence_row + w->sequence_begin[i];
        rows = w->slot[*these] == slot ? these : rows;
    }
    return rows;
}

__device__ keys keys_of(const struct vv_attend_window &a, size_t row) {
    const vv_window *w = a.window;
    keys k = {};
    k.slot = w->slot[row];
    k.end = (uint32_t)w->position[row] + 1;
    k.first = k.end > a.span ? k.end - (uint32_t)a.span : 0;
    k.own = own_rows(w, k.slot);
    k.held = (uint32_t)w->position[*k.own];
    if (a.pooled.base) {
        k.seen = k.end / (uint32_t)a.ratio;
        k.block = a.list ? a.list + row * a.keep : nullptr;
        k.pooled = a.list ? (uint32_t)a.listed[row] : k.seen;
    }
    return k;
}

__device__ entry newest_entry(const task &t, const keys &k, uint32_t position) {
    if (position >= k.held) {
        const float *row = t.a.own + (size_t)k.own[position - k.held] * t.a.width;
        return {reinterpret_cast<const uint8_t *>(row), VV_TYPE_F32};
    }
    return {static_cast<const uint8_t *>(vv_state_at(&t.a.ring, k.slot, position)), t.a.ring.type};
}

/* A block that the row doesn't see is trouble. */
__device__ entry pooled_entry(const task &t, const keys &k, uint32_t i) {
    uint32_t block = k.block ? (uint32_t)k.block[i] : i;
    if (block >= k.seen) {
        vv_report(t.trouble, VV_ERROR_INVALID);
        block = 0;
    }
    return {static_cast<const uint8_t *>(vv_state_at(&t.a.pooled, k.slot, block)), t.a.pooled.type};
}

struct chunk {
    float p[CHUNK]; /* scores, then their exponentials, by slot */
    entry at[CHUNK];
    float2 softmax;
};

/* Scores of the slots low … high - 1, a half warp each. */
__device__ void score(const task &t, const float *q, uint32_t low, uint32_t high, chunk *c) {
    for (uint32_t j = threadIdx.x / VV_LANES; j < CHUNK; j += HALVES) {
        bool here = j >= low % CHUNK && j < low % CHUNK + (high - low);
        entry e = c->at[here ? j : low % CHUNK];
        float sum = 0.0f;
        for (size_t at = 0; at < t.a.width; at += VV_SEGMENT) {
            size_t n = t.a.width - at < VV_SEGMENT ? t.a.width - at : VV_SEGMENT;
            sum += vv_dot_segment_across([&](size_t i) { return element(e.at, e.type, at + i); },
                                         [&](size_t i) { return q[at + i]; }, here ? n : 0);
        }
        if (threadIdx.x % VV_LANES == 0) {
            c->p[j] = here ? sum * t.a.scale : -INFINITY;
        }
    }
}

/* A chunk's keys, of the slots low … high - 1, onto o. */
template <typename Find>
__device__ void take(const task &t, const float *q, uint32_t low, uint32_t high, Find find,
                     chunk *c, merged *s, float *o) {
    __syncthreads();
    for (uint32_t i = low + threadIdx.x; i < high; i += THREADS) {
        c->at[i % CHUNK] = find(i);
    }
    __syncthreads();
    score(t, q, low, high, c);
    __syncthreads();
    if (threadIdx.x < 32) {
        float2 found = chunk_softmax(t.trouble, c->p, threadIdx.x < VV_LANES);
        if (threadIdx.x == 0) {
            c->softmax = found;
        }
    }
    __syncthreads();
    merge(s, c->softmax.x, c->softmax.y);
    for (size_t d = threadIdx.x; d < t.a.width; d += THREADS) {
        float o_c = 0.0f;
        for (uint32_t i = low; i < high; i++) {
            entry e = c->at[i % CHUNK];
            o_c = fmaf(c->p[i % CHUNK], element(e.at, e.type, d), o_c);
        }
        o[d] = fmaf(o_c, s->b, o[d] * s->a);
    }
}

/* Calls call(low, high) for each chunk of the slots first … end - 1. */
template <typename Do> __device__ void each_chunk(uint32_t first, uint32_t end, Do call) {
    for (uint32_t low = first, high; low < end; low = high) {
        high = (low / CHUNK + 1) * CHUNK;
        high = high < end ? high : end;
        call(low, high);
    }
}

__global__ void __launch_bounds__(THREADS) attend(task t) {
    vv_follow();
    __shared__ chunk c;
    auto o = vv_dynamic_shared<float>(); /* [width] */
    size_t row = blockIdx.x, head = blockIdx.y, at = (row * t.a.heads + head) * t.a.width;
    const float *q = t.a.q + at;
    keys k = keys_of(t.a, row);
    if (k.block && k.pooled > t.a.keep) {
        vv_report(t.trouble, VV_ERROR_INVALID);
        return;
    }
    for (size_t d = threadIdx.x; d < t.a.width; d += THREADS) {
        o[d] = 0.0f;
    }
    merged s = {-INFINITY, 0.0f, 0.0f, 0.0f};
    each_chunk(k.first, k.end, [&](uint32_t low, uint32_t high) {
        take(
            t, q, low, high, [&](uint32_t i) { return newest_entry(t, k, i); }, &c, &s, o);
    });
    each_chunk(0, k.pooled, [&](uint32_t low, uint32_t high) {
        take(
            t, q, low, high, [&](uint32_t i) { return pooled_entry(t, k, i); }, &c, &s, o);
    });
    merge(&s, t.a.sink[head], 1.0f);
    float inverse = 1.0f / s.l;
    for (size_t d = threadIdx.x; d < t.a.width; d += THREADS) {
        t.a.y[at + d] = fmaf(0.0f, s.b, o[d] * s.a) * inverse;
    }
}

int launch(const void *args, const vv_launch *on) {
    task t = {*static_cast<const struct vv_attend_window *>(args), vv_trouble_of(on)};
    t.a.window = vv_on_device_as(on, t.a.window);
    return vv_start_early(attend, dim3((unsigned)vv_rows(t.a.rows), (unsigned)t.a.heads), THREADS,
                          t.a.width * sizeof(float), on->stream, t);
}

const vv_variant variants[] = {
    {"attend_window/cuda", VV_CUDA_ANY, true, nullptr, nullptr, nullptr, launch, nullptr},
    {},
};

} // namespace

extern const vv_more_variants vv_cuda_folder_attend_window[] = {{"attend_window", variants}, {}};

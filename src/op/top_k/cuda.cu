/*
 * A block a row. The order that splits the best from the rest is searched for by histograms: the
 * range that it must be in is cut into BINS, the bin that has it becomes the range, three times at
 * most. Then every warp lists what it finds in its stretch of the scores, behind what the warps
 * before it find.
 */
#include "op/cuda/kernel.cuh"
VV_C_BEGIN
#include "op/top_k/contract.h"
VV_C_END

namespace {

enum {
    THREADS_MOST = 1024,
    THREADS_OF_MANY = 256, /* where rows alone fill the device */
    ROWS_MANY = 128,
    BIN_BITS = 11,
    BINS = 1 << BIN_BITS,
    KEPT_MOST = 20480, /* orders in shared memory; others are made from scores each time */
};

/* The range that the split is in: `above` scores lie over it. */
struct range {
    uint32_t low, high, above;
    bool exact; /* all from `low` on are just as many as wanted */
};

struct shared {
    uint32_t count[BINS];
    uint32_t warp[2][THREADS_MOST / 32];
    range next;
};

struct row {
    const float *score;
    uint32_t n, kept;
    uint32_t *order; /* shared: those of the first `kept` scores */
};

/* Ascends with the score; equal scores have equal ones. */
__device__ uint32_t order_of(float score) {
    return (uint32_t)(vv_selection_key(score, 0) >> 32);
}

__device__ uint32_t order_at(const row &r, uint32_t i) {
    return i < r.kept ? r.order[i] : order_of(r.score[i]);
}

/* The sum over the threads before this one. */
__device__ uint32_t sum_before(uint32_t mine, uint32_t *warp) {
    uint32_t sum = mine, lane = threadIdx.x % 32, before = 0;
    for (unsigned apart = 1; apart < 32; apart *= 2) {
        uint32_t other = __shfl_up_sync(0xffffffffu, sum, apart);
        sum += lane >= apart ? other : 0;
    }
    __syncthreads();
    if (lane == 31) {
        warp[threadIdx.x / 32] = sum;
    }
    __syncthreads();
    for (unsigned w = 0; w < threadIdx.x / 32; w++) {
        before += warp[w];
    }
    return before + sum - mine;
}

/* Reads the scores; whether none is NaN, and their range. */
__device__ bool read_scores(const row &r, range *all, shared *m) {
    uint32_t low = UINT32_MAX, high = 0;
    int good = 1;
    for (uint32_t i = threadIdx.x; i < r.n; i += blockDim.x) {
        float x = r.score[i];
        uint32_t order = order_of(x);
        good &= x == x;
        low = order < low ? order : low;
        high = order > high ? order : high;
        if (i < r.kept) {
            r.order[i] = order;
        }
    }
    for (int apart = 16; apart > 0; apart /= 2) {
        uint32_t other = __shfl_xor_sync(0xffffffffu, low, apart);
        low = other < low ? other : low;
        other = __shfl_xor_sync(0xffffffffu, high, apart);
        high = other > high ? other : high;
    }
    if (threadIdx.x % 32 == 0) {
        m->warp[0][threadIdx.x / 32] = low;
        m->warp[1][threadIdx.x / 32] = high;
    }
    good = __syncthreads_and(good);
    for (unsigned w = 0; w < blockDim.x / 32; w++) {
        low = m->warp[0][w] < low ? m->warp[0][w] : low;
        high = m->warp[1][w] > high ? m->warp[1][w] : high;
    }
    *all = {low, high, 0, false};
    return good;
}

/* Counts the orders within the range by bins of 2^shift; runs of one bin are counted together, as
 * many scores are alike. */
__device__ void count_bins(const row &r, const range &in, unsigned shift, shared *m) {
    uint32_t run = 0, last = 0;
    for (uint32_t i = threadIdx.x; i < BINS; i += blockDim.x) {
        m->count[i] = 0;
    }
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < r.n; i += blockDim.x) {
        uint32_t order = order_at(r, i);
        if (order < in.low || order > in.high) {
            continue;
        }
        uint32_t bin = (order - in.low) >> shift;
        if (bin != last && run > 0) {
            atomicAdd(&m->count[last], run);
            run = 0;
        }
        last = bin;
        run++;
    }
    if (run > 0) {
        atomicAdd(&m->count[last], run);
    }
    __syncthreads();
}

/* The bin where the count from above reaches `keep`. Threads take bins in descending order. */
__device__ range choose_bin(const range &in, unsigned shift, uint32_t keep, shared *m) {
    uint32_t each = BINS / blockDim.x, mine = 0;
    for (uint32_t j = 0; j < each; j++) {
        mine += m->count[BINS - 1 - (threadIdx.x * each + j)];
    }
    uint32_t above = in.above + sum_before(mine, m->warp[0]);
    for (uint32_t j = 0; j < each && above < keep; j++) {
        uint32_t bin = BINS - 1 - (threadIdx.x * each + j), count = m->count[bin];
        if (above + count >= keep) {
            uint32_t low = in.low + (bin << shift), rest = in.high - low;
            uint32_t width = (1u << shift) - 1;
            m->next = {low, low + (rest < width ? rest : width), above, above + count == keep};
        }
        above += count;
    }
    __syncthreads();
    return m->next;
}

/* Lists orders over `split`, and the first `equals` of those that are it. */
__device__ void list_best(const row &r, uint32_t split, uint32_t equals, int32_t *list, shared *m) {
    uint32_t warps = blockDim.x / 32, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    uint32_t each = ((r.n + 31) / 32 + warps - 1) / warps * 32, begin = warp * each;
    uint32_t end = begin + each < r.n ? begin + each : r.n, over = 0, equal = 0;
    for (uint32_t first = begin; first < end; first += 32) {
        uint32_t i = first + lane, order = i < end ? order_at(r, i) : 0;
        over += (uint32_t)__popc(__ballot_sync(0xffffffffu, i < end && order > split));
        equal += (uint32_t)__popc(__ballot_sync(0xffffffffu, i < end && order == split));
    }
    __syncthreads();
    if (lane == 0) {
        m->warp[0][warp] = over;
        m->warp[1][warp] = equal;
    }
    __syncthreads();
    over = equal = 0;
    for (uint32_t w = 0; w < warp; w++) {
        over += m->warp[0][w];
        equal += m->warp[1][w];
    }
    for (uint32_t first = begin; first < end; first += 32) {
        uint32_t i = first + lane, order = i < end ? order_at(r, i) : 0, before = (1u << lane) - 1;
        uint32_t overs = __ballot_sync(0xffffffffu, i < end && order > split);
        uint32_t equals_here = __ballot_sync(0xffffffffu, i < end && order == split);
        uint32_t my_over = over + (uint32_t)__popc(overs & before);
        uint32_t my_equal = equal + (uint32_t)__popc(equals_here & before);
        bool listed = i < end && (order > split || (order == split && my_equal < equals));
        if (listed) {
            list[my_over + (my_equal < equals ? my_equal : equals)] = (int32_t)i;
        }
        over += (uint32_t)__popc(overs);
        equal += (uint32_t)__popc(equals_here);
    }
}

__global__ void __launch_bounds__(THREADS_MOST)
    best(struct vv_top_k a, const int32_t *position, uint32_t kept, vv_trouble trouble) {
    __shared__ shared m;
    size_t at = blockIdx.x;
    uint32_t blocks = ((uint32_t)position[at] + 1) / (uint32_t)a.ratio, keep = (uint32_t)a.keep;
    int32_t *list = a.list + at * a.keep;
    vv_follow();
    if (threadIdx.x == 0) {
        a.listed[at] = (int32_t)(blocks < keep ? blocks : keep);
    }
    if (blocks <= keep) {
        for (uint32_t i = threadIdx.x; i < keep; i += blockDim.x) {
            list[i] = i < blocks ? (int32_t)i : -1;
        }
        return;
    }
    row r = {a.score + at * a.stride, blocks, blocks < kept ? blocks : kept,
             vv_dynamic_shared<uint32_t>()};
    range in;
    if (!read_scores(r, &in, &m)) {
        if (threadIdx.x == 0) {
            vv_report(trouble, VV_ERROR_NOT_FINITE);
        }
        return;
    }
    while (in.low < in.high && !in.exact) {
        unsigned bits = 32 - (unsigned)__clz((int)(in.high - in.low));
        unsigned shift = bits > BIN_BITS ? bits - BIN_BITS : 0;
        count_bins(r, in, shift, &m);
        in = choose_bin(in, shift, keep, &m);
    }
    if (in.exact) {
        list_best(r, in.low - 1, 0, list, &m);
    } else {
        list_best(r, in.low, keep - in.above, list, &m);
    }
}

int launch(const void *args, const vv_launch *on) {
    const auto &a = *static_cast<const struct vv_top_k *>(args);
    size_t rows = vv_rows(a.rows), most = (size_t)on->depth / a.ratio;
    size_t kept = most < KEPT_MOST ? most : KEPT_MOST;
    return vv_start_early(best, (unsigned)rows, rows < ROWS_MANY ? THREADS_MOST : THREADS_OF_MANY,
                          kept * sizeof(uint32_t), on->stream, a,
                          vv_on_device_as(on, a.window->position), (uint32_t)kept,
                          vv_trouble_of(on));
}

const vv_variant variants[] = {
    {"top_k/cuda", VV_CUDA_ANY, true, nullptr, nullptr, nullptr, launch, nullptr},
    {},
};

} // namespace

extern const vv_more_variants vv_cuda_folder_top_k[] = {{"top_k", variants}, {}};

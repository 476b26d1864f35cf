/*
 * Three kernels. `survey`: the best token of each of a row's stretches, of which there are up to
 * STRETCHES, a block each; greedy rows need no more. `weigh`: sums of weights by bins of scores,
 * the best ones first. `choose`, a block a row: the chain shortens the rank three times (by number,
 * by mass, by the draw itself), each time to the shortest run that reaches a sum; the bins tell
 * which of them the run ends in, and only that bin's tokens are looked at.
 */
#include "op/cuda/kernel.cuh"
VV_C_BEGIN
#include "base/random.h"
#include "op/sample/contract.h"
#include "op/sample/weights.h"
VV_C_END

namespace {

enum {
    STRETCHES = 128,
    STRETCH_LEAST = 32,
    THREADS = 256,
    CHOOSE_THREADS = 1024,
    LISTED_MOST = CHOOSE_THREADS, /* tokens of a bin that are compared with each other */
    BINS = 512,
    RANGE = 28, /* weights are 0 where a score is further below the best, in temperatures */
};

enum sum { COUNT, FILTERED, DRAWN, SUMS }; /* of tokens; of w; of v */

typedef unsigned long long number;

constexpr number NOTHING = 0, NOT_A_NUMBER = ~number{0}; /* no keys of tokens */

/* What blocks tell each other about a row. */
struct notes {
    number best[STRETCHES];
    number sum[SUMS][BINS];
};

struct job {
    const float *logits; /* [rows][n] */
    int32_t *token;      /* [rows] */
    const vv_window *window;
    notes *note; /* [rows] */
    uint32_t n, stretch, stretches;
};

__device__ number key_of(float z, uint32_t token) {
    return z == z ? z > -INFINITY ? vv_selection_key(z, token) : NOTHING : NOT_A_NUMBER;
}

__device__ uint32_t token_of(number key) {
    return 0xffffffffu - (uint32_t)key;
}

__device__ number larger(number a, number b) {
    return a > b ? a : b;
}

/* The largest one of the block's, in all threads. `warp`: shared. */
__device__ number block_largest(number mine, number *warp /* [32] */) {
    for (int apart = 16; apart > 0; apart /= 2) {
        mine = larger(mine, __shfl_xor_sync(0xffffffffu, mine, apart));
    }
    if (threadIdx.x % 32 == 0) {
        warp[threadIdx.x / 32] = mine;
    }
    __syncthreads();
    for (unsigned w = 0; w < blockDim.x / 32; w++) {
        mine = larger(mine, warp[w]);
    }
    __syncthreads();
    return mine;
}

/* The sum over the threads up to this one; *all: over all of them. `warp`: shared. */
__device__ number block_sums(number mine, number *all, number *warp /* [32] */) {
    unsigned lane = threadIdx.x % 32;
    for (unsigned apart = 1; apart < 32; apart *= 2) {
        number other = __shfl_up_sync(0xffffffffu, mine, apart);
        mine += lane >= apart ? other : 0;
    }
    if (lane == 31) {
        warp[threadIdx.x / 32] = mine;
    }
    __syncthreads();
    number before = 0;
    *all = 0;
    for (unsigned w = 0; w < blockDim.x / 32; w++) {
        before += w < threadIdx.x / 32 ? warp[w] : 0;
        *all += warp[w];
    }
    __syncthreads();
    return before + mine;
}

/* The first of the row's rank. */
__device__ number best_of(const job &j, size_t row, number *warp) {
    return block_largest(threadIdx.x < j.stretches ? j.note[row].best[threadIdx.x] : NOTHING, warp);
}

__device__ bool is_token(number best) {
    return best != NOTHING && best != NOT_A_NUMBER;
}

/* ---- weights ---- */

struct row {
    const float *logits;
    vv_draw draw;
    float top, bins; /* the best score; bins for each unit below it */
    number least;
};

__device__ row row_of(const job &j, size_t at, const vv_draw &draw, number best) {
    const float *logits = j.logits + at * j.n;
    float hottest = fmaxf(draw.temperature, draw.filtering);
    return {logits, draw, logits[token_of(best)], (float)BINS / ((float)RANGE * hottest),
            vv_draw_least(draw.min_p)};
}

/* Never less for a lower score. */
__device__ uint32_t bin_of(const row &r, float z) {
    float below = r.top - z;
    return below > 0.0f ? (uint32_t)fminf(below * r.bins, (float)(BINS - 1)) : 0;
}

__device__ number weight_of(const row &r, sum which, float z) {
    if (which == COUNT) {
        return 1;
    }
    number w = vv_draw_weight(z, r.top, r.draw.filtering);
    if (which == FILTERED) {
        return w;
    }
    return w < r.least                              ? 0
           : r.draw.temperature == r.draw.filtering ? w
                                                    : vv_draw_weight(z, r.top, r.draw.temperature);
}

/* ---- the first two kernels: a block a stretch of a row ---- */

__device__ void clear_sums(const job &j, size_t row) {
    number *sum = &j.note[row].sum[0][0];
    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < SUMS * BINS;
         i += gridDim.x * blockDim.x) {
        sum[i] = 0;
    }
}

__global__ void __launch_bounds__(THREADS) survey(job j) {
    __shared__ number warp[32];
    size_t row = blockIdx.y;
    vv_follow();
    if (!j.window->draw[row].wanted) {
        return;
    }
    const float *logits = j.logits + row * j.n;
    uint32_t begin = blockIdx.x * j.stretch,
             end = begin + j.stretch < j.n ? begin + j.stretch : j.n;
    number best = NOTHING;
    for (uint32_t i = begin + threadIdx.x; i < end; i += blockDim.x) {
        best = larger(best, key_of(logits[i], i));
    }
    best = block_largest(best, warp);
    if (threadIdx.x == 0) {
        j.note[row].best[blockIdx.x] = best;
    }
    clear_sums(j, row);
}

__global__ void __launch_bounds__(THREADS) weigh(job j) {
    __shared__ number sum[SUMS][BINS];
    __shared__ number warp[32];
    size_t at = blockIdx.y;
    vv_follow();
    const vv_draw draw = j.window->draw[at];
    if (!draw.wanted || draw.temperature == 0.0f) {
        return;
    }
    number best = best_of(j, at, warp);
    if (!is_token(best)) {
        return;
    }
    for (uint32_t i = threadIdx.x; i < SUMS * BINS; i += blockDim.x) {
        sum[i / BINS][i % BINS] = 0;
    }
    __syncthreads();
    const row r = row_of(j, at, draw, best);
    uint32_t begin = blockIdx.x * j.stretch,
             end = begin + j.stretch < j.n ? begin + j.stretch : j.n;
    for (uint32_t i = begin + threadIdx.x; i < end; i += blockDim.x) {
        float z = r.logits[i];
        for (int s = z > -INFINITY ? COUNT : SUMS; s < SUMS; s++) {
            number w = weight_of(r, (enum sum)s, z);
            if (w > 0) {
                atomicAdd(&sum[s][bin_of(r, z)], w);
            }
        }
    }
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < SUMS * BINS; i += blockDim.x) {
        if (sum[i / BINS][i % BINS] > 0) {
            atomicAdd(&j.note[at].sum[i / BINS][i % BINS], sum[i / BINS][i % BINS]);
        }
    }
}

/* ---- the last kernel: a block a row ---- */

/* The tokens that are left, the best ones of the rank: `sum` is of these alone. */
struct left {
    number sum[SUMS][BINS];
    number cut; /* the key of the last one */
    number warp[32];
    /* of the bin that is looked at */
    uint32_t bin;
    number before;                          /* the sum over the bins before it */
    uint32_t stretch[STRETCHES], stretches; /* where there are such tokens */
    uint32_t found;                         /* its tokens */
    bool listed;                            /* here they are: */
    number key[LISTED_MOST], weight[LISTED_MOST];
    float score[LISTED_MOST];
};

/* Calls `see` (key, score) for every token of the bin that is left. */
template <class F> __device__ void each_in_bin(const job &j, const row &r, const left *m, F see) {
    if (m->listed) {
        if (threadIdx.x < m->found) {
            see(m->key[threadIdx.x], m->score[threadIdx.x]);
        }
        return;
    }
    VV_UNROLL_BY(4)
    for (uint32_t i = threadIdx.x; i < m->stretches * j.stretch; i += blockDim.x) {
        uint32_t token = m->stretch[i / j.stretch] * j.stretch + i % j.stretch;
        float z = token < j.n ? r.logits[token] : -INFINITY;
        if (z > -INFINITY && bin_of(r, z) == m->bin && vv_selection_key(z, token) >= m->cut) {
            see(vv_selection_key(z, token), z);
        }
    }
}

/* The sum over the bin's tokens from `key` on. */
__device__ number sum_from(const job &j, const row &r, left *m, sum which, number key) {
    number mine = 0, all;
    each_in_bin(j, r, m, [&](number k, float z) { mine += k >= key ? weight_of(r, which, z) : 0; });
    block_sums(mine, &all, m->warp);
    return all;
}

/* The bin in which the sum reaches `need`, and where its tokens are. */
__device__ void find_bin(const job &j, const row &r, size_t at, left *m, sum which, number need) {
    uint32_t t = threadIdx.x;
    number mine = t < BINS ? m->sum[which][t] : 0, all;
    number upto = block_sums(mine, &all, m->warp);
    if (upto >= need && upto - mine < need) {
        m->bin = t;
        m->before = upto - mine;
    }
    if (t == 0) {
        m->stretches = m->found = 0;
        m->listed = false;
    }
    __syncthreads();
    number best = t < j.stretches ? j.note[at].best[t] : NOTHING;
    if (best != NOTHING && bin_of(r, r.logits[token_of(best)]) <= m->bin) {
        m->stretch[atomicAdd(&m->stretches, 1u)] = t;
    }
    __syncthreads();
}

/* Lists the bin's tokens, if there is room for them. */
__device__ void list(const job &j, const row &r, left *m, sum which) {
    each_in_bin(j, r, m, [&](number key, float z) {
        uint32_t i = atomicAdd(&m->found, 1u);
        if (i < LISTED_MOST) {
            m->key[i] = key;
            m->score[i] = z;
            m->weight[i] = weight_of(r, which, z);
        }
    });
    __syncthreads();
    if (threadIdx.x == 0) {
        m->listed = m->found <= LISTED_MOST;
    }
    __syncthreads();
}

/* Of the listed ones the key of that with which the sum reaches `need`. */
__device__ number find_listed(left *m, number need) {
    number key = threadIdx.x < m->found ? m->key[threadIdx.x] : NOTHING, upto = m->before;
    for (uint32_t i = 0; i < m->found && key != NOTHING; i++) {
        upto += m->key[i] >= key ? m->weight[i] : 0;
    }
    bool it = key != NOTHING && upto >= need && upto - m->weight[threadIdx.x] < need;
    return block_largest(it ? key : NOTHING, m->warp);
}

/* The key of the token with which the sum over the rank reaches `need`, 1 or more and at most all:
 * where its bin has too many to list them, by halving the range of keys. */
__device__ number find(const job &j, const row &r, size_t at, left *m, sum which, number need) {
    find_bin(j, r, at, m, which, need);
    list(j, r, m, which);
    if (m->listed) {
        return find_listed(m, need);
    }
    number low = m->cut, high = NOT_A_NUMBER; /* the sum from `low` on reaches it */
    while (low < high) {
        number middle = high - (high - low) / 2;
        bool reached = m->before + sum_from(j, r, m, which, middle) >= need;
        low = reached ? middle : low;
        high = reached ? high : middle - 1;
    }
    return low;
}

/* Leaves the shortest run of the rank whose sum reaches `need`. */
__device__ void shorten(const job &j, const row &r, size_t at, left *m, sum which, number need) {
    number cut = find(j, r, at, m, which, need);
    for (int s = COUNT; s < SUMS; s++) {
        number kept = sum_from(j, r, m, (enum sum)s, cut);
        for (uint32_t i = threadIdx.x; i < BINS; i += blockDim.x) {
            m->sum[s][i] = i < m->bin ? m->sum[s][i] : i == m->bin ? kept : 0;
        }
    }
    if (threadIdx.x == 0) {
        m->cut = cut;
    }
    __syncthreads();
}

__device__ number sum_of(left *m, sum which) {
    number all;
    block_sums(threadIdx.x < BINS ? m->sum[which][threadIdx.x] : 0, &all, m->warp);
    return all;
}

/* The key of the token that is drawn. */
__device__ number draw_from(const job &j, const row &r, size_t at, left *m) {
    for (uint32_t i = threadIdx.x; i < SUMS * BINS; i += blockDim.x) {
        m->sum[i / BINS][i % BINS] = j.note[at].sum[i / BINS][i % BINS];
    }
    if (threadIdx.x == 0) {
        m->cut = 1;
    }
    __syncthreads();
    number k = (number)r.draw.top_k;
    if (k > 0 && k < sum_of(m, COUNT)) {
        shorten(j, r, at, m, COUNT, k);
    }
    if (r.draw.top_p != 1.0f) {
        shorten(j, r, at, m, FILTERED, vv_draw_need(r.draw.top_p, sum_of(m, FILTERED)));
    }
    number x = vv_high_product(vv_random_at(r.draw.seed, r.draw.position), sum_of(m, DRAWN));
    return find(j, r, at, m, DRAWN, x + 1);
}

__global__ void __launch_bounds__(CHOOSE_THREADS) choose(job j) {
    __shared__ left m;
    size_t at = blockIdx.x;
    vv_follow();
    const vv_draw draw = j.window->draw[at];
    number best = draw.wanted ? best_of(j, at, m.warp) : NOTHING;
    if (is_token(best) && draw.temperature != 0.0f) {
        const row r = row_of(j, at, draw, best);
        best = draw_from(j, r, at, &m);
    }
    if (threadIdx.x == 0) {
        j.token[at] = is_token(best) ? (int32_t)token_of(best) : -1;
    }
}

/* ---- launches ---- */

size_t scratch(const void *args, const vv_launch *) {
    const auto &a = *static_cast<const struct vv_sample *>(args);
    return a.window->draws == VV_DRAWS_NONE ? 0 : vv_rows(a.rows) * sizeof(notes);
}

job job_of(const struct vv_sample &a, const vv_launch *on) {
    uint32_t n = (uint32_t)a.vocabulary;
    uint32_t stretch = (n + STRETCHES - 1) / STRETCHES;
    stretch = (stretch + STRETCH_LEAST - 1) / STRETCH_LEAST * STRETCH_LEAST;
    return {a.logits, a.token, vv_on_device_as(on, a.window), static_cast<notes *>(on->scratch),
            n,        stretch, vv_blocks(n, stretch)};
}

int launch(const void *args, const vv_launch *on) {
    const auto &a = *static_cast<const struct vv_sample *>(args);
    unsigned rows = (unsigned)vv_rows(a.rows);
    if (a.window->draws == VV_DRAWS_NONE || rows == 0) {
        return VV_OK;
    }
    const job j = job_of(a, on);
    int code = vv_start_early(survey, dim3(j.stretches, rows), THREADS, 0, on->stream, j);
    if (code == VV_OK && a.window->draws == VV_DRAWS_WEIGHED) {
        code = vv_start_early(weigh, dim3(j.stretches, rows), THREADS, 0, on->stream, j);
    }
    return code == VV_OK ? vv_start_early(choose, rows, CHOOSE_THREADS, 0, on->stream, j) : code;
}

const vv_variant variants[] = {
    {"sample/cuda", VV_CUDA_ANY, true, nullptr, nullptr, nullptr, launch, scratch},
    {},
};

} // namespace

extern const vv_more_variants vv_cuda_folder_sample[] = {{"sample", variants}, {}};

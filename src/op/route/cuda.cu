/*
 * route: a warp a row.
 *
 * route_group: one block for a few rows, a thread an expert and a thread a pair. For many rows, a
 * block an expert, which reads all pairs, and a second kernel that lists who has some. No block
 * waits for another one.
 */
#include "op/cuda/chain.h"
#include "op/route/cuda_bound.cuh"
VV_C_BEGIN
#include "op/route/contract.h"
VV_C_END

namespace {

/* ---- route ---- */

enum { ROUTE_WARPS = 4 };

__device__ size_t words_a_row(const struct vv_route *a) {
    return a->experts + a->used;
}

/* A row by a warp, its scores in registers; false: they are too many for that. */
__device__ bool route_held(const struct vv_route &a, size_t row, vv_bound_shared *m,
                           vv_trouble trouble) {
    unsigned lane = threadIdx.x % 32, experts = (unsigned)a.experts, used = (unsigned)a.used;
    if (experts > VV_HELD * 32 || used > 32) {
        return false;
    }
    const float *logit = a.logits + row * experts;
    float score[VV_HELD];
    uint32_t order[VV_HELD];
    bool bad = false;
    VV_UNROLL
    for (unsigned i = 0; i < VV_HELD; i++) {
        score[i] = i * 32 + lane < experts ? logit[i * 32 + lane] : 0.0f;
    }
    VV_UNROLL
    for (unsigned i = 0; i < VV_HELD; i++) {
        bad = bad || isnan(score[i]);
        order[i] = i * 32 + lane < experts ? vv_order_of(score[i]) : 0;
    }
    vv_chosen chosen;
    bool done = vv_choose(order, used, m, &chosen);
    float largest = vv_score_of(chosen.largest);
    if (__any_sync(VV_ALL_LANES, bad) || !isfinite(largest)) {
        vv_report(trouble, VV_ERROR_NOT_FINITE);
        return true;
    }
    float e = vv_exp(vv_score_of(chosen.order) - largest);
    if (!done) {
        return false;
    }
    if (chosen.here) {
        m->e[chosen.listed] = e;
    }
    __syncwarp();
    float inverse = 1.0f / vv_sum_across(m->e, used);
    if (chosen.here) {
        a.expert[row * used + chosen.listed] = (int32_t)chosen.expert;
        a.weight[row * used + chosen.listed] = e * inverse;
    }
    return true;
}

/* Any number of experts, whose scores lie in shared memory. */
__device__ void route_any(const struct vv_route &a, size_t row, vv_trouble trouble) {
    unsigned lane = threadIdx.x % 32, experts = (unsigned)a.experts, used = (unsigned)a.used;
    uint32_t *order = vv_dynamic_shared<uint32_t>() + threadIdx.x / 32 * words_a_row(&a);
    float *e = reinterpret_cast<float *>(order + experts);
    const float *logit = a.logits + row * experts;
    int32_t *expert = a.expert + row * used;
    bool bad = false;
    for (unsigned i = lane; i < experts; i += 32) {
        bad = bad || isnan(logit[i]);
        order[i] = vv_order_of(logit[i]);
    }
    vv_best mine = vv_best_of(order, experts);
    bad = __any_sync(VV_ALL_LANES, bad);
    float largest = bad ? NAN : logit[vv_take_best(order, experts, &mine)];
    if (!isfinite(largest)) {
        vv_report(trouble, VV_ERROR_NOT_FINITE);
        return;
    }
    for (unsigned j = 1; j < used; j++) {
        vv_take_best(order, experts, &mine);
    }
    __syncwarp();
    vv_list_taken(order, experts, expert);
    for (unsigned j = lane; j < used; j += 32) {
        e[j] = vv_exp(logit[expert[j]] - largest);
    }
    __syncwarp();
    float inverse = 1.0f / vv_sum_across(e, used);
    for (unsigned j = lane; j < used; j += 32) {
        a.weight[row * used + j] = e[j] * inverse;
    }
}

template <int WARPS>
__device__ void route_row(const struct vv_route &a, size_t row, vv_trouble trouble) {
    __shared__ vv_bound_shared held[WARPS];
    if (!route_held(a, row, &held[threadIdx.x / 32], trouble)) {
        route_any(a, row, trouble);
    }
}

__global__ void __launch_bounds__(32 * ROUTE_WARPS)
    route(struct vv_route a, size_t rows, vv_trouble trouble) {
    size_t row = (size_t)blockIdx.x * ROUTE_WARPS + threadIdx.x / 32;
    vv_follow();
    if (row < rows) {
        route_row<ROUTE_WARPS>(a, row, trouble);
    }
}

constexpr size_t shared_most = 48 << 10;

size_t route_shared(const struct vv_route *a, size_t warps) {
    return warps * (a->experts + a->used) * sizeof(uint32_t);
}

bool route_fits(const void *args) {
    return route_shared(static_cast<const struct vv_route *>(args), ROUTE_WARPS) <= shared_most;
}

int launch_route(const void *args, const vv_launch *on) {
    auto a = static_cast<const struct vv_route *>(args);
    size_t rows = vv_rows(a->rows);
    return vv_start_early(route, vv_blocks(rows, ROUTE_WARPS), 32 * ROUTE_WARPS,
                          route_shared(a, ROUTE_WARPS), on->stream, *a, rows, vv_trouble_of(on));
}

/* ---- route_group ---- */

enum { LIST_THREADS = 512, LIST_WARPS = LIST_THREADS / 32, FEW_PAIRS = 256 };
enum { GROUP_THREADS = 256, GROUP_WARPS = GROUP_THREADS / 32 };

/* The expert of a pair. One that doesn't exist is told, and replaced by one that does, so that what
 * follows stays within its memory. */
__device__ int32_t expert_of(const struct vv_route_group *a, size_t pair, vv_trouble trouble) {
    int32_t e = a->expert[pair];
    if (e < 0 || (size_t)e >= a->experts) {
        vv_report(trouble, VV_ERROR_INVALID);
        return 0;
    }
    return e;
}

/*
 * Lists the experts that have pairs, by one block: thread t those t, t + LIST_THREADS …, of which
 * has(e) says whether they have some.
 */
template <typename Has> __device__ void list_active(const struct vv_route_group *a, Has has) {
    __shared__ unsigned found[LIST_WARPS];
    unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, listed = 0;
    unsigned experts = (unsigned)a->experts;
    for (unsigned first = 0; first < experts; first += LIST_THREADS) {
        unsigned e = first + threadIdx.x;
        bool active = e < experts && has(e);
        unsigned who = __ballot_sync(VV_ALL_LANES, active), before = listed;
        found[warp] = (unsigned)__popc(who);
        __syncthreads();
        VV_UNROLL
        for (unsigned w = 0; w < LIST_WARPS; w++) {
            before += w < warp ? found[w] : 0;
            listed += found[w];
        }
        if (active) {
            a->active[1 + before + (unsigned)__popc(who & ((1u << lane) - 1))] = (int32_t)e;
        }
        if (first + LIST_THREADS < experts) {
            __syncthreads();
        }
    }
    for (unsigned i = listed + threadIdx.x; i < experts; i += LIST_THREADS) {
        a->active[1 + i] = -1;
    }
    if (threadIdx.x == 0) {
        a->active[0] = (int32_t)listed;
    }
}

__global__ void __launch_bounds__(LIST_THREADS) list(struct vv_route_group a) {
    vv_follow();
    list_active(&a, [&](unsigned e) { return a.begin[e] < a.begin[e + 1]; });
}

/* Of the experts of all pairs [fours · 4] how many are below e, and how many are e. */
__device__ uint2 count_pairs(const int4 *expert, unsigned fours, int32_t e) {
    unsigned below = 0, equal = 0;
    VV_UNROLL_BY(4)
    for (unsigned i = 0; i < fours; i++) {
        int4 four = expert[i];
        below += (four.x < e) + (four.y < e) + (four.z < e) + (four.w < e);
        equal += (four.x == e) + (four.y == e) + (four.z == e) + (four.w == e);
    }
    return make_uint2(below, equal);
}

/* Where pair i of expert `mine` comes among all: behind the lower experts' and its own before it.
 */
__device__ unsigned place_of(const int4 *expert, unsigned fours, unsigned i, int32_t mine) {
    unsigned before = 0;
    VV_UNROLL_BY(4)
    for (unsigned at = 0; at < fours; at++) {
        int4 four = expert[at];
        unsigned first = 4 * at;
        before += four.x < mine || (four.x == mine && first < i);
        before += four.y < mine || (four.y == mine && first + 1 < i);
        before += four.z < mine || (four.z == mine && first + 2 < i);
        before += four.w < mine || (four.w == mine && first + 3 < i);
    }
    return before;
}

/* A few pairs, by one block. */
__device__ void group_pairs(const struct vv_route_group &a, unsigned pairs, vv_trouble trouble) {
    __shared__ int4 expert[FEW_PAIRS / 4]; /* beyond the last pair: that of no expert */
    unsigned fours = (pairs + 3) / 4, i = threadIdx.x;
    int32_t mine = i < pairs ? expert_of(&a, i, trouble) : INT32_MAX;
    if (i < 4 * fours) {
        reinterpret_cast<int32_t *>(expert)[i] = mine;
    }
    __syncthreads();
    if (i < pairs) {
        a.pair[place_of(expert, fours, i, mine)] = (int32_t)i;
    }
    list_active(&a, [&](unsigned e) {
        uint2 n = count_pairs(expert, fours, (int32_t)e);
        a.begin[e] = (int32_t)n.x;
        return n.y > 0;
    });
    if (i == 0) {
        a.begin[a.experts] = (int32_t)pairs;
    }
}

__global__ void __launch_bounds__(LIST_THREADS)
    group_few(struct vv_route_group a, unsigned pairs, vv_trouble trouble) {
    vv_follow();
    group_pairs(a, pairs, trouble);
}

/* Both, of no more rows than there are warps. */
__global__ void __launch_bounds__(LIST_THREADS)
    route_and_group(struct vv_route a, struct vv_route_group group, unsigned rows,
                    vv_trouble trouble, vv_trouble group_trouble) {
    unsigned row = threadIdx.x / 32;
    vv_follow();
    if (row < rows) {
        route_row<LIST_WARPS>(a, row, trouble);
    }
    __syncthreads();
    group_pairs(group, rows * (unsigned)a.used, group_trouble);
}

/* Each warp takes a stretch of the pairs. */
__global__ void __launch_bounds__(GROUP_THREADS)
    group_many(struct vv_route_group a, unsigned pairs, vv_trouble trouble) {
    vv_follow();
    __shared__ unsigned below[GROUP_WARPS], equal[GROUP_WARPS];
    unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int32_t mine = (int32_t)blockIdx.x;
    unsigned each = (pairs + GROUP_THREADS - 1) / GROUP_THREADS * 32, first = warp * each;
    unsigned end = first + each < pairs ? first + each : pairs, less = 0, same = 0;
    for (unsigned i = first + lane; i < end; i += 32) {
        int32_t e = expert_of(&a, i, trouble);
        less += e < mine;
        same += e == mine;
    }
    less = __reduce_add_sync(VV_ALL_LANES, less);
    same = __reduce_add_sync(VV_ALL_LANES, same);
    below[warp] = less;
    equal[warp] = same;
    __syncthreads();
    unsigned begin = 0, at = 0;
    for (unsigned w = 0; w < GROUP_WARPS; w++) {
        begin += below[w];
        at += w < warp ? equal[w] : 0;
    }
    at += begin;
    for (unsigned i = first; same > 0 && i < end; i += 32) {
        bool here = i + lane < end && expert_of(&a, i + lane, trouble) == mine;
        unsigned who = __ballot_sync(VV_ALL_LANES, here);
        if (here) {
            a.pair[at + (unsigned)__popc(who & ((1u << lane) - 1))] = (int32_t)(i + lane);
        }
        at += (unsigned)__popc(who);
    }
    if (threadIdx.x == 0) {
        a.begin[mine] = (int32_t)begin;
        if ((size_t)mine + 1 == a.experts) {
            a.begin[a.experts] = (int32_t)pairs;
        }
    }
}

int launch_group(const void *args, const vv_launch *on) {
    auto a = static_cast<const struct vv_route_group *>(args);
    size_t pairs = vv_rows(a->rows) * a->used;
    if (pairs <= FEW_PAIRS) {
        return vv_start_early(group_few, 1, LIST_THREADS, 0, on->stream, *a, (unsigned)pairs,
                              vv_trouble_of(on));
    }
    int code = vv_start_early(group_many, (unsigned)a->experts, GROUP_THREADS, 0, on->stream, *a,
                              (unsigned)pairs, vv_trouble_of(on));
    return code == VV_OK ? vv_start_early(list, 1, LIST_THREADS, 0, on->stream, *a) : code;
}

/* Routes and their groups, of few rows. */
bool fits_both(const vv_whole *whole) {
    if (whole->count != 2 || whole->variant[1]->launch != launch_group) {
        return false;
    }
    auto a = static_cast<const struct vv_route *>(whole->step[0].args);
    auto group = static_cast<const struct vv_route_group *>(whole->step[1].args);
    size_t rows = vv_rows(a->rows);
    return group->expert == a->expert && group->used == a->used && vv_rows(group->rows) == rows &&
           rows <= LIST_WARPS && rows * a->used <= FEW_PAIRS && route_shared(a, rows) <= 40 << 10;
}
int launch_both(const vv_whole *whole, const vv_launch *on) {
    auto a = static_cast<const struct vv_route *>(whole->step[0].args);
    auto group = static_cast<const struct vv_route_group *>(whole->step[1].args);
    size_t rows = vv_rows(a->rows);
    vv_trouble group_trouble = {on->status, whole->step[1].step};
    return vv_start_early(route_and_group, 1, LIST_THREADS, route_shared(a, rows), on->stream, *a,
                          *group, (unsigned)rows, vv_trouble_of(on), group_trouble);
}
const vv_whole_way whole_way = {fits_both, launch_both};

const vv_variant route_variants[] = {
    {"route/cuda", VV_CUDA_ANY, true, route_fits, nullptr, nullptr, launch_route, nullptr, nullptr,
     &whole_way},
    {},
};

const vv_variant group_variants[] = {
    {"route_group/cuda", VV_CUDA_ANY, true, nullptr, nullptr, nullptr, launch_group, nullptr,
     nullptr, nullptr, &vv_cuda_chaining[VV_CHAIN_GROUP]},
    {},
};

} // namespace

extern const vv_more_variants vv_cuda_folder_route[] = {
    {"route", route_variants}, {"route_group", group_variants}, {}};

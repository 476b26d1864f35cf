/*
 * A block a processor; its share of both matrices comes to shared memory while the kernel in front
 * ends. All blocks bring the planes of h and make their rows of `down`, whose results all wait for
 * (device/cuda/grid.cuh); then each makes the planes of a for itself, and its values of u. Little
 * code, in loops: a kernel that runs once fetches it as it goes.
 */
#pragma once
#include "device/cuda/grid.cuh"
#include "op/cuda/dot.cuh"
#include "op/hyper_read/cuda_whole.h"

namespace {

constexpr unsigned THREADS = 640, QUADS = THREADS / 4, HALVES = THREADS / VV_LANES;
constexpr unsigned WORDS_MOST = VV_MEETING_WORDS / 2;
constexpr unsigned COPIES = 8; /* of each word, so that not all blocks look at the same lines */

/* What n is divided by, where that is done often; n · by is less than 2^32. */
struct divisor {
    unsigned by, factor;
};
inline divisor divisor_of(unsigned by) {
    return {by, by > 1 ? (unsigned)((1ull << 32) / by + 1) : 0};
}
VV_DEVICE unsigned divided(unsigned n, const divisor &d) {
    return d.by == 1 ? n : (unsigned)((unsigned long long)n * d.factor >> 32);
}

/* Rows of a weight in the split order: Q8_0, or floats. */
struct matrix {
    const uint8_t *data;
    const float *scale; /* or NULL */
    unsigned row_bytes, heads_at, groups;
    divisor segments;
};

/* Where things lie in shared memory, in bytes; weights come first. */
struct places {
    unsigned q, scale; /* planes of h, then those of a */
    unsigned sums, own, arrival, end;
};

struct whole_job {
    vv_planes h, a_planes, u_planes;
    matrix down, up, inject; /* inject without data: nobody writes */
    int inject_type;
    const float *h_values;
    float *gamma, *a, *u;
    bool u_wanted;
    bool inject_float;
    unsigned width, streams, rank;
    unsigned outputs; /* values of u of a block */
    places at;
    vv_meeting *meeting;
    unsigned long long *status;
    uint32_t step[VV_HYPER_STEPS];
};

/* What a block has: rows of down, values of u, and one of the last blocks a row of inject. */
struct share {
    unsigned down, down_count, u, u_count, inject, inject_count;
    unsigned up_at, inject_at; /* in shared memory */
};

static __host__ __device__ inline share share_of(const whole_job &job, unsigned block,
                                                 unsigned blocks) {
    share s;
    unsigned each = job.rank / blocks, more = job.rank % blocks, from_end = blocks - 1 - block;
    s.down = block * each + (block < more ? block : more);
    s.down_count = each + (block < more);
    s.u = block * job.outputs;
    s.u_count = s.u >= job.width                ? 0
                : job.width - s.u < job.outputs ? job.width - s.u
                                                : job.outputs;
    s.inject = from_end;
    s.inject_count = job.inject.data && from_end < job.streams;
    s.inject_at = s.down_count * job.down.row_bytes;
    s.up_at = s.inject_at + s.inject_count * job.inject.row_bytes;
    return s;
}

/* ---- weights ---- */

VV_DEVICE void copy_in(uint8_t *to, const uint8_t *from, unsigned bytes,
                       unsigned long long *arrival) {
#if VV_BULK_COPIES
    vv_bulk_copy(to, from, bytes, arrival);
#else
    for (unsigned b = 16 * threadIdx.x; b < bytes; b += 16 * blockDim.x) {
        vv_copy_async<16>(to + b, from + b);
    }
    (void)arrival;
#endif
}

/* One thread's work where there are bulk copies, else that of all. */
VV_DEVICE bool copies() {
#if VV_BULK_COPIES
    return threadIdx.x == 0;
#else
    return true;
#endif
}

VV_DEVICE void ask_for_weights(const whole_job &job, const share &mine, uint8_t *held,
                               unsigned long long *arrival) {
    if (!copies()) {
        return;
    }
    unsigned down = mine.down_count * job.down.row_bytes,
             inject = mine.inject_count * job.inject.row_bytes;
    unsigned up = mine.u_count * job.up.row_bytes;
#if VV_BULK_COPIES
    vv_bulk_prepare(arrival, inject + down);
    vv_bulk_prepare(arrival + 1, up * job.streams);
#endif
    if (inject) {
        copy_in(held + mine.inject_at, job.inject.data + (size_t)mine.inject * inject, inject,
                arrival);
    }
    if (down) {
        copy_in(held, job.down.data + (size_t)mine.down * job.down.row_bytes, down, arrival);
    }
    vv_copy_commit();
    for (unsigned s = 0; s < job.streams && up; s++) {
        copy_in(held + mine.up_at + s * up,
                job.up.data + ((size_t)s * job.width + mine.u) * job.up.row_bytes, up, arrival + 1);
    }
    vv_copy_commit();
}

/* All threads; a barrier has to follow the first of these. */
template <int WHICH> VV_DEVICE void wait_for_weights(unsigned long long *arrival) {
#if VV_BULK_COPIES
    vv_bulk_wait(arrival + WHICH, 0);
#else
    vv_copy_wait<1 - WHICH>();
    (void)arrival;
#endif
}

/* A block's memory. */
struct memory {
    uint8_t *held;
    int8_t *q;
    float *scale, *sums, *own;
    unsigned long long *arrival;
};
VV_DEVICE memory memory_of(const whole_job &job) {
    uint8_t *base = vv_dynamic_shared<uint8_t>();
    auto floats = [&](unsigned at) { return reinterpret_cast<float *>(base + at); };
    return {base,
            reinterpret_cast<int8_t *>(base + job.at.q),
            floats(job.at.scale),
            floats(job.at.sums),
            floats(job.at.own),
            reinterpret_cast<unsigned long long *>(base + job.at.arrival)};
}

VV_DEVICE vv_trouble trouble_of(const whole_job &job, vv_hyper_step step) {
    return {job.status, job.step[step]};
}

/* ---- planes ---- */

/* A unit's scale and its inverse. False: it is beyond the contract's range. */
VV_DEVICE bool scale_of(uint32_t top, float *scale, float *inv) {
    float amax = vv_from_bits(top);
    bool small = top < vv_bits(0x1p-60f);
    *scale = small ? 0.0f : amax / 127.0f;
    *inv = small ? 0.0f : 127.0f / amax;
    return top < vv_bits(0x1p+80f);
}

/* To nearest even, of magnitudes below 2^22: the sum's last bits count units. */
VV_DEVICE int to_nearest(float x) {
    return (int)(vv_bits(x + 0x1.8p+23f) - vv_bits(0x1.8p+23f));
}

/* A unit of 32 values, one of each lane, quantised; its scale, the sum of the lane's half. */
struct unit {
    int q, sum;
    float scale;
    bool good;
};
VV_DEVICE unit quantise_unit(float value) {
    unit u;
    float inv;
    uint32_t top = __reduce_max_sync(0xffffffffu, vv_bits(value) & 0x7fffffffu);
    u.good = scale_of(top, &u.scale, &inv);
    u.q = to_nearest(value * inv);
    u.sum = u.q;
    VV_UNROLL
    for (int apart = 8; apart > 0; apart /= 2) {
        u.sum += __shfl_xor_sync(0xffffffffu, u.sum, apart);
    }
    return u;
}
VV_DEVICE void store_unit(const unit &u, size_t index, int8_t *q, float *scale, int16_t *sum16) {
    unsigned lane = threadIdx.x % 32;
    q[32 * index + lane] = (int8_t)u.q;
    if (lane == 0) {
        scale[index] = u.scale;
    }
    if (sum16 && lane % 16 == 0) {
        sum16[2 * index + lane / 16] = (int16_t)u.sum;
    }
}

/* The planes of h, from another place on in each block, so that they don't all ask for the same
 * lines at once; and what the block's values of u need of h. */
VV_DEVICE void bring_planes(const whole_job &job, const share &mine, const memory &to,
                            unsigned from) {
    unsigned pieces = job.streams * job.width / 16, own = mine.u_count * job.streams;
    VV_UNROLL_BY(1)
    for (unsigned k = threadIdx.x; k < pieces; k += THREADS) {
        unsigned i = k + from < pieces ? k + from : k + from - pieces;
        vv_copy_async<16>(to.q + 16 * i, job.h.fine_q + 16 * i);
        if (i % 8 == 0) { /* of 128 values */
            vv_copy_async<16>(to.scale + i / 2, job.h.fine_scale + i / 2);
        }
    }
    vv_copy_commit();
    VV_UNROLL_BY(1)
    for (unsigned i = threadIdx.x; i < own; i += THREADS) {
        unsigned stream = i / mine.u_count, o = i - stream * mine.u_count;
        to.own[i] = job.h_values[(size_t)stream * job.width + mine.u + o];
    }
    vv_copy_wait<0>();
}

/* ---- products ---- */

/* From a row's sums to the next one's: they lie by fours. */
static __host__ __device__ inline unsigned sums_stride(unsigned segments) {
    return (segments + 3) / 4 * 4;
}

VV_DEVICE int dot_words(const int4 &a, const int4 &b, int sum) {
    sum = __dp4a(a.x, b.x, sum);
    sum = __dp4a(a.y, b.y, sum);
    sum = __dp4a(a.z, b.z, sum);
    return __dp4a(a.w, b.w, sum);
}

/*
 * Sums of all segments of held rows, [count][stride]: a quad of lanes a segment, a group each; all
 * lanes of a quad make the chain. Neighbours read their groups' halves in other orders, so that
 * their banks differ. One piece of code for both matrices: the second finds it fetched.
 */
static __device__ __noinline__ void multiply_rows(const uint8_t *held, unsigned row_bytes,
                                                  unsigned heads_at, unsigned groups,
                                                  divisor segments, unsigned count, const int8_t *q,
                                                  const float *scales, float *sums) {
    unsigned all = count * segments.by, first = threadIdx.x / 4 % 2;
    unsigned stride = sums_stride(segments.by);
    VV_UNROLL_BY(1)
    for (unsigned begin = 0; begin < all; begin += QUADS) { /* warps stay together */
        unsigned t = begin + threadIdx.x / 4, row = divided(t, segments);
        unsigned segment = t - row * segments.by, group = 4 * segment + threadIdx.x % 4;
        float scale = 0.0f, dot = 0.0f, s = 0.0f; /* adds nothing */
        if (t < all && group < groups) {
            const uint8_t *codes = held + row * row_bytes;
            auto w = reinterpret_cast<const int4 *>(codes + 32 * group);
            auto x = reinterpret_cast<const int4 *>(q + 32 * group);
            dot = (float)dot_words(w[1 - first], x[1 - first], dot_words(w[first], x[first], 0));
            auto head = reinterpret_cast<const unsigned short *>(codes + heads_at);
            scale = __half2float(__ushort_as_half(head[group])) * scales[group];
        }
        VV_UNROLL
        for (int b = 0; b < 4; b++) {
            s = fmaf(__shfl_sync(0xffffffffu, scale, b, 4), __shfl_sync(0xffffffffu, dot, b, 4), s);
        }
        if (t < all && threadIdx.x % 4 == 0) {
            sums[row * stride + segment] = s;
        }
    }
}
VV_DEVICE void multiply(const matrix &m, const uint8_t *held, unsigned count, const memory &to) {
    multiply_rows(held, m.row_bytes, m.heads_at, m.groups, m.segments, count, to.q, to.scale,
                  to.sums);
    __syncthreads();
}

/* A row's product: its sums in ascending order, the next ones fetched meanwhile. */
static __device__ __noinline__ float add_chain(const float *sums, unsigned segments,
                                               const float *scale) {
    const float4 *from = reinterpret_cast<const float4 *>(sums);
    unsigned rest = segments % 4;
    float total = 0.0f;
    float4 next = from[0];
    VV_UNROLL_BY(2)
    for (unsigned i = 1; i <= segments / 4; i++) {
        float4 four = next;
        next = from[4 * i < segments ? i : 0];
        total += four.x;
        total += four.y;
        total += four.z;
        total += four.w;
    }
    total = rest > 0 ? total + next.x : total;
    total = rest > 1 ? total + next.y : total;
    total = rest > 2 ? total + next.z : total;
    return scale ? total * *scale : total;
}

/* ---- the steps ---- */

/* Of an inject row's segment, the part that floats of h have. */
VV_DEVICE float inject_segment(const whole_job &job, const uint8_t *row, unsigned first,
                               const float (&h)[VV_LANE_VALUES]) {
    auto half = reinterpret_cast<const uint16_t *>(row);
    float lane = 0.0f;
    VV_UNROLL
    for (unsigned m = 0; m < VV_LANE_VALUES; m++) {
        unsigned i = first + m * VV_LANES + threadIdx.x % VV_LANES;
        float w = job.inject_type == VV_TYPE_F32   ? reinterpret_cast<const float *>(row)[i]
                  : job.inject_type == VV_TYPE_F16 ? __half2float(__ushort_as_half(half[i]))
                                                   : vv_from_bf16(half[i]);
        lane = fmaf(w, h[m], lane);
    }
    return vv_add_lanes_across(lane);
}

/* Sums of the block's row of inject lie behind those of its rows of down. */
VV_DEVICE float *inject_sums(const whole_job &job, const share &mine, const memory &to) {
    return to.sums + mine.down_count * sums_stride(job.down.segments.by);
}

/* A row of floats. */
VV_DEVICE void multiply_floats(const whole_job &job, const share &mine, const memory &to) {
    unsigned segments = job.down.segments.by, l = threadIdx.x % VV_LANES;
    VV_UNROLL_BY(1)
    for (unsigned first = 0; first < segments; first += HALVES) {
        unsigned s = first + threadIdx.x / VV_LANES, at = (s < segments ? s : 0) * VV_SEGMENT;
        float v[VV_LANE_VALUES];
        VV_UNROLL
        for (unsigned m = 0; m < VV_LANE_VALUES; m++) {
            v[m] = job.h_values[at + m * VV_LANES + l];
        }
        float sum = inject_segment(job, to.held + mine.inject_at, at, v);
        if (s < segments && l == 0) {
            inject_sums(job, mine, to)[s] = sum;
        }
    }
    __syncthreads();
}

/* What is left of a row of inject: its value of gamma. */
VV_DEVICE void make_gamma(const whole_job &job, const share &mine, const memory &to) {
    if (job.inject_float) {
        multiply_floats(job, mine, to);
    }
    if (threadIdx.x == 0) {
        float z = add_chain(inject_sums(job, mine, to), job.down.segments.by, job.inject.scale);
        if (!isfinite(z)) {
            vv_report(trouble_of(job, VV_HYPER_DOWN), VV_ERROR_NOT_FINITE);
        }
        job.gamma[mine.inject] = 2.0f * vv_sigmoid(z / (float)job.streams);
    }
}

/* hyper_down: the block's values of a. */
VV_DEVICE void make_rank(const whole_job &job, const share &mine, const memory &to, unsigned turn) {
    VV_UNROLL_BY(1)
    for (unsigned i = threadIdx.x; i < mine.down_count; i += THREADS) {
        float y = add_chain(to.sums + i * sums_stride(job.down.segments.by), job.down.segments.by,
                            job.down.scale);
        if (!isfinite(y)) {
            vv_report(trouble_of(job, VV_HYPER_DOWN), VV_ERROR_NOT_FINITE);
        }
        y = vv_silu(y / (float)job.streams);
        VV_UNROLL_BY(1)
        for (unsigned c = 0; c < COPIES; c++) {
            vv_put_word(job.meeting->word + c * job.rank + mine.down + i, y, turn);
        }
        job.a[mine.down + i] = y;
    }
}

/* The block that writes what several make of a. */
VV_DEVICE bool writes_planes() {
    return blockIdx.x == gridDim.x / 2;
}

/* Waits for all of a; its planes. */
VV_DEVICE void take_rank(const whole_job &job, const memory &to, unsigned turn) {
    const vv_planes &p = job.a_planes;
    const unsigned long long *word = job.meeting->word + blockIdx.x % COPIES * job.rank;
    VV_UNROLL_BY(1)
    for (unsigned j = threadIdx.x; j < job.rank; j += THREADS) { /* whole warps */
        float value = vv_take_word(word + j, turn);
        __syncwarp();
        unit u = quantise_unit(value);
        store_unit(u, j / 32, to.q, to.scale, nullptr);
        if (writes_planes()) {
            store_unit(u, j / 32, p.fine_q, p.fine_scale, p.fine_sum16);
        }
        if (!u.good) {
            vv_report(trouble_of(job, VV_HYPER_A), VV_ERROR_NOT_FINITE);
        }
    }
}

/* hyper_up's gates, in place of their first sums; then the means of what they let through. */
VV_DEVICE void make_gates(const whole_job &job, const memory &to, unsigned slots) {
    unsigned stride = sums_stride(job.up.segments.by);
    VV_UNROLL_BY(1)
    for (unsigned i = threadIdx.x; i < slots; i += THREADS) {
        float y = add_chain(to.sums + i * stride, job.up.segments.by, job.up.scale);
        to.sums[i * stride] = isfinite(y) ? vv_sigmoid(y) : y;
    }
    __syncthreads();
}
VV_DEVICE void make_means(const whole_job &job, const share &mine, const memory &to) {
    const vv_planes &p = job.u_planes;
    unsigned stride = sums_stride(job.up.segments.by), count = mine.u_count;
    VV_UNROLL_BY(1)
    for (unsigned first = threadIdx.x & ~31u; first < count; first += THREADS) {
        unsigned o = first + threadIdx.x % 32;
        float u = 0.0f;
        bool here = o < count, good = true;
        VV_UNROLL_BY(1)
        for (unsigned s = 0; s < job.streams && here; s++) {
            float gate = to.sums[(s * count + o) * stride];
            good = good && isfinite(gate);
            u = fmaf(gate, to.own[s * count + o], u);
        }
        u = u / (float)job.streams;
        if (!good) {
            vv_report(trouble_of(job, VV_HYPER_UP), VV_ERROR_NOT_FINITE);
        } else if (here) {
            job.u[mine.u + o] = u;
        }
        if (job.u_wanted) { /* the block's values are whole units */
            __syncwarp();
            unit made = quantise_unit(u);
            store_unit(made, (mine.u + first) / 32, p.fine_q, p.fine_scale, p.fine_sum16);
            if (!made.good) {
                vv_report(trouble_of(job, VV_HYPER_U), VV_ERROR_NOT_FINITE);
            }
        }
    }
}

__global__ void __launch_bounds__(THREADS, 1) whole(const __grid_constant__ whole_job job) {
    share mine = share_of(job, blockIdx.x, gridDim.x);
    memory to = memory_of(job);
    vv_bring_next();
    ask_for_weights(job, mine, to.held, to.arrival);
    unsigned from = 32 * blockIdx.x % (job.streams * job.width / 16);
    unsigned down = mine.down_count + (job.inject_float ? 0 : mine.inject_count);
    __syncthreads(); /* what tells of arrivals is prepared */
    vv_wait_for_front();
    unsigned turn = vv_begin_turn(job.meeting);
    bring_planes(job, mine, to, from);
    wait_for_weights<0>(to.arrival);
    __syncthreads();
    multiply(job.down, to.held, down, to);
    make_rank(job, mine, to, turn);
    if (mine.inject_count) {
        make_gamma(job, mine, to);
    }
    if (mine.u_count || writes_planes()) {
        take_rank(job, to, turn);
        wait_for_weights<1>(to.arrival);
        __syncthreads();
        multiply(job.up, to.held + mine.up_at, mine.u_count * job.streams, to);
        make_gates(job, to, mine.u_count * job.streams);
        make_means(job, mine, to);
    }
    vv_end_turn(job.meeting, turn);
}

} // namespace

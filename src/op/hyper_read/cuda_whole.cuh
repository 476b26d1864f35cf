/*
 * Of one row, or a few. A block a processor; its share of both matrices comes to shared memory
 * while the kernel in front ends. All blocks bring the planes of h and make their rows of `down`,
 * whose results all wait for (device/cuda/grid.cuh); then each makes the planes of a for itself,
 * and its values of u. Little code, in loops: a kernel that runs once fetches it as it goes.
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
    unsigned values, row_sums; /* of a row: values of its planes; floats of its sums */
};

struct whole_job {
    vv_planes h, a_planes, u_planes;
    matrix down, up, inject; /* inject without data: nobody writes */
    int inject_type;
    const float *h_values;
    float *gamma, *a, *u;
    bool u_wanted;
    bool inject_float;
    unsigned rows, width, streams, rank;
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
    unsigned wide = job.streams * job.width, pieces = wide / 16, own = mine.u_count * job.streams;
    VV_UNROLL_BY(1)
    for (unsigned row = 0; row < job.rows; row++) {
        int8_t *q = to.q + row * job.at.values;
        float *scale = to.scale + row * (job.at.values / VV_FINE_UNIT);
        const int8_t *h_q = job.h.fine_q + (size_t)row * wide;
        const float *h_scale = job.h.fine_scale + (size_t)row * (wide / VV_FINE_UNIT);
        VV_UNROLL_BY(1)
        for (unsigned k = threadIdx.x; k < pieces; k += THREADS) {
            unsigned i = k + from < pieces ? k + from : k + from - pieces;
            vv_copy_async<16>(q + 16 * i, h_q + 16 * i);
            if (i % 8 == 0) { /* of 128 values */
                vv_copy_async<16>(scale + i / 2, h_scale + i / 2);
            }
        }
    }
    vv_copy_commit();
    VV_UNROLL_BY(1)
    for (unsigned i = threadIdx.x; i < own * job.rows; i += THREADS) {
        unsigned n = i, row = vv_few_row(n, own), stream = n / mine.u_count;
        unsigned o = n - stream * mine.u_count;
        to.own[i] = job.h_values[(size_t)row * wide + (size_t)stream * job.width + mine.u + o];
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

/* Rows of activations as a block multiplies them. */
struct whole_rows {
    const int8_t *q;
    const float *scale;
    float *sums;
    unsigned count, values, row_sums;
};

/*
 * Sums of all segments of held rows, [count][stride]: a quad of lanes a segment, a group each; all
 * lanes of a quad make the chain. Neighbours read their groups' halves in other orders, so that
 * their banks differ. One piece of code for both matrices: the second finds it fetched.
 */
static __device__ __noinline__ void multiply_rows(const uint8_t *held, unsigned row_bytes,
                                                  unsigned heads_at, unsigned groups,
                                                  divisor segments, unsigned count,
                                                  whole_rows rows) {
    unsigned all = count * segments.by, first = threadIdx.x / 4 % 2;
    unsigned stride = sums_stride(segments.by);
    VV_UNROLL_BY(1)
    for (unsigned begin = 0; begin < all; begin += QUADS) { /* warps stay together */
        unsigned t = begin + threadIdx.x / 4, row = divided(t, segments);
        unsigned segment = t - row * segments.by, group = 4 * segment + threadIdx.x % 4;
        bool here = t < all && group < groups;
        int4 w[2] = {};
        float d = 0.0f; /* adds nothing */
        if (here) {
            const uint8_t *codes = held + row * row_bytes;
            auto from = reinterpret_cast<const int4 *>(codes + 32 * group);
            auto head = reinterpret_cast<const unsigned short *>(codes + heads_at);
            w[0] = from[first];
            w[1] = from[1 - first];
            d = __half2float(__ushort_as_half(head[group]));
        }
        const int8_t *q = rows.q + 32 * group;
        const float *scales = rows.scale + group;
        float *to = rows.sums + row * stride + segment;
        VV_UNROLL_BY(1)
        for (unsigned r = 0; r < rows.count; r++) {
            float scale = 0.0f, dot = 0.0f, s = 0.0f;
            if (here) {
                auto x = reinterpret_cast<const int4 *>(q);
                dot = (float)dot_words(w[1], x[1 - first], dot_words(w[0], x[first], 0));
                scale = d * *scales;
            }
            VV_UNROLL
            for (int b = 0; b < 4; b++) {
                float mine = __shfl_sync(0xffffffffu, scale, b, 4);
                s = fmaf(mine, __shfl_sync(0xffffffffu, dot, b, 4), s);
            }
            if (t < all && threadIdx.x % 4 == 0) {
                *to = s;
            }
            q += rows.values;
            scales += rows.values / VV_FINE_UNIT;
            to += rows.row_sums;
        }
    }
}
VV_DEVICE void multiply(const whole_job &job, const matrix &m, const uint8_t *held, unsigned count,
                        const memory &to) {
    whole_rows rows = {to.q, to.scale, to.sums, job.rows, job.at.values, job.at.row_sums};
    multiply_rows(held, m.row_bytes, m.heads_at, m.groups, m.segments, count, rows);
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
VV_DEVICE float *inject_sums(const whole_job &job, const share &mine, const memory &to,
                             unsigned row) {
    return to.sums + row * job.at.row_sums + mine.down_count * sums_stride(job.down.segments.by);
}

/* A row of floats. */
VV_DEVICE void multiply_floats(const whole_job &job, const share &mine, const memory &to) {
    unsigned segments = job.down.segments.by, l = threadIdx.x % VV_LANES;
    VV_UNROLL_BY(1)
    for (unsigned first = 0; first < segments * job.rows; first += HALVES) {
        unsigned t = first + threadIdx.x / VV_LANES, all = segments * job.rows;
        unsigned s = t < all ? t : 0, row = vv_few_row(s, segments), at = s * VV_SEGMENT;
        const float *h = job.h_values + (size_t)row * segments * VV_SEGMENT;
        float v[VV_LANE_VALUES];
        VV_UNROLL
        for (unsigned m = 0; m < VV_LANE_VALUES; m++) {
            v[m] = h[at + m * VV_LANES + l];
        }
        float sum = inject_segment(job, to.held + mine.inject_at, at, v);
        if (t < all && l == 0) {
            inject_sums(job, mine, to, row)[s] = sum;
        }
    }
    __syncthreads();
}

/* What is left of a row of inject: its values of gamma. */
VV_DEVICE void make_gamma(const whole_job &job, const share &mine, const memory &to) {
    if (job.inject_float) {
        multiply_floats(job, mine, to);
    }
    if (threadIdx.x < job.rows) {
        float z = add_chain(inject_sums(job, mine, to, threadIdx.x), job.down.segments.by,
                            job.inject.scale);
        if (!isfinite(z)) {
            vv_report(trouble_of(job, VV_HYPER_DOWN), VV_ERROR_NOT_FINITE);
        }
        job.gamma[threadIdx.x * job.streams + mine.inject] =
            2.0f * vv_sigmoid(z / (float)job.streams);
    }
}

/* A copy of all rows' words of a. */
VV_DEVICE unsigned long long *words_of(const whole_job &job, unsigned copy) {
    return job.meeting->word + copy * (job.rows * job.rank);
}

/* hyper_down: the block's values of a. */
VV_DEVICE void make_rank(const whole_job &job, const share &mine, const memory &to, unsigned turn) {
    VV_UNROLL_BY(1)
    for (unsigned i = threadIdx.x; i < mine.down_count * job.rows; i += THREADS) {
        unsigned n = i, row = vv_few_row(n, mine.down_count);
        unsigned at = row * job.rank + mine.down + n;
        const float *sums = to.sums + row * job.at.row_sums;
        float y = add_chain(sums + n * sums_stride(job.down.segments.by), job.down.segments.by,
                            job.down.scale);
        if (!isfinite(y)) {
            vv_report(trouble_of(job, VV_HYPER_DOWN), VV_ERROR_NOT_FINITE);
        }
        y = vv_silu(y / (float)job.streams);
        VV_UNROLL_BY(1)
        for (unsigned c = 0; c < COPIES; c++) {
            vv_put_word(words_of(job, c) + at, y, turn);
        }
        job.a[at] = y;
    }
}

/* The block that writes what several make of a. */
VV_DEVICE bool writes_planes() {
    return blockIdx.x == gridDim.x / 2;
}

/* Waits for all of a; its planes. */
VV_DEVICE void take_rank(const whole_job &job, const memory &to, unsigned turn) {
    const vv_planes &p = job.a_planes;
    const unsigned long long *word = words_of(job, blockIdx.x % COPIES);
    VV_UNROLL_BY(1)
    for (unsigned j = threadIdx.x; j < job.rank * job.rows; j += THREADS) { /* whole warps */
        float value = vv_take_word(word + j, turn);
        __syncwarp();
        unit u = quantise_unit(value);
        unsigned n = j, row = vv_few_row(n, job.rank);
        store_unit(u, n / 32, to.q + row * job.at.values,
                   to.scale + row * (job.at.values / VV_FINE_UNIT), nullptr);
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
    for (unsigned i = threadIdx.x; i < slots * job.rows; i += THREADS) {
        unsigned n = i, row = vv_few_row(n, slots);
        float *sums = to.sums + row * job.at.row_sums + n * stride;
        float y = add_chain(sums, job.up.segments.by, job.up.scale);
        *sums = isfinite(y) ? vv_sigmoid(y) : y;
    }
    __syncthreads();
}
VV_DEVICE void make_means(const whole_job &job, const share &mine, const memory &to) {
    const vv_planes &p = job.u_planes;
    unsigned stride = sums_stride(job.up.segments.by), count = mine.u_count;
    unsigned units = (count + 31) / 32;
    VV_UNROLL_BY(1)
    for (unsigned k = threadIdx.x / 32; k < units * job.rows; k += THREADS / 32) {
        unsigned n = k, row = vv_few_row(n, units), o = 32 * n + threadIdx.x % 32;
        const float *gates = to.sums + row * job.at.row_sums;
        const float *with = to.own + row * (job.streams * count);
        size_t first = (size_t)row * job.width + mine.u;
        float u = 0.0f;
        bool here = o < count, good = true;
        VV_UNROLL_BY(1)
        for (unsigned s = 0; s < job.streams && here; s++) {
            float gate = gates[(s * count + o) * stride];
            good = good && isfinite(gate);
            u = fmaf(gate, with[s * count + o], u);
        }
        u = u / (float)job.streams;
        if (!good) {
            vv_report(trouble_of(job, VV_HYPER_UP), VV_ERROR_NOT_FINITE);
        } else if (here) {
            job.u[first + o] = u;
        }
        if (job.u_wanted) { /* the block's values are whole units */
            __syncwarp();
            unit made = quantise_unit(u);
            store_unit(made, first / 32 + n, p.fine_q, p.fine_scale, p.fine_sum16);
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
    multiply(job, job.down, to.held, down, to);
    make_rank(job, mine, to, turn);
    if (mine.inject_count) {
        make_gamma(job, mine, to);
    }
    if (mine.u_count || writes_planes()) {
        take_rank(job, to, turn);
        wait_for_weights<1>(to.arrival);
        __syncthreads();
        multiply(job, job.up, to.held + mine.up_at, mine.u_count * job.streams, to);
        make_gates(job, to, mine.u_count * job.streams);
        make_means(job, mine, to);
    }
    vv_end_turn(job.meeting, turn);
}

} // namespace

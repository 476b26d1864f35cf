/*
 * A block of threads: who is where, and the calls at which threads wait for each other. Threads run
 * one at a time, each until it has to wait, in an order drawn from the seed. Blocks run one after
 * another, or all of a grid at once, which then may have no shared memory but the dynamic one.
 */
#pragma once
#include "vectors.h"

extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;
constexpr int warpSize = 32;

namespace vv_emulated {

constexpr unsigned warp_lanes = 32;

/* What a lane brings to a meeting of its warp, and takes away. */
struct exchange {
    uint32_t in[12];
    uint32_t out[4];
    unsigned source; /* lane that a shuffle reads */
};

/* A call at which lanes of a warp wait for each other. Whoever comes last combines for all. */
struct meeting {
    const char *name;
    void (*combine)(exchange *const lanes[warp_lanes], unsigned present);
};

/* The running thread's, within its warp. */
unsigned lane_id();
exchange &own_exchange();
/* Waits until all lanes in `mask` that have not returned are here with the same call and mask. */
void meet(const meeting &what, unsigned mask);
/* Ends the process with a sentence that names the kernel, the block and the thread. */
[[noreturn]] __attribute__((format(printf, 1, 2))) void fail(const char *format, ...);

enum class barrier { plain, any, all, count };
/* Waits for all threads of the block that have not returned; what comes of the predicates. */
int wait_for_block(barrier kind, int predicate);

/* What a thread does that looks again and again whether another block has done something: others
 * run, of all blocks that are alive. */
void pause();

/* The block's dynamic shared memory, 128-byte aligned, as many bytes as the launch asked for. */
void *dynamic_shared();

/* A copy that comes about at once or, by the seed, only when it is waited for. */
void copy_async(void *to, const void *from, size_t bytes, size_t real_bytes);
void copy_commit();
void copy_wait(unsigned newest_left);

struct grid {
    const char *text; /* what was launched, as the source says it */
    dim3 blocks, threads;
    size_t shared;
    bool together; /* its blocks are alive at once, and may wait for each other */
    void (*body)(const void *arguments); /* what one thread does */
    const void *arguments;
};
void run_grid(const grid &what);

extern const meeting shuffle_meeting, ballot_meeting, match_meeting, warp_meeting, sum_meeting,
    smallest_meeting, largest_meeting, smallest_signed_meeting, largest_signed_meeting, and_meeting,
    or_meeting, xor_meeting;

/* Of a value up to eight bytes, from the lane `source`. */
template <class T> T shuffle(unsigned mask, T value, unsigned source) {
    static_assert(sizeof(T) <= 8 && std::is_trivially_copyable<T>::value, "as CUDA has it");
    exchange &own = own_exchange();
    std::memcpy(own.in, &value, sizeof(T));
    own.source = source;
    meet(shuffle_meeting, mask);
    std::memcpy(&value, own.out, sizeof(T));
    return value;
}

inline uint32_t meet_with(const meeting &what, unsigned mask, uint32_t value) {
    own_exchange().in[0] = value;
    meet(what, mask);
    return own_exchange().out[0];
}

/* Which lanes may be read: those of one's segment of `width` lanes. */
inline unsigned segment_first(unsigned width) {
    return lane_id() & ~(width - 1);
}
inline void check_width(int width) {
    if (width < 1 || width > 32 || (width & (width - 1))) {
        fail("shuffles within segments of %d lanes, which is no power of two up to 32", width);
    }
}

} // namespace vv_emulated

inline void __syncthreads() {
    vv_emulated::wait_for_block(vv_emulated::barrier::plain, 0);
}
inline int __syncthreads_or(int predicate) {
    return vv_emulated::wait_for_block(vv_emulated::barrier::any, predicate);
}
inline int __syncthreads_and(int predicate) {
    return vv_emulated::wait_for_block(vv_emulated::barrier::all, predicate);
}
inline int __syncthreads_count(int predicate) {
    return vv_emulated::wait_for_block(vv_emulated::barrier::count, predicate);
}
inline void __syncwarp(unsigned mask = 0xffffffffu) {
    vv_emulated::meet(vv_emulated::warp_meeting, mask);
}

template <class T> T __shfl_sync(unsigned mask, T value, int from, int width = warpSize) {
    vv_emulated::check_width(width);
    unsigned within = static_cast<unsigned>(width) - 1;
    return vv_emulated::shuffle(mask, value,
                                vv_emulated::segment_first(static_cast<unsigned>(width)) |
                                    (static_cast<unsigned>(from) & within));
}
template <class T> T __shfl_up_sync(unsigned mask, T value, unsigned by, int width = warpSize) {
    vv_emulated::check_width(width);
    unsigned lane = vv_emulated::lane_id(), within = lane & (static_cast<unsigned>(width) - 1);
    return vv_emulated::shuffle(mask, value, by > within ? lane : lane - by);
}
template <class T> T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = warpSize) {
    vv_emulated::check_width(width);
    unsigned lane = vv_emulated::lane_id(), within = lane & (static_cast<unsigned>(width) - 1);
    bool inside = by < static_cast<unsigned>(width) - within;
    return vv_emulated::shuffle(mask, value, inside ? lane + by : lane);
}
/* Segments before one's own may be read, those behind it not. */
template <class T> T __shfl_xor_sync(unsigned mask, T value, int with, int width = warpSize) {
    vv_emulated::check_width(width);
    unsigned lane = vv_emulated::lane_id(), from = lane ^ (static_cast<unsigned>(with) & 31);
    unsigned last = lane | (static_cast<unsigned>(width) - 1);
    return vv_emulated::shuffle(mask, value, from <= last ? from : lane);
}

inline unsigned __ballot_sync(unsigned mask, int predicate) {
    return vv_emulated::meet_with(vv_emulated::ballot_meeting, mask, predicate != 0);
}
inline int __any_sync(unsigned mask, int predicate) {
    return __ballot_sync(mask, predicate) != 0;
}
inline int __all_sync(unsigned mask, int predicate) {
    return __ballot_sync(mask, !predicate) == 0;
}
template <class T> unsigned __match_any_sync(unsigned mask, T value) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "as CUDA has it");
    vv_emulated::exchange &own = vv_emulated::own_exchange();
    own.in[1] = 0;
    std::memcpy(own.in, &value, sizeof(T));
    vv_emulated::meet(vv_emulated::match_meeting, mask);
    return own.out[0];
}
inline unsigned __reduce_add_sync(unsigned mask, unsigned value) {
    return vv_emulated::meet_with(vv_emulated::sum_meeting, mask, value);
}
inline int __reduce_add_sync(unsigned mask, int value) {
    return static_cast<int>(__reduce_add_sync(mask, static_cast<unsigned>(value)));
}
inline unsigned __reduce_min_sync(unsigned mask, unsigned value) {
    return vv_emulated::meet_with(vv_emulated::smallest_meeting, mask, value);
}
inline int __reduce_min_sync(unsigned mask, int value) {
    return static_cast<int>(vv_emulated::meet_with(vv_emulated::smallest_signed_meeting, mask,
                                                   static_cast<unsigned>(value)));
}
inline unsigned __reduce_max_sync(unsigned mask, unsigned value) {
    return vv_emulated::meet_with(vv_emulated::largest_meeting, mask, value);
}
inline int __reduce_max_sync(unsigned mask, int value) {
    return static_cast<int>(vv_emulated::meet_with(vv_emulated::largest_signed_meeting, mask,
                                                   static_cast<unsigned>(value)));
}
inline unsigned __reduce_and_sync(unsigned mask, unsigned value) {
    return vv_emulated::meet_with(vv_emulated::and_meeting, mask, value);
}
inline unsigned __reduce_or_sync(unsigned mask, unsigned value) {
    return vv_emulated::meet_with(vv_emulated::or_meeting, mask, value);
}
inline unsigned __reduce_xor_sync(unsigned mask, unsigned value) {
    return vv_emulated::meet_with(vv_emulated::xor_meeting, mask, value);
}

inline void __threadfence() {
}
inline void __threadfence_block() {
}
inline void __threadfence_system() {
}

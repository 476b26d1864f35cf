/*
 * Kernels whose blocks are all there at once, one a processor, so that they can wait for each
 * other: for words that say themselves of which launch they are.
 *
 * Why none waits for ever: the launch is refused where not all blocks find room on an empty device;
 * kernels in front of it end by themselves, and those behind it come to the processors only when
 * all its blocks have. There may be one such kernel at a time, so their steps are queued on one
 * stream, each behind vv_wait_for_front(). They have dynamic shared memory alone, for the emulated
 * device.
 */
#pragma once
#include "device/cuda/intrinsics.cuh"
extern "C" {
#include "device/launch.h"
}

constexpr unsigned VV_MEETING_BLOCKS = 1024, VV_MEETING_WORDS = 1 << 15;

/* Zeroed when the device is opened, and never again. */
struct vv_meeting {
    unsigned turn[VV_MEETING_BLOCKS]; /* launches that the block has been in: equal, between them */
    unsigned long long word[VV_MEETING_WORDS]; /* for any launch to use */
};

/*
 * Words that blocks wait for: a value and the launch's number, stored as one. The
 * number: by vv_begin_turn behind vv_wait_for_front(), by any threads that want it; vv_end_turn: by
 * all threads of the block when none wants it any more. All blocks of a launch do both, once.
 */
VV_DEVICE unsigned vv_begin_turn(const vv_meeting *m) {
    return __ldcg(&m->turn[blockIdx.x]) + 1;
}
VV_DEVICE void vv_end_turn(vv_meeting *m, unsigned turn) {
    __syncthreads();
    if (threadIdx.x == 0) {
        m->turn[blockIdx.x] = turn;
    }
}
VV_DEVICE void vv_put_word(unsigned long long *at, float value, unsigned turn) {
    unsigned long long word = (unsigned long long)turn << 32 | __float_as_uint(value);
#ifdef __CUDACC__
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(__cvta_generic_to_global(at)),
                 "l"(word)
                 : "memory");
#else
    *at = word;
#endif
}
/* Waits for it. */
VV_DEVICE float vv_take_word(const unsigned long long *at, unsigned turn) {
    unsigned long long word;
    do {
#ifdef __CUDACC__
        asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];"
                     : "=l"(word)
                     : "l"(__cvta_generic_to_global(at))
                     : "memory");
#else
        vv_emulated::pause();
        word = *at;
#endif
    } while ((unsigned)(word >> 32) != turn);
    return __uint_as_float((unsigned)word);
}

/* Whether so many threads and bytes find room on every processor at once; makes `shared` allowed.
 */
template <class... P>
inline bool vv_all_fit(void (*kernel)(P...), unsigned threads, size_t shared) {
    int blocks = 0;
    return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                static_cast<int>(shared)) == cudaSuccess &&
           cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, static_cast<int>(threads),
                                                         shared) == cudaSuccess &&
           blocks > 0;
}

/*
 * vv_start_grid(on, kernel, threads, shared_bytes, arguments…): a block a processor, early.
 * VV_ERROR_UNSUPPORTED: they don't all fit, and nothing was queued.
 */
#define vv_start_grid(on, ...) vv_start_grid_named(#__VA_ARGS__, on, __VA_ARGS__)

template <class... P, class... A>
inline int vv_start_grid_named(const char *text, const vv_launch *on, void (*kernel)(P...),
                               unsigned threads, size_t shared, A &&...arguments) {
    if (on->processors > VV_MEETING_BLOCKS || !vv_all_fit(kernel, threads, shared)) {
        cudaGetLastError(); /* told by the code */
        return VV_ERROR_UNSUPPORTED;
    }
    return vv_start_named(text, vv_start_how{true, true, 1}, kernel, on->processors, threads,
                          shared, on->stream, std::forward<A>(arguments)...) == cudaSuccess
               ? VV_OK
               : VV_ERROR_DEVICE;
}

/*
 * What every file of kernels begins with: the contract's arithmetic, what launches need, and how
 * kernels tell trouble.
 */
#pragma once
#include "device/cuda/runtime.cuh"
VV_C_BEGIN
#include "base/dot.h"
#include "base/half.h"
#include "quant/planes.h"
#include "registry/operation.h"
#include "registry/window.h"
VV_C_END

/* Where a kernel reports trouble: the least of all is told. */
struct vv_trouble {
    unsigned long long *status;
    uint32_t step;
};

static inline vv_trouble vv_trouble_of(const vv_launch *on) {
    return {on->status, on->step};
}

static __device__ inline void vv_report(vv_trouble t, int code) {
    atomicMin(t.status, (unsigned long long)t.step << 8 | (unsigned)-code);
}

template <typename T> static inline T *vv_on_device_as(const vv_launch *on, T *at) {
    return const_cast<T *>(static_cast<const T *>(vv_on_device(on, at)));
}

/* N values that a thread loads and stores together, where they lie at a multiple of their size. */
template <unsigned N> struct alignas(4 * N) vv_values { float v[N]; };
template <unsigned N>
static __device__ __forceinline__ vv_values<N> vv_load_values(const float *from) {
    return *reinterpret_cast<const vv_values<N> *>(from);
}
template <unsigned N>
static __device__ __forceinline__ void vv_store_values(float *to, const vv_values<N> &values) {
    *reinterpret_cast<vv_values<N> *>(to) = values;
}

/* Whether each thread takes four values of rows: they lie together, and every processor has a block
 * of so many threads even so. */
static inline bool vv_by_fours(size_t rows, size_t width, size_t threads, const vv_launch *on) {
    return width % 4 == 0 && rows * width >= 4 * threads * on->processors;
}

/* Which of a few rows thing n of all is of, `each` a row; n becomes its number there. For threads
 * whose rows are so few that a division takes longer. */
static __device__ __forceinline__ unsigned vv_few_row(unsigned &n, unsigned each) {
    unsigned row = 0;
    VV_UNROLL_BY(1)
    for (; n >= each; n -= each) {
        row++;
    }
    return row;
}

/* Blocks of `each` that cover n. */
static inline unsigned vv_blocks(size_t n, size_t each) {
    return (unsigned)((n + each - 1) / each);
}

/*
 * What kernels do with the machine beyond CUDA C++: matrix instructions, asynchronous copies,
 * dynamic shared memory, launches. Compiled by nvcc each is the instruction of that name; compiled
 * by the host's compiler (VV_CUDA_EMULATED) the emulated device does the same.
 */
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <type_traits>
#include <utility>

#ifndef __CUDACC__
#include "device/cuda/emulated/matrix.h"
#endif

#define VV_DEVICE __device__ __forceinline__

/* The block's dynamic shared memory; every call gives its beginning, aligned to what anything in it
 * needs. */
template <class T> VV_DEVICE T *vv_dynamic_shared() {
#ifdef __CUDACC__
    extern __shared__ __align__(1024) unsigned char vv_dynamic_shared_bytes[];
    return reinterpret_cast<T *>(vv_dynamic_shared_bytes);
#else
    return static_cast<T *>(vv_emulated::dynamic_shared());
#endif
}

#ifdef __CUDACC__
/* The address of shared memory as instructions take it. */
VV_DEVICE unsigned vv_shared_address(const void *at) {
    return static_cast<unsigned>(__cvta_generic_to_shared(at));
}
#endif

/*
 * d += a·b for tiles of 16 rows of A and 8 columns of B, of the depth named. With g = lane / 4 and
 * t = lane mod 4, a lane holds, w values in a word (4 bytes or 2 halves):
 *   a[i]  row g + 8·(i mod 2), depth 4·w·(i / 2) + w·t and what follows
 *   b[i]  column g, depth 4·w·i + w·t and what follows
 *   d[i]  row g + 8·(i / 2), column 2·t + i mod 2
 * All lanes of the warp have to come here together.
 */
#ifdef __CUDACC__
#define VV_MMA_4_2(instruction, constraint)                                                        \
    asm volatile("mma.sync.aligned." instruction                                                   \
                 " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                \
                 : "+" constraint(d[0]), "+" constraint(d[1]), "+" constraint(d[2]),               \
                   "+" constraint(d[3])                                                            \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
#define VV_MMA_2_1(instruction, constraint)                                                        \
    asm volatile(                                                                                  \
        "mma.sync.aligned." instruction " {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"     \
        : "+" constraint(d[0]), "+" constraint(d[1]), "+" constraint(d[2]), "+" constraint(d[3])   \
        : "r"(a[0]), "r"(a[1]), "r"(b[0]))
#else
#define VV_MMA_4_2(meeting) vv_emulated::multiply(vv_emulated::meeting, d, a, b, 4)
#define VV_MMA_2_1(meeting) vv_emulated::multiply(vv_emulated::meeting, d, a, b, 2)
#endif

VV_DEVICE void vv_mma_m16n8k32_s8(int (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
#ifdef __CUDACC__
    VV_MMA_4_2("m16n8k32.row.col.s32.s8.s8.s32", "r");
#else
    VV_MMA_4_2(mma_s8_k32);
#endif
}
/* A's bytes are unsigned. */
VV_DEVICE void vv_mma_m16n8k32_u8_s8(int (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
#ifdef __CUDACC__
    VV_MMA_4_2("m16n8k32.row.col.s32.u8.s8.s32", "r");
#else
    VV_MMA_4_2(mma_u8_s8_k32);
#endif
}
VV_DEVICE void vv_mma_m16n8k16_s8(int (&d)[4], const unsigned (&a)[2], const unsigned (&b)[1]) {
#ifdef __CUDACC__
    VV_MMA_2_1("m16n8k16.row.col.s32.s8.s8.s32", "r");
#else
    VV_MMA_2_1(mma_s8_k16);
#endif
}
VV_DEVICE void vv_mma_m16n8k16_f16(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
#ifdef __CUDACC__
    VV_MMA_4_2("m16n8k16.row.col.f32.f16.f16.f32", "f");
#else
    VV_MMA_4_2(mma_f16_k16);
#endif
}
VV_DEVICE void vv_mma_m16n8k8_f16(float (&d)[4], const unsigned (&a)[2], const unsigned (&b)[1]) {
#ifdef __CUDACC__
    VV_MMA_2_1("m16n8k8.row.col.f32.f16.f16.f32", "f");
#else
    VV_MMA_2_1(mma_f16_k8);
#endif
}
VV_DEVICE void vv_mma_m16n8k16_bf16(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
#ifdef __CUDACC__
    VV_MMA_4_2("m16n8k16.row.col.f32.bf16.bf16.f32", "f");
#else
    VV_MMA_4_2(mma_bf16_k16);
#endif
}
VV_DEVICE void vv_mma_m16n8k8_bf16(float (&d)[4], const unsigned (&a)[2], const unsigned (&b)[1]) {
#ifdef __CUDACC__
    VV_MMA_2_1("m16n8k8.row.col.f32.bf16.bf16.f32", "f");
#else
    VV_MMA_2_1(mma_bf16_k8);
#endif
}
#undef VV_MMA_4_2
#undef VV_MMA_2_1

/*
 * Matrices of 8 rows of 16 bytes (8 halves) from shared memory: lane 8·i + r names row r of matrix
 * i (lanes beyond the last matrix name anything valid); a lane gets of matrix i the halves 2·t and
 * 2·t + 1 of row g. Transposed: of column g, rows 2·t and 2·t + 1.
 */
VV_DEVICE void vv_load_matrix(unsigned (&to)[1], const void *row) {
#ifdef __CUDACC__
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
                 : "=r"(to[0])
                 : "r"(vv_shared_address(row))
                 : "memory");
#else
    vv_emulated::load(vv_emulated::load_matrices, to, row, 1);
#endif
}
VV_DEVICE void vv_load_matrix(unsigned (&to)[2], const void *row) {
#ifdef __CUDACC__
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                 : "=r"(to[0]), "=r"(to[1])
                 : "r"(vv_shared_address(row))
                 : "memory");
#else
    vv_emulated::load(vv_emulated::load_matrices, to, row, 2);
#endif
}
VV_DEVICE void vv_load_matrix(unsigned (&to)[4], const void *row) {
#ifdef __CUDACC__
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(vv_shared_address(row))
                 : "memory");
#else
    vv_emulated::load(vv_emulated::load_matrices, to, row, 4);
#endif
}
VV_DEVICE void vv_load_matrix_transposed(unsigned (&to)[1], const void *row) {
#ifdef __CUDACC__
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];"
                 : "=r"(to[0])
                 : "r"(vv_shared_address(row))
                 : "memory");
#else
    vv_emulated::load(vv_emulated::load_matrices_transposed, to, row, 1);
#endif
}
VV_DEVICE void vv_load_matrix_transposed(unsigned (&to)[2], const void *row) {
#ifdef __CUDACC__
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(to[0]), "=r"(to[1])
                 : "r"(vv_shared_address(row))
                 : "memory");
#else
    vv_emulated::load(vv_emulated::load_matrices_transposed, to, row, 2);
#endif
}
VV_DEVICE void vv_load_matrix_transposed(unsigned (&to)[4], const void *row) {
#ifdef __CUDACC__
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(vv_shared_address(row))
                 : "memory");
#else
    vv_emulated::load(vv_emulated::load_matrices_transposed, to, row, 4);
#endif
}

/*
 * Copies 4, 8 or 16 bytes, aligned to as many, from global to shared memory behind the thread's
 * back; the `real` first of them are read, the others become 0; NEAR: through the first cache, as
 * fewer than 16 always are. They are there after the wait, to the thread itself; to others after a
 * barrier behind it.
 */
template <int bytes, bool NEAR = false>
VV_DEVICE void vv_copy_async(void *shared, const void *global, int real = bytes) {
    static_assert(bytes == 4 || bytes == 8 || bytes == 16, "what the instruction copies");
#ifdef __CUDACC__
    if (bytes == 16 && !NEAR) {
        asm volatile(
            "cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(vv_shared_address(shared)),
            "l"(__cvta_generic_to_global(global)), "r"(real)
            : "memory");
    } else {
        asm volatile(
            "cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(vv_shared_address(shared)),
            "l"(__cvta_generic_to_global(global)), "n"(bytes), "r"(real)
            : "memory");
    }
#else
    vv_emulated::copy_async(shared, global, bytes, static_cast<size_t>(real));
#endif
}
/* What was copied since the last of these is a group. */
VV_DEVICE void vv_copy_commit() {
#ifdef __CUDACC__
    asm volatile("cp.async.commit_group;" ::: "memory");
#else
    vv_emulated::copy_commit();
#endif
}
/* Waits for all groups but the `left` newest. */
template <int left> VV_DEVICE void vv_copy_wait() {
#ifdef __CUDACC__
    asm volatile("cp.async.wait_group %0;" ::"n"(left) : "memory");
#else
    vv_emulated::copy_wait(left);
#endif
}

/*
 * Copies of many bytes by one instruction, where the GPU has it: one thread prepares an arrival in
 * shared memory for so many bytes; after that it, or threads of its warp, start the copies, whose
 * addresses and sizes are multiples of 16; every thread may wait for it once a barrier lies
 * between. An arrival serves again after vv_bulk_again by one thread, once all have waited; waits
 * name the turn, 0 at first.
 */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define VV_BULK_COPIES 1
#else
#define VV_BULK_COPIES 0
#endif
#if VV_BULK_COPIES
VV_DEVICE void vv_bulk_prepare(unsigned long long *arrival, unsigned bytes) {
    unsigned at = vv_shared_address(arrival);
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at) : "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at), "r"(bytes)
                 : "memory");
}
VV_DEVICE void vv_bulk_again(unsigned long long *arrival, unsigned bytes) {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(vv_shared_address(arrival)),
        "r"(bytes)
        : "memory");
}
VV_DEVICE void vv_bulk_copy(void *shared, const void *global, unsigned bytes,
                            unsigned long long *arrival) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], "
                 "%2, [%3];" ::"r"(vv_shared_address(shared)),
                 "l"(__cvta_generic_to_global(global)), "r"(bytes), "r"(vv_shared_address(arrival))
                 : "memory");
}
VV_DEVICE void vv_bulk_wait(unsigned long long *arrival, unsigned turn) {
    unsigned at = vv_shared_address(arrival), done = 0;
    while (!done) {
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; "
                     "selp.u32 %0, 1, 0, p; }"
                     : "=r"(done)
                     : "r"(at), "r"(turn & 1)
                     : "memory");
    }
}
#endif

/* Four of the eight bytes of a and b: __byte_perm by a selector whose nibbles are below 8, without
 * the mask that it has for others. */
VV_DEVICE unsigned vv_select_bytes(unsigned a, unsigned b, unsigned selector) {
#ifdef __CUDACC__
    unsigned chosen;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(chosen) : "r"(a), "r"(b), "r"(selector));
    return chosen;
#else
    return __byte_perm(a, b, selector);
#endif
}

/* Asks for the line at `at` of global memory to be brought into the first cache (NEAR) or into the
 * second. */
template <bool NEAR> VV_DEVICE void vv_prefetch(const void *at) {
#ifdef __CUDACC__
    if (NEAR) {
        asm volatile("prefetch.global.L1 [%0];" ::"l"(__cvta_generic_to_global(at)));
    } else {
        asm volatile("prefetch.global.L2 [%0];" ::"l"(__cvta_generic_to_global(at)));
    }
#else
    (void)at;
#endif
}

/*
 * A kernel that is launched early lets the kernel behind it be brought to the processors, which
 * happens when all its own blocks have said so; and waits until the kernel in front of it is done
 * and its writes are seen. What a kernel does before it waits must not take a value that another
 * kernel of the window writes; nor, if it says the first before the second, can the one behind it
 * take one that those before it write.
 */
VV_DEVICE void vv_bring_next() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
VV_DEVICE void vv_wait_for_front() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/* Both: what every kernel that is launched early begins with, where it has nothing to do first. */
VV_DEVICE void vv_follow() {
    vv_bring_next();
    vv_wait_for_front();
}

/* Whether the device can launch kernels early; set when it is opened. */
inline bool vv_launches_early = false;

/*
 * Kernels whose blocks are pairs that reach each other's shared memory, where vv_pairs says
 * that there can be any. vv_sync_parts: __syncthreads for all PARTS blocks of a pair, or for one
 * that is alone; none may store to others before the first or end before the last. vv_store_parts
 * stores to the same place of all of them.
 */
static inline bool vv_pairs() {
#ifdef __CUDACC__
    return vv_launches_early; /* the same devices */
#else
    return false; /* emulated blocks run one after another */
#endif
}
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define VV_PAIR_OF_BLOCKS __cluster_dims__(2, 1, 1)
#else
#define VV_PAIR_OF_BLOCKS
#endif
template <int PARTS> VV_DEVICE void vv_sync_parts() {
    static_assert(PARTS == 1 || PARTS == 2, "alone or a pair");
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    if (PARTS > 1) {
        asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
        asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
        return;
    }
#endif
    __syncthreads();
}
template <int PARTS> VV_DEVICE void vv_store_parts(float *shared, float value) {
    *shared = value;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    if (PARTS > 1) {
        asm volatile("{\n\t.reg .u32 rank, other;\n\t"
                     "mov.u32 rank, %%cluster_ctarank;\n\t"
                     "xor.b32 rank, rank, 1;\n\t"
                     "mapa.shared::cluster.u32 other, %0, rank;\n\t"
                     "st.shared::cluster.f32 [other], %1;\n\t}" ::"r"(vv_shared_address(shared)),
                     "f"(value)
                     : "memory");
    }
#endif
}

/*
 * Kernels whose neighbouring blocks are launched together, where vv_pairs says that there can be
 * any, and give their results to the first of them. vv_begin_together and vv_store_first: store to
 * the same place of the first block's shared memory, which only those that began may do;
 * vv_end_together: all have stored, and the first block's threads see it. Each is for all threads
 * of all blocks.
 */
VV_DEVICE void vv_begin_together() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
#endif
}
VV_DEVICE void vv_all_began() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
#endif
}
VV_DEVICE void vv_store_first(float *shared, float value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("{\n\t.reg .u32 first;\n\t"
                 "mapa.shared::cluster.u32 first, %0, 0;\n\t"
                 "st.shared::cluster.f32 [first], %1;\n\t}" ::"r"(vv_shared_address(shared)),
                 "f"(value)
                 : "memory");
#else
    *shared = value;
#endif
}
VV_DEVICE void vv_end_together() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}

/*
 * vv_start(kernel, grid, block, shared_bytes, stream, arguments…): a kernel on a stream, with that
 * much dynamic shared memory, beyond 48 KB, too; a grid of no blocks does nothing. vv_start_early:
 * it may be launched before the kernel in front of it has ended, on devices that can; it waits by
 * vv_follow() or vv_wait_for_front(). vv_start_together(n, kernel, …): early, n neighbouring blocks
 * together, where vv_pairs.
 */
#define vv_start(...) vv_start_named(#__VA_ARGS__, vv_start_how{false, false, 1}, __VA_ARGS__)
#define vv_start_early(...) vv_start_named(#__VA_ARGS__, vv_start_how{true, false, 1}, __VA_ARGS__)
#define vv_start_together(n, ...)                                                                  \
    vv_start_named(#__VA_ARGS__, vv_start_how{true, false, n}, __VA_ARGS__)

struct vv_start_how {
    bool early, meeting; /* meeting: blocks wait for each other (device/cuda/grid.cuh) */
    unsigned together;
};

template <class... P, class... A>
inline cudaError_t vv_start_named(const char *text, vv_start_how how, void (*kernel)(P...),
                                  dim3 grid, dim3 block, size_t shared, void *stream,
                                  A &&...arguments) {
    constexpr size_t plain = 32 << 10; /* without asking: 48 KB, static memory among them */
    if (grid.x == 0 || grid.y == 0 || grid.z == 0) {
        return cudaSuccess;
    }
    if (shared > plain) {
        cudaError_t error = cudaFuncSetAttribute(
            kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared));
        if (error != cudaSuccess) {
            return error;
        }
    }
#ifdef __CUDACC__
    (void)text;
    cudaLaunchAttribute attributes[3] = {};
    unsigned count = 0;
    if (how.early && vv_launches_early) {
        attributes[count].id = cudaLaunchAttributeProgrammaticStreamSerialization;
        attributes[count++].val.programmaticStreamSerializationAllowed = 1;
    }
    if (how.together > 1) {
        attributes[count].id = cudaLaunchAttributeClusterDimension;
        attributes[count++].val.clusterDim = {how.together, 1, 1};
    }
    if (how.meeting) {
        attributes[count].id = cudaLaunchAttributeCooperative;
        attributes[count++].val.cooperative = 1;
    }
    cudaLaunchConfig_t config = {};
    config.gridDim = grid;
    config.blockDim = block;
    config.dynamicSmemBytes = shared;
    config.stream = static_cast<cudaStream_t>(stream);
    config.attrs = attributes;
    config.numAttrs = count;
    return cudaLaunchKernelEx(&config, kernel, std::forward<A>(arguments)...);
#else
    return vv_emulated::launch(text, how.meeting, kernel, grid, block, shared,
                               static_cast<cudaStream_t>(stream), std::forward<A>(arguments)...);
#endif
}

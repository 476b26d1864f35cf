/*
 * The matrix unit that four warps use together (sm_90a: wgmma): 64 rows of A, from registers, by
 * columns of B, from shared memory, which no warp has to load. Emulated, each warp multiplies its
 * own sixteen rows.
 */
#pragma once
#include "device/cuda/intrinsics.cuh"
#include "device/cuda/runtime.cuh"

/* Whether kernels that use it are compiled here; and, on the host, whether the open device is one
 * that they are compiled for (device.cu asks). */
#if defined(VV_CUDA_EMULATED) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define VV_WARPGROUPS 1
#else
#define VV_WARPGROUPS 0
#endif
inline bool vv_has_warpgroups = false;

/* Whether warps of a block wait for each other's arrivals, too. */
#ifdef __CUDACC__
#define VV_PIPELINES VV_WARPGROUPS
#else
#define VV_PIPELINES 0
#endif

/*
 * Where B's bytes lie: column n's 128 bytes at `columns + 128 n`, their pieces of 16 in the order
 * that makes eight columns' same piece lie in different banks. `columns` is aligned to 1024 bytes.
 */
VV_DEVICE constexpr unsigned vv_piece_of_column(unsigned n, unsigned piece) {
    return 128 * n + 16 * (piece ^ n % 8);
}

/* The matrix unit sees what was copied or stored to shared memory after this, by the thread that
 * did so, and a barrier. */
VV_DEVICE void vv_show_to_unit() {
#if defined(__CUDACC__) && VV_WARPGROUPS
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

/* Before the first product of some: their registers are left alone until vv_warpgroup_wait. */
VV_DEVICE void vv_warpgroup_begin() {
#if defined(__CUDACC__) && VV_WARPGROUPS
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#endif
}
template <unsigned COUNT> VV_DEVICE void vv_warpgroup_wait(int (&d)[COUNT]) {
#if defined(__CUDACC__) && VV_WARPGROUPS
    asm volatile("wgmma.commit_group.sync.aligned;\n\twgmma.wait_group.sync.aligned 0;" ::
                     : "memory");
    VV_UNROLL
    for (unsigned i = 0; i < COUNT; i++) { /* nothing reads them before */
        asm volatile("" : "+r"(d[i])::"memory");
    }
#else
    (void)d;
#endif
}

#if defined(__CUDACC__) && VV_WARPGROUPS
/* Operands: eight of d, from i on. */
#define VV_EIGHT(i)                                                                                \
    "+r"(d[i]), "+r"(d[i + 1]), "+r"(d[i + 2]), "+r"(d[i + 3]), "+r"(d[i + 4]), "+r"(d[i + 5]),    \
        "+r"(d[i + 6]), "+r"(d[i + 7])
VV_DEVICE uint64_t vv_describe_columns(const uint8_t *columns) {
    constexpr uint64_t pieces_of_128 = 1, eight_columns = 1024 >> 4, unused = 1;
    return (vv_shared_address(columns) & 0x3ffffu) >> 4 | unused << 16 | eight_columns << 32 |
           pieces_of_128 << 62;
}
template <bool ADD>
VV_DEVICE void vv_warpgroup_product(int (&d)[64], const unsigned (&a)[4], uint64_t b) {
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %69, 0;\n\t"
                 "wgmma.mma_async.sync.aligned.m64n128k32.s32.s8.s8 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
                 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
                 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
                 "{%64, %65, %66, %67}, %68, p;\n\t}"
                 : VV_EIGHT(0), VV_EIGHT(8), VV_EIGHT(16), VV_EIGHT(24), VV_EIGHT(32), VV_EIGHT(40),
                   VV_EIGHT(48), VV_EIGHT(56)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "n"(ADD));
}
#undef VV_EIGHT
#endif

/*
 * d (+)= a·b of depth 32, the columns' bytes 32 j and on; COUNT / 4 tiles of 8 columns. A warp's a
 * and d are its sixteen rows', as vv_mma_m16n8k32_s8 has them, tile after tile.
 */
template <bool ADD, unsigned COUNT>
VV_DEVICE void vv_warpgroup_multiply(int (&d)[COUNT], const unsigned (&a)[4],
                                     const uint8_t *columns, unsigned j) {
#ifdef __CUDACC__
#if VV_WARPGROUPS
    vv_warpgroup_product<ADD>(d, a, vv_describe_columns(columns) + 2 * j);
#endif
#else
    unsigned g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    for (unsigned i = 0; i < COUNT / 4; i++) {
        const uint8_t *word = columns + 4 * t;
        unsigned b[2];
        int tile[4] = {};
        for (unsigned k = 0; k < 2; k++) {
            b[k] = *reinterpret_cast<const unsigned *>(word +
                                                       vv_piece_of_column(8 * i + g, 2 * j + k));
        }
        vv_mma_m16n8k32_s8(tile, a, b);
        for (unsigned e = 0; e < 4; e++) {
            d[4 * i + e] = tile[e] + (ADD ? d[4 * i + e] : 0);
        }
    }
#endif
}

#if VV_PIPELINES
/*
 * An arrival in shared memory (vv_bulk_wait waits for it) that is there when so many have come, and
 * then again for the next turn: threads, who have seen and stored what they did before; or their
 * copies so far (vv_copy_async), as soon as these are there.
 */
VV_DEVICE void vv_arrival(unsigned long long *arrival, unsigned count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(vv_shared_address(arrival)),
                 "r"(count)
                 : "memory");
}
VV_DEVICE void vv_arrive(unsigned long long *arrival) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(vv_shared_address(arrival))
                 : "memory");
}
VV_DEVICE void vv_arrive_with_copies(unsigned long long *arrival) {
    asm volatile(
        "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(vv_shared_address(arrival))
        : "memory");
}

/* The calling group's threads have so many registers from now on, which others have given back. */
template <unsigned COUNT> VV_DEVICE void vv_fewer_registers() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(COUNT));
}
template <unsigned COUNT> VV_DEVICE void vv_more_registers() {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(COUNT));
}
#endif

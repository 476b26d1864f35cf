/*
 * The instructions that kernels are made of, on as many independent accumulators as hide their
 * latency: vpmaddubsw, vpmaddwd and an addition on AVX2 and AVX-512, vpdpbusd with VNNI, tdpbssd on
 * AMX.
 */
#include "registry/operation.h"
#include "tune/ceilings_loops.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>

enum { SUMS = 8 };

#define AVX2 __attribute__((target("avx2,fma")))
#define AVX512 __attribute__((target("avx512f,avx512bw")))
#define VNNI __attribute__((target("avx512f,avx512bw,avx512vnni")))
#define AMX __attribute__((target("amx-tile,amx-int8")))

/* ---- AVX2 ---- */

AVX2 static uint64_t first_256(const __m256i *sum) {
    __m256i all = _mm256_setzero_si256();
    for (int k = 0; k < SUMS; k++) {
        all = _mm256_add_epi32(all, sum[k]);
    }
    return (uint32_t)_mm256_extract_epi32(all, 0);
}

AVX2 static uint64_t read_avx2(const void *from, size_t bytes) {
    const __m256i *at = from;
    __m256i sum[SUMS];
    for (int k = 0; k < SUMS; k++) {
        sum[k] = _mm256_setzero_si256();
    }
    for (size_t i = 0; i < bytes / sizeof *at; i += SUMS) {
        for (size_t k = 0; k < SUMS; k++) {
            sum[k] = _mm256_add_epi32(sum[k], _mm256_loadu_si256(at + i + k));
        }
    }
    return first_256(sum);
}

AVX2 static uint64_t int8_avx2(size_t turns) {
    __m256i sum[SUMS], ones = _mm256_set1_epi16(1), x = _mm256_set1_epi8(3);
    for (int k = 0; k < SUMS; k++) {
        sum[k] = _mm256_set1_epi8((char)k);
    }
    for (size_t t = 0; t < turns; t++) {
        for (int k = 0; k < SUMS; k++) {
            /* Both factors change, so that no product can be moved out of the loop. */
            __m256i pairs = _mm256_maddubs_epi16(x, sum[k]);
            sum[k] = _mm256_add_epi32(sum[k], _mm256_madd_epi16(pairs, ones));
        }
    }
    return first_256(sum);
}

AVX2 static uint64_t f32_avx2(size_t turns) {
    __m256 sum[12], half = _mm256_set1_ps(0.5f), one = _mm256_set1_ps(1.0f);
    for (int k = 0; k < 12; k++) {
        sum[k] = _mm256_set1_ps((float)k);
    }
    for (size_t t = 0; t < turns; t++) {
        for (int k = 0; k < 12; k++) {
            sum[k] = _mm256_fmadd_ps(sum[k], half, one);
        }
    }
    for (int k = 1; k < 12; k++) {
        sum[0] = _mm256_add_ps(sum[0], sum[k]);
    }
    return (uint64_t)_mm256_cvtss_f32(sum[0]);
}

/* ---- AVX-512 ---- */

AVX512 static uint64_t first_512(const __m512i *sum) {
    __m512i all = _mm512_setzero_si512();
    for (int k = 0; k < SUMS; k++) {
        all = _mm512_add_epi32(all, sum[k]);
    }
    return (uint32_t)_mm512_cvtsi512_si32(all);
}

AVX512 static uint64_t read_avx512(const void *from, size_t bytes) {
    const __m512i *at = from;
    __m512i sum[SUMS];
    for (int k = 0; k < SUMS; k++) {
        sum[k] = _mm512_setzero_si512();
    }
    for (size_t i = 0; i < bytes / sizeof *at; i += SUMS) {
        for (size_t k = 0; k < SUMS; k++) {
            sum[k] = _mm512_add_epi32(sum[k], _mm512_loadu_si512(at + i + k));
        }
    }
    return first_512(sum);
}

AVX512 static uint64_t int8_avx512(size_t turns) {
    __m512i sum[SUMS], ones = _mm512_set1_epi16(1), x = _mm512_set1_epi8(3);
    for (int k = 0; k < SUMS; k++) {
        sum[k] = _mm512_set1_epi8((char)k);
    }
    for (size_t t = 0; t < turns; t++) {
        for (int k = 0; k < SUMS; k++) {
            __m512i pairs = _mm512_maddubs_epi16(x, sum[k]);
            sum[k] = _mm512_add_epi32(sum[k], _mm512_madd_epi16(pairs, ones));
        }
    }
    return first_512(sum);
}

AVX512 static uint64_t f32_avx512(size_t turns) {
    __m512 sum[12], half = _mm512_set1_ps(0.5f), one = _mm512_set1_ps(1.0f);
    for (int k = 0; k < 12; k++) {
        sum[k] = _mm512_set1_ps((float)k);
    }
    for (size_t t = 0; t < turns; t++) {
        for (int k = 0; k < 12; k++) {
            sum[k] = _mm512_fmadd_ps(sum[k], half, one);
        }
    }
    for (int k = 1; k < 12; k++) {
        sum[0] = _mm512_add_ps(sum[0], sum[k]);
    }
    return (uint64_t)_mm512_cvtss_f32(sum[0]);
}

VNNI static uint64_t int8_vnni(size_t turns) {
    __m512i sum[12], x = _mm512_set1_epi8(3), y = _mm512_set1_epi8(5);
    for (int k = 0; k < 12; k++) {
        sum[k] = _mm512_set1_epi32(k);
    }
    for (size_t t = 0; t < turns; t++) {
        for (int k = 0; k < 12; k++) {
            sum[k] = _mm512_dpbusd_epi32(sum[k], x, y);
        }
    }
    for (int k = 1; k < 12; k++) {
        sum[0] = _mm512_add_epi32(sum[0], sum[k]);
    }
    return (uint32_t)_mm512_cvtsi512_si32(sum[0]);
}

/* ---- AMX: four tiles of sums, two of either factor ---- */

struct tiles {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
};

AMX static uint64_t int8_amx(size_t turns) {
    struct tiles tiles = {.palette = 1};
    uint8_t ones[16][64];
    int32_t sums[16][16];
    memset(ones, 1, sizeof ones);
    for (int t = 0; t < 8; t++) {
        tiles.row_bytes[t] = 64;
        tiles.rows[t] = 16;
    }
    __asm__ volatile("" ::"m"(tiles)); /* GCC 12 thinks that 8 bytes of it are read */
    _tile_loadconfig(&tiles);
    _tile_loadd(4, ones, 64);
    _tile_loadd(5, ones, 64);
    _tile_loadd(6, ones, 64);
    _tile_loadd(7, ones, 64);
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (size_t t = 0; t < turns; t += 8) { /* these take long */
        _tile_dpbssd(0, 4, 6);
        _tile_dpbssd(1, 4, 7);
        _tile_dpbssd(2, 5, 6);
        _tile_dpbssd(3, 5, 7);
    }
    _tile_stored(0, sums, 64);
    _tile_release();
    return (uint32_t)sums[0][0];
}

const struct vv_loops vv_avx2_loops = {VV_CPU_AVX2, read_avx2,       int8_avx2,
                                       f32_avx2,    2.0 * 32 * SUMS, 2.0 * 8 * 12};
const struct vv_loops vv_avx512_loops = {VV_CPU_AVX512, read_avx512,     int8_avx512,
                                         f32_avx512,    2.0 * 64 * SUMS, 2.0 * 16 * 12};
const struct vv_loops vv_vnni_loops = {VV_CPU_AVX512 | VV_CPU_AVX512_VNNI,
                                       read_avx512,
                                       int8_vnni,
                                       f32_avx512,
                                       2.0 * 64 * 12,
                                       2.0 * 16 * 12};
const struct vv_loops vv_amx_loops = {
    VV_CPU_AVX512 | VV_CPU_AMX_INT8, read_avx512,  int8_amx, f32_avx512,
    2.0 * 4 * 16 * 16 * 64 / 8,      2.0 * 16 * 12};
#endif

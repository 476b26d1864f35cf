/*
 * The forms of roofs.cu by the matrix unit of four warps together, 64 weight rows by 128 rows of
 * activations a block: as there, but for activations and what lies beside them, which are in shared
 * memory, where this unit wants them.
 */
#pragma once
#include "device/cuda/roofs_forms.cuh"
#include "device/cuda/warpgroup.cuh"

namespace vv_roofs {

constexpr int GROUP_THREADS = 128, GROUP_ROWS = 64, COLUMNS = 128, TILES = COLUMNS / 8;

struct group_memory {
    alignas(1024) uint8_t x[COLUMNS * 128];
    float scale[4][COLUMNS], sum[4][COLUMNS];
};

/* What a lane holds of its two weight rows. */
struct group_rows {
    unsigned a[4][4];
    float first[4][2], second[4][2];
};

static VV_DEVICE float2 beside(const float *columns, int tile) {
    return reinterpret_cast<const float2 *>(columns + 8 * tile)[threadIdx.x % 4];
}

/* Products of group j, as the form takes them; the last of a segment of integers. */
template <form FORM, bool OFFSET>
VV_DEVICE void group_of_values(const group_memory &s, const group_rows &rows, int j,
                               int (&i)[4 * TILES], float (&f)[TILES][4]) {
    int d[4 * TILES];
    vv_warpgroup_begin();
    vv_warpgroup_multiply<false>(d, rows.a[j], s.x, (unsigned)j);
    vv_warpgroup_wait(d);
    VV_UNROLL
    for (int tile = 0; tile < TILES; tile++) {
        float2 scales = beside(s.scale[j], tile), sums = OFFSET ? beside(s.sum[j], tile) : scales;
        VV_UNROLL
        for (int e = 0; e < 4; e++) {
            int at = 4 * tile + e;
            if (FORM == SCALED) {
                int scaled = (int)vv_bits(rows.second[j][e / 2]) * d[at];
                i[at] = j == 0 ? scaled : i[at] + scaled;
                continue;
            }
            float scale = e % 2 ? scales.y : scales.x, first = rows.first[j][e / 2] * scale;
            f[tile][e] = j == 0 ? first * (float)d[at] : fmaf(first, (float)d[at], f[tile][e]);
            if (OFFSET) {
                f[tile][e] =
                    fmaf(rows.second[j][e / 2] * scale, e % 2 ? sums.y : sums.x, f[tile][e]);
            }
        }
    }
}

/* All products of a segment in one integer: with one code, or two. */
template <form FORM>
VV_DEVICE void whole_segment(const group_memory &s, const group_rows &rows, int (&i)[4 * TILES]) {
    VV_UNROLL
    for (int plane = 0; plane < (FORM == SPLIT ? 2 : 1); plane++) {
        VV_UNROLL
        for (int at = 0; at < 4 * TILES && plane > 0; at++) {
            i[at] *= 128;
        }
        vv_warpgroup_begin();
        if (plane == 0) {
            vv_warpgroup_multiply<false>(i, rows.a[0], s.x, 0);
        } else {
            vv_warpgroup_multiply<true>(i, rows.a[3], s.x, 0);
        }
        VV_UNROLL
        for (unsigned j = 1; j < 4; j++) {
            vv_warpgroup_begin(); /* rows.a may be moved to where the unit takes it */
            vv_warpgroup_multiply<true>(i, rows.a[(j + (unsigned)plane) % 4], s.x, j);
        }
        vv_warpgroup_wait(i);
    }
}

template <form FORM, bool OFFSET>
VV_DEVICE void group_segment(const group_memory &s, const group_rows &rows,
                             float (&total)[TILES][4]) {
    int i[4 * TILES];
    float f[TILES][4];
    if constexpr (FORM == SPLIT || FORM == FOLDED) {
        whole_segment<FORM>(s, rows, i);
    } else {
        VV_UNROLL
        for (int j = 0; j < 4; j++) {
            group_of_values<FORM, OFFSET>(s, rows, j, i, f);
        }
    }
    VV_UNROLL
    for (int tile = 0; tile < TILES; tile++) {
        float under[4] = {};
        float2 scales = beside(s.scale[0], tile);
        if (FORM != BLOCKS && OFFSET) {
            const unsigned a[2] = {rows.a[0][0], rows.a[0][1]};
            const unsigned b[1] = {vv_bits(s.sum[0][8 * (unsigned)tile + threadIdx.x % 32 / 4])};
            vv_mma_m16n8k8_f16(under, a, b);
        }
        VV_UNROLL
        for (int e = 0; e < 4; e++) {
            float scale = e % 2 ? scales.y : scales.x;
            if (FORM == BLOCKS) {
                total[tile][e] += f[tile][e];
                continue;
            }
            float whole = (rows.first[0][e / 2] * scale) * (float)i[4 * tile + e];
            total[tile][e] +=
                OFFSET ? fmaf(-(rows.second[1][e / 2] * scale), under[e], whole) : whole;
        }
    }
}

/* FORM: BLOCKS, SCALED, SPLIT or FOLDED. */
template <form FORM, bool OFFSET>
__global__ void __launch_bounds__(GROUP_THREADS, 2)
    multiply_group(int segments, const unsigned *from /* [40] */, float *sink) {
#if VV_WARPGROUPS
    __shared__ group_memory s;
    group_rows rows;
    for (unsigned i = threadIdx.x; i < sizeof s / 4; i += GROUP_THREADS) {
        unsigned bits = word(from, (int)(i % 40)) + i;
        reinterpret_cast<unsigned *>(&s)[i] =
            i < sizeof s.x / 4 ? bits & 0x3f3f3f3fu : vv_bits(small(bits));
    }
    for (int i = 0; i < 16; i++) {
        rows.a[i / 4][i % 4] = word(from, i) & 0x3f3f3f3fu;
    }
    for (int i = 0; i < 8; i++) {
        rows.first[i / 2][i % 2] = small(word(from, 16 + i));
        rows.second[i / 2][i % 2] = small(word(from, 24 + i));
    }
    vv_show_to_unit();
    __syncthreads();
    float total[TILES][4] = {};
    VV_UNROLL_BY(1)
    for (int segment = 0; segment < segments; segment++) {
        VV_UNROLL
        for (int i = 0; i < 8; i++) { /* so that no product is one that was made before */
            rows.a[i / 2][i % 2]++;
            rows.first[i / 2][i % 2] = vv_from_bits(vv_bits(rows.first[i / 2][i % 2]) + 1);
        }
        group_segment<FORM, OFFSET>(s, rows, total);
    }
    float sum = 0.0f;
    for (int i = 0; i < 4 * TILES; i++) {
        sum += total[i / 4][i % 4];
    }
    if (sum == 12345.0f) { /* as good as never: what is computed has to be of use */
        *sink = sum;
    }
#endif
}

} // namespace vv_roofs

/*
 * A segment's products of a strip by one warp: activations become fragments of its registers, a
 * tile of 16 by 8 products takes the whole segment at once, so that only its sum of segments stays.
 */
#pragma once
#include "op/cuda/products_strip_copies.cuh"

namespace vv_products {

/* A segment of 8 rows of activations: the fragments of its four groups, and what lies beside. */
template <int TYPE> struct strip_columns {
    unsigned b[4][2];
    float scale[2][vv_codes::of<TYPE>::SUPER ? 1 : 4];
    uint4 sums[2]; /* of a block format with an offset */
    unsigned halves;

    strip_columns() = default;
    VV_DEVICE strip_columns(const uint8_t *x, unsigned pitch, const float *scales,
                            const uint4 *sum16) {
        using f = vv_codes::of<TYPE>;
        unsigned lane = threadIdx.x % 32, g = lane / 4, t = lane % 4, to[4];
        VV_UNROLL
        for (unsigned i = 0; i < 2; i++) {
            vv_load_matrix(to, x + lane % 8 * pitch + 16 * (lane / 8) + 64 * i);
            b[2 * i][0] = to[0], b[2 * i][1] = to[1];
            b[2 * i + 1][0] = to[2], b[2 * i + 1][1] = to[3];
        }
        VV_UNROLL
        for (unsigned i = 0; i < 2; i++) {
            if (f::SUPER) {
                scale[i][0] = scales[2 * t + i];
                continue;
            }
            float4 four = reinterpret_cast<const float4 *>(scales)[2 * t + i];
            scale[i][0] = four.x, scale[i][1 % (f::SUPER ? 1 : 4)] = four.y;
            scale[i][2 % (f::SUPER ? 1 : 4)] = four.z, scale[i][3 % (f::SUPER ? 1 : 4)] = four.w;
            if (f::OFFSET) {
                sums[i] = sum16[2 * t + i];
            }
        }
        if (f::SUPER && f::OFFSET) {
            halves = sums_as_halves(reinterpret_cast<const uint32_t *>(sum16 + g)[t]);
        }
    }
    VV_DEVICE float sum(unsigned i, unsigned j) const {
        const uint4 &s = sums[i];
        return group_sum(j == 0 ? s.x : j == 1 ? s.y : j == 2 ? s.z : s.w);
    }
};

template <int TYPE>
static __device__ __forceinline__ void
strip_blocks(const strip_rows<TYPE> &a, const strip_columns<TYPE> &b, float (&total)[4]) {
    using f = vv_codes::of<TYPE>;
    int dot[4][4];
    VV_UNROLL
    for (unsigned j = 0; j < 4; j++) {
        unsigned rows[4];
        a.fragment(0, j, rows);
        VV_UNROLL
        for (unsigned e = 0; e < 4; e++) {
            dot[j][e] = FLOAT_START;
        }
        vv_mma_m16n8k32_s8(dot[j], rows, b.b[j]);
    }
    float s[4];
    VV_UNROLL
    for (unsigned j = 0; j < 4; j++) {
        VV_UNROLL
        for (unsigned e = 0; e < 4; e++) {
            const lane_row<TYPE> &row = a.row[e / 2];
            float first = row.d[j] * b.scale[e % 2][j], value = started(dot[j][e]);
            s[e] = j == 0 ? first * value : fmaf(first, value, s[e]);
            if (f::OFFSET) {
                s[e] = fmaf(row.second[j] * b.scale[e % 2][j], b.sum(e % 2, j), s[e]);
            }
        }
    }
    VV_UNROLL
    for (unsigned e = 0; e < 4; e++) {
        total[e] += s[e];
    }
}

/* A segment's integers of a super-block format. */
template <int TYPE>
static __device__ __forceinline__ void strip_integers(const strip_rows<TYPE> &a,
                                                      const strip_columns<TYPE> &b, int (&to)[4]) {
    constexpr unsigned PLANES = planes_of<TYPE>;
    int part[PLANES][4] = {};
    VV_UNROLL
    for (unsigned j = 0; j < 4; j++) {
        VV_UNROLL
        for (unsigned plane = 0; plane < PLANES; plane++) {
            unsigned rows[4];
            a.fragment(plane, j, rows);
            if (WAY<TYPE> != SCALED) {
                vv_mma_m16n8k32_s8(part[plane], rows, b.b[j]);
                continue;
            }
            int dot[4] = {};
            vv_mma_m16n8k32_s8(dot, rows, b.b[j]);
            VV_UNROLL
            for (unsigned e = 0; e < 4; e++) {
                part[0][e] += byte_of(a.row[e / 2].scales, j) * dot[e];
            }
        }
    }
    VV_UNROLL
    for (unsigned e = 0; e < 4; e++) {
        to[e] = PLANES > 1 ? 128 * part[PLANES - 1][e] + part[0][e] : part[0][e];
    }
}

template <int TYPE>
static __device__ __forceinline__ void
strip_supers(const strip_rows<TYPE> &a, const strip_columns<TYPE> &b, float (&total)[4]) {
    using f = vv_codes::of<TYPE>;
    int sum[4];
    strip_integers<TYPE>(a, b, sum);
    float under[4] = {};
    if (f::OFFSET) {
        const unsigned rows[2] = {a.row[0].least, a.row[1].least};
        const unsigned columns[1] = {b.halves};
        vv_mma_m16n8k8_f16(under, rows, columns);
    }
    VV_UNROLL
    for (unsigned e = 0; e < 4; e++) {
        const lane_row<TYPE> &row = a.row[e / 2];
        float scale = b.scale[e % 2][0], s = (row.d[0] * scale) * (float)sum[e];
        total[e] += f::OFFSET ? fmaf(-(row.second[0] * scale), under[e], s) : s;
    }
}

/* Segment `part` of stage n: the warp's strip by the tiles of columns that `count` rows are in. */
template <int TYPE, class SHAPE>
static __device__ __forceinline__ void
strip_segment(const typename strip_memory<TYPE, SHAPE>::stage &s, unsigned n, unsigned part,
              unsigned first_row, unsigned first_column, unsigned count,
              float (&total)[SHAPE::WM][SHAPE::NT][4]) {
    using f = vv_codes::of<TYPE>;
    strip_rows<TYPE> a[SHAPE::WM];
    VV_UNROLL
    for (unsigned m = 0; m < SHAPE::WM; m++) {
        take_strip<TYPE, SHAPE>(s, n, part, first_row + UNIT_ROWS * m, a[m]);
    }
    auto columns = [&](unsigned i) {
        unsigned column = first_column + UNIT_COLUMNS * i;
        return strip_columns<TYPE>(s.x[column] + 128 * part, sizeof s.x[0], s.scale[part][column],
                                   s.sum16[f::OFFSET ? part : 0] + (f::OFFSET ? column : 0));
    };
    VV_UNROLL
    for (unsigned i = 0; i < SHAPE::NT; i++) {
        if (first_column + UNIT_COLUMNS * i >= count) {
            break;
        }
        const strip_columns<TYPE> b = columns(i);
        VV_UNROLL
        for (unsigned m = 0; m < SHAPE::WM; m++) {
            if constexpr (f::SUPER) {
                strip_supers<TYPE>(a[m], b, total[m][i]);
            } else {
                strip_blocks<TYPE>(a[m], b, total[m][i]);
            }
        }
    }
}

} // namespace vv_products

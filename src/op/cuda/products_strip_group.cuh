/*
 * A segment's products of four warps' strips together, 64 weight rows, by the matrix unit that
 * reads activations from shared memory: a group of 32 values after another, for all columns at
 * once. FULL: all of them are there; else only those tiles of 8 that are, after the unit.
 */
#pragma once
#include "op/cuda/products_strip_copies.cuh"

namespace vv_products {

/* A segment of a stage, as its activations lie beside it. */
template <int TYPE, class SHAPE> struct group_segment {
    using f = vv_codes::of<TYPE>;
    using stage_type = typename strip_memory<TYPE, SHAPE>::stage;
    static constexpr unsigned NT = SHAPE::NT, PLANES = planes_of<TYPE>;
    const stage_type &s;
    unsigned part, count;
    strip_rows<TYPE> a;

    /* Whether a tile has columns. */
    template <bool FULL> VV_DEVICE bool here(unsigned tile) const {
        return FULL || UNIT_COLUMNS * tile < count;
    }
    VV_DEVICE float2 two(const float *columns, unsigned tile) const {
        return reinterpret_cast<const float2 *>(columns + UNIT_COLUMNS * tile)[threadIdx.x % 4];
    }
    VV_DEVICE uint32_t halves(unsigned tile) const {
        unsigned g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
        return reinterpret_cast<const uint32_t *>(s.sum16[part] + UNIT_COLUMNS * tile + g)[t];
    }
    /* The products of group j. */
    template <bool ADD>
    VV_DEVICE void multiply(unsigned plane, unsigned j, int (&d)[4 * NT]) const {
        unsigned rows[4];
        a.fragment(plane, j, rows);
        vv_warpgroup_multiply<ADD>(d, rows, s.x[part], j);
    }

    /* Those alone, of the first plane. */
    VV_DEVICE void multiply_alone(unsigned j, int (&d)[4 * NT]) const {
        vv_warpgroup_begin();
        multiply<false>(0, j, d);
        vv_warpgroup_wait(d);
    }

    template <bool FULL> VV_DEVICE void blocks(float (&total)[NT][4]) const {
        float sum[NT][4];
        VV_UNROLL
        for (unsigned j = 0; j < 4; j++) {
            int d[4 * NT];
            multiply_alone(j, d);
            VV_UNROLL
            for (unsigned i = 0; i < NT; i++) {
                if (!here<FULL>(i)) {
                    break;
                }
                float2 scales = two(s.scale[part][j % s.SCALES], i), sums = {};
                if constexpr (f::OFFSET) {
                    sums = two(s.sum[part][j], i);
                }
                VV_UNROLL
                for (unsigned e = 0; e < 4; e++) {
                    const lane_row<TYPE> &row = a.row[e / 2];
                    float scale = e % 2 ? scales.y : scales.x, first = row.d[j] * scale;
                    float value = (float)d[4 * i + e];
                    sum[i][e] = j == 0 ? first * value : fmaf(first, value, sum[i][e]);
                    if (f::OFFSET) {
                        sum[i][e] = fmaf(row.second[j] * scale, e % 2 ? sums.y : sums.x, sum[i][e]);
                    }
                }
            }
        }
        VV_UNROLL
        for (unsigned i = 0; i < NT; i++) {
            if (!here<FULL>(i)) {
                break;
            }
            VV_UNROLL
            for (unsigned e = 0; e < 4; e++) {
                total[i][e] += sum[i][e];
            }
        }
    }

    /* All four groups as integers. */
    template <bool FULL> VV_DEVICE void integers(int (&to)[4 * NT]) const {
        if constexpr (WAY<TYPE> == SCALED) {
            VV_UNROLL
            for (unsigned j = 0; j < 4; j++) {
                int d[4 * NT];
                multiply_alone(j, d);
                VV_UNROLL
                for (unsigned i = 0; i < 4 * NT; i++) {
                    if (!here<FULL>(i / 4)) {
                        break;
                    }
                    int scaled = byte_of(a.row[i / 2 % 2].scales, j) * d[i];
                    to[i] = j == 0 ? scaled : to[i] + scaled;
                }
            }
        } else {
            VV_UNROLL
            for (unsigned plane = PLANES; plane-- > 0;) {
                vv_warpgroup_begin();
                plane == PLANES - 1 ? multiply<false>(plane, 0, to) : multiply<true>(plane, 0, to);
                VV_UNROLL
                for (unsigned j = 1; j < 4; j++) {
                    multiply<true>(plane, j, to);
                }
                vv_warpgroup_wait(to);
                VV_UNROLL
                for (unsigned i = 0; i < 4 * NT && plane > 0; i++) {
                    to[i] *= 128;
                }
            }
        }
    }

    template <bool FULL> VV_DEVICE void supers(float (&total)[NT][4]) const {
        int sum[4 * NT];
        integers<FULL>(sum);
        VV_UNROLL
        for (unsigned i = 0; i < NT; i++) {
            if (!here<FULL>(i)) {
                break;
            }
            float under[4] = {};
            if constexpr (f::OFFSET) {
                const unsigned rows[2] = {a.row[0].least, a.row[1].least};
                const unsigned columns[1] = {halves(i)};
                vv_mma_m16n8k8_f16(under, rows, columns);
            }
            float2 scales = two(s.scale[part][0], i);
            VV_UNROLL
            for (unsigned e = 0; e < 4; e++) {
                const lane_row<TYPE> &row = a.row[e / 2];
                float scale = e % 2 ? scales.y : scales.x;
                float product = (row.d[0] * scale) * (float)sum[4 * i + e];
                total[i][e] +=
                    f::OFFSET ? fmaf(-(row.second[0] * scale), under[e], product) : product;
            }
        }
    }

    template <bool FULL> VV_DEVICE void add(float (&total)[NT][4]) const {
        if constexpr (f::SUPER) {
            supers<FULL>(total);
        } else {
            blocks<FULL>(total);
        }
    }
};

/* Segment `part` of stage n: the warp's sixteen rows, as its three neighbours do theirs. */
template <int TYPE, class SHAPE>
static __device__ __forceinline__ void
strip_segment_of_group(const typename strip_memory<TYPE, SHAPE>::stage &s, unsigned n,
                       unsigned part, unsigned first_row, unsigned count,
                       float (&total)[SHAPE::NT][4]) {
    group_segment<TYPE, SHAPE> segment = {s, part, count, {}};
    take_strip<TYPE, SHAPE>(s, n, part, first_row, segment.a);
    if (count == SHAPE::TN) {
        segment.template add<true>(total);
    } else {
        segment.template add<false>(total);
    }
}

} // namespace vv_products

/*
 * Many rows of activations where a warp can decode its own weights (products_lane.cuh): a strip of
 * WM · 16 weight rows by all TN rows of activations. A block's warps share the activations and
 * nothing else.
 *
 * Bytes come as they lie, STAGES segments of them on their way or in use, and one barrier a segment
 * says that the oldest are there and that the place of those before them is free. A tile of 16 by 8
 * products takes the whole segment at once, so that only its sum of segments stays in registers.
 */
#pragma once
#include "op/cuda/products_lane.cuh"
#include "op/cuda/products_tile.cuh"

namespace vv_products {

template <unsigned WM_, unsigned NT_, unsigned STAGES_, unsigned BLOCKS_> struct strip_shape {
    static constexpr unsigned WM = WM_, NT = NT_, STAGES = STAGES_, BLOCKS = BLOCKS_;
    static constexpr unsigned WARPS = 4, THREADS = 32 * WARPS;
    static constexpr unsigned TM = WARPS * WM * UNIT_ROWS, TN = NT * UNIT_COLUMNS;
    static_assert(TN <= THREADS / 2, "a thread has a row's scales or its sums");
};

template <int TYPE, class SHAPE> struct strip_memory {
    using f = vv_codes::of<TYPE>;
    using raw = raw_form<TYPE>;
    /* Chunks of weights: as many as the segments in flight are of. */
    static constexpr unsigned CHUNKS = raw::PARTS == 1 ? SHAPE::STAGES : SHAPE::STAGES / 2 + 1;
    struct staged {
        uint8_t x[SHAPE::STAGES][SHAPE::TN][CODE_STRIDE];
        uint4 sum16[SHAPE::STAGES][f::OFFSET ? SHAPE::TN : 1];
        float scale[SHAPE::STAGES][SHAPE::TN][f::SUPER ? 1 : 4];
        uint8_t codes[CHUNKS][SHAPE::TM][raw::CODE_STRIDE];
        uint8_t heads[CHUNKS][SHAPE::TM][raw::HEAD_STRIDE];
    };
    union {
        staged s;
        float total[SHAPE::TN * (SHAPE::TM + 1)];
    };
    const uint8_t *row[SHAPE::TM];
    const int8_t *x[SHAPE::TN];
};

/* ---- copies ---- */

template <int TYPE, class SHAPE> struct strip_copies {
    using f = vv_codes::of<TYPE>;
    using raw = raw_form<TYPE>;
    using memory_type = strip_memory<TYPE, SHAPE>;
    memory_type &memory;
    unsigned width, count;
    const float *beside; /* the row whose scales or sums this thread copies */

    VV_DEVICE strip_copies(const vv_product_job &job, const place &at,
                           const rows_in_hand<SHAPE::TN> &rows, memory_type &to)
        : memory(to), width((unsigned)job.x.width), count(rows.count) {
        const vv_planes &x = job.x;
        for (unsigned i = threadIdx.x; i < SHAPE::TM; i += SHAPE::THREADS) {
            memory.row[i] = row_of_slot(at, i);
        }
        unsigned r = threadIdx.x % (SHAPE::THREADS / 2), row = rows.x(r < SHAPE::TN ? r : 0);
        if (threadIdx.x < SHAPE::TN) {
            memory.x[r] = (f::SUPER ? x.coarse_q : x.fine_q) + (size_t)row * width;
        }
        const int16_t *sum16 = f::SUPER ? x.coarse_sum16 : x.fine_sum16;
        beside = sums() ? reinterpret_cast<const float *>(sum16) + (size_t)row * (width / 32)
                 : f::SUPER ? x.coarse_scale + (size_t)row * ((width + 127) / 128)
                            : x.fine_scale + (size_t)row * (width / 32);
    }
    static VV_DEVICE bool sums() {
        return threadIdx.x >= SHAPE::THREADS / 2;
    }
    /* Of `all` pieces of `bytes` of each of `count` rows of `from` [ROWS], from byte `first` on;
     * those at `end` or beyond become 0. */
    template <int bytes, unsigned all, unsigned ROWS, bool SHARED, typename ROW>
    static VV_DEVICE void copy(ROW const *from, unsigned count, unsigned first, unsigned end,
                               uint8_t *to, unsigned stride) {
        constexpr unsigned lanes = lanes_of<all>, step = SHAPE::THREADS / lanes;
        unsigned r = threadIdx.x / lanes, piece = threadIdx.x % lanes * bytes;
        VV_UNROLL
        for (unsigned i = 0; i < (ROWS + step - 1) / step; i++, r += step) {
            if (r >= count) {
                break;
            }
            const uint8_t *row = reinterpret_cast<const uint8_t *>(from[r]) + first;
            VV_UNROLL
            for (unsigned k = 0; k < all / lanes; k++) {
                unsigned at = piece + k * lanes * bytes;
                uint8_t *place = to + r * stride + at;
                if (!raw::RAGGED || first + at + bytes <= end) {
                    vv_copy_async<bytes, SHARED>(place, row + at);
                } else {
                    unsigned left = first + at < end ? end - first - at : 0;
                    vv_copy_async<bytes, SHARED>(place, left ? row + at : row - first, (int)left);
                }
            }
        }
    }
    /* The bytes of the chunk that begins with a segment, if one does. */
    VV_DEVICE void weights(unsigned segment) const {
        constexpr int code_bytes = raw::CODE_COPY, head_bytes = raw::HEAD_COPY;
        unsigned chunk = segment / raw::PARTS, slot = chunk % memory_type::CHUNKS;
        unsigned blocks = width / f::VALUES, heads = blocks * vv_split<TYPE>::CODES;
        if (segment % raw::PARTS != 0) {
            return;
        }
        copy<code_bytes, raw::CODES / code_bytes, SHAPE::TM, false>(
            memory.row, SHAPE::TM, chunk * raw::CODES, heads, memory.s.codes[slot][0],
            raw::CODE_STRIDE);
        copy<head_bytes, raw::HEAD_STRIDE / head_bytes, SHAPE::TM, false>(
            memory.row, SHAPE::TM, heads + chunk * raw::HEADS / 4 * 4,
            heads + blocks * vv_split<TYPE>::HEADER, memory.s.heads[slot][0], raw::HEAD_STRIDE);
    }
    /* Other blocks read the same rows of activations: they go through the first cache. */
    VV_DEVICE void activations(unsigned segment) const {
        unsigned slot = segment % SHAPE::STAGES;
        copy<16, 8, SHAPE::TN, true>(memory.x, count, 128 * segment, width, memory.s.x[slot][0],
                                     CODE_STRIDE);
        unsigned r = threadIdx.x % (SHAPE::THREADS / 2), k = 4 * segment, all = width / 32;
        if (r >= count || (sums() && !f::OFFSET)) {
            return;
        }
        if (f::SUPER && !sums()) {
            vv_copy_async<4>(memory.s.scale[slot][r], beside + segment);
            return;
        }
        float *to = sums() ? reinterpret_cast<float *>(memory.s.sum16[slot] + (f::OFFSET ? r : 0))
                           : memory.s.scale[slot][r];
        if (all % 4 == 0) {
            vv_copy_async<16>(to, beside + k);
            return;
        }
        for (unsigned i = 0; i < 4; i++) {
            vv_copy_async<4>(to + i, beside + (k + i < all ? k + i : 0), k + i < all ? 4 : 0);
        }
    }
    VV_DEVICE void ask(unsigned segment, unsigned segments) const {
        if (segment < segments) {
            activations(segment);
            weights(segment);
        }
        vv_copy_commit();
    }
};

/* ---- products of a segment ---- */

/* What a lane has of 16 weight rows: of rows g and g + 8. */
template <int TYPE> struct strip_rows {
    lane_row<TYPE> row[2];

    VV_DEVICE void fragment(unsigned plane, unsigned j, unsigned (&a)[4]) const {
        VV_UNROLL
        for (unsigned i = 0; i < 4; i++) {
            a[i] = row[i % 2].w[plane][j][i / 2];
        }
    }
};

/* A segment of 8 rows of activations: the fragments of its four groups, and what lies beside. */
template <int TYPE> struct strip_columns {
    unsigned b[4][2];
    float scale[2][vv_codes::of<TYPE>::SUPER ? 1 : 4];
    uint4 sums[2]; /* of a block format with an offset */
    unsigned halves;

    VV_DEVICE strip_columns(const uint8_t *x, const float *scales, const uint4 *sum16) {
        using f = vv_codes::of<TYPE>;
        unsigned lane = threadIdx.x % 32, g = lane / 4, t = lane % 4, to[4];
        VV_UNROLL
        for (unsigned i = 0; i < 2; i++) {
            vv_load_matrix(to, x + lane % 8 * CODE_STRIDE + 16 * (lane / 8) + 64 * i);
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
static __device__ __forceinline__ void strip_blocks(const strip_rows<TYPE> &a,
                                                    const strip_columns<TYPE> &b,
                                                    float (&total)[4]) {
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
static __device__ __forceinline__ void
strip_integers(const strip_rows<TYPE> &a, const strip_columns<TYPE> &b, int (&to)[4]) {
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
                part[0][e] += (int)(a.row[e / 2].scales >> 8 * j & 255) * dot[e];
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
        unsigned shift = 8 * (threadIdx.x % 4);
        int least[2] = {(int)(a.row[0].mins >> shift & 255), (int)(a.row[1].mins >> shift & 255)};
        const unsigned rows[2] = {pack_halves(least[0], least[0]), pack_halves(least[1], least[1])};
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

/* ---- the block ---- */

/* A segment that is there: the warp's strip by the tiles of columns that `count` rows are in. */
template <int TYPE, class SHAPE>
static __device__ __forceinline__ void
strip_segment(const strip_memory<TYPE, SHAPE> &memory, unsigned segment, unsigned first_row,
              unsigned count, float (&total)[SHAPE::WM][SHAPE::NT][4]) {
    using f = vv_codes::of<TYPE>;
    using raw = raw_form<TYPE>;
    const auto &s = memory.s;
    unsigned g = threadIdx.x % 32 / 4, t = threadIdx.x % 4, stage = segment % SHAPE::STAGES;
    unsigned chunk = segment / raw::PARTS, slot = chunk % strip_memory<TYPE, SHAPE>::CHUNKS;
    strip_rows<TYPE> a[SHAPE::WM];
    VV_UNROLL
    for (unsigned i = 0; i < 2 * SHAPE::WM; i++) {
        unsigned row = first_row + g + 8 * i;
        lane_codes<TYPE>::take(s.codes[slot][row], s.heads[slot][row] + chunk * raw::HEADS % 4,
                               segment % raw::PARTS, t, a[i / 2].row[i % 2]);
    }
    VV_UNROLL
    for (unsigned n = 0; n < SHAPE::NT; n++) {
        if (UNIT_COLUMNS * n >= count) {
            break;
        }
        unsigned column = UNIT_COLUMNS * n;
        const strip_columns<TYPE> b(s.x[stage][column], s.scale[stage][column],
                                    s.sum16[stage] + (f::OFFSET ? column : 0));
        VV_UNROLL
        for (unsigned m = 0; m < SHAPE::WM; m++) {
            if constexpr (f::SUPER) {
                strip_supers<TYPE>(a[m], b, total[m][n]);
            } else {
                strip_blocks<TYPE>(a[m], b, total[m][n]);
            }
        }
    }
}

/* The block's products for the rows in hand, and their end. */
template <int TYPE, class SHAPE>
static __device__ __forceinline__ void strip_block(const vv_product_job &job, const place &at,
                                                   const rows_in_hand<SHAPE::TN> &rows,
                                                   strip_memory<TYPE, SHAPE> &memory) {
    constexpr unsigned STAGES = SHAPE::STAGES, stride = SHAPE::TM + 1;
    unsigned first_row = threadIdx.x / 32 * SHAPE::WM * UNIT_ROWS;
    float total[SHAPE::WM][SHAPE::NT][4] = {};
    const strip_copies<TYPE, SHAPE> copy(job, at, rows, memory);
    __syncthreads();
    VV_UNROLL_BY(1)
    for (unsigned segment = 0; segment < STAGES - 1; segment++) {
        copy.ask(segment, at.segments);
    }
    VV_UNROLL_BY(1)
    for (unsigned segment = 0; segment < at.segments; segment++) {
        vv_copy_wait<STAGES - 2>();
        __syncthreads();
        copy.ask(segment + STAGES - 1, at.segments);
        if (first_row < at.used) {
            strip_segment<TYPE, SHAPE>(memory, segment, first_row, rows.count, total);
        }
    }
    if (at.part->end == VV_END_STORE && at.part->matrices == 1) {
        store_tile<SHAPE>(job, at, rows, first_row, 0, total);
        return;
    }
    vv_copy_wait<0>();
    __syncthreads();
    each_product<SHAPE>(total, [&](unsigned m_row, unsigned n_column, float &product) {
        memory.total[n_column * stride + first_row + m_row] = product;
    });
    __syncthreads();
    finish<SHAPE::TN>(job, at, rows,
                      [&](unsigned slot, unsigned r) { return memory.total[r * stride + slot]; });
}

} // namespace vv_products

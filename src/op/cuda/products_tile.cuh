/*
 * Many rows of activations: a block multiplies TM weight rows with TN rows of activations, segment
 * by segment. A row's segments are added as they come, in ascending order.
 *
 * Three things happen between two barriers, each a step ahead of the next: bytes of weights are
 * copied as they lie into `raw` (two segments ahead), those that are there are decoded (one ahead),
 * and what is decoded is multiplied. So each byte is read once by a block, sixteen at a time, and
 * decoded once for all its rows of activations. The rows' own codes need no decoding; their copy
 * is one segment ahead.
 */
#pragma once
#include "op/cuda/products_tile_units.cuh"

namespace vv_products {

/* TM by TN products by warps of WM·16 by NT·8. */
template <unsigned TM_, unsigned TN_, unsigned WM_, unsigned NT_> struct tile_shape {
    static constexpr unsigned TM = TM_, TN = TN_, WM = WM_, NT = NT_;
    static constexpr unsigned WARPS_DOWN = TM / (UNIT_ROWS * WM);
    static constexpr unsigned THREADS = 32 * WARPS_DOWN * (TN / (UNIT_COLUMNS * NT));
    static constexpr unsigned BLOCKS = THREADS > 128 ? 1 : 3; /* of a processor, at least */
    static constexpr bool SKIPS = TN <= 64; /* tiles of columns that aren't there */
    static_assert(THREADS == 2 * TM && THREADS == 2 * TN, "a thread has half a row of each");
};

/* Slots for what is beside activations: one is used, one decoded, one copied. */
constexpr unsigned SIDES = 4;

template <int TYPE, class SHAPE> struct tile_memory {
    using f = vv_codes::of<TYPE>;
    using raw = raw_form<TYPE>;
    struct weights {
        uint8_t code[planes_of<TYPE>][SHAPE::TM][CODE_STRIDE];
        weight_sides<TYPE> side[SHAPE::TM];
    };
    struct staged {
        weights w[2];
        uint8_t x[2][SHAPE::TN][CODE_STRIDE];
        uint4 sum[2][f::OFFSET ? SHAPE::TN : 1]; /* as the multiplication takes them */
        uint4 sum16[SIDES][f::OFFSET ? SHAPE::TN : 1];
        float scale[SIDES][SHAPE::TN][f::SUPER ? 1 : 4];
        uint8_t codes[2][raw::DIRECT ? 1 : SHAPE::TM][raw::CODE_STRIDE];
        uint8_t heads[2][SHAPE::TM][raw::HEAD_STRIDE];
    };
    union {
        staged s;
        float total[SHAPE::TN * (SHAPE::TM + 1)];
    };
    const uint8_t *row[SHAPE::TM];
    const int8_t *x[SHAPE::TN];
};

/* ---- copies ---- */

/*
 * What a block copies, from where `memory` says that rows lie. A row's `all` pieces are asked for
 * by neighbouring threads, as many as divide them; a thread goes on with the same piece of other
 * rows and with further pieces of its row.
 */
template <unsigned all>
constexpr unsigned lanes_of = all % 8 == 0   ? 8
                              : all % 4 == 0 ? 4
                              : all % 2 == 0 ? 2
                                             : 1;

template <int TYPE, class SHAPE> struct tile_copies {
    using f = vv_codes::of<TYPE>;
    using raw = raw_form<TYPE>;
    static constexpr bool RAGGED = f::VALUES < 128; /* a segment may lack blocks */
    const rows_in_hand<SHAPE::TN> &rows;
    tile_memory<TYPE, SHAPE> &memory;
    unsigned width;

    const float *beside; /* the row whose scales or sums this thread copies */
    bool sums;

    VV_DEVICE tile_copies(const vv_product_job &job, const place &at,
                          const rows_in_hand<SHAPE::TN> &in_hand, tile_memory<TYPE, SHAPE> &to)
        : rows(in_hand), memory(to), width((unsigned)job.x.width), sums(threadIdx.x % 2) {
        unsigned i = threadIdx.x, row = rows.x(i / 2);
        const vv_planes &x = job.x;
        if (i < SHAPE::TM) {
            memory.row[i] = row_of_slot(at, i);
        } else {
            memory.x[i - SHAPE::TM] =
                (f::SUPER ? x.coarse_q : x.fine_q) + (size_t)rows.x(i - SHAPE::TM) * width;
        }
        const int16_t *sum16 = f::SUPER ? x.coarse_sum16 : x.fine_sum16;
        beside = sums       ? reinterpret_cast<const float *>(sum16) + (size_t)row * (width / 32)
                 : f::SUPER ? x.coarse_scale + (size_t)row * ((width + 127) / 128)
                            : x.fine_scale + (size_t)row * (width / 32);
    }
    /* Of `all` pieces of `bytes` of each of the rows `from` [ROWS], from byte `first` on; RAGGED:
     * up to `end`, and what is beyond becomes 0; PART: only `count` of the rows. */
    template <int bytes, unsigned all, unsigned ROWS, bool RAGGED, bool PART, typename ROW>
    VV_DEVICE void copy(ROW const *from, unsigned count, unsigned first, unsigned end, uint8_t *to,
                        unsigned stride) const {
        constexpr unsigned lanes = lanes_of<all>, step = SHAPE::THREADS / lanes;
        unsigned r = threadIdx.x / lanes, piece = threadIdx.x % lanes * bytes;
        VV_UNROLL
        for (unsigned i = 0; i < (ROWS + step - 1) / step; i++) {
            if ((PART || ROWS % step) && r + i * step >= count) {
                break;
            }
            const uint8_t *row = reinterpret_cast<const uint8_t *>(from[r + i * step]);
            VV_UNROLL
            for (unsigned k = 0; k < all / lanes; k++) {
                unsigned at = piece + k * lanes * bytes;
                unsigned left = first + at < end ? end - first - at : 0;
                int real = !RAGGED || left >= bytes ? bytes : (int)left;
                vv_copy_async<bytes, PART>(to + (r + i * step) * stride + at,
                                           row + (RAGGED && !left ? 0 : first + at), real);
            }
        }
    }
    VV_DEVICE void codes(unsigned chunk, uint8_t *to, unsigned stride) const {
        constexpr int bytes = raw::CODE_COPY;
        copy<bytes, raw::CODES / bytes, SHAPE::TM, RAGGED, false>(
            memory.row, SHAPE::TM, chunk * raw::CODES, width / f::VALUES * vv_split<TYPE>::CODES,
            to, stride);
    }
    /* The bytes of the chunk that begins with a segment, if one does. */
    VV_DEVICE void weights(unsigned segment) const {
        constexpr int bytes = raw::HEAD_COPY;
        unsigned chunk = segment / raw::PARTS, blocks = width / f::VALUES;
        if (segment % raw::PARTS != 0) {
            return;
        }
        if (!raw::DIRECT) {
            codes(chunk, memory.s.codes[chunk % 2][0], raw::CODE_STRIDE);
        }
        unsigned heads = blocks * vv_split<TYPE>::CODES;
        copy<bytes, raw::HEAD_STRIDE / bytes, SHAPE::TM, RAGGED, false>(
            memory.row, SHAPE::TM, heads + chunk * raw::HEADS / 4 * 4,
            heads + blocks * vv_split<TYPE>::HEADER, memory.s.heads[chunk % 2][0],
            raw::HEAD_STRIDE);
    }
    /* Other blocks read the same rows of activations: they go through the first cache. */
    VV_DEVICE void activations(unsigned segment) const {
        copy<16, 8, SHAPE::TN, true, true>(memory.x, rows.count, 128 * segment, width,
                                           memory.s.x[segment % 2][0], CODE_STRIDE);
        if (raw::DIRECT) {
            codes(segment, memory.s.w[segment % 2].code[0][0], CODE_STRIDE);
        }
    }
    /* A segment's scales of activations, and sums. */
    VV_DEVICE void sides(unsigned segment) const {
        unsigned r = threadIdx.x / 2, slot = segment % SIDES, k = 4 * segment, all = width / 32;
        if (r >= rows.count || (sums && !f::OFFSET)) {
            return;
        }
        if (f::SUPER && !sums) {
            vv_copy_async<4>(memory.s.scale[slot][r], beside + segment);
            return;
        }
        float *to = sums ? reinterpret_cast<float *>(memory.s.sum16[slot] + (f::OFFSET ? r : 0))
                         : memory.s.scale[slot][r];
        if (all % 4 == 0) {
            vv_copy_async<16>(to, beside + k);
            return;
        }
        for (unsigned i = 0; i < 4; i++) {
            vv_copy_async<4>(to + i, beside + (k + i < all ? k + i : 0), k + i < all ? 4 : 0);
        }
    }
};

/* ---- decoding ---- */

/* A thread decodes half of a row's segment, and half of a row's sums of activations. */
template <int TYPE, class SHAPE>
static __device__ __forceinline__ void tile_decode(tile_memory<TYPE, SHAPE> &memory,
                                                   unsigned segment, unsigned columns) {
    using f = vv_codes::of<TYPE>;
    using raw = raw_form<TYPE>;
    unsigned r = threadIdx.x / 2, half = threadIdx.x % 2, chunk = segment / raw::PARTS;
    auto &to = memory.s.w[segment % 2];
    decode_two<TYPE>(memory.s.codes[chunk % 2][raw::DIRECT ? 0 : r],
                     memory.s.heads[chunk % 2][r] + chunk * raw::HEADS % 4, segment % raw::PARTS,
                     2 * half, to.code[0][r], to.code[planes_of<TYPE> - 1][r], to.side[r]);
    if (f::OFFSET && r < columns) {
        const uint2 sums =
            reinterpret_cast<const uint2 *>(&memory.s.sum16[segment % SIDES][r])[half];
        reinterpret_cast<uint2 *>(&memory.s.sum[segment % 2][r])[half] =
            make_uint2(sum_word<TYPE>(sums.x), sum_word<TYPE>(sums.y));
    }
}

/* ---- the block ---- */

/* A decoded segment: adds to `total`. `tiles`: how many of the warp's tiles of columns there are.
 */
template <int TYPE, class SHAPE>
static __device__ __forceinline__ void
tile_segment(const tile_memory<TYPE, SHAPE> &memory, unsigned segment, unsigned first_row,
             unsigned first_column, unsigned tiles, float (&total)[SHAPE::WM][SHAPE::NT][4]) {
    const auto &w = memory.s.w[segment % 2];
    const auto &s = memory.s;
    column_tile<TYPE> c[SHAPE::NT];
    VV_UNROLL
    for (unsigned m = 0; m < SHAPE::WM; m++) {
        unsigned row = first_row + UNIT_ROWS * m;
        row_tile<TYPE> r;
        r.load(w.code[0][row], w.code[planes_of<TYPE> - 1][row], w.side + row);
        VV_UNROLL
        for (unsigned n = 0; n < SHAPE::NT; n++) {
            if (SHAPE::SKIPS && n >= tiles) {
                continue;
            }
            if (m == 0) {
                unsigned column = first_column + UNIT_COLUMNS * n;
                c[n].load(s.x[segment % 2][column], s.scale[segment % SIDES][column],
                          s.sum[segment % 2] + (vv_codes::of<TYPE>::OFFSET ? column : 0));
            }
            multiply_tile<TYPE>(r, c[n], total[m][n]);
        }
    }
}

/* The block's products for the rows in hand, and their end. */
template <int TYPE, class SHAPE>
static __device__ __forceinline__ void tile_rows(const vv_product_job &job, const place &at,
                                                 const rows_in_hand<SHAPE::TN> &rows,
                                                 tile_memory<TYPE, SHAPE> &memory) {
    constexpr unsigned WM = SHAPE::WM, NT = SHAPE::NT, stride = SHAPE::TM + 1;
    unsigned warp = threadIdx.x / 32;
    unsigned first_row = warp % SHAPE::WARPS_DOWN * WM * UNIT_ROWS;
    unsigned first_column = warp / SHAPE::WARPS_DOWN * NT * UNIT_COLUMNS;
    bool here = first_column < rows.count && first_row < at.used;
    unsigned columns_left = here ? rows.count - first_column : 0;
    unsigned tiles = (columns_left + UNIT_COLUMNS - 1) / UNIT_COLUMNS;
    float total[WM][NT][4] = {};
    const tile_copies<TYPE, SHAPE> copy(job, at, rows, memory);
    __syncthreads();
    for (unsigned segment = 0; segment < 2 && segment < at.segments; segment++) {
        copy.weights(segment);
        copy.sides(segment);
    }
    copy.activations(0);
    vv_copy_commit();
    vv_copy_wait<0>();
    __syncthreads();
    tile_decode<TYPE, SHAPE>(memory, 0, rows.count);
    VV_UNROLL_BY(1)
    for (unsigned segment = 0; segment < at.segments; segment++) {
        vv_copy_wait<0>();
        __syncthreads();
        if (segment + 1 < at.segments) {
            copy.activations(segment + 1);
            if (segment + 2 < at.segments) {
                copy.weights(segment + 2);
                copy.sides(segment + 2);
            }
            vv_copy_commit();
            tile_decode<TYPE, SHAPE>(memory, segment + 1, rows.count);
        }
        if (here) {
            tile_segment<TYPE, SHAPE>(memory, segment, first_row, first_column, tiles, total);
        }
    }
    __syncthreads();
    unsigned g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    VV_UNROLL
    for (unsigned i = 0; i < WM * NT * 4; i++) {
        unsigned m = i / (NT * 4), n = i / 4 % NT, e = i % 4;
        unsigned slot = first_row + UNIT_ROWS * m + g + 8 * (e / 2);
        unsigned r = first_column + UNIT_COLUMNS * n + 2 * t + e % 2;
        memory.total[r * stride + slot] = total[m][n][e];
    }
    __syncthreads();
    finish<SHAPE::TN>(job, at, rows,
                      [&](unsigned slot, unsigned r) { return memory.total[r * stride + slot]; });
}

} // namespace vv_products

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
#include "op/cuda/products_units.cuh"

namespace vv_products {

/* TM by TN products by warps of WM·16 by NT·8. */
template <unsigned TM_, unsigned TN_, unsigned WM_, unsigned NT_> struct tile_shape {
    static constexpr unsigned TM = TM_, TN = TN_, WM = WM_, NT = NT_;
    static constexpr unsigned WARPS_DOWN = TM / (UNIT_ROWS * WM);
    static constexpr unsigned THREADS = 32 * WARPS_DOWN * (TN / (UNIT_COLUMNS * NT));
    static constexpr unsigned BLOCKS = THREADS > 128 ? 1 : 3; /* of a processor, at least */
    static constexpr unsigned WARPS_EARLY = THREADS > 128 ? THREADS / 64 : 4;
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

template <unsigned all>
constexpr unsigned lanes_of = all % 8 == 0   ? 8
                              : all % 4 == 0 ? 4
                              : all % 2 == 0 ? 2
                                             : 1;

/*
 * Copies `all` pieces of `bytes` of each of the rows `from` [ROWS], from byte `first` on, by
 * `thread` of THREADS: a row's pieces are asked for by neighbouring threads, as many as divide
 * them; a thread goes on with the same piece of other rows and with further pieces of its row.
 * FEWER: rows from `count` on aren't there. Of the piece at byte `at` behind the first
 * there are real(at) bytes, the others become 0; it goes to to(row, at).
 */
template <int bytes, unsigned all, unsigned ROWS, unsigned THREADS, bool FEWER, bool SHARED,
          typename ROW, typename REAL, typename TO>
static VV_DEVICE void copy_pieces(ROW const *from, unsigned count, unsigned first, unsigned thread,
                                  REAL real, TO to) {
    constexpr unsigned lanes = lanes_of<all>, step = THREADS / lanes;
    constexpr unsigned turns = (ROWS + step - 1) / step;
    constexpr bool PART = FEWER || ROWS % step;
    unsigned r = thread / lanes, piece = thread % lanes * bytes;
    const uint8_t *row[turns]; /* all before any copy: a copy waits for what was loaded */
    VV_UNROLL
    for (unsigned i = 0; i < turns; i++) {
        unsigned mine = r + i * step;
        row[i] = reinterpret_cast<const uint8_t *>(from[!PART || mine < count ? mine : 0]);
    }
    VV_UNROLL
    for (unsigned i = 0; i < turns; i++) {
        if (PART && r + i * step >= count) {
            break;
        }
        VV_UNROLL
        for (unsigned k = 0; k < all / lanes; k++) {
            unsigned at = piece + k * lanes * bytes;
            int there = real(at);
            vv_copy_async<bytes, SHARED>(to(r + i * step, at), row[i] + (there ? first + at : 0),
                                         there);
        }
    }
}

/* Where a row ends: in no segment, between the pieces of one, within a piece. */
enum row_ends { NEVER_IN, BETWEEN, WITHIN };

/* What a block copies, from where `memory` says that rows lie. */
template <int TYPE, class SHAPE> struct tile_copies {
    using f = vv_codes::of<TYPE>;
    using raw = raw_form<TYPE>;
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
    /* Of `all` pieces of `bytes` of each of the rows `from` [ROWS], from byte `first` on; those at
     * `end` or beyond become 0. */
    template <int bytes, unsigned all, unsigned ROWS, row_ends ENDS, bool SHARED, typename ROW>
    VV_DEVICE void copy(ROW const *from, unsigned count, unsigned first, unsigned end, uint8_t *to,
                        unsigned stride) const {
        auto real = [&](unsigned at) {
            unsigned left = first + at < end ? end - first - at : 0;
            return ENDS == NEVER_IN || (ENDS == BETWEEN ? left > 0 : left >= bytes)
                       ? bytes
                       : (int)(ENDS == BETWEEN ? 0 : left);
        };
        copy_pieces<bytes, all, ROWS, SHAPE::THREADS, SHARED && SHAPE::SKIPS, SHARED>(
            from, count, first, threadIdx.x, real,
            [&](unsigned r, unsigned at) { return to + r * stride + at; });
    }
    VV_DEVICE void codes(unsigned chunk, uint8_t *to, unsigned stride) const {
        constexpr int bytes = raw::CODE_COPY;
        copy<bytes, raw::CODES / bytes, SHAPE::TM, raw::RAGGED ? BETWEEN : NEVER_IN, false>(
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
        copy<bytes, raw::HEAD_STRIDE / bytes, SHAPE::TM, raw::RAGGED ? WITHIN : NEVER_IN, false>(
            memory.row, SHAPE::TM, heads + chunk * raw::HEADS / 4 * 4,
            heads + blocks * vv_split<TYPE>::HEADER, memory.s.heads[chunk % 2][0],
            raw::HEAD_STRIDE);
    }
    /* Other blocks read the same rows of activations: they go through the first cache. */
    VV_DEVICE void activations(unsigned segment) const {
        copy<16, 8, SHAPE::TN, BETWEEN, true>(memory.x, rows.count, 128 * segment, width,
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

/* Groups whose code stands side by side: so many that a warp has enough to do while it waits, and
 * no more, so that all code fits where instructions are fetched from. */
template <int TYPE, unsigned tiles>
constexpr unsigned groups_together = tiles <= (vv_codes::of<TYPE>::TWO_STEPS ? 1 : 2)   ? 4
                                     : tiles <= (vv_codes::of<TYPE>::TWO_STEPS ? 2 : 4) ? 2
                                                                                        : 1;

/* A decoded segment: adds to the first N tiles of columns. */
template <int TYPE, class SHAPE, unsigned N>
static __device__ __forceinline__ void
tile_segment(const tile_memory<TYPE, SHAPE> &memory, unsigned segment, unsigned first_row,
             unsigned first_column, float (&total)[SHAPE::WM][SHAPE::NT][4]) {
    constexpr unsigned WM = SHAPE::WM, PLANES = planes_of<TYPE>;
    const auto &w = memory.s.w[segment % 2];
    const weight_sides<TYPE> *side = w.side + first_row;
    const uint8_t *x = memory.s.x[segment % 2][first_column];
    const float *scales = memory.s.scale[segment % SIDES][first_column];
    const uint4 *sums = memory.s.sum[segment % 2] + (vv_codes::of<TYPE>::OFFSET ? first_column : 0);
    running_tile<TYPE> r[WM][N] = {};
    VV_UNROLL_BY((groups_together<TYPE, WM * N>))
    for (unsigned step = 0; step < 4 * PLANES; step++) {
        unsigned j = step % 4, plane = PLANES - 1 - step / 4;
        unsigned a[WM][4], b[N][2];
        beside_rows by_row[WM];
        VV_UNROLL
        for (unsigned i = 0; i < WM * N * 4 && PLANES > 1 && step == 4; i++) {
            r[i / (N * 4)][i / 4 % N].i[i % 4] *= 128;
        }
        VV_UNROLL
        for (unsigned m = 0; m < WM; m++) {
            load_rows(w.code[plane][first_row + UNIT_ROWS * m] + 32 * j, a[m]);
            by_row[m] = rows_beside<TYPE>(side + UNIT_ROWS * m, j);
        }
        VV_UNROLL
        for (unsigned n = 0; n < N; n += 2) {
            unsigned two[2][2];
            load_columns(x + UNIT_COLUMNS * n * CODE_STRIDE + 32 * j, two);
            for (unsigned i = 0; i < 4; i++) {
                b[n + i / 2][i % 2] = two[i / 2][i % 2];
            }
        }
        VV_UNROLL
        for (unsigned n = 0; n < N; n++) {
            beside_columns by_column =
                columns_beside<TYPE>(scales + 4 * UNIT_COLUMNS * n, sums + UNIT_COLUMNS * n, j);
            VV_UNROLL
            for (unsigned m = 0; m < WM; m++) {
                multiply_group<TYPE>(a[m], b[n], by_row[m], by_column, r[m][n]);
            }
        }
    }
    VV_UNROLL
    for (unsigned i = 0; i < WM * N; i++) {
        unsigned m = i / N, n = i % N;
        if (vv_codes::of<TYPE>::SUPER) {
            end_integers<TYPE>(side + UNIT_ROWS * m, scales + UNIT_COLUMNS * n,
                               sums + UNIT_COLUMNS * n, r[m][n]);
        }
        VV_UNROLL
        for (unsigned e = 0; e < 4; e++) {
            total[m][n][e] += r[m][n].s[e];
        }
    }
}

/* As few of the warp's tiles of columns as hold `columns`. */
template <int TYPE, class SHAPE>
static __device__ __forceinline__ void
tile_columns(const tile_memory<TYPE, SHAPE> &memory, unsigned segment, unsigned first_row,
             unsigned first_column, unsigned columns, float (&total)[SHAPE::WM][SHAPE::NT][4]) {
    if constexpr (SHAPE::SKIPS) {
        if (columns <= 2 * UNIT_COLUMNS) {
            tile_segment<TYPE, SHAPE, 2>(memory, segment, first_row, first_column, total);
            return;
        }
        if (columns <= 4 * UNIT_COLUMNS) {
            tile_segment<TYPE, SHAPE, 4>(memory, segment, first_row, first_column, total);
            return;
        }
    }
    if (columns > 0) {
        tile_segment<TYPE, SHAPE, SHAPE::NT>(memory, segment, first_row, first_column, total);
    }
}

/* ---- the end ---- */

/* `with` each of a thread's products, and its row and column in its warp's part. */
template <class SHAPE, typename WITH>
static __device__ __forceinline__ void each_product(float (&total)[SHAPE::WM][SHAPE::NT][4],
                                                    WITH with) {
    unsigned g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    VV_UNROLL
    for (unsigned i = 0; i < SHAPE::WM * SHAPE::NT * 4; i++) {
        unsigned n = i / (SHAPE::WM * 4), m = i / 4 % SHAPE::WM, e = i % 4;
        with(UNIT_ROWS * m + g + 8 * (e % 2), UNIT_COLUMNS * n + 2 * t + e / 2,
             total[m][n][e / 2 + 2 * (e % 2)]);
    }
}

/* Products that are stored as they are go straight to their place: eight lanes have neighbours. */
template <class SHAPE>
static __device__ __forceinline__ void
store_tile(const vv_product_job &job, const place &at, const rows_in_hand<SHAPE::TN> &rows,
           unsigned first_row, unsigned first_column, float (&total)[SHAPE::WM][SHAPE::NT][4]) {
    const vv_product_part &p = *at.part;
    float scale = p.scale[0] ? p.scale[0][at.expert] : 1.0f; /* times 1 is what it was */
    bool good = true;
    each_product<SHAPE>(total, [&](unsigned m_row, unsigned n_column, float &product) {
        unsigned slot = first_row + m_row, r = first_column + n_column;
        if (slot < at.used && r < rows.count) {
            float y = product * scale;
            good = good && isfinite(y);
            p.to[(size_t)rows.to(r) * p.to_row + at.first_output + slot] = y;
        }
    });
    if (!good) {
        vv_report({job.status, p.step}, VV_ERROR_NOT_FINITE);
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
    unsigned columns = here ? rows.count - first_column : 0;
    unsigned late = warp / SHAPE::WARPS_EARLY; /* one half multiplies while the other decodes */
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
        bool more = segment + 1 < at.segments;
        vv_copy_wait<0>();
        __syncthreads();
        if (more) {
            copy.activations(segment + 1);
        }
        if (segment + 2 < at.segments) {
            copy.weights(segment + 2);
            copy.sides(segment + 2);
        }
        vv_copy_commit();
        VV_UNROLL_BY(1)
        for (unsigned turn = 0; turn < 2; turn++) {
            if (turn != late) {
                tile_columns<TYPE, SHAPE>(memory, segment, first_row, first_column, columns, total);
            } else if (more) {
                tile_decode<TYPE, SHAPE>(memory, segment + 1, rows.count);
            }
        }
    }
    if (at.part->end == VV_END_STORE && at.part->matrices == 1) {
        store_tile<SHAPE>(job, at, rows, first_row, first_column, total);
        return;
    }
    __syncthreads();
    each_product<SHAPE>(total, [&](unsigned m_row, unsigned n_column, float &product) {
        memory.total[(first_column + n_column) * stride + first_row + m_row] = product;
    });
    __syncthreads();
    finish<SHAPE::TN>(job, at, rows,
                      [&](unsigned slot, unsigned r) { return memory.total[r * stride + slot]; });
}

} // namespace vv_products

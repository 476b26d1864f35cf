/*
 * Many rows of activations where a warp can decode its own weights (products_lane.cuh): a strip of
 * WM · 16 weight rows by all TN rows of activations. A block's warps share the activations and
 * nothing else.
 *
 * Bytes come as they lie, a stage of one or two segments together, and one barrier a stage says
 * that the oldest is there and that the place of the one before it is free. A tile of 16 by 8
 * products takes a whole segment at once, so that only its sum of segments stays in registers.
 */
#pragma once
#include "op/cuda/products_lane.cuh"
#include "op/cuda/products_tile.cuh"

namespace vv_products {

/* STRIPS of WM · 16 rows, by as many warps ACROSS of NT · 8 columns each; a block has up to
 * TILES such tiles, one below the other, so that it needn't begin and end for each. */
template <unsigned STRIPS_, unsigned WM_, unsigned NT_, unsigned ACROSS, unsigned TILES_,
          unsigned BLOCKS_>
struct strip_shape {
    static constexpr unsigned WM = WM_, NT = NT_, TILES = TILES_;
    static constexpr unsigned BLOCKS = BLOCKS_; /* of a processor, at least */
    static constexpr unsigned STRIPS = STRIPS_, THREADS = 32 * STRIPS * ACROSS;
    static constexpr unsigned TM = STRIPS * WM * UNIT_ROWS, TN = NT * UNIT_COLUMNS * ACROSS;
    static_assert(TN <= THREADS / 2, "a thread has a row's scales or its sums");
};

/* From one row to the next, odd in units of 16: neighbours lie in different banks. */
static constexpr unsigned strip_pitch(unsigned bytes) {
    return ((bytes + 15) / 16 | 1) * 16;
}

template <int TYPE, class SHAPE> struct strip_memory {
    using f = vv_codes::of<TYPE>;
    static constexpr unsigned SPAN = raw_form<TYPE>::PARTS; /* segments of a stage */
    static constexpr unsigned BLOCKS = 128 * SPAN / f::VALUES;
    static constexpr unsigned STAGES = (SHAPE::TM > 64 ? 4 : 5) - SPAN;
    static constexpr unsigned CODES = vv_split<TYPE>::CODES * BLOCKS;
    static constexpr unsigned HEADS = vv_split<TYPE>::HEADER * BLOCKS;
    static constexpr unsigned HEAD_BYTES = HEADS % 4 ? HEADS + 2 : HEADS; /* from a word on */
    static constexpr unsigned HEAD_PITCH = HEADS > 16 && HEADS % 16 == 0 ? strip_pitch(HEADS)
                                                                         : HEAD_BYTES;
    static constexpr unsigned X_PITCH = strip_pitch(128 * SPAN);
    static constexpr unsigned TOTALS = SHAPE::TN * (SHAPE::TM + 1);
    struct stage {
        uint8_t x[SHAPE::TN][X_PITCH];
        uint4 sum16[f::OFFSET ? SPAN : 1][f::OFFSET ? SHAPE::TN : 1];
        float scale[SPAN][SHAPE::TN][f::SUPER ? 1 : 4];
        uint8_t codes[SHAPE::TM][strip_pitch(CODES)];
        alignas(16) uint8_t heads[SHAPE::TM][HEAD_PITCH];
    };
    union {
        stage stages[STAGES];
        float last[TOTALS]; /* of the only tile */
    };
    float each[SHAPE::TILES > 1 ? TOTALS : 1]; /* of several */
    const uint8_t *row[SHAPE::TILES][SHAPE::TM];
    const int8_t *x[SHAPE::TN];

    VV_DEVICE float *totals() {
        return SHAPE::TILES > 1 ? each : last;
    }
};

/* Outputs of a tile; where tile n of a block is. */
template <class SHAPE> static __device__ __forceinline__ unsigned strip_outputs(const place &at) {
    return SHAPE::TM / at.part->matrices;
}
template <class SHAPE>
static __device__ __forceinline__ place strip_place(const place &at, unsigned n) {
    unsigned most = strip_outputs<SHAPE>(at), before = n * most, left = at.outputs - before;
    place now = at;
    now.first_output += before;
    now.outputs = left < most ? left : most;
    now.used = now.outputs * at.part->matrices;
    return now;
}

/* ---- copies ---- */

template <int TYPE, class SHAPE> struct strip_copies {
    using f = vv_codes::of<TYPE>;
    using memory_type = strip_memory<TYPE, SHAPE>;
    using stage_type = typename memory_type::stage;
    static constexpr unsigned SPAN = memory_type::SPAN;
    /* Whether a row can end within a stage; whether it does: most don't, and whole stages are
     * copied by a third of the instructions. */
    static constexpr bool RAGGED = f::VALUES < 128 * SPAN;
    memory_type &memory;
    unsigned width, count;
    bool even;
    const float *beside; /* the row whose scales or sums this thread copies */

    VV_DEVICE strip_copies(const vv_product_job &job, const place &at, unsigned tiles,
                           const rows_in_hand<SHAPE::TN> &rows, memory_type &to)
        : memory(to), width((unsigned)job.x.width), count(rows.count),
          even(!RAGGED || width % (128 * SPAN) == 0) {
        const vv_planes &x = job.x;
        for (unsigned n = 0; n < tiles; n++) {
            const place now = strip_place<SHAPE>(at, n);
            for (unsigned i = threadIdx.x; i < SHAPE::TM; i += SHAPE::THREADS) {
                memory.row[n][i] = row_of_slot(now, i);
            }
        }
        unsigned r = threadIdx.x % (SHAPE::THREADS / 2), row = rows.x(r < SHAPE::TN ? r : 0);
        if (threadIdx.x < SHAPE::TN) {
            memory.x[r] = (f::SUPER ? x.coarse_q : x.fine_q) + (size_t)row * width;
        }
        const int16_t *sum16 = f::SUPER ? x.coarse_sum16 : x.fine_sum16;
        beside = sums()     ? reinterpret_cast<const float *>(sum16) + (size_t)row * (width / 32)
                 : f::SUPER ? x.coarse_scale + (size_t)row * ((width + 127) / 128)
                            : x.fine_scale + (size_t)row * (width / 32);
    }
    static VV_DEVICE bool sums() {
        return threadIdx.x >= SHAPE::THREADS / 2;
    }
    /* Of `all` pieces of `bytes` of each of `count` rows of `from` [ROWS], from byte `first` on;
     * those at `end` or beyond become 0. */
    template <bool EVEN, int bytes, unsigned all, unsigned ROWS, bool SHARED, typename ROW>
    static VV_DEVICE void copy(ROW const *from, unsigned count, unsigned first, unsigned end,
                               uint8_t *to, unsigned stride) {
        constexpr unsigned lanes = lanes_of<all>, step = SHAPE::THREADS / lanes;
        constexpr unsigned turns = (ROWS + step - 1) / step;
        constexpr bool PART = SHARED || ROWS % step;
        unsigned r = threadIdx.x / lanes, piece = threadIdx.x % lanes * bytes;
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
                unsigned left = EVEN ? bytes : first + at < end ? end - first - at : 0;
                unsigned real = left < bytes ? left : bytes;
                vv_copy_async<bytes, SHARED>(to + (r + i * step) * stride + at,
                                             row[i] + (real ? first + at : 0), (int)real);
            }
        }
    }
    template <bool EVEN>
    VV_DEVICE void weights(const uint8_t *const *row, unsigned n, stage_type &to) const {
        constexpr unsigned CODES = memory_type::CODES, HEADS = memory_type::HEADS;
        constexpr unsigned HEAD_BYTES = memory_type::HEAD_BYTES;
        constexpr int code_bytes = CODES % 16 ? 8 : 16;
        constexpr int head_bytes = HEADS % 16 == 0 ? 16 : HEADS % 8 == 0 ? 8 : 4;
        unsigned blocks = width / f::VALUES, heads = blocks * vv_split<TYPE>::CODES;
        copy<EVEN, code_bytes, CODES / code_bytes, SHAPE::TM, false>(
            row, SHAPE::TM, n * CODES, heads, to.codes[0], sizeof to.codes[0]);
        copy<EVEN, head_bytes, HEAD_BYTES / head_bytes, SHAPE::TM, false>(
            row, SHAPE::TM, heads + n * HEADS / 4 * 4, heads + blocks * vv_split<TYPE>::HEADER,
            to.heads[0], sizeof to.heads[0]);
    }
    /* Four words, of which the row has `all`. */
    template <bool EVEN>
    static VV_DEVICE void four(float *to, const float *from, unsigned first, unsigned all) {
        if (EVEN) {
            vv_copy_async<16>(to, from + first);
            return;
        }
        if (all % 4 == 0) {
            vv_copy_async<16>(to, from + (first < all ? first : 0), first < all ? 16 : 0);
            return;
        }
        for (unsigned i = first; i < first + 4; i++) {
            vv_copy_async<4>(to + i - first, from + (i < all ? i : 0), i < all ? 4 : 0);
        }
    }
    /* Other blocks read the same rows of activations: they go through the first cache. */
    template <bool EVEN> VV_DEVICE void activations(unsigned n, stage_type &to) const {
        copy<EVEN, 16, 8 * SPAN, SHAPE::TN, true>(memory.x, count, 128 * SPAN * n, width, to.x[0],
                                                  sizeof to.x[0]);
        unsigned r = threadIdx.x % (SHAPE::THREADS / 2);
        if (r >= count || (sums() && !f::OFFSET)) {
            return;
        }
        VV_UNROLL
        for (unsigned i = 0; i < SPAN; i++) {
            unsigned segment = SPAN * n + i;
            if (!sums() && f::SUPER) {
                vv_copy_async<4>(to.scale[i][r], beside + segment);
            } else if (!sums()) {
                four<EVEN>(to.scale[i][r], beside, 4 * segment, width / 32);
            } else {
                four<EVEN>(
                    reinterpret_cast<float *>(to.sum16[f::OFFSET ? i : 0] + (f::OFFSET ? r : 0)),
                    beside, 4 * segment, width / 32);
            }
        }
    }
    VV_DEVICE void stage(unsigned tile, unsigned n, stage_type &to) const {
        if (even) {
            activations<true>(n, to);
            weights<true>(memory.row[tile], n, to);
        } else if constexpr (RAGGED) {
            activations<false>(n, to);
            weights<false>(memory.row[tile], n, to);
        }
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

/* ---- the block ---- */

/* Segment `part` of stage n: the warp's strip by the tiles of columns that `count` rows are in. */
template <int TYPE, class SHAPE>
static __device__ __forceinline__ void
strip_segment(const typename strip_memory<TYPE, SHAPE>::stage &s, unsigned n, unsigned part,
              unsigned first_row, unsigned first_column, unsigned count,
              float (&total)[SHAPE::WM][SHAPE::NT][4]) {
    using f = vv_codes::of<TYPE>;
    using memory_type = strip_memory<TYPE, SHAPE>;
    unsigned g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    strip_rows<TYPE> a[SHAPE::WM];
    VV_UNROLL
    for (unsigned i = 0; i < 2 * SHAPE::WM; i++) {
        unsigned row = first_row + g + 8 * i;
        lane_codes<TYPE>::take(s.codes[row], s.heads[row] + n * memory_type::HEADS % 4, part, t,
                               a[i / 2].row[i % 2]);
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

/* The end of a tile at `now`. */
template <class SHAPE>
static __device__ __forceinline__ void
strip_end(const vv_product_job &job, const place &now, const rows_in_hand<SHAPE::TN> &rows,
          unsigned first_row, unsigned first_column, float (&total)[SHAPE::WM][SHAPE::NT][4],
          float *totals) {
    constexpr unsigned stride = SHAPE::TM + 1;
    if (now.part->end == VV_END_STORE && now.part->matrices == 1) {
        store_tile<SHAPE>(job, now, rows, first_row, first_column, total);
        return;
    }
    if (SHAPE::TILES == 1) { /* they lie where the stages were */
        vv_copy_wait<0>();
        __syncthreads();
    }
    each_product<SHAPE>(total, [&](unsigned m_row, unsigned n_column, float &product) {
        totals[(first_column + n_column) * stride + first_row + m_row] = product;
    });
    __syncthreads();
    auto product = [&](unsigned slot, unsigned r) { return totals[r * stride + slot]; };
    if (now.part->end == VV_END_GATED_MEAN) {
        finish_many_means<SHAPE::TN>(job, now, rows, product);
    } else {
        finish<SHAPE::TN>(job, now, rows, product);
    }
}

/* The block's products for the rows in hand, and their end. Stages follow each other across its
 * tiles. */
template <int TYPE, class SHAPE>
static __device__ __forceinline__ void strip_block(const vv_product_job &job, const place &at,
                                                   const rows_in_hand<SHAPE::TN> &rows,
                                                   strip_memory<TYPE, SHAPE> &memory) {
    using memory_type = strip_memory<TYPE, SHAPE>;
    constexpr unsigned STAGES = memory_type::STAGES, SPAN = memory_type::SPAN;
    unsigned warp = threadIdx.x / 32, first_row = warp % SHAPE::STRIPS * SHAPE::WM * UNIT_ROWS;
    unsigned first_column = warp / SHAPE::STRIPS * SHAPE::NT * UNIT_COLUMNS;
    unsigned tiles = (at.outputs + strip_outputs<SHAPE>(at) - 1) / strip_outputs<SHAPE>(at);
    unsigned stages = (at.segments + SPAN - 1) / SPAN;
    unsigned ask_tile = 0, ask_n = 0, ask_place = 0, here = 0;
    const strip_copies<TYPE, SHAPE> copy(job, at, tiles, rows, memory);
    auto ask = [&] {
        if (ask_tile < tiles) {
            copy.stage(ask_tile, ask_n, memory.stages[ask_place]);
        }
        vv_copy_commit();
        ask_place = ask_place + 1 < STAGES ? ask_place + 1 : 0;
        if (++ask_n == stages) {
            ask_n = 0;
            ask_tile++;
        }
    };
    __syncthreads();
    VV_UNROLL_BY(1)
    for (unsigned i = 0; i < STAGES - 1; i++) {
        ask();
    }
    VV_UNROLL_BY(1)
    for (unsigned tile = 0; tile < tiles; tile++) {
        const place now = strip_place<SHAPE>(at, tile);
        float total[SHAPE::WM][SHAPE::NT][4] = {};
        VV_UNROLL_BY(1)
        for (unsigned n = 0; n < stages; n++) {
            vv_copy_wait<STAGES - 2>();
            __syncthreads();
            ask();
            VV_UNROLL_BY((SHAPE::NT <= 2 ? SPAN : 1))
            for (unsigned part = 0; part < SPAN; part++) {
                if (first_row < now.used && n * SPAN + part < at.segments) {
                    strip_segment<TYPE, SHAPE>(memory.stages[here], n, part, first_row,
                                               first_column, rows.count, total);
                }
            }
            here = here + 1 < STAGES ? here + 1 : 0;
        }
        strip_end<SHAPE>(job, now, rows, first_row, first_column, total, memory.totals());
    }
}

} // namespace vv_products

/*
 * Strips: their shapes, what a block holds in shared memory, and the copies that bring it there.
 * Bytes come as they lie, a stage of one or two segments together.
 */
#pragma once
#include "device/cuda/warpgroup.cuh"
#include "op/cuda/products_lane.cuh"
#include "op/cuda/products_tile.cuh"

namespace vv_products {

/* STRIPS of WM · 16 rows, by as many warps ACROSS of NT · 8 columns each; a block has up to
 * TILES such tiles, one below the other, so that it needn't begin and end for each. */
template <unsigned STRIPS_, unsigned WM_, unsigned NT_, unsigned ACROSS, unsigned TILES_,
          unsigned BLOCKS_, bool GROUPS_ = false>
struct strip_shape {
    static constexpr unsigned WM = WM_, NT = NT_, TILES = TILES_;
    static constexpr unsigned BLOCKS = BLOCKS_;            /* of a processor, at least */
    static constexpr unsigned ROOM = (220 << 10) / BLOCKS; /* shared memory of each */
    static constexpr bool GROUPS = GROUPS_;                /* four warps multiply together */
    static constexpr unsigned STRIPS = STRIPS_, MULTIPLIERS = 32 * STRIPS * ACROSS;
    /* Threads that copy: all; or, so that those that multiply never wait for each other, others. */
    static constexpr unsigned COPIERS = GROUPS ? 128 : MULTIPLIERS;
    static constexpr unsigned THREADS = GROUPS ? MULTIPLIERS + COPIERS : MULTIPLIERS;
    static constexpr unsigned TM = STRIPS * WM * UNIT_ROWS, TN = NT * UNIT_COLUMNS * ACROSS;
    /* A thread copies a row's scales or its sums; or both. */
    static constexpr bool BOTH = TN > COPIERS / 2;
    static_assert(TN <= COPIERS, "a thread has a row");

    static VV_DEVICE bool multiplies() {
        return !GROUPS || threadIdx.x < MULTIPLIERS;
    }
    static VV_DEVICE bool copies() {
        return !GROUPS || threadIdx.x >= MULTIPLIERS;
    }
    static VV_DEVICE unsigned copier() {
        return GROUPS ? threadIdx.x - MULTIPLIERS : threadIdx.x;
    }
};

/* From one row to the next, odd in units of 16: neighbours lie in different banks. */
static constexpr unsigned strip_pitch(unsigned bytes) {
    return ((bytes + 15) / 16 | 1) * 16;
}

/* Four words of a row of activations, of which it has `all`, to neighbouring places. */
template <bool EVEN>
static __device__ __forceinline__ void copy_four(float *to, const float *from, unsigned first,
                                                 unsigned all) {
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

/* A stage's activations as warps load them: rows, and beside each its scales and sums. */
template <int TYPE, class SHAPE> struct strip_activations {
    using f = vv_codes::of<TYPE>;
    static constexpr unsigned SPAN = raw_form<TYPE>::PARTS;
    uint8_t x[SHAPE::TN][strip_pitch(128 * SPAN)];
    uint4 sum16[f::OFFSET ? SPAN : 1][f::OFFSET ? SHAPE::TN : 1];
    float scale[SPAN][SHAPE::TN][f::SUPER ? 1 : 4];

    VV_DEVICE uint8_t *byte(unsigned r, unsigned at) {
        return x[r] + at;
    }
    /* Of row r and the stage's i-th segment: groups from `first` on, of the row's `all`. */
    template <bool EVEN>
    VV_DEVICE void copy_scales(unsigned i, unsigned r, const float *from, unsigned first,
                               unsigned all) {
        copy_four<EVEN>(scale[i][r], from, first, all);
    }
    template <bool EVEN>
    VV_DEVICE void copy_sums(unsigned i, unsigned r, const float *from, unsigned first,
                             unsigned all) {
        copy_four<EVEN>(reinterpret_cast<float *>(sum16[i] + r), from, first, all);
    }
    VV_DEVICE float *super_scale(unsigned i, unsigned r) {
        return scale[i][r];
    }
};
/* As the matrix unit of four warps reads them: a segment's rows, their scales and sums by group. */
template <int TYPE, class SHAPE> struct group_activations {
    using f = vv_codes::of<TYPE>;
    static constexpr unsigned SPAN = raw_form<TYPE>::PARTS, TN = SHAPE::TN;
    static constexpr unsigned SCALES = f::SUPER ? 1 : 4, SUMS = f::OFFSET ? SPAN : 1;
    alignas(1024) uint8_t x[SPAN][TN * 128];
    float scale[SPAN][SCALES][TN];
    uint4 sum16[f::SUPER ? SUMS : 1][f::OFFSET && f::SUPER ? TN : 1]; /* as halves */
    float sum[f::SUPER ? 1 : SUMS][4][f::OFFSET && !f::SUPER ? TN : 1];

    VV_DEVICE uint8_t *byte(unsigned r, unsigned at) {
        return x[at / 128] + vv_piece_of_column(r, at % 128 / 16);
    }
    template <bool EVEN>
    VV_DEVICE void copy_scales(unsigned i, unsigned r, const float *from, unsigned first,
                               unsigned all) {
        VV_UNROLL
        for (unsigned j = 0; j < SCALES; j++) {
            bool real = EVEN || first + j < all;
            vv_copy_async<4>(&scale[i][j][r], from + (real ? first + j : 0), real ? 4 : 0);
        }
    }
    /* As they are multiplied: at once, unlike copies. */
    template <bool EVEN>
    VV_DEVICE void copy_sums(unsigned i, unsigned r, const float *from, unsigned first,
                             unsigned all) {
        uint32_t four[4];
        VV_UNROLL
        for (unsigned j = 0; j < 4; j++) {
            four[j] = EVEN || first + j < all ? vv_bits(from[first + j]) : 0;
        }
        if constexpr (f::SUPER) {
            sum16[i][r] = make_uint4(sums_as_halves(four[0]), sums_as_halves(four[1]),
                                     sums_as_halves(four[2]), sums_as_halves(four[3]));
        } else {
            VV_UNROLL
            for (unsigned j = 0; j < 4; j++) {
                sum[i][j][r] = group_sum(four[j]);
            }
        }
    }
    VV_DEVICE float *super_scale(unsigned i, unsigned r) {
        return &scale[i][0][r];
    }
};

template <int TYPE, class SHAPE> struct strip_memory {
    using f = vv_codes::of<TYPE>;
    static constexpr unsigned SPAN = raw_form<TYPE>::PARTS; /* segments of a stage */
    static constexpr unsigned BLOCKS = 128 * SPAN / f::VALUES;
    static constexpr unsigned CODES = vv_split<TYPE>::CODES * BLOCKS;
    static constexpr unsigned HEADS = vv_split<TYPE>::HEADER * BLOCKS;
    static constexpr unsigned HEAD_BYTES = HEADS % 4 ? HEADS + 2 : HEADS; /* from a word on */
    static constexpr unsigned HEAD_PITCH = HEADS > 16 && HEADS % 16 == 0 ? strip_pitch(HEADS)
                                                                         : HEAD_BYTES;
    static constexpr unsigned TOTALS = SHAPE::TN * (SHAPE::TM + 1);
    using activations = std::conditional_t<SHAPE::GROUPS, group_activations<TYPE, SHAPE>,
                                           strip_activations<TYPE, SHAPE>>;
    struct stage : activations {
        alignas(16) uint8_t codes[SHAPE::TM][strip_pitch(CODES)];
        alignas(16) uint8_t heads[SHAPE::TM][HEAD_PITCH];
    };
    static constexpr unsigned STAGES =
        SHAPE::GROUPS ? SHAPE::ROOM / sizeof(stage) < 4 ? SHAPE::ROOM / sizeof(stage) : 4
                      : (SHAPE::TM > 64 ? 4 : 5) - SPAN;
    static_assert(STAGES >= 2, "one is copied while another is multiplied");
    union {
        stage stages[STAGES];
        float last[TOTALS]; /* of the only tile */
    };
    float each[SHAPE::TILES > 1 ? TOTALS : 1]; /* of several */
    const uint8_t *row[SHAPE::TILES][SHAPE::TM];
    const int8_t *x[SHAPE::TN];
    unsigned long long full[STAGES], empty[STAGES]; /* of stages, where others copy */

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
    const float *scale, *sum; /* of the row whose this thread copies */

    VV_DEVICE strip_copies(const vv_product_job &job, const place &at, unsigned tiles,
                           const rows_in_hand<SHAPE::TN> &rows, memory_type &to)
        : memory(to), width((unsigned)job.x.width), count(rows.count),
          even(!RAGGED || width % (128 * SPAN) == 0) {
        const vv_planes &x = job.x;
        for (unsigned n = 0; n < tiles; n++) {
            const place now = strip_place<SHAPE>(at, n);
            for (unsigned i = SHAPE::copier(); i < SHAPE::TM; i += SHAPE::COPIERS) {
                memory.row[n][i] = row_of_slot(now, i);
            }
        }
        unsigned r = mine(), row = rows.x(r < SHAPE::TN ? r : 0);
        if (SHAPE::copier() < SHAPE::TN) {
            memory.x[r] = (f::SUPER ? x.coarse_q : x.fine_q) + (size_t)row * width;
        }
        const int16_t *sum16 = f::SUPER ? x.coarse_sum16 : x.fine_sum16;
        scale = f::SUPER ? x.coarse_scale + (size_t)row * ((width + 127) / 128)
                         : x.fine_scale + (size_t)row * (width / 32);
        sum = reinterpret_cast<const float *>(sum16) + (size_t)row * (width / 32);
    }
    /* The row whose scales, or sums, this thread copies. */
    static VV_DEVICE unsigned mine() {
        return SHAPE::BOTH ? SHAPE::copier() : SHAPE::copier() % (SHAPE::COPIERS / 2);
    }
    static VV_DEVICE bool scales() {
        return SHAPE::BOTH || SHAPE::copier() < SHAPE::COPIERS / 2;
    }
    static VV_DEVICE bool sums() {
        return f::OFFSET && (SHAPE::BOTH || SHAPE::copier() >= SHAPE::COPIERS / 2);
    }
    /* Of `all` pieces of `bytes` of each of `count` rows of `from` [ROWS], from byte `first` on, to
     * to(row, byte); those at `end` or beyond become 0. */
    template <bool EVEN, int bytes, unsigned all, unsigned ROWS, bool SHARED, typename ROW,
              typename TO>
    static VV_DEVICE void copy(ROW const *from, unsigned count, unsigned first, unsigned end,
                               TO to) {
        auto real = [&](unsigned at) {
            unsigned left = EVEN ? bytes : first + at < end ? end - first - at : 0;
            return (int)(left < bytes ? left : bytes);
        };
        copy_pieces<bytes, all, ROWS, SHAPE::COPIERS, SHARED, SHARED>(from, count, first,
                                                                      SHAPE::copier(), real, to);
    }
    template <bool EVEN>
    VV_DEVICE void weights(const uint8_t *const *row, unsigned n, stage_type &to) const {
        constexpr unsigned CODES = memory_type::CODES, HEADS = memory_type::HEADS;
        constexpr unsigned HEAD_BYTES = memory_type::HEAD_BYTES;
        constexpr int code_bytes = CODES % 16 ? 8 : 16;
        constexpr int head_bytes = HEADS % 16 == 0 ? 16 : HEADS % 8 == 0 ? 8 : 4;
        unsigned blocks = width / f::VALUES, heads = blocks * vv_split<TYPE>::CODES;
        copy<EVEN, code_bytes, CODES / code_bytes, SHAPE::TM, false>(
            row, SHAPE::TM, n * CODES, heads,
            [&](unsigned r, unsigned at) { return to.codes[r] + at; });
        copy<EVEN, head_bytes, HEAD_BYTES / head_bytes, SHAPE::TM, false>(
            row, SHAPE::TM, heads + n * HEADS / 4 * 4, heads + blocks * vv_split<TYPE>::HEADER,
            [&](unsigned r, unsigned at) { return to.heads[r] + at; });
    }
    /* Other blocks read the same rows of activations: they go through the first cache. */
    template <bool EVEN> VV_DEVICE void activations(unsigned n, stage_type &to) const {
        copy<EVEN, 16, 8 * SPAN, SHAPE::TN, true>(
            memory.x, count, 128 * SPAN * n, width,
            [&](unsigned row, unsigned at) { return to.byte(row, at); });
        unsigned r = mine();
        VV_UNROLL
        for (unsigned i = 0; i < SPAN && r < count; i++) {
            unsigned segment = SPAN * n + i;
            if (scales() && f::SUPER) {
                vv_copy_async<4>(to.super_scale(i, r), scale + segment);
            } else if (scales()) {
                to.template copy_scales<EVEN>(i, r, scale, 4 * segment, width / 32);
            }
            if (f::OFFSET && sums()) {
                to.template copy_sums<EVEN>(i, r, sum, 4 * segment, width / 32);
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

/* ---- a strip's weights ---- */

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

/* A segment of the stage's: rows `first_row` and on, of which the warp has 16. */
template <int TYPE, class SHAPE>
static __device__ __forceinline__ void
take_strip(const typename strip_memory<TYPE, SHAPE>::stage &s, unsigned n, unsigned part,
           unsigned first_row, strip_rows<TYPE> &a) {
    unsigned g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    VV_UNROLL
    for (unsigned i = 0; i < 2; i++) {
        unsigned row = first_row + g + 8 * i;
        lane_codes<TYPE>::take(s.codes[row],
                               s.heads[row] + n * strip_memory<TYPE, SHAPE>::HEADS % 4, part, t,
                               a.row[i]);
    }
}

} // namespace vv_products

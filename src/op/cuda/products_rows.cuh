/*
 * One row of activations, and up to eight of them, with weights that a block holds. One row: a
 * thread multiplies a segment of a weight row. Up to four: the same, of a segment that it decodes
 * once. More: matrix instructions, a group of 32 values of 16 weight rows ("a tile") and 8 columns
 * at a time, where a lane decodes only the words it brings. Each segment's s is kept in shared
 * memory, and one thread adds a row's in ascending order.
 */
#pragma once
#include "op/cuda/piece.cuh"
#include "op/cuda/products_place.cuh"
#include "op/cuda/products_selectors.cuh"

namespace vv_products {

constexpr unsigned TILE = 16, FOUR = 4, EIGHT = 8;

/* The activations of the span in hand, brought to shared memory. */
struct near_rows {
    const uint8_t *q;
    const float *scale;
    const uint32_t *sum;              /* a group's two, of 16 values each */
    unsigned q_pitch, scales, groups; /* bytes; words from row to row */
    VV_DEVICE void go_down() {
        q += q_pitch;
        scale += scales;
        sum += groups;
    }
};

/* Bytes from a row to the next: eight rows' equal columns lie in different banks. */
static __host__ __device__ inline unsigned near_pitch(unsigned segments) {
    return segments * 128 + 16;
}
/* Shared memory for `rows` rows of so many segments. */
static __host__ __device__ inline unsigned near_bytes(unsigned segments, unsigned rows) {
    return rows * (near_pitch(segments) + segments * 4 * 2 * (unsigned)sizeof(float));
}

/* Which rows a thread helps to bring, and as which of how many: one row by all threads, up to four
 * by either half of them, more by a warp each. */
struct bringer {
    unsigned first, step, lane, lanes;
};
template <unsigned R> static __device__ __forceinline__ bringer bringer_of(unsigned rows) {
    unsigned threads = blockDim.x, me = threadIdx.x;
    if (R == 1) {
        return {0, 1, me, threads};
    }
    if (R > FOUR) {
        return {me / 32, threads / 32, me % 32, 32};
    }
    unsigned lanes = rows == 1 ? threads : threads / 2;
    bool second = me >= lanes; /* divisions are slow */
    return {second, 2, second ? me - lanes : me, lanes};
}

/* Starts to bring the span's activations; `at`: near_bytes of shared memory. */
template <unsigned R>
static __device__ __forceinline__ near_rows bring_near(const vv_planes &x, bool super,
                                                       const rows_in_hand<R> &rows,
                                                       const span &part, uint8_t *at) {
    unsigned width = (unsigned)x.width, units = super ? 1 : 4; /* scales a segment */
    unsigned all = super ? (width + 127) / 128 : width / 32;   /* of a row */
    unsigned groups = part.groups, scales = super ? (groups + 3) / 4 : groups;
    near_rows to;
    to.q_pitch = near_pitch(part.segments);
    to.scales = to.groups = 4 * part.segments;
    uint8_t *q = at, *scale = at + rows.tile * to.q_pitch;
    uint8_t *sum = scale + rows.tile * to.scales * sizeof(float);
    to.q = q;
    to.scale = reinterpret_cast<const float *>(scale);
    to.sum = reinterpret_cast<const uint32_t *>(sum);
    const int8_t *from_q = super ? x.coarse_q : x.fine_q;
    const float *from_scale = super ? x.coarse_scale : x.fine_scale;
    const int16_t *from_sum = super ? x.coarse_sum16 : x.fine_sum16;
    bringer me = bringer_of<R>(rows.count);
    VV_UNROLL_BY(1)
    for (unsigned r = me.first; r < rows.count; r += me.step) {
        size_t row = rows.x(r);
        const int8_t *mine = from_q + row * width + part.first * 128;
        const float *scales_mine = from_scale + row * all + part.first * units;
        const int16_t *sums_mine = from_sum + row * (width / 16) + part.first * 8;
        for (unsigned i = me.lane; i < 2 * groups; i += me.lanes) {
            vv_copy_async<16>(q + r * to.q_pitch + 16 * i, mine + 16 * i);
        }
        for (unsigned i = me.lane; i < scales; i += me.lanes) {
            vv_copy_async<4>(scale + (r * to.scales + i) * 4, scales_mine + i);
        }
        for (unsigned i = me.lane; i < groups; i += me.lanes) {
            vv_copy_async<4>(sum + (r * to.groups + i) * 4, sums_mine + 2 * i);
        }
    }
    vv_copy_commit();
    return to;
}

/* ---- where a segment's weights are ---- */

/*
 * Segments a block has, or 1; PART: which of them a segment is, known when it is compiled, so that
 * all shifts are. A segment that its row ends within is not WHOLE: only those of block formats.
 */
template <int TYPE>
constexpr unsigned parts_of =
    vv_codes::of<TYPE>::VALUES > 128 ? vv_codes::of<TYPE>::VALUES / 128 : 1;

/* Group b of a segment whose first block's codes and header are at q and h. */
template <int TYPE, unsigned PART> struct group_of_segment {
    static constexpr unsigned GROUPS = vv_codes::of<TYPE>::VALUES / 32;
    const uint8_t *q, *h;
    int k;
    VV_DEVICE group_of_segment(const uint8_t *codes, const uint8_t *heads, unsigned b)
        : q(codes + b / GROUPS * vv_split<TYPE>::CODES),
          h(heads + b / GROUPS * vv_split<TYPE>::HEADER), k((int)(4 * PART + b) % (int)GROUPS) {
    }
};

/* From the span's first block to that of a segment. */
template <int TYPE> static __device__ __forceinline__ unsigned codes_before(unsigned segment) {
    constexpr unsigned values = vv_codes::of<TYPE>::VALUES;
    return parts_of<TYPE> > 1 ? segment / parts_of<TYPE> * vv_split<TYPE>::CODES
                              : segment * (128 / values * vv_split<TYPE>::CODES);
}
template <int TYPE> static __device__ __forceinline__ unsigned heads_before(unsigned segment) {
    constexpr unsigned values = vv_codes::of<TYPE>::VALUES;
    return parts_of<TYPE> > 1 ? segment / parts_of<TYPE> * vv_split<TYPE>::HEADER
                              : segment * (128 / values * vv_split<TYPE>::HEADER);
}

/* The links of the chain that a group of a block format adds to s; dots: of its halves, or of all
 * of it in x. */
template <int TYPE>
static __device__ __forceinline__ float add_block(const vv_group &g, int2 dot, short2 sum,
                                                  float scale, float s) {
    using f = vv_codes::of<TYPE>;
    s = fmaf(g.d * scale, (float)dot.x, s);
    return f::TWO_STEPS ? fmaf(g.second * scale, (float)dot.y, s)
           : f::OFFSET  ? fmaf(g.second * scale, (float)(sum.x + sum.y), s)
                        : s;
}

/* The integers of a segment of a super-block format, and what a group adds to them. */
struct super_sums {
    int i, j;
};
template <int TYPE>
static __device__ __forceinline__ void add_super(const vv_group &g, int2 dot, short2 sum,
                                                 super_sums &to) {
    using f = vv_codes::of<TYPE>;
    to.i += f::SUB16 ? g.scale[0] * dot.x + g.scale[1] * dot.y : g.scale[0] * dot.x;
    if (f::OFFSET) {
        to.j += f::SUB16 ? g.min[0] * sum.x + g.min[1] * sum.y : g.min[0] * (sum.x + sum.y);
    }
}
template <int TYPE>
static __device__ __forceinline__ float end_super(float d, float second, float scale,
                                                  const super_sums &whole) {
    float s = (d * scale) * (float)whole.i;
    return vv_codes::of<TYPE>::OFFSET ? fmaf(-(second * scale), (float)whole.j, s) : s;
}

template <int TYPE>
constexpr bool takes_sums = vv_codes::of<TYPE>::BIAS != 0 || vv_codes::of<TYPE>::OFFSET;
/* Halves have scales of their own. */
template <int TYPE>
constexpr bool by_halves = vv_codes::of<TYPE>::SUB16 || vv_codes::of<TYPE>::TWO_STEPS;

/* What a bias makes too large in both halves' products. */
template <int TYPE> static __device__ __forceinline__ int2 start_of_dots(short2 sum) {
    constexpr int bias = vv_codes::of<TYPE>::BIAS;
    return by_halves<TYPE> ? make_int2(-bias * sum.x, -bias * sum.y)
                           : make_int2(-bias * (sum.x + sum.y), 0);
}

/* ---- up to four rows: a thread a segment ---- */

/* What a segment's groups have added so far. */
struct segment_sum {
    super_sums whole;
    float s, d, second;
};
/* Adds a group; x: its values, `scale` and `sums` what belongs to them (super: no scale). */
template <int TYPE>
static __device__ __forceinline__ void add_group(const vv_group &g, const uint8_t *x, float scale,
                                                 uint32_t sums, segment_sum &to) {
    const int4 *q = reinterpret_cast<const int4 *>(x);
    int4 low = q[0], high = q[1];
    int x_words[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
    short2 sum = make_short2((short)(sums & 0xffff), (short)(sums >> 16));
    int2 dot = start_of_dots<TYPE>(sum);
    VV_UNROLL
    for (int i = 0; i < 4; i++) {
        dot.x = __dp4a(g.w[i], x_words[i], dot.x);
        int &other = by_halves<TYPE> ? dot.y : dot.x;
        other = __dp4a(g.w[4 + i], x_words[4 + i], other);
    }
    if (vv_codes::of<TYPE>::SUPER) {
        add_super<TYPE>(g, dot, sum, to.whole);
        to.d = g.d;
        to.second = g.second;
    } else {
        to.s = add_block<TYPE>(g, dot, sum, scale, to.s);
    }
}
template <int TYPE>
static __device__ __forceinline__ float end_segment(const segment_sum &sum, const near_rows &x,
                                                    unsigned segment) {
    return vv_codes::of<TYPE>::SUPER
               ? end_super<TYPE>(sum.d, sum.second, x.scale[segment], sum.whole)
               : sum.s;
}

/* take(g, group) for the segment's groups, in order. */
template <int TYPE, unsigned PART, bool WHOLE, typename TAKE>
static __device__ __forceinline__ void decode_segment(const uint8_t *codes, const uint8_t *heads,
                                                      unsigned segment, unsigned groups,
                                                      TAKE take) {
    VV_UNROLL
    for (unsigned b = 0; b < 4; b++) {
        if (!WHOLE && 4 * segment + b >= groups) {
            break;
        }
        group_of_segment<TYPE, PART> at(codes, heads, b);
        vv_group g;
        codes_at_hand<TYPE>::unpack(at.q, at.h, at.k, g);
        take(g, b);
    }
}

/* A segment of a weight row by one row. */
template <int TYPE, unsigned PART, bool WHOLE>
static __device__ __forceinline__ float one_segment(const uint8_t *codes, const uint8_t *heads,
                                                    const near_rows &x, unsigned segment,
                                                    unsigned groups) {
    segment_sum sum = {};
    decode_segment<TYPE, PART, WHOLE>(
        codes, heads, segment, groups, [&](const vv_group &g, unsigned b) {
            unsigned at = 4 * segment + b;
            add_group<TYPE>(g, x.q + 32 * at, vv_codes::of<TYPE>::SUPER ? 0.0f : x.scale[at],
                            takes_sums<TYPE> ? x.sum[at] : 0, sum);
        });
    return end_segment<TYPE>(sum, x, segment);
}

/* The same by several rows, put(row, s) for each: its groups stay in registers, and the code of a
 * row is fetched once. */
template <int TYPE, unsigned PART, bool WHOLE, typename PUT>
static __device__ __forceinline__ void several_segments(const uint8_t *codes, const uint8_t *heads,
                                                        near_rows x, unsigned segment,
                                                        unsigned groups, unsigned rows, PUT put) {
    vv_group all[4] = {};
    decode_segment<TYPE, PART, WHOLE>(codes, heads, segment, groups,
                                      [&](const vv_group &g, unsigned b) { all[b] = g; });
    VV_UNROLL_BY(1)
    for (unsigned r = 0; r < rows; r++) {
        segment_sum sum = {};
        const uint8_t *q = x.q + 128 * segment;
        float scale[4] = {};
        uint32_t sums[4] = {};
        if (!vv_codes::of<TYPE>::SUPER) {
            float4 four = reinterpret_cast<const float4 *>(x.scale)[segment];
            scale[0] = four.x;
            scale[1] = four.y;
            scale[2] = four.z;
            scale[3] = four.w;
        }
        if (takes_sums<TYPE>) {
            vv_codes::load16(reinterpret_cast<const uint8_t *>(x.sum + 4 * segment), sums);
        }
        VV_UNROLL
        for (unsigned b = 0; b < 4; b++) {
            if (WHOLE || 4 * segment + b < groups) {
                add_group<TYPE>(all[b], q + 32 * b, scale[b], sums[b], sum);
            }
        }
        put(r, end_segment<TYPE>(sum, x, segment));
        x.go_down();
    }
}

/*
 * Neighbouring threads take the same segment of neighbouring weight rows, whose weights lie in
 * different banks; blocks' first segments come before their second ones, so that warps seldom have
 * both.
 */
template <int TYPE, bool WHOLE, unsigned R>
static __device__ __forceinline__ void few_rows(const place &at, const span &part,
                                                const near_rows &x, const rows_in_hand<R> &rows,
                                                const uint8_t *held, const sums_of_block &to) {
    constexpr unsigned parts = parts_of<TYPE>;
    unsigned firsts = (part.segments + parts - 1) / parts;
    unsigned tile = R == 1 ? 1 : rows.tile;
    VV_UNROLL_BY(1)
    for (unsigned t = threadIdx.x; t < part.segments << at.shift; t += blockDim.x) {
        unsigned slot = t & ((1u << at.shift) - 1), i = t >> at.shift;
        bool second = parts > 1 && i >= firsts;
        unsigned segment = second ? 2 * (i - firsts) + 1 : parts * i;
        if (slot >= at.used) {
            continue;
        }
        const uint8_t *row = held + slot * at.pitch;
        const uint8_t *codes = row + part.codes_at + codes_before<TYPE>(segment);
        const uint8_t *heads = row + part.heads_at + heads_before<TYPE>(segment);
        auto put = [&](unsigned r, float sum) {
            to.store((slot * tile + r) * at.stride + part.first + segment, sum);
        };
        if (R == 1) {
            float sum;
            if (second) {
                sum = one_segment<TYPE, parts - 1, WHOLE>(codes, heads, x, segment, part.groups);
            } else {
                sum = one_segment<TYPE, 0, WHOLE>(codes, heads, x, segment, part.groups);
            }
            put(0, sum);
        } else if (second) {
            several_segments<TYPE, parts - 1, WHOLE>(codes, heads, x, segment, part.groups,
                                                     rows.count, put);
        } else {
            several_segments<TYPE, 0, WHOLE>(codes, heads, x, segment, part.groups, rows.count,
                                             put);
        }
    }
}

/* ---- more rows: a warp a tile's segment ---- */

/* s[r][c] of the lane's weight rows and columns. */
template <int TYPE, unsigned PART, bool WHOLE>
static __device__ __forceinline__ void
tile_segment(const uint8_t *const (&codes)[2], const uint8_t *const (&heads)[2], const near_rows &x,
             unsigned segment, unsigned groups, unsigned fragment, const unsigned (&column)[2],
             float (&s)[2][2]) {
    using f = vv_codes::of<TYPE>;
    unsigned t = threadIdx.x % 4;
    const uint8_t *q = x.q + fragment * x.q_pitch + 128 * segment + 4 * t;
    super_sums whole[2][2] = {};
    float d[2], second[2];
    VV_UNROLL
    for (unsigned b = 0; b < 4; b++) {
        if (!WHOLE && 4 * segment + b >= groups) {
            break;
        }
        vv_group g[2];
        unsigned a[4];
        VV_UNROLL
        for (unsigned r = 0; r < 2; r++) {
            group_of_segment<TYPE, PART> at(codes[r], heads[r], b);
            f::unpack(at.q, at.h, at.k, g[r]); /* for its scales: the words aren't used */
            vv_codes::piece<TYPE>::get(at.q, at.h, at.k, (int)t, a[r], a[2 + r]);
            d[r] = g[r].d;
            second[r] = g[r].second;
        }
        const unsigned words[2] = {vv_codes::word_at(q + 32 * b, 0),
                                   vv_codes::word_at(q + 32 * b + 16, 0)};
        short2 sum[2] = {};
        int low[4], high[4];
        VV_UNROLL
        for (unsigned c = 0; c < 2; c++) {
            if (takes_sums<TYPE>) {
                const uint32_t *mine = x.sum + column[c] * x.groups + 4 * segment + b;
                sum[c] = *reinterpret_cast<const short2 *>(mine);
            }
            int2 start = start_of_dots<TYPE>(sum[c]);
            low[c] = low[2 + c] = start.x;
            high[c] = high[2 + c] = start.y;
        }
        if (by_halves<TYPE>) {
            const unsigned a0[2] = {a[0], a[1]}, a1[2] = {a[2], a[3]};
            const unsigned b0[1] = {words[0]}, b1[1] = {words[1]};
            vv_mma_m16n8k16_s8(low, a0, b0);
            vv_mma_m16n8k16_s8(high, a1, b1);
        } else {
            vv_mma_m16n8k32_s8(low, a, words);
        }
        VV_UNROLL
        for (unsigned i = 0; i < 4; i++) {
            unsigned r = i / 2, c = i % 2;
            int2 dot = make_int2(low[i], high[i]);
            if (f::SUPER) {
                add_super<TYPE>(g[r], dot, sum[c], whole[r][c]);
            } else {
                float scale = x.scale[column[c] * x.scales + 4 * segment + b];
                s[r][c] = add_block<TYPE>(g[r], dot, sum[c], scale, s[r][c]);
            }
        }
    }
    VV_UNROLL
    for (unsigned i = 0; i < 4 && f::SUPER; i++) {
        float scale = x.scale[column[i % 2] * x.scales + segment];
        s[i / 2][i % 2] = end_super<TYPE>(d[i / 2], second[i / 2], scale, whole[i / 2][i % 2]);
    }
}

/* All segments of the span and the block's slots. */
template <int TYPE, bool WHOLE>
static __device__ __forceinline__ void eight_rows(const place &at, const span &part,
                                                  const near_rows &x, unsigned count, unsigned tile,
                                                  const uint8_t *held, const sums_of_block &to) {
    constexpr unsigned parts = parts_of<TYPE>;
    unsigned shift = at.shift > 4 ? at.shift - 4 : 0, warps = blockDim.x / 32; /* tiles */
    unsigned g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    unsigned fragment = g < count ? g : count - 1, column[2];
    VV_UNROLL
    for (unsigned c = 0; c < 2; c++) { /* those that there aren't repeat the last, and are lost */
        column[c] = 2 * t + c < count ? 2 * t + c : count - 1;
    }
    VV_UNROLL_BY(1)
    for (unsigned task = threadIdx.x / 32; task < part.segments << shift; task += warps) {
        unsigned segment = task >> shift, slot = (task & ((1u << shift) - 1)) * TILE + g;
        const uint8_t *codes[2], *heads[2];
        VV_UNROLL
        for (unsigned r = 0; r < 2; r++) {
            const uint8_t *row = held_row(at, held, slot + 8 * r);
            codes[r] = row + part.codes_at + codes_before<TYPE>(segment);
            heads[r] = row + part.heads_at + heads_before<TYPE>(segment);
        }
        float s[2][2] = {};
        if (parts > 1 && segment % parts) {
            tile_segment<TYPE, parts - 1, WHOLE>(codes, heads, x, segment, part.groups, fragment,
                                                 column, s);
        } else {
            tile_segment<TYPE, 0, WHOLE>(codes, heads, x, segment, part.groups, fragment, column,
                                         s);
        }
        VV_UNROLL
        for (unsigned i = 0; i < 4; i++) {
            unsigned mine = slot + 8 * (i / 2), c = 2 * t + i % 2;
            if (mine < at.used && c < count) {
                to.store((mine * tile + c) * at.stride + part.first + segment, s[i / 2][i % 2]);
            }
        }
    }
}

/* All segments of the span and the block's slots. */
template <int TYPE, bool WHOLE, unsigned R>
static __device__ __forceinline__ void
multiply_part(const place &at, const span &part, const near_rows &x, const rows_in_hand<R> &rows,
              const uint8_t *held, const sums_of_block &to) {
    if constexpr (R <= FOUR) {
        /* One row's is a loop of one turn: without it, the compiler prepares for all formats before
         * it knows which, and runs out of registers. */
        unsigned turns = R == 1 ? rows.count : 1;
        VV_UNROLL_BY(1)
        for (unsigned n = 0; n < turns; n++) {
            few_rows<TYPE, WHOLE>(at, part, x, rows, held, to);
        }
    } else {
        eight_rows<TYPE, WHOLE>(at, part, x, rows.count, rows.tile, held, to);
    }
}
template <int TYPE, unsigned R>
static __device__ __forceinline__ void
multiply_span(const place &at, const span &part, const near_rows &x, const rows_in_hand<R> &rows,
              const uint8_t *held, const sums_of_block &to) {
    if (vv_codes::of<TYPE>::SUPER || part.groups % 4 == 0) {
        multiply_part<TYPE, true>(at, part, x, rows, held, to);
    } else {
        multiply_part<TYPE, false>(at, part, x, rows, held, to);
    }
}

} // namespace vv_products

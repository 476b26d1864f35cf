/*
 * Products of panels on AMX: a panel's 128 values are tiles of sixteen columns as they lie, sixteen
 * rows of activations the other operand. Block formats and sub-scales of 32 values take a tile
 * product of the scale's depth for each float scale or sub-scale; sub-scales of 16 values are
 * multiplied into the weights, sc · w = 128 · high + low, and two products of depth 128 give I =
 * 128 · H + L (docs/arithmetic.md, section 3.3). Few rows are faster on vectors.
 */
#include "quant/panel/kernel.h"
#include "quant/panel/x86_vbmi.h"
#include "quant/row_dot.h"

#include <immintrin.h>
#include <string.h>

enum { TILE = 16, FEWEST = 12 };

/* Tiles 0-3: sums. 4, 5: activations. 6, 7: weights. */
enum depth { NONE, DEPTH_16 = 16, DEPTH_32 = 32, DEPTH_64 = 64 };

struct tile_config {
    uint8_t palette, start_row, reserved[14];
    uint16_t bytes[16];
    uint8_t rows[16];
};

static _Thread_local struct {
    enum depth depth;
    size_t rows;
} configured;

static void configure(enum depth depth, size_t rows) {
    if (configured.depth == depth && configured.rows == rows) {
        return;
    }
    struct tile_config c = {.palette = 1};
    for (int t = 0; t < 8; t++) {
        bool activations = t == 4 || t == 5, weights = t > 5;
        c.bytes[t] = (uint16_t)(activations ? depth : 64);
        c.rows[t] = (uint8_t)(weights ? depth / 4 : rows);
    }
    /* GCC 12 has the intrinsic read 8 bytes of it, and drops what is stored in the rest. */
    __asm__ volatile("" ::"m"(c));
    _tile_loadconfig(&c);
    configured.depth = depth;
    configured.rows = rows;
}

static void release(void) {
    _tile_release();
    configured.depth = NONE;
}

struct sums {
    _Alignas(64) int32_t of[4][TILE][VV_PANEL_ROWS];
};

VV_INLINE __m512i sum_of(const struct sums *s, int tile, size_t row) {
    return _mm512_load_si512(s->of[tile][row]);
}

/* Into tiles 0 … blocks - 1: dots of blocks of `depth` values, from block `first` on, with the rows
 * of x. */
VV_INLINE void block_sums(const vv_lanes *w, enum depth depth, size_t first, size_t blocks,
                          const struct vv_panel_row *x, bool is_signed) {
#define BLOCK_SUM(b, A, B)                                                                         \
    if (b < blocks) {                                                                              \
        _tile_zero(b);                                                                             \
        _tile_loadd(A, x->q + depth * (first + b), sizeof *x);                                     \
        _tile_loadd(B, w + depth / 4 * (first + b), 64);                                           \
        if (is_signed) {                                                                           \
            _tile_dpbssd(b, A, B);                                                                 \
        } else {                                                                                   \
            _tile_dpbsud(b, A, B);                                                                 \
        }                                                                                          \
    }
    BLOCK_SUM(0, 4, 6)
    BLOCK_SUM(1, 5, 7)
    BLOCK_SUM(2, 4, 6)
    BLOCK_SUM(3, 5, 7)
}

VV_INLINE void store_sums(size_t tiles, struct sums *to) {
#define STORE_SUM(b)                                                                               \
    if (b < tiles) {                                                                               \
        _tile_stored(b, to->of[b], 64);                                                            \
    }
    STORE_SUM(0)
    STORE_SUM(1)
    STORE_SUM(2)
    STORE_SUM(3)
}

/*
 * Runs through the rows in tiles of sixteen, each in `parts` steps (1 or 2), one ahead:
 * COMPUTE(rows, m, part) fills the tile registers for rows that the vectors get to one step later,
 * COMBINE(rows, m, part, at) takes the sums stored before. Stores come after the loads of the tile
 * before in program order: loads that follow a store whose address is equal in its low 12 bits
 * would wait for it.
 *
 * Before all: GCC's tile loads don't say that they read memory, so that what is stored for them
 * might still be on its way, or left out.
 */
#define IN_TILES(parts, tiles, x, n, sums, COMPUTE, COMBINE)                                       \
    __asm__ volatile("" ::: "memory");                                                             \
    for (size_t k = 0, steps = (n + TILE - 1) / TILE * parts; k <= steps; k++) {                   \
        size_t i = k / parts * TILE;                                                               \
        if (k < steps) {                                                                           \
            COMPUTE(x + i, n - i < TILE ? n - i : TILE, k % parts);                                \
        }                                                                                          \
        if (k > 0) {                                                                               \
            size_t at = (k - 1) / parts * TILE;                                                    \
            COMBINE(x + at, n - at < TILE ? n - at : TILE, (k - 1) % parts, at);                   \
        }                                                                                          \
        if (k < steps) {                                                                           \
            store_sums(tiles, sums);                                                               \
        }                                                                                          \
    }

/* The values themselves, signed. */
VV_INLINE void take_shift_away(const struct vv_strip *p, int shift, vv_lanes *w /* [32] */) {
    __m512i by = _mm512_set1_epi8((char)(uint8_t)shift);
    for (int k = 0; k < 32; k++) {
        w[k] = (vv_lanes)_mm512_sub_epi8((__m512i)p->w[k], by);
    }
}

/* The float part of a block format: goes on with blocks from `first` on, s[r] being the sum before
 * them; after the `last` ones adds it to the row's total. */
VV_INLINE void add_blocks(const struct vv_strip *p, enum depth depth, bool offset, size_t first,
                          size_t blocks, bool last, const struct sums *t,
                          const struct vv_panel_row *x, size_t m, __m512 *s /* [m] */,
                          float (*total)[VV_PANEL_ROWS]) {
    for (size_t r = 0; r < m; r++) {
        __m512 v = first == 0 ? _mm512_setzero_ps() : s[r];
        for (size_t b = 0; b < blocks; b++) {
            __m512 scale = _mm512_set1_ps(x[r].scale[(first + b) * depth / 32]);
            v = _mm512_fmadd_ps(_mm512_mul_ps((__m512)p->step_d[first + b], scale),
                                _mm512_cvtepi32_ps(sum_of(t, (int)b, r)), v);
            if (offset) {
                v = _mm512_fmadd_ps(_mm512_mul_ps((__m512)p->m[b], scale),
                                    _mm512_set1_ps(x[r].sum[b]), v);
            }
        }
        if (last) {
            _mm512_storeu_ps(total[r], _mm512_add_ps(_mm512_loadu_ps(total[r]), v));
        } else {
            s[r] = v;
        }
    }
}

/* Tiles for four blocks at most at a time. */
VV_INLINE void block_tiles(const struct vv_strip *p, const vv_lanes *w, enum depth depth,
                           bool offset, size_t blocks, const struct vv_panel_row *x, size_t n,
                           float (*total)[VV_PANEL_ROWS]) {
    const size_t parts = (blocks + 3) / 4, tiles = blocks / parts;
    struct sums t;
    __m512 s[TILE];
#define COMPUTE(rows, m, part)                                                                     \
    configure(depth, m);                                                                           \
    block_sums(w, depth, tiles *(part), tiles, rows, !offset)
#define COMBINE(rows, m, part, at)                                                                 \
    add_blocks(p, depth, offset, tiles *(part), tiles, (part) + 1 == parts, &t, rows, m, s,        \
               total + at)
    IN_TILES(parts, tiles, x, n, &t, COMPUTE, COMBINE)
#undef COMPUTE
#undef COMBINE
}

VV_INLINE void block_dots(const struct vv_strip *p, enum depth depth, int shift, bool offset,
                          size_t values, const struct vv_panel_row *x, size_t n,
                          float (*total)[VV_PANEL_ROWS]) {
    vv_lanes w[32];
    if (!offset) {
        take_shift_away(p, shift, w);
    }
    if (values == 128) {
        block_tiles(p, offset ? p->w : w, depth, offset, 128 / depth, x, n, total);
    } else {
        block_tiles(p, offset ? p->w : w, depth, offset, values / depth, x, n, total);
    }
}

VV_INLINE __m512i spread(const int16_t *pair) {
    int32_t two;
    memcpy(&two, pair, sizeof two);
    return _mm512_set1_epi32(two);
}

/* The float part of a super-block format: adds s to the row's total. */
VV_INLINE void add_segment(const struct vv_strip *p, bool offset, const struct vv_panel_row *x,
                           __m512i dot, float *total) {
    __m512 dx = _mm512_set1_ps(x->scale[0]);
    __m512 s = _mm512_mul_ps(_mm512_mul_ps((__m512)p->d[0], dx), _mm512_cvtepi32_ps(dot));
    if (offset) {
        __m512i j = _mm512_setzero_si512();
        for (int k = 0; k < 4; k++) {
            j = _mm512_dpwssd_epi32(j, (__m512i)p->pair[k], spread(x->sum16 + 2 * k));
        }
        s = _mm512_fnmadd_ps(_mm512_mul_ps((__m512)p->m[0], dx), _mm512_cvtepi32_ps(j), s);
    }
    _mm512_storeu_ps(total, _mm512_add_ps(_mm512_loadu_ps(total), s));
}

VV_INLINE void add_super_4(const struct vv_strip *p, const struct sums *t,
                           const struct vv_panel_row *x, size_t m, float (*total)[VV_PANEL_ROWS]) {
    for (size_t r = 0; r < m; r++) {
        __m512i dot = _mm512_setzero_si512();
        for (int g = 0; g < 4; g++) {
            dot = _mm512_add_epi32(dot, _mm512_mullo_epi32(sum_of(t, g, r), (__m512i)p->scale[g]));
        }
        add_segment(p, true, x + r, dot, total[r]);
    }
}

VV_INLINE void super_4_dots(const struct vv_strip *p, const struct vv_panel_row *x, size_t n,
                            float (*total)[VV_PANEL_ROWS]) {
    struct sums t;
#define COMPUTE(rows, m, part)                                                                     \
    configure(DEPTH_32, m);                                                                        \
    block_sums(p->w, DEPTH_32, 0, 4, rows, false)
#define COMBINE(rows, m, part, at) add_super_4(p, &t, rows, m, total + at)
    IN_TILES(1, 4, x, n, &t, COMPUTE, COMBINE)
#undef COMPUTE
#undef COMBINE
}

/* sc · w as 128 · high + low, 0 <= low <= 127, |high| <= 32. */
VV_INLINE void fold(const struct vv_strip *p, int shift, vv_lanes *high /* [32] */,
                    vv_lanes *low /* [32] */) {
    const __m512i bytes = _mm512_set1_epi16(255), seven = _mm512_set1_epi16(127);
    const __m512i by = _mm512_set1_epi16((int16_t)shift);
    for (int k = 0; k < 32; k++) {
        __m512i w = (__m512i)p->w[k], sc = (__m512i)((p->scale[k / 4] & 0xffff) * 0x10001);
        __m512i even = _mm512_sub_epi16(_mm512_and_si512(w, bytes), by);
        __m512i odd = _mm512_sub_epi16(_mm512_srli_epi16(w, 8), by);
        even = _mm512_mullo_epi16(even, sc);
        odd = _mm512_mullo_epi16(odd, sc);
        low[k] = (vv_lanes)_mm512_or_si512(_mm512_and_si512(even, seven),
                                           _mm512_slli_epi16(_mm512_and_si512(odd, seven), 8));
        high[k] = (vv_lanes)_mm512_or_si512(_mm512_and_si512(_mm512_srai_epi16(even, 7), bytes),
                                            _mm512_slli_epi16(_mm512_srai_epi16(odd, 7), 8));
    }
}

/* Into tile 0: dots of the high parts; 1: of the low parts. */
VV_INLINE void folded_sums(const vv_lanes *high, const vv_lanes *low,
                           const struct vv_panel_row *x) {
    _tile_zero(0);
    _tile_zero(1);
    _tile_loadd(4, x->q, sizeof *x);
    _tile_loadd(5, x->q + 64, sizeof *x);
    _tile_loadd(6, high, 64);
    _tile_loadd(7, low, 64);
    _tile_dpbssd(0, 4, 6);
    _tile_dpbssd(1, 4, 7);
    _tile_loadd(6, high + 16, 64);
    _tile_loadd(7, low + 16, 64);
    _tile_dpbssd(0, 5, 6);
    _tile_dpbssd(1, 5, 7);
}

VV_INLINE void add_folded(const struct vv_strip *p, bool offset, const struct sums *t,
                          const struct vv_panel_row *x, size_t m, float (*total)[VV_PANEL_ROWS]) {
    for (size_t r = 0; r < m; r++) {
        __m512i dot = _mm512_add_epi32(_mm512_slli_epi32(sum_of(t, 0, r), 7), sum_of(t, 1, r));
        add_segment(p, offset, x + r, dot, total[r]);
    }
}

VV_INLINE void super_8_dots(const struct vv_strip *p, int shift, bool offset,
                            const struct vv_panel_row *x, size_t n, float (*total)[VV_PANEL_ROWS]) {
    vv_lanes high[32], low[32];
    struct sums t;
    fold(p, shift, high, low);
#define COMPUTE(rows, m, part)                                                                     \
    configure(DEPTH_64, m);                                                                        \
    folded_sums(high, low, rows)
#define COMBINE(rows, m, part, at) add_folded(p, offset, &t, rows, m, total + at)
    IN_TILES(1, 2, x, n, &t, COMPUTE, COMBINE)
#undef COMPUTE
#undef COMBINE
}

/* Few rows go to the vector kernel. */
#define DOTS(name, KIND, CALL)                                                                     \
    static void name(const struct vv_panel *p, const struct vv_panel_format *f, size_t values,     \
                     const struct vv_panel_row *x, size_t n, float(*total)[VV_PANEL_ROWS]) {       \
        if (n < FEWEST) {                                                                          \
            vv_panel_kernel_avx512vnni.dots[KIND](p, f, values, x, n, total);                      \
        } else {                                                                                   \
            CALL;                                                                                  \
        }                                                                                          \
    }
DOTS(block, VV_PANEL_BLOCK, block_dots(p->strip, DEPTH_32, f->shift, false, values, x, n, total))
DOTS(block_16, VV_PANEL_BLOCK_16, block_dots(p->strip, DEPTH_16, 16, false, values, x, n, total))
DOTS(block_offset, VV_PANEL_BLOCK_OFFSET,
     block_dots(p->strip, DEPTH_32, 0, true, values, x, n, total))
DOTS(super_4_offset, VV_PANEL_SUPER_4_OFFSET, super_4_dots(p->strip, x, n, total))
DOTS(super_8, VV_PANEL_SUPER_8, super_8_dots(p->strip, f->shift, false, x, n, total))
DOTS(super_8_offset, VV_PANEL_SUPER_8_OFFSET, super_8_dots(p->strip, 0, true, x, n, total))

static vv_panel_fill *fill(int type) {
    return type == VV_TYPE_IQ2_XXS ? fill_iq2_xxs : vv_panel_fill_avx512(type);
}

const struct vv_panel_kernel vv_panel_kernel_amx = {
    .fill = fill,
    .dots = VV_PANEL_TABLE,
    .rows_dot = vv_rows_dot_avx512,
    .floats = vv_float_products_avx512,
    .release = release,
};

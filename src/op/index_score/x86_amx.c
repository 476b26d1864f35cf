/*
 * Products on AMX, sixteen heads by sixteen keys of 64 values at a time. A vector whose blocks'
 * steps lie within three powers of two has one step for all of it: its codes are shifted instead,
 * to 96 at most. Then a whole dot is one integer I below 2^23, z = I · step_q · step_k is exact as
 * is every sum of blocks that the contract has, and fma(max(I, 0) · step_k, w · step_q, sum) rounds
 * the same real number as fma(max(z, 0), w, sum). Where steps lie further apart, or so far out that
 * one of these products could round, the unit is left to vectors.
 */
#include "op/index_score/x86_zmm.h"

enum { TILE = 16, DEPTH = 64, SHIFT_MOST = 3, STEP_LEAST = 80, STEP_MOST = 170, HEADS_MOST = 64 };

struct whole_keys {
    size_t first, count;
    int32_t slot;
    bool narrow;
    /* [group][width / 4][TILE][4] */
    _Alignas(64) int8_t codes[VV_INDEX_CHUNK * VV_INDEX_WIDTH_MAX];
    _Alignas(64) float step[VV_INDEX_CHUNK];
};

struct whole_queries {
    size_t row;
    bool narrow;
    _Alignas(64) int8_t codes[HEADS_MOST * VV_INDEX_WIDTH_MAX]; /* [heads][width], then zeros */
    float weight[HEADS_MOST];                                   /* times the query's step */
};

struct work {
    struct whole_keys keys;
    struct whole_queries queries;
    struct tile tile; /* of units that are left to vectors */
};

/* The least exponent of a vector's blocks, or 0: they don't lie within reach. */
static int exponent_of(const uint8_t *blocks, size_t count) {
    int least = 255, most = 0;
    for (size_t b = 0; b < count; b++) {
        int e = blocks[b * BLOCK_BYTES];
        least = e < least ? e : least;
        most = e > most ? e : most;
    }
    return most - least <= SHIFT_MOST && least >= STEP_LEAST && most <= STEP_MOST ? least : 0;
}

/* A block's doubled codes as multiples of the step that `least` stands for. */
static inline void unpack_shifted(const uint8_t *block, int least, int8_t *to) {
    static const int8_t shifted[SHIFT_MOST + 1][16] = {
        {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12},
        {0, 2, 4, 6, 8, 12, 16, 24, 0, -2, -4, -6, -8, -12, -16, -24},
        {0, 4, 8, 12, 16, 24, 32, 48, 0, -4, -8, -12, -16, -24, -32, -48},
        {0, 8, 16, 24, 32, 48, 64, 96, 0, -8, -16, -24, -32, -48, -64, -96},
    };
    unpack(block, vv_load_bytes(shifted[block[0] - least]), (uint8_t *)to);
}

static bool put_whole_key(const struct vv_index_score *a, const uint8_t *key, size_t place,
                          struct whole_keys *t) {
    int least = exponent_of(key, a->width / BLOCK);
    int8_t *group = t->codes + place / TILE * TILE * a->width + place % TILE * 4;
    for (size_t b = 0; least && b < a->width / BLOCK; b++) {
        int8_t codes[BLOCK];
        unpack_shifted(key + b * BLOCK_BYTES, least, codes);
        for (size_t i = 0; i < BLOCK; i += 4) {
            memcpy(group + (b * BLOCK + i) * TILE, codes + i, 4);
        }
    }
    t->step[place] = vv_from_bits((uint32_t)(least - 1) << 23);
    return least;
}

/* Places beyond the last key repeat it. */
static void fill_whole(const struct vv_index_score *a, int32_t slot, size_t first, size_t count,
                       struct whole_keys *t) {
    if (t->count >= count && t->first == first && t->slot == slot) {
        return;
    }
    t->first = first;
    t->count = count;
    t->slot = slot;
    t->narrow = true;
    for (size_t b = 0; t->narrow && b < VV_INDEX_CHUNK; b++) {
        size_t entry = first + (b < count ? b : count - 1);
        t->narrow = put_whole_key(a, vv_state_at(&a->pooled, slot, (int64_t)entry), b, t);
    }
}

/* Times a step this weight stays exact. */
static bool within_reach(float weight) {
    float size = fabsf(weight);
    return size == 0 || (size >= 0x1p-60f && size <= 0x1p60f);
}

static bool put_whole_query(const struct vv_index_score *a, size_t row, size_t head,
                            struct whole_queries *to) {
    const uint8_t *q = query_of(a, row, head);
    int least = exponent_of(q, a->width / BLOCK);
    float weight = a->weight ? a->weight[row * a->heads + head] * a->scale : 1.0f;
    for (size_t b = 0; least && b < a->width / BLOCK; b++) {
        unpack_shifted(q + b * BLOCK_BYTES, least, to->codes + head * a->width + b * BLOCK);
    }
    to->weight[head] = weight * vv_from_bits((uint32_t)(least - 1) << 23);
    return least && within_reach(weight);
}

/* All heads of a row: well before they are read, as tiles wait for what was stored just now. */
static void fill_queries(const struct vv_index_score *a, size_t row, struct whole_queries *to) {
    if (to->row == row) {
        return;
    }
    size_t whole = (a->heads + TILE - 1) / TILE * TILE;
    to->row = row;
    to->narrow = true;
    for (size_t h = 0; to->narrow && h < a->heads; h++) {
        to->narrow = put_whole_query(a, row, h, to);
    }
    memset(to->codes + a->heads * a->width, 0, (whole - a->heads) * a->width);
}

/* Tiles 0 … 3: sums of four groups of keys. 4: heads. 5, 6: keys. */
static void configure(void) {
    struct {
        uint8_t palette, start_row, reserved[14];
        uint16_t bytes[16];
        uint8_t rows[16];
    } c = {.palette = 1};
    for (int t = 0; t < 7; t++) {
        c.bytes[t] = 64;
        c.rows[t] = TILE;
    }
    /* GCC 12 has the intrinsic read 8 bytes of it, and drops what is stored in the rest. */
    __asm__ volatile("" ::"m"(c));
    _tile_loadconfig(&c);
}

/* Dots of sixteen heads with all keys: dots [group][head][key]. */
static void multiply_tiles(const struct vv_index_score *a, const int8_t *heads,
                           const struct whole_keys *t, int32_t (*dots)[TILE][TILE]) {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (size_t at = 0; at < a->width; at += DEPTH) {
        const int8_t *keys = t->codes + at * TILE;
        _tile_loadd(4, heads + at, a->width);
#define MULTIPLY(group, keys_tile)                                                                 \
    _tile_loadd(keys_tile, keys + (group)*TILE * a->width, 64);                                    \
    _tile_dpbssd(group, 4, keys_tile);
        MULTIPLY(0, 5)
        MULTIPLY(1, 6)
        MULTIPLY(2, 5)
        MULTIPLY(3, 6)
    }
    _tile_stored(0, dots[0], 64);
    _tile_stored(1, dots[1], 64);
    _tile_stored(2, dots[2], 64);
    _tile_stored(3, dots[3], 64);
}

enum { TILES = VV_INDEX_CHUNK / TILE };

/* Adds the heads of a tile, in their order, to the sums of all keys. */
static inline void add_tile(int32_t (*dots)[TILE][TILE], const float *weight, size_t heads,
                            const float *step, __m512 *sum /* [TILES] */) {
    for (size_t i = 0; i < heads; i++) {
        for (size_t g = 0; g < TILES; g++) {
            __m512i dot = _mm512_max_epi32(_mm512_load_si512(dots[g][i]), _mm512_setzero_si512());
            __m512 z = _mm512_cvtepi32_ps(dot) * _mm512_load_ps(step + g * TILE);
            sum[g] = _mm512_fmadd_ps(z, _mm512_set1_ps(weight[i]), sum[g]);
        }
    }
}

static void score_whole(const struct vv_index_score *a, const struct whole_queries *q, size_t count,
                        const struct whole_keys *t) {
    _Alignas(64) int32_t dots[TILES][TILE][TILE];
    _Alignas(64) float sum[VV_INDEX_CHUNK];
    __m512 s[TILES] = {_mm512_setzero_ps(), _mm512_setzero_ps(), _mm512_setzero_ps(),
                       _mm512_setzero_ps()};
    for (size_t h = 0; h < a->heads; h += TILE) {
        multiply_tiles(a, q->codes + h * a->width, t, dots);
        add_tile(dots, q->weight + h, a->heads - h < TILE ? a->heads - h : TILE, t->step, s);
    }
    for (size_t g = 0; g < TILES; g++) {
        _mm512_store_ps(sum + g * TILE, s[g]);
    }
    for (size_t b = 0; b < count; b++) {
        a->score[q->row * a->stride + t->first + b] = a->weight ? sum[b] : sum[b] * a->scale;
    }
}

static void score_on_tiles(const struct vv_index_score *a, size_t row, size_t first, size_t count,
                           void *work) {
    struct work *w = work;
    bool whole = a->width % DEPTH == 0 && a->heads <= HEADS_MOST;
    if (whole) {
        fill_queries(a, row, &w->queries);
        fill_whole(a, a->window->slot[row], first, count, &w->keys);
    }
    if (whole && w->queries.narrow && w->keys.narrow) {
        score_whole(a, &w->queries, count, &w->keys);
    } else {
        score_unit(a, row, first, count, &w->tile);
    }
}

int vv_index_score_integer_amx(const void *args, size_t begin_unit, size_t end_unit) {
    struct work w;
    w.queries.row = SIZE_MAX;
    w.keys.count = w.tile.count = 0;
    configure();
    int code = vv_index_units(args, begin_unit, end_unit, score_on_tiles, &w);
    _tile_release();
    return code;
}

/*
 * Up to 64 keys against all heads (base/dots.h): at width 128 32 KB of keys, which stay in the
 * first cache for the units of other rows of the same sequence. Keys that aren't floats, or have to
 * be rounded, are made so once for all of those rows; queries four heads at a time.
 */
#include "base/dots.h"
#include "base/half.h"
#include "base/isa.h"
#include "gguf/types.h"
#include "op/index_score/internal.h"
#include "quant/tables.h"

enum { HEADS = 4, KEY_FLOATS = 64 * 128 };

/* Keys of a sequence from `first` on, ready to be multiplied. */
struct tile {
    size_t first, count;
    int32_t slot;
    const float *key[VV_INDEX_CHUNK];
    float made[KEY_FLOATS];
};

static void widen_fp4(const uint8_t *blocks, size_t n, float *to) {
    for (size_t b = 0; b < n / 32; b++) {
        const uint8_t *block = blocks + 17 * b;
        float step =
            vv_from_bits(block[0] < 2 ? 0x00200000u << block[0] : (uint32_t)(block[0] - 1) << 23);
        for (size_t i = 0; i < 16; i++) {
            to[32 * b + i] = step * (float)vv_e2m1_doubled[block[1 + i] & 15];
            to[32 * b + 16 + i] = step * (float)vv_e2m1_doubled[block[1 + i] >> 4];
        }
    }
}

/* A vector's values as floats, rounded to half if `half`. */
static void make(int type, const void *from, size_t n, bool half, float *to) {
    if (type == VV_TYPE_MXFP4) {
        widen_fp4(from, n, to);
    }
    for (size_t i = 0; type == VV_TYPE_F32 && i < n; i++) {
        to[i] = ((const float *)from)[i];
    }
    for (size_t i = 0; type == VV_TYPE_F16 && i < n; i++) {
        to[i] = vv_from_f16(((const uint16_t *)from)[i]);
    }
    for (size_t i = 0; half && type != VV_TYPE_F16 && i < n; i++) {
        to[i] = vv_from_f16(vv_to_f16(to[i]));
    }
}

static void fill(const struct vv_index_score *a, int32_t slot, size_t first, size_t count,
                 bool half, struct tile *t) {
    if (t->count >= count && t->first == first && t->slot == slot) {
        return;
    }
    t->first = first;
    t->count = count;
    t->slot = slot;
    for (size_t b = 0; b < count; b++) {
        const void *key = vv_state_at(&a->pooled, slot, (int64_t)(first + b));
        t->key[b] = key;
        if (half || a->pooled.type != VV_TYPE_F32) {
            float *to = t->made + b * a->width;
            make(a->pooled.type, key, a->width, half, to);
            t->key[b] = to;
        }
    }
}

/* sum[b] gets one head's z. */
static void add_head(float *restrict sum, const float *restrict z, const float *weight,
                     float scale) {
    float w = weight ? *weight * scale : 0.0f;
    for (size_t b = 0; b < VV_INDEX_CHUNK; b++) {
        float positive = vv_index_positive(z[b]);
        sum[b] = weight ? fmaf(positive, w, sum[b]) : sum[b] + positive;
    }
}

static void score_tile(const struct vv_index_score *a, size_t row, const struct tile *t,
                       size_t count, bool half) {
    const float *weight = a->weight ? a->weight + row * a->heads : NULL;
    float sum[VV_INDEX_CHUNK] = {0}, *score = a->score + row * a->stride + t->first;
    for (size_t h = 0; h < a->heads; h += HEADS) {
        float z[HEADS][VV_INDEX_CHUNK] = {{0}}, made[HEADS * VV_INDEX_WIDTH_MAX];
        size_t heads = a->heads - h < HEADS ? a->heads - h : HEADS;
        const float *q = vv_index_query(a, row, h);
        if (half || a->q_type != VV_TYPE_F32) {
            make(a->q_type, q, heads * a->width, half, made);
            q = made;
        }
        for (size_t at = 0; at < a->width; at += VV_SEGMENT) {
            size_t n = a->width - at < VV_SEGMENT ? a->width - at : VV_SEGMENT;
            vv_dots_segment(t->key, count, at, n, q, a->width, heads, z[0], VV_INDEX_CHUNK);
        }
        for (size_t i = 0; i < heads; i++) {
            add_head(sum, z[i], weight ? weight + h + i : NULL, a->scale);
        }
    }
    for (size_t b = 0; b < count; b++) {
        score[b] = weight ? sum[b] : sum[b] * a->scale;
    }
}

/* All of a unit's blocks, as many at a time as have room. */
static inline void score_unit(const struct vv_index_score *a, size_t row, size_t first,
                              size_t count, bool half, struct tile *t) {
    size_t room = KEY_FLOATS / a->width;
    room = room < VV_INDEX_CHUNK ? room : VV_INDEX_CHUNK;
    for (size_t b = 0; b < count; b += room) {
        size_t n = count - b < room ? count - b : room;
        fill(a, a->window->slot[row], first + b, n, half, t);
        score_tile(a, row, t, n, half);
    }
}

static void score_floats(const struct vv_index_score *a, size_t row, size_t first, size_t count,
                         void *tile) {
    score_unit(a, row, first, count, false, tile);
}

static void score_halves(const struct vv_index_score *a, size_t row, size_t first, size_t count,
                         void *tile) {
    score_unit(a, row, first, count, true, tile);
}

int VV_ISA(vv_index_score_portable)(const void *args, size_t begin, size_t end) {
    struct tile t;
    t.count = 0;
    return vv_index_units(args, begin, end, score_floats, &t);
}

int VV_ISA(vv_index_score_half_portable)(const void *args, size_t begin, size_t end) {
    struct tile t;
    t.count = 0;
    return vv_index_units(args, begin, end, score_halves, &t);
}

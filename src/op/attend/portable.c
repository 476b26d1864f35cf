/*
 * A chunk of keys, then of values, serves all query heads of its key/value head that are asked for,
 * HEADS at most; what isn't float is widened once. Scores of a chunk lie at their slot mod 64, with
 * -inf (p = +0) where the run has no key, so that every loop over a chunk has 64 steps; values are
 * taken in tiles of some heads and TILE columns, whose sums stay in registers over the whole chunk.
 */
#include "base/dots.h"
#include "base/half.h"
#include "base/isa.h"
#include "gguf/types.h"
#include "op/attend/internal.h"

#ifdef __F16C__
#include <immintrin.h>
#endif

#define INLINE static inline __attribute__((always_inline))

enum {
    CHUNK = VV_ATTEND_CHUNK,
    HEADS = 16,
    VECTORS = 4,
    TILE = VECTORS * VV_WIDTH,           /* columns of values … */
    TILE_HEADS = VV_WIDTH == 16 ? 4 : 2, /* … and heads that meet them together */
};

/* A chunk of a run, and what is known of it for each head. Selected entries lie anywhere, so a
 * chunk's values are fetched while its scores are taken, and the next chunk's keys while its values
 * are. */
struct place {
    const uint8_t *k, *v;
};

struct chunk {
    const struct vv_attend_run *run;
    size_t first, count;       /* keys of the run */
    size_t offset;             /* slot of the first, mod 64 */
    float p[HEADS][CHUNK];     /* scores, then exp(z - m_c), by slot mod 64 */
    float a[HEADS], b[HEADS];  /* factors of the merge */
    size_t held;               /* keys of the chunk before the window's own rows */
    struct place at[CHUNK];    /* of each key */
    struct place ahead[CHUNK]; /* of the keys that follow */
};

static void widen(const uint8_t *entry, size_t at, size_t n, float *to) {
    const uint16_t *from = (const uint16_t *)(const void *)entry + at;
    size_t i = 0;
#ifdef __F16C__
    for (; i + 8 <= n; i += 8) {
        __m128i half = _mm_loadu_si128((const __m128i *)(const void *)(from + i));
        _mm256_storeu_ps(to + i, _mm256_cvtph_ps(half));
    }
#endif
    for (; i < n; i++) {
        to[i] = vv_from_f16(from[i]);
    }
}

/* Values at .. at + n - 1 of an entry as floats. */
static const float *floats(const uint8_t *entry, int type, size_t at, size_t n, float *wide) {
    if (type != VV_TYPE_F16) {
        return (const float *)(const void *)entry + at;
    }
    widen(entry, at, n, wide);
    return wide;
}

enum { LINE = 64, FETCHED = 8 /* entries */ };

static size_t element_bytes(int type) {
    return type == VV_TYPE_F16 ? sizeof(uint16_t) : sizeof(float);
}

/* Values at .. at + n - 1 of a few entries of the chunk. */
static void fetch_values(const struct chunk *c, size_t first, size_t at, size_t n) {
    size_t bytes = element_bytes(c->run->v_type);
    for (size_t j = first; j < first + FETCHED && j < c->count; j++) {
        const uint8_t *entry = c->at[j].v;
        for (size_t i = at * bytes; i < (at + n) * bytes; i += LINE) {
            __builtin_prefetch(entry + i);
        }
    }
}

static void scores(const struct vv_attend_heads *h, struct chunk *c) {
    float wide[FETCHED][VV_SEGMENT];
    const float *key[FETCHED];
    for (size_t head = 0; head < h->heads; head++) {
        for (size_t j = 0; j < CHUNK; j++) {
            c->p[head][j] = 0.0f;
        }
    }
    for (size_t at = 0; at < h->width; at += VV_SEGMENT) {
        size_t n = h->width - at < VV_SEGMENT ? h->width - at : VV_SEGMENT;
        for (size_t first = 0; first < c->count; first += FETCHED) {
            size_t keys = c->count - first < FETCHED ? c->count - first : FETCHED;
            fetch_values(c, first, at, n);
            for (size_t j = 0; j < keys; j++) {
                int type = first + j < c->held ? c->run->k_type : VV_TYPE_F32;
                key[j] = floats(c->at[first + j].k, type, at, n, wide[j]);
            }
            vv_dots_segment(key, keys, 0, n, h->q + at, h->width, h->heads,
                            c->p[0] + c->offset + first, CHUNK);
        }
    }
}

/* Scores become p; returns l_c and sets m_c. */
static float chunk_softmax(float *p, size_t offset, size_t count, float scale, float *m_c) {
    float top[VV_LANES], lane[VV_LANES] = {0};
    for (size_t j = 0; j < CHUNK; j++) {
        p[j] *= scale;
    }
    for (size_t j = 0; j < offset; j++) {
        p[j] = -INFINITY;
    }
    for (size_t j = offset + count; j < CHUNK; j++) {
        p[j] = -INFINITY;
    }
    for (size_t l = 0; l < VV_LANES; l++) {
        top[l] = p[l];
    }
    for (size_t j = VV_LANES; j < CHUNK; j += VV_LANES) {
        for (size_t l = 0; l < VV_LANES; l++) {
            top[l] = p[j + l] > top[l] ? p[j + l] : top[l];
        }
    }
    *m_c = top[0];
    for (size_t l = 1; l < VV_LANES; l++) {
        *m_c = top[l] > *m_c ? top[l] : *m_c;
    }
    for (size_t j = 0; j < CHUNK; j++) {
        p[j] = vv_exp(p[j] - *m_c);
    }
    for (size_t j = 0; j < CHUNK; j += VV_LANES) {
        for (size_t l = 0; l < VV_LANES; l++) {
            lane[l] += p[j + l];
        }
    }
    return vv_add_lanes(lane);
}

static void merge(float *m, float *l, float m_c, float l_c, float *a, float *b) {
    float most = m_c > *m ? m_c : *m;
    *a = vv_exp(*m - most);
    *b = vv_exp(m_c - most);
    *l = fmaf(l_c, *b, *l * *a);
    *m = most;
}

/* o = fma(o_c, b, o · a) for TILE columns of n heads, a constant; o lies at `o` + head · stride. */
INLINE void merge_heads(const struct chunk *c, size_t head, size_t n, const float (*value)[TILE],
                        size_t fetch, size_t fetch_end, float *o, size_t stride) {
    vv_vector o_c[TILE_HEADS][VECTORS] = {{{0}}};
    for (size_t j = 0; j < c->count; j++) {
        vv_vector v[VECTORS];
        for (size_t at = fetch; at < fetch_end; at += LINE) {
            __builtin_prefetch(c->ahead[j].k + at);
        }
        for (size_t k = 0; k < VECTORS; k++) {
            v[k] = vv_load(value[j] + k * VV_WIDTH);
        }
        for (size_t i = 0; i < n; i++) {
            vv_vector p = vv_splat(c->p[head + i][c->offset + j]);
            for (size_t k = 0; k < VECTORS; k++) {
                o_c[i][k] = vv_fma(p, v[k], o_c[i][k]);
            }
        }
    }
    for (size_t i = 0; i < n; i++) {
        vv_vector a = vv_splat(c->a[head + i]), b = vv_splat(c->b[head + i]);
        for (size_t k = 0; k < VECTORS; k++) {
            float *at = o + i * stride + k * VV_WIDTH;
            vv_store(at, vv_fma(o_c[i][k], b, vv_load(at) * a));
        }
    }
}

/* All heads; meanwhile bytes `fetch` .. `fetch_end` - 1 of the entries ahead are fetched. */
static void merge_tile(const struct chunk *c, size_t heads, const float (*value)[TILE],
                       size_t fetch, size_t fetch_end, float *o, size_t stride) {
    size_t head = 0, tiles = (heads + TILE_HEADS - 1) / TILE_HEADS;
    size_t step = ((fetch_end - fetch) / tiles + LINE - 1) / LINE * LINE;
    for (; head < heads; fetch += step) {
        size_t end = fetch + step < fetch_end ? fetch + step : fetch_end;
        if (heads - head >= TILE_HEADS) {
            merge_heads(c, head, TILE_HEADS, value, fetch, end, o + head * stride, stride);
            head += TILE_HEADS;
        } else {
            merge_heads(c, head, 1, value, fetch, end, o + head * stride, stride);
            head++;
        }
    }
}

/* A tile is copied together: entries lie a power of two apart, which the first cache can't hold. */
static void gather(const struct chunk *c, size_t at, size_t n, float (*value)[TILE]) {
    for (size_t j = 0; j < c->count; j++) {
        int type = j < c->held ? c->run->v_type : VV_TYPE_F32;
        const float *from = floats(c->at[j].v, type, at, n, value[j]);
        if (from != value[j] && n == TILE) { /* a constant size */
            memcpy(value[j], from, sizeof value[j]);
        } else if (from != value[j]) {
            memcpy(value[j], from, n * sizeof *from);
        }
    }
}

static void values(const struct vv_attend_heads *h, const struct chunk *c) {
    float value[CHUNK][TILE] = {{0}}, o[HEADS][TILE] = {{0}};
    size_t key_bytes = element_bytes(c->run->k_type);
    for (size_t at = 0; at < h->width; at += TILE) {
        size_t n = h->width - at < TILE ? h->width - at : TILE;
        size_t fetch = at * key_bytes, fetch_end = (at + n) * key_bytes;
        gather(c, at, n, value);
        if (n == TILE) {
            merge_tile(c, h->heads, (const float(*)[TILE])value, fetch, fetch_end, h->y + at,
                       h->width);
            continue;
        }
        for (size_t head = 0; head < h->heads; head++) { /* fewer columns: padded */
            memcpy(o[head], h->y + head * h->width + at, n * sizeof *h->y);
        }
        merge_tile(c, h->heads, (const float(*)[TILE])value, fetch, fetch_end, o[0], TILE);
        for (size_t head = 0; head < h->heads; head++) {
            memcpy(h->y + head * h->width + at, o[head], n * sizeof *h->y);
        }
    }
}

/* Where CHUNK keys from `first` on lie, without a division for each; beyond the run's end any. */
static void find_keys(const struct vv_attend_run *run, size_t first, struct place *at) {
    size_t listed = run->blocks * run->ratio, block = first / run->ratio,
           token = first % run->ratio, entry = 0;
    for (size_t j = 0; j < CHUNK; j++) {
        size_t i = first + j;
        if (i < run->count && vv_attend_owns(run, i)) {
            at[j].k = at[j].v = vv_attend_own(run, i);
            continue;
        }
        if (i < listed) {
            entry = (size_t)run->block[block] * run->ratio + token;
            token++;
            block += token == run->ratio;
            token = token == run->ratio ? 0 : token;
        } else if (i < run->count) {
            entry = vv_attend_entry(run, i);
        }
        at[j] = (struct place){run->k + entry * run->k_stride, run->v + entry * run->v_stride};
    }
}

static int attend_run(const struct vv_attend_heads *h, const struct vv_attend_run *run, float *m,
                      float *l) {
    struct chunk c = {.run = run};
    find_keys(run, 0, c.at);
    for (c.first = 0; c.first < run->count; c.first += c.count) {
        c.offset = (run->slot + c.first) % CHUNK;
        c.count = run->count - c.first < CHUNK - c.offset ? run->count - c.first : CHUNK - c.offset;
        c.held = !run->own ? c.count : run->held > c.first ? run->held - c.first : 0;
        scores(h, &c);
        for (size_t head = 0; head < h->heads; head++) {
            float m_c, l_c = chunk_softmax(c.p[head], c.offset, c.count, h->scale, &m_c);
            if (isnan(l_c)) {
                return VV_ERROR_NOT_FINITE;
            }
            merge(m + head, l + head, m_c, l_c, c.a + head, c.b + head);
        }
        find_keys(run, c.first + c.count, c.ahead);
        values(h, &c);
        memcpy(c.at, c.ahead, sizeof c.at);
    }
    return VV_OK;
}

/* Sink and division; `h` has at most HEADS heads. */
static void finish(const struct vv_attend_heads *h, float *m, float *l) {
    for (size_t head = 0; head < h->heads; head++) {
        float *y = h->y + head * h->width, a, b;
        if (h->sink) {
            merge(m + head, l + head, h->sink[head], 1.0f, &a, &b);
            for (size_t d = 0; d < h->width; d++) {
                y[d] = fmaf(0.0f, b, y[d] * a);
            }
        }
        float inverse = 1.0f / l[head];
        for (size_t d = 0; d < h->width; d++) {
            y[d] *= inverse;
        }
    }
}

int VV_ISA(vv_attend_core_portable)(const struct vv_attend_heads *all) {
    for (size_t first = 0; first < all->heads; first += HEADS) {
        struct vv_attend_heads h = *all;
        float m[HEADS], l[HEADS];
        h.heads = all->heads - first < HEADS ? all->heads - first : HEADS;
        h.q += first * h.width;
        h.y += first * h.width;
        h.sink = all->sink ? all->sink + first : NULL;
        for (size_t head = 0; head < h.heads; head++) {
            m[head] = -INFINITY;
            l[head] = 0.0f;
        }
        memset(h.y, 0, h.heads * h.width * sizeof *h.y);
        for (size_t r = 0; r < h.runs; r++) {
            int error = attend_run(&h, h.run + r, m, l);
            if (error != VV_OK) {
                return error;
            }
        }
        finish(&h, m, l);
    }
    return VV_OK;
}

int VV_ISA(vv_attend_portable)(const void *args, size_t begin, size_t end) {
    const struct vv_attend *a = args;
    size_t group = a->heads / a->kv_heads;
    for (size_t unit = begin, count; unit < end; unit += count) {
        size_t row = unit / a->heads, head = unit % a->heads, left = group - head % group;
        count = end - unit < left ? end - unit : left;
        struct vv_attend_run run;
        struct vv_attend_heads h = {.q = a->q + unit * a->width,
                                    .heads = count,
                                    .width = a->width,
                                    .scale = a->scale,
                                    .run = &run,
                                    .runs = 1,
                                    .y = a->y + unit * a->width};
        int error = vv_attend_keys(a, row, head / group, &run);
        if (error == VV_OK) {
            error = VV_ISA(vv_attend_core_portable)(&h);
        }
        if (error != VV_OK) {
            return error;
        }
        for (size_t i = 0; i < count; i++) {
            const float *gate = a->gate + row * a->gate_row + (head + i) * a->gate_head;
            float *y = h.y + i * a->width;
            for (size_t d = 0; d < a->width; d++) {
                y[d] *= vv_sigmoid(gate[d]);
            }
        }
    }
    return VV_OK;
}

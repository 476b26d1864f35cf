/*
 * A chunk of keys, then of values, is widened to floats once and serves all query heads of its
 * key/value head that are asked for, HEADS at most. Scores of a chunk lie at their slot mod 64,
 * with -inf (p = +0) where the run has no key, so that every loop over a chunk has 64 steps; values
 * are taken in tiles of TILE columns, whose sums stay in registers over the whole chunk.
 */
#include "base/dots.h"
#include "base/half.h"
#include "base/isa.h"
#include "gguf/types.h"
#include "op/attend/internal.h"

#ifdef __F16C__
#include <immintrin.h>
#endif

enum { CHUNK = VV_ATTEND_CHUNK, HEADS = 16, TILE = 64 };

/* A chunk of a run, and what is known of it for each head. */
struct chunk {
    const struct vv_attend_run *run;
    size_t first, count;      /* keys of the run */
    size_t offset;            /* slot of the first, mod 64 */
    float p[HEADS][CHUNK];    /* scores, then exp(z - m_c), by slot mod 64 */
    float a[HEADS], b[HEADS]; /* factors of the merge */
};

static void widen(const uint8_t *entry, int type, size_t at, size_t n, float *to) {
    if (type == VV_TYPE_F16) {
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
    } else {
        memcpy(to, entry + at * sizeof *to, n * sizeof *to);
    }
}

static void scores(const struct vv_attend_heads *h, struct chunk *c) {
    float key[CHUNK][VV_SEGMENT];
    for (size_t head = 0; head < h->heads; head++) {
        for (size_t j = 0; j < CHUNK; j++) {
            c->p[head][j] = 0.0f;
        }
    }
    for (size_t at = 0; at < h->width; at += VV_SEGMENT) {
        size_t n = h->width - at < VV_SEGMENT ? h->width - at : VV_SEGMENT;
        for (size_t j = 0; j < c->count; j++) {
            size_t entry = vv_attend_entry(c->run, c->first + j);
            widen(c->run->k + entry * c->run->k_stride, c->run->k_type, at, n, key[j]);
        }
        for (size_t head = 0; head < h->heads; head++) {
            vv_dots_segment(key[0], VV_SEGMENT, c->count, h->q + head * h->width + at, n,
                            c->p[head] + c->offset);
        }
    }
}

/* Scores become p; returns l_c and sets m_c. */
static float chunk_softmax(float *p, size_t offset, size_t count, float scale, float *m_c) {
    float top[VV_LANES], lane[VV_LANES] = {0};
    for (size_t j = 0; j < CHUNK; j++) {
        p[j] = j - offset < count ? p[j] * scale : -INFINITY;
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

/* o = fma(o_c, b, o · a) for n <= TILE columns of one head; `value` is padded to TILE. Not inlined:
 * the sums need the registers. */
static __attribute__((noinline)) void merge_tile(const float *p, const float (*value)[TILE],
                                                 size_t count, float a, float b, float *o,
                                                 size_t n) {
    float o_c[TILE];
    for (size_t d = 0; d < TILE; d++) {
        o_c[d] = 0.0f;
    }
    for (size_t j = 0; j < count; j++) {
        for (size_t d = 0; d < TILE; d++) {
            o_c[d] = fmaf(p[j], value[j][d], o_c[d]);
        }
    }
    for (size_t d = 0; d < n; d++) {
        o[d] = fmaf(o_c[d], b, o[d] * a);
    }
}

static void values(const struct vv_attend_heads *h, const struct chunk *c) {
    float value[CHUNK][TILE] = {{0}};
    for (size_t at = 0; at < h->width; at += TILE) {
        size_t n = h->width - at < TILE ? h->width - at : TILE;
        for (size_t j = 0; j < c->count; j++) {
            size_t entry = vv_attend_entry(c->run, c->first + j);
            widen(c->run->v + entry * c->run->v_stride, c->run->v_type, at, n, value[j]);
        }
        for (size_t head = 0; head < h->heads; head++) {
            merge_tile(c->p[head] + c->offset, value, c->count, c->a[head], c->b[head],
                       h->y + head * h->width + at, n);
        }
    }
}

static int attend_run(const struct vv_attend_heads *h, const struct vv_attend_run *run, float *m,
                      float *l) {
    struct chunk c = {.run = run};
    for (c.first = 0; c.first < run->count; c.first += c.count) {
        c.offset = (run->slot + c.first) % CHUNK;
        c.count = run->count - c.first < CHUNK - c.offset ? run->count - c.first : CHUNK - c.offset;
        scores(h, &c);
        for (size_t head = 0; head < h->heads; head++) {
            float m_c, l_c = chunk_softmax(c.p[head], c.offset, c.count, h->scale, &m_c);
            if (isnan(l_c)) {
                return VV_ERROR_NOT_FINITE;
            }
            merge(m + head, l + head, m_c, l_c, c.a + head, c.b + head);
        }
        values(h, &c);
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

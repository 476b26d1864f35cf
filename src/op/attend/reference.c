#include "base/dot.h"
#include "base/half.h"
#include "gguf/types.h"
#include "op/attend/internal.h"

static float element(const uint8_t *entry, int type, size_t i) {
    return type == VV_TYPE_F16 ? vv_from_f16(((const uint16_t *)(const void *)entry)[i])
                               : ((const float *)(const void *)entry)[i];
}

/* Where key i of a run, or its value, lies. */
struct place {
    const uint8_t *at;
    int type;
};

static struct place place_of(const struct vv_attend_run *run, size_t i, bool value) {
    if (vv_attend_owns(run, i)) {
        return (struct place){vv_attend_own(run, i), VV_TYPE_F32};
    }
    size_t entry = vv_attend_entry(run, i);
    return value ? (struct place){run->v + entry * run->v_stride, run->v_type}
                 : (struct place){run->k + entry * run->k_stride, run->k_type};
}

/* dot(k, q): section 4 for a key of either type. */
static float score(const uint8_t *k, int type, const float *q, size_t width) {
    float sum = 0.0f;
    for (size_t at = 0; at < width; at += VV_SEGMENT) {
        float lane[VV_LANES] = {0};
        for (size_t i = at; i < at + VV_SEGMENT && i < width; i++) {
            lane[i % VV_LANES] = fmaf(element(k, type, i), q[i], lane[i % VV_LANES]);
        }
        sum += vv_add_lanes(lane);
    }
    return sum;
}

/* o = fma(o_c, b, o · a) and the same for l, with m' = max(m, m_c). */
struct merged {
    float m, l;
};

static void merge_numbers(struct merged *s, float m_c, float l_c, float *a, float *b) {
    float m = fmaxf(s->m, m_c);
    *a = vv_exp(s->m - m);
    *b = vv_exp(m_c - m);
    s->l = fmaf(l_c, *b, s->l * *a);
    s->m = m;
}

/* Keys first .. first + count - 1 of the run, which are one chunk. */
static int chunk(const struct vv_attend_heads *h, const struct vv_attend_run *run, size_t first,
                 size_t count, const float *q, struct merged *s, float *o) {
    float p[VV_ATTEND_CHUNK], lane[VV_LANES] = {0}, m_c = -INFINITY, a, b;
    for (size_t j = 0; j < count; j++) {
        struct place k = place_of(run, first + j, false);
        p[j] = score(k.at, k.type, q, h->width) * h->scale;
        m_c = fmaxf(m_c, p[j]);
    }
    for (size_t j = 0; j < count; j++) {
        p[j] = vv_exp(p[j] - m_c);
        lane[(run->slot + first + j) % VV_LANES] += p[j];
    }
    float l_c = vv_add_lanes(lane);
    if (isnan(l_c)) {
        return VV_ERROR_NOT_FINITE;
    }
    merge_numbers(s, m_c, l_c, &a, &b);
    for (size_t d = 0; d < h->width; d++) {
        float o_c = 0.0f;
        for (size_t j = 0; j < count; j++) {
            struct place v = place_of(run, first + j, true);
            o_c = fmaf(p[j], element(v.at, v.type, d), o_c);
        }
        o[d] = fmaf(o_c, b, o[d] * a);
    }
    return VV_OK;
}

static int one_head(const struct vv_attend_heads *h, size_t head) {
    const float *q = h->q + head * h->width;
    float *o = h->y + head * h->width, a, b;
    struct merged s = {-INFINITY, 0.0f};
    for (size_t d = 0; d < h->width; d++) {
        o[d] = 0.0f;
    }
    for (size_t r = 0; r < h->runs; r++) {
        const struct vv_attend_run *run = h->run + r;
        for (size_t first = 0, end; first < run->count; first = end) {
            end = ((run->slot + first) / VV_ATTEND_CHUNK + 1) * VV_ATTEND_CHUNK - run->slot;
            end = end < run->count ? end : run->count;
            int error = chunk(h, run, first, end - first, q, &s, o);
            if (error != VV_OK) {
                return error;
            }
        }
    }
    if (h->sink) {
        merge_numbers(&s, h->sink[head], 1.0f, &a, &b);
        for (size_t d = 0; d < h->width; d++) {
            o[d] = fmaf(0.0f, b, o[d] * a);
        }
    }
    float inverse = 1.0f / s.l;
    for (size_t d = 0; d < h->width; d++) {
        o[d] *= inverse;
    }
    return VV_OK;
}

int vv_attend_core_reference(const struct vv_attend_heads *h) {
    for (size_t head = 0; head < h->heads; head++) {
        int error = one_head(h, head);
        if (error != VV_OK) {
            return error;
        }
    }
    return VV_OK;
}

int vv_attend_reference(const void *args, size_t begin, size_t end) {
    const struct vv_attend *a = args;
    for (size_t unit = begin; unit < end; unit++) {
        size_t row = unit / a->heads, head = unit % a->heads;
        const float *gate = a->gate + row * a->gate_row + head * a->gate_head;
        float *y = a->y + unit * a->width;
        struct vv_attend_run run;
        struct vv_attend_heads h = {
            a->q + unit * a->width, 1, a->width, a->scale, &run, 1, NULL, y};
        int error = vv_attend_keys(a, row, head / (a->heads / a->kv_heads), &run);
        if (error == VV_OK) {
            error = vv_attend_core_reference(&h);
        }
        if (error != VV_OK) {
            return error;
        }
        for (size_t d = 0; d < a->width; d++) {
            y[d] *= vv_sigmoid(gate[d]);
        }
    }
    return VV_OK;
}

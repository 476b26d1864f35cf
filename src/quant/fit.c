/* One group of values: levels, sums, the best scale and offset. */
#include "quant/fit.h"
#include "base/half.h"

#include <math.h>

/* Four lanes, which every machine has; the order of all sums follows from it. */
enum { LANES = 4, STEP = 16 };
typedef float floats __attribute__((vector_size(16)));
typedef int32_t ints __attribute__((vector_size(16)));

struct sixteen {
    floats part[STEP / LANES];
};

static inline floats spread(float x) {
    return (floats){x, x, x, x};
}

static inline floats masked(ints mask, floats v) {
    return (floats)(mask & (ints)v);
}

static inline floats selected(ints mask, floats yes, floats no) {
    return (floats)((mask & (ints)yes) | (~mask & (ints)no));
}

static inline float sum_lanes(floats v) {
    return (v[0] + v[2]) + (v[1] + v[3]);
}

/* ---- levels ---- */

struct vv_levels vv_levels_of_table(const int8_t *table, int count) {
    struct vv_levels l = {.low = table[0], .high = table[count - 1], .gaps = count - 1};
    for (int i = 0; i < l.gaps; i++) {
        l.middle[i] = 0.5f * (float)(table[i] + table[i + 1]);
        l.gap[i] = (float)(table[i + 1] - table[i]);
    }
    return l;
}

/* Rounding to nearest even by a number so large that the sum has no fraction. */
static inline void to_integers(float low, float high, struct sixteen *y) {
    const floats a = spread(low), b = spread(high), large = spread(0x1.8p+23f);
    for (int k = 0; k < STEP / LANES; k++) {
        floats v = y->part[k];
        v = selected(v < a, a, v);
        v = selected(v > b, b, v);
        y->part[k] = v + large - large;
    }
}

/* low plus the steps of all the middles that lie below. */
static inline void to_table(float low, const float *middle, const float *step, int gaps,
                            struct sixteen *y) {
    struct sixteen level;
    for (int k = 0; k < STEP / LANES; k++) {
        level.part[k] = spread(low);
    }
    for (int i = 0; i < gaps; i++) {
        const floats m = spread(middle[i]), s = spread(step[i]);
        for (int k = 0; k < STEP / LANES; k++) {
            level.part[k] += masked(y->part[k] > m, s);
        }
    }
    *y = level;
}

/* (x - offset) / scale; 0 where the scale is. */
static inline void to_units(const float *x, float scale, float offset, struct sixteen *y) {
    const floats inverse = spread(scale != 0.0f ? 1.0f / scale : 0.0f), o = spread(offset);
    for (int k = 0; k < STEP / LANES; k++) {
        const float *v = x + LANES * k;
        y->part[k] = ((floats){v[0], v[1], v[2], v[3]} - o) * inverse;
    }
}

struct vv_sums vv_fit_sums(const struct vv_levels *levels, const float *x, size_t n, float scale,
                           float offset) {
    const floats s = spread(scale), o = spread(offset);
    floats q = {0}, qq = {0}, r = {0}, rq = {0}, rr = {0};
    for (size_t i = 0; i < n; i += STEP) {
        struct sixteen level;
        to_units(x + i, scale, offset, &level);
        if (levels->gaps) {
            to_table(levels->low, levels->middle, levels->gap, levels->gaps, &level);
        } else {
            to_integers(levels->low, levels->high, &level);
        }
        for (int k = 0; k < STEP / LANES; k++) {
            const float *v = x + i + LANES * k;
            floats l = level.part[k], rest = (floats){v[0], v[1], v[2], v[3]} - o - s * l;
            q += l;
            qq += l * l;
            r += rest;
            rq += rest * l;
            rr += rest * rest;
        }
    }
    return (struct vv_sums){sum_lanes(q), sum_lanes(qq), sum_lanes(r), sum_lanes(rq),
                            sum_lanes(rr)};
}

void vv_fit_codes(const struct vv_levels *levels, const float *x, size_t n, float scale,
                  float offset, uint8_t *code) {
    static const float ones[VV_LEVELS_MOST - 1] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    for (size_t i = 0; i < n; i += STEP) {
        struct sixteen place;
        to_units(x + i, scale, offset, &place);
        if (levels->gaps) {
            to_table(0, levels->middle, ones, levels->gaps, &place);
        } else {
            to_integers(levels->low, levels->high, &place);
        }
        float first = levels->gaps ? 0 : levels->low;
        for (size_t k = 0; k < STEP; k++) {
            code[i + k] = (uint8_t)(place.part[k / LANES][k % LANES] - first);
        }
    }
}

/* ---- a scale ---- */

/* No half is nearer to a smaller magnitude than 0 is. */
#define SMALLEST 0x1p-25f

static float peak_of(const float *x, size_t n) {
    float peak = 0;
    for (size_t i = 0; i < n; i++) {
        peak = fabsf(x[i]) > fabsf(peak) ? x[i] : peak;
    }
    return peak;
}

static float step_of(float from, float to, int step, int steps) {
    return from + (to - from) * (float)step / (float)(steps - 1);
}

/* What a scale has to grow by to be the best one for the levels that it led to. */
static float growth(const struct vv_sums *s) {
    return s->qq > 0 ? s->rq / s->qq : 0;
}

float vv_fit_scale(const struct vv_levels *levels, const struct vv_trials *trials, const float *x,
                   size_t n) {
    float peak = peak_of(x, n), least = INFINITY, scale = 0;
    if (fabsf(peak) < SMALLEST) {
        return 0;
    }
    for (int k = 0; k < trials->steps << trials->both; k++) {
        float end = step_of(trials->from, trials->to, k % trials->steps, trials->steps);
        float tried = peak / (k < trials->steps ? -end : end);
        struct vv_sums s = vv_fit_sums(levels, x, n, tried, 0);
        float error = s.rr - growth(&s) * s.rq;
        if (error < least) {
            least = error;
            scale = tried + growth(&s);
        }
    }
    struct vv_sums s = vv_fit_sums(levels, x, n, scale, 0);
    return scale + growth(&s);
}

/* ---- a scale and an offset ---- */

struct vv_solution vv_fit_solve(float a, float b, float c, float u, float v) {
    float det = a * c - b * b;
    if (det > 0) {
        return (struct vv_solution){(c * u - b * v) / det, (a * v - b * u) / det};
    }
    return c > 0 ? (struct vv_solution){0, v / c} : (struct vv_solution){a > 0 ? u / a : 0, 0};
}

/* Moves the line to the best one for the levels that it has now; returns the error of that. */
static float improve(const struct vv_levels *levels, const float *x, size_t n, float highest,
                     struct vv_line *line) {
    struct vv_sums s = vv_fit_sums(levels, x, n, line->scale, line->offset);
    struct vv_solution d = vv_fit_solve(s.qq, s.q, (float)n, s.rq, s.r);
    if (line->offset + d.y > highest) {
        d.y = highest - line->offset;
        d.x = s.qq > 0 ? (s.rq - s.q * d.y) / s.qq : 0;
    }
    line->scale += d.x;
    line->offset += d.y;
    return s.rr - 2 * (d.x * s.rq + d.y * s.r) + d.x * (d.x * s.qq + 2 * d.y * s.q) +
           d.y * d.y * (float)n;
}

struct vv_line vv_fit_line(const struct vv_levels *levels, const struct vv_shrinking *shrinking,
                           const float *x, size_t n, float highest) {
    float low = highest, high = x[0];
    for (size_t i = 0; i < n; i++) {
        low = x[i] < low ? x[i] : low;
        high = x[i] > high ? x[i] : high;
    }
    float width = high - low, least = INFINITY;
    struct vv_line best = {0, low};
    int steps = width < SMALLEST ? 0 : shrinking->steps;
    for (int k = 0; k < steps * steps; k++) {
        float a = low + width * step_of(shrinking->from, shrinking->to, k / steps, steps);
        float b = high - width * step_of(shrinking->from, shrinking->to, k % steps, steps);
        struct vv_line line = {.offset = a < highest ? a : highest};
        line.scale = (b - line.offset) / levels->high;
        float error = improve(levels, x, n, highest, &line);
        if (error < least) {
            least = error;
            best = line;
        }
    }
    improve(levels, x, n, highest, &best);
    return best;
}

/* ---- halves and whole blocks ---- */

uint16_t vv_half_inside(float x) {
    uint16_t h = vv_to_f16(x);
    h = fabsf(vv_from_f16(h)) > fabsf(x) ? (uint16_t)(h - 1) : h; /* infinity too */
    return h == 0x8000 ? 0 : h;
}

uint16_t vv_half_outside(float x) {
    uint16_t h = vv_half_inside(x);
    if (fabsf(vv_from_f16(h)) >= fabsf(x) || (h & 0x7fff) == 0x7bff) {
        return h;
    }
    return h == 0 && x < 0 ? 0x8001 : (uint16_t)(h + 1);
}

/* One of the two halves around a scale, by the error that it leaves. */
static uint16_t better_half(const struct vv_levels *levels, const float *x, float scale,
                            float offset) {
    uint16_t a = vv_half_inside(scale), b = vv_half_outside(scale);
    if (a == b) {
        return a;
    }
    float inside = vv_fit_sums(levels, x, 32, vv_from_f16(a), offset).rr;
    return vv_fit_sums(levels, x, 32, vv_from_f16(b), offset).rr < inside ? b : a;
}

uint16_t vv_fit_block(const struct vv_levels *levels, const struct vv_trials *trials,
                      const float *x, uint8_t *code) {
    uint16_t scale = better_half(levels, x, vv_fit_scale(levels, trials, x, 32), 0);
    vv_fit_codes(levels, x, 32, vv_from_f16(scale), 0, code);
    return scale;
}

/* The half that is not above x. */
static uint16_t half_below(float x) {
    return x < 0 ? vv_half_outside(x) : vv_half_inside(x);
}

struct vv_halves vv_fit_block_line(const struct vv_levels *levels,
                                   const struct vv_shrinking *shrinking, const float *x,
                                   uint8_t *code) {
    struct vv_line line = vv_fit_line(levels, shrinking, x, 32, INFINITY);
    struct vv_halves h = {.offset = half_below(line.offset)};
    float offset = vv_from_f16(h.offset);
    line.scale += (line.offset - offset) / levels->high;
    struct vv_sums s = vv_fit_sums(levels, x, 32, line.scale, offset);
    h.scale = better_half(levels, x, line.scale + growth(&s), offset);
    vv_fit_codes(levels, x, 32, vv_from_f16(h.scale), offset, code);
    return h;
}

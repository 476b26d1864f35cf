/* Super-blocks: integer sub-scales of the groups under one or two halves. */
#include "base/half.h"
#include "quant/fit.h"

#include <math.h>
#include <string.h>

/* How often all sub-scales are chosen anew after the halves were improved. */
enum { TURNS = 2 };

/* 0 where x is NaN, whose conversion differs between CPUs: a quotient of two infinities. */
static int to_integer(float x, int least, int most) {
    float bounded = x == x ? vv_within(x, (float)least, (float)most) : 0.0f;
    return (int)(bounded + 0x1.8p+23f - 0x1.8p+23f);
}

/* How many units x is; 0 where the unit is. */
static float in_units(float x, float unit) {
    return unit != 0.0f ? x / unit : 0.0f;
}

/* The sums of a whole super-block for the equations of its halves, and its error. */
struct totals {
    float a, b, c, u, v, error;
};

/* The group's levels times `sub`, minus `min` times one, leave `s`. */
static void add_group(struct totals *t, const struct vv_sums *s, size_t n, int sub, int min) {
    float f = (float)sub, m = (float)min;
    t->a += f * f * s->qq;
    t->b -= f * m * s->q;
    t->c += m * m * (float)n;
    t->u += f * s->rq;
    t->v -= m * s->r;
    t->error += s->rr;
}

/* ---- without an offset ---- */

/* Sub-scales by the error that they leave: the nearest to each group's own scale, and the two
 * beside it. */
static struct totals choose_subs(const struct vv_levels *levels, const float *x, size_t group,
                                 const float *scale, float unit, int lowest, int *sub) {
    struct totals t = {0};
    for (size_t g = 0; g < VV_SUPER_VALUES / group; g++) {
        int near = to_integer(in_units(scale[g], unit), lowest, -lowest - 1);
        struct vv_sums best = {.rr = INFINITY};
        for (int k = near - 1; k <= near + 1; k++) {
            if (k >= lowest && k < -lowest) {
                struct vv_sums s = vv_fit_sums(levels, x + g * group, group, unit * (float)k, 0);
                if (s.rr < best.rr) {
                    best = s;
                    sub[g] = k;
                }
            }
        }
        add_group(&t, &best, group, sub[g], 0);
    }
    return t;
}

void vv_fit_super(const struct vv_levels *levels, const struct vv_trials *trials, const float *x,
                  size_t group, int lowest, struct vv_super *out) {
    float scale[VV_GROUPS_MOST], top = 0, least = INFINITY;
    for (size_t g = 0; g < VV_SUPER_VALUES / group; g++) {
        scale[g] = vv_fit_scale(levels, trials, x + g * group, group);
        top = fabsf(scale[g]) > fabsf(top) ? scale[g] : top;
    }
    uint16_t half = vv_half_outside(top / (float)lowest);
    for (int turn = 0; turn < TURNS; turn++) {
        int sub[VV_GROUPS_MOST];
        float unit = vv_from_f16(half);
        struct totals t = choose_subs(levels, x, group, scale, unit, lowest, sub);
        if (t.error < least) {
            least = t.error;
            out->scale = half;
            memcpy(out->sub, sub, sizeof sub);
        }
        half = vv_to_f16(unit + vv_fit_solve(t.a, t.b, t.c, t.u, t.v).x);
    }
    for (size_t g = 0; g < VV_SUPER_VALUES / group; g++) {
        vv_fit_codes(levels, x + g * group, group, vv_from_f16(out->scale) * (float)out->sub[g], 0,
                     out->code + g * group);
    }
}

/* ---- with an offset ---- */

struct choice {
    int sub, min;
    struct vv_sums sums;
};

static void try_choice(const struct vv_levels *levels, const float *x, size_t group,
                       const float unit[2], int sub, int min, struct choice *best,
                       struct vv_sums *sums) {
    *sums = vv_fit_sums(levels, x, group, unit[0] * (float)sub, -(unit[1] * (float)min));
    if (sums->rr < best->sums.rr) {
        *best = (struct choice){sub, min, *sums};
    }
}

/* The sub-scales around the group's own, each with the minimum nearest to the group's own, and with
 * the one nearest to what is best for the levels that come of that. */
static struct choice choose_line(const struct vv_levels *levels, const float *x, size_t group,
                                 const struct vv_line *line, const float unit[2], int most) {
    struct choice best = {.sums.rr = INFINITY};
    int near = to_integer(in_units(line->scale, unit[0]), 0, most);
    int first = to_integer(in_units(-line->offset, unit[1]), 0, most);
    for (int sub = near - 1; sub <= near + 1; sub++) {
        if (sub >= 0 && sub <= most) {
            struct vv_sums s;
            try_choice(levels, x, group, unit, sub, first, &best, &s);
            float mean = s.r / (float)group;
            int second = to_integer((float)first - in_units(mean, unit[1]), 0, most);
            if (second != first) {
                try_choice(levels, x, group, unit, sub, second, &best, &s);
            }
        }
    }
    return best;
}

static struct totals choose_lines(const struct vv_levels *levels, const float *x, size_t group,
                                  const struct vv_line *line, const float unit[2], int most,
                                  int *sub, int *min) {
    struct totals t = {0};
    for (size_t g = 0; g < VV_SUPER_VALUES / group; g++) {
        struct choice best = choose_line(levels, x + g * group, group, &line[g], unit, most);
        sub[g] = best.sub;
        min[g] = best.min;
        add_group(&t, &best.sums, group, best.sub, best.min);
    }
    return t;
}

void vv_fit_super_line(const struct vv_levels *levels, const struct vv_shrinking *shrinking,
                       const float *x, size_t group, int most, struct vv_super *out) {
    struct vv_line line[VV_GROUPS_MOST];
    float top = 0, bottom = 0, least = INFINITY;
    for (size_t g = 0; g < VV_SUPER_VALUES / group; g++) {
        line[g] = vv_fit_line(levels, shrinking, x + g * group, group, 0);
        top = vv_larger(top, line[g].scale);
        bottom = vv_larger(bottom, -line[g].offset);
    }
    uint16_t half[2] = {vv_half_outside(top / (float)most), vv_half_outside(bottom / (float)most)};
    for (int turn = 0; turn < TURNS; turn++) {
        int sub[VV_GROUPS_MOST], min[VV_GROUPS_MOST];
        const float unit[2] = {vv_from_f16(half[0]), vv_from_f16(half[1])};
        struct totals t = choose_lines(levels, x, group, line, unit, most, sub, min);
        if (t.error < least) {
            least = t.error;
            out->scale = half[0];
            out->offset = half[1];
            memcpy(out->sub, sub, sizeof sub);
            memcpy(out->min, min, sizeof min);
        }
        struct vv_solution d = vv_fit_solve(t.a, t.b, t.c, t.u, t.v);
        half[0] = vv_to_f16(vv_larger(0, unit[0] + d.x));
        half[1] = vv_to_f16(vv_larger(0, unit[1] + d.y));
    }
    for (size_t g = 0; g < VV_SUPER_VALUES / group; g++) {
        vv_fit_codes(levels, x + g * group, group, vv_from_f16(out->scale) * (float)out->sub[g],
                     -(vv_from_f16(out->offset) * (float)out->min[g]), out->code + g * group);
    }
}

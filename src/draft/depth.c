#include "draft/depth.h"

#include <string.h>

enum {
    PLAIN_FIRST = 2,     /* windows that are measured before any draft */
    PLAIN_AGAIN = 256,   /* windows without a plain one, after which its time is measured anew */
    FORGET_TIMES = 128,  /* windows that a time is kept without being used */
    FORGET_CHANCE = 128, /* windows without such a draft in which its chance returns to its guess */
};
static const double guess[VV_DRAFT_KINDS_MAX] = {0.7, 0.8, 0.9, 0.9}; /* by kind, the surest last */
static const double guess_weight = 2;                                 /* tries that it counts for */
static const double keep = 0.99;                                      /* of the counts, each try */
static const double lately_share = 0.1, lately_tries = 8, surprise = 3.5;
static const double usual_slope = 0.1; /* of a row more, in plain windows' time, or of a draft */
/* From one row to two there is a step on some machines (a GPU's kernels of one row are others),
 * after which rows are cheap: from so many plain windows on it is taken for one, and a row more for
 * a share of it. */
static const double step_least = 0.4, step_share = 0.25;

/* ---- times ---- */

static void add_sample(struct vv_cost *cost, uint64_t window, double seconds) {
    cost->recent[cost->count++ % VV_COST_SAMPLES] = seconds;
    cost->used = window;
}

static double median(const struct vv_cost *cost) {
    double sorted[VV_COST_SAMPLES] = {0};
    size_t n = cost->count < VV_COST_SAMPLES ? (size_t)cost->count : VV_COST_SAMPLES;
    for (size_t i = 0; i < n; i++) {
        size_t at = i;
        for (; at > 0 && sorted[at - 1] > cost->recent[i]; at--) {
            sorted[at] = sorted[at - 1];
        }
        sorted[at] = cost->recent[i];
    }
    return sorted[(n - 1) / 2];
}

/* The nearest measured size from `rows` on in steps of `by`, or 0. */
static uint32_t measured(const struct vv_depth *d, uint32_t rows, int by) {
    while (rows > 0 && rows <= VV_VERIFY_ROWS_MAX && d->rows[rows].count == 0) {
        rows += (uint32_t)by;
    }
    return rows <= VV_VERIFY_ROWS_MAX ? rows : 0;
}

/* What a row more costs beyond the largest measured size, which has several: the mean, and behind a
 * step what it cost from the size before. */
static double beyond(const struct vv_depth *d, uint32_t largest) {
    double one = median(&d->rows[1]), slope = (median(&d->rows[largest]) - one) / (largest - 1);
    if (d->rows[2].count == 0 || median(&d->rows[2]) - one < step_least * one) {
        return slope;
    }
    uint32_t before = measured(d, largest - 1, -1);
    return before > 1 ? (median(&d->rows[largest]) - median(&d->rows[before])) / (largest - before)
                      : step_share * slope;
}

double vv_depth_seconds(const struct vv_depth *d, uint32_t rows) {
    uint32_t below = measured(d, rows, -1), above = measured(d, rows, 1);
    if (below == rows || below == 0) {
        return below ? median(&d->rows[below]) : 0;
    }
    double low = median(&d->rows[below]), slope = usual_slope * low;
    if (above > 0) {
        slope = (median(&d->rows[above]) - low) / (above - below);
    } else if (below > 1 && d->rows[1].count > 0) {
        slope = beyond(d, below);
    }
    return low + (rows - below) * (slope > 0 ? slope : 0);
}

static double draft_seconds(const struct vv_depth *d, uint32_t drafter, bool ready) {
    if (d->draft[drafter].count > 0) {
        return median(&d->draft[drafter]);
    }
    return ready ? usual_slope * vv_depth_seconds(d, 1) : 0;
}

/* ---- the choice ---- */

/* Tokens and seconds of windows with k drafts of an offer, for k = 0, 1, … */
struct plan {
    const struct vv_depth *depth;
    const struct vv_chance *chance; /* [VV_DRAFTS_MAX] */
    double draft, right, all;       /* seconds a draft; chances: of the last draft, of all so far */
    double tokens, seconds;
    uint32_t k;
};

static struct plan begin(const struct vv_depth *d, const struct vv_depth_offers *o, uint32_t i) {
    uint32_t kind = o->offer[i].kind;
    return (struct plan){.depth = d,
                         .chance = d->chance[i][kind],
                         .draft = draft_seconds(d, i, o->ready[i]),
                         .right = guess[kind],
                         .all = 1,
                         .tokens = 1,
                         .seconds = vv_depth_seconds(d, 1)};
}

static void next(struct plan *p) {
    const struct vv_chance *c = &p->chance[p->k];
    double pull = p->k++ > 0 ? guess_weight : guess_weight * (1 - c->doubt);
    p->right = (c->accepted + pull * p->right) / (c->offered + pull);
    p->all *= p->right;
    p->tokens += p->all;
    p->seconds = p->k * p->draft + vv_depth_seconds(p->depth, p->k + 1);
}

static uint32_t most_of(const struct vv_depth *d, const struct vv_depth_offers *o, uint32_t i) {
    uint32_t largest = measured(d, VV_VERIFY_ROWS_MAX, -1);
    return o->offer[i].most < 2 * largest - 1 ? o->offer[i].most : 2 * largest - 1;
}

/* The largest rate of what is always there. */
static double standing_rate(const struct vv_depth *d, const struct vv_depth_offers *o) {
    double best = 1 / vv_depth_seconds(d, 1);
    for (uint32_t i = 0; i < o->count; i++) {
        struct plan p = begin(d, o, i);
        while (o->ready[i] && p.k < most_of(d, o, i)) {
            next(&p);
            best = p.tokens / p.seconds > best ? p.tokens / p.seconds : best;
        }
    }
    return best;
}

struct vv_depth_choice vv_depth_choose(const struct vv_depth *d, const struct vv_depth_offers *o) {
    struct vv_depth_choice choice = {0, 0};
    if (d->rows[1].count < PLAIN_FIRST || d->windows - d->rows[1].used >= PLAIN_AGAIN) {
        return choice;
    }
    double rate = standing_rate(d, o), best = 1 - rate * vv_depth_seconds(d, 1);
    for (uint32_t i = 0; i < o->count; i++) {
        struct plan p = begin(d, o, i);
        while (p.k < most_of(d, o, i)) {
            next(&p);
            double gain = p.tokens - rate * p.seconds;
            if (gain > best) {
                best = gain;
                choice = (struct vv_depth_choice){i, p.k};
            }
        }
    }
    return choice;
}

/* ---- what happened ---- */

/* Chances of drafts that a window hasn't tried: a place that once had bad luck is tried again. */
static void fade(struct vv_depth *d, uint32_t drafts) {
    for (uint32_t i = 0; i < VV_DRAFTERS_MAX * VV_DRAFT_KINDS_MAX; i++) {
        for (uint32_t place = drafts; place < VV_DRAFTS_MAX; place++) {
            struct vv_chance *c = &d->chance[i / VV_DRAFT_KINDS_MAX][i % VV_DRAFT_KINDS_MAX][place];
            c->offered *= 1 - 1.0 / FORGET_CHANCE;
            c->accepted *= 1 - 1.0 / FORGET_CHANCE;
            c->doubt *= 1 - 1.0 / FORGET_CHANCE;
        }
    }
}

void vv_depth_window(struct vv_depth *d, uint32_t rows, double seconds) {
    d->windows++;
    add_sample(&d->rows[rows], d->windows, seconds);
    fade(d, rows - 1);
    for (uint32_t r = 2; r <= VV_VERIFY_ROWS_MAX; r++) {
        if (d->windows - d->rows[r].used > FORGET_TIMES) {
            d->rows[r].count = 0;
        }
    }
}

void vv_depth_drafted(struct vv_depth *d, uint32_t drafter, uint32_t count, double seconds) {
    add_sample(&d->draft[drafter], d->windows, seconds / count);
}

/* One more draft of this chance was right, or wasn't. Where its last few tell of another text than
 * the many before, by more than chance would, these are forgotten. */
static void judge(struct vv_chance *c, bool right) {
    c->offered = keep * c->offered + 1;
    c->accepted = keep * c->accepted + right;
    c->doubt = 1 - keep * (1 - c->doubt);
    c->lately += lately_share * (right - c->lately);
    double mean = c->accepted / c->offered, off = c->lately - mean;
    double variance = (mean * (1 - mean) + 0.01) * lately_share / (2 - lately_share);
    if (c->offered > lately_tries && off * off > surprise * surprise * variance) {
        c->offered = lately_tries;
        c->accepted = lately_tries * c->lately;
    } else if (c->offered <= lately_tries) {
        c->lately = mean;
    }
}

void vv_depth_judged(struct vv_depth *d, uint32_t drafter, uint32_t kind, uint32_t accepted,
                     bool refused) {
    struct vv_chance *chance = d->chance[drafter][kind];
    for (uint32_t i = 0; i < accepted + refused; i++) {
        judge(&chance[i], i < accepted);
    }
}

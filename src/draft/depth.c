#include "draft/depth.h"

enum {
    PLAIN_AGAIN = 256,   /* windows without a plain one, after which its time is measured anew */
    FORGET_TIMES = 512,  /* windows that a time is kept without being used, */
    FORGET_ONCE = 128,   /* at first fewer where it was measured once, and may be a slow spell's */
    BOUNDS_MOST = 6,     /* after so many bounds of a size there is no more hope below them */
    FORGET_CHANCE = 256, /* windows without such a draft in which its chance returns to its guess */
};
static const double guess[VV_DRAFT_KINDS_MAX] = {0.8, 0.8, 0.9, 0.9}; /* by kind, the surest last */
static const double guess_drafts = 3;                                 /* that it counts for, */
static const double pull_drafts = 6;   /* and the chance of the place before in that of the next */
static const double usual_slope = 0.1; /* of a row more, in plain windows' time, or of a draft */
/* Of plain windows' time: tests at first, and their share then; what a try of a larger window may
 * lose, and how much more with each window without drafts. */
static const double test_first = 0.3, test_share = 0.004;
static const double try_first = 0.6, try_share = 0.01;

/* ---- times ---- */

static void add_sample(struct vv_cost *cost, uint64_t window, double seconds) {
    cost->recent[cost->count++ % VV_COST_SAMPLES] = seconds;
    cost->used = window;
    cost->bounds = 0;
}

static void add_bound(struct vv_cost *cost, uint64_t window, double seconds) {
    if (cost->count == 0) {
        cost->bound = cost->bounds == 0 || seconds < cost->bound ? seconds : cost->bound;
        cost->bounds++;
        cost->used = window;
    }
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
    return n > 0 ? sorted[(n - 1) / 2] : cost->bound;
}

/* Windows that it is kept without being used. */
static uint64_t keep_for(const struct vv_cost *cost) {
    return cost->count > 1 || cost->forgotten > 1 ? FORGET_TIMES
                                                  : FORGET_ONCE * (1 + cost->forgotten);
}

/* What times to go by: plain windows need one in any case. */
enum source { SAMPLES, BOUNDS_TOO };

static bool is_known(const struct vv_depth *d, uint32_t rows, enum source from) {
    const struct vv_cost *c = &d->rows[rows];
    bool bound = from == BOUNDS_TOO || rows == 1 || c->bounds >= BOUNDS_MOST;
    return c->count > 0 || (c->bounds > 0 && bound);
}

/* The nearest known size from `rows` on in steps of `by`, or 0. */
static uint32_t known(const struct vv_depth *d, uint32_t rows, int by, enum source from) {
    while (rows > 0 && rows <= VV_VERIFY_ROWS_MAX && !is_known(d, rows, from)) {
        rows += (uint32_t)by;
    }
    return rows <= VV_VERIFY_ROWS_MAX ? rows : 0;
}

enum view { HOPED, AT_WORST };

/* What a row more costs beyond a known size, whatever larger ones do. At worst that is what rows
 * cost so far: of a first one nothing is known but that rows can be computed one by one. There is
 * hope that it is nearer to what the last rows cost: on some machines there is a step from one row
 * to several (a GPU's kernels of one row are others), after which rows are cheap. */
static double beyond(const struct vv_depth *d, uint32_t rows, enum view view, enum source from) {
    double top = median(&d->rows[rows]);
    uint32_t before = known(d, rows - 1, -1, from);
    if (before == 0) {
        return view == HOPED ? usual_slope * top : top;
    }
    double mean = (top - median(&d->rows[1])) / (rows - 1);
    double last = before == 1 ? 0 : (top - median(&d->rows[before])) / (rows - before);
    return view == HOPED && last < mean ? (last + mean) / 2 : mean;
}

/* Between two known sizes times lie on a line, or, it is hoped, a little below. */
static double seconds_from(const struct vv_depth *d, uint32_t rows, enum view view,
                           enum source from) {
    uint32_t below = known(d, rows, -1, from), above = known(d, rows, 1, from);
    if (below == rows || below == 0) {
        return below ? median(&d->rows[below]) : 0;
    }
    double low = median(&d->rows[below]), slope = beyond(d, below, view, from);
    if (above > 0) {
        double line = (median(&d->rows[above]) - low) / (above - below);
        slope = view == HOPED && below > 1 && slope < line ? (slope + line) / 2 : line;
    }
    return low + (rows - below) * (slope > 0 ? slope : 0);
}

/* At worst bounds are what windows take; there is hope for less. */
static double seconds_of(const struct vv_depth *d, uint32_t rows, enum view view) {
    double bound = seconds_from(d, rows, view, BOUNDS_TOO);
    double hope = view == HOPED ? seconds_from(d, rows, view, SAMPLES) : bound;
    return hope < bound ? hope : bound;
}

double vv_depth_seconds(const struct vv_depth *d, uint32_t rows) {
    return seconds_of(d, rows, HOPED);
}

static double draft_seconds(const struct vv_depth *d, uint32_t drafter, bool ready) {
    if (d->draft[drafter].count > 0) {
        return median(&d->draft[drafter]);
    }
    return ready ? usual_slope * vv_depth_seconds(d, 1) : 0;
}

/* Plain windows are measured at first, and 16, 64 and then PLAIN_AGAIN windows later. */
static bool plain_due(const struct vv_depth *d) {
    uint64_t count = d->rows[1].count, since = d->windows - d->rows[1].used;
    return !is_known(d, 1, SAMPLES) || since >= (count < 3 ? 4ull << 2 * count : PLAIN_AGAIN);
}

/* ---- the choice ---- */

/* Tokens and seconds of windows with k drafts of an offer, for k = 0, 1, … */
struct plan {
    const struct vv_depth *depth;
    const struct vv_chance *chance; /* [VV_DRAFTS_MAX] */
    double draft, right, all;       /* seconds a draft; chances: of the last draft, of all so far */
    double tokens, seconds[2];      /* by view */
    uint32_t k;
};

static struct plan begin(const struct vv_depth *d, const struct vv_depth_offers *o, uint32_t i) {
    uint32_t kind = o->offer[i].kind;
    return (struct plan){.depth = d,
                         .chance = d->chance[i][kind],
                         .draft = draft_seconds(d, i, o->ready[i]),
                         .right = guess[kind],
                         .all = 1,
                         .tokens = 1};
}

static void next(struct plan *p) {
    p->right = vv_chance_mean(&p->chance[p->k], p->right, p->k > 0 ? pull_drafts : guess_drafts);
    p->k++;
    p->all *= p->right;
    p->tokens += p->all;
    for (int view = HOPED; view <= AT_WORST; view++) {
        p->seconds[view] = p->k * p->draft + seconds_of(p->depth, p->k + 1, (enum view)view);
    }
}

/* The largest rate, for sure, of what is always there. */
static double standing_rate(const struct vv_depth *d, const struct vv_depth_offers *o) {
    double best = 1 / vv_depth_seconds(d, 1);
    for (uint32_t i = 0; i < o->count; i++) {
        struct plan p = begin(d, o, i);
        while (o->ready[i] && p.k < o->offer[i].most) {
            next(&p);
            double rate = p.tokens / p.seconds[AT_WORST];
            best = rate > best ? rate : best;
        }
    }
    return best;
}

/* Whether a window of this size is known, or can be tried without losing much. */
static bool affordable(const struct plan *p, double rate) {
    const struct vv_depth *d = p->depth;
    double may_lose = try_first + try_share * (double)(d->windows - d->drafted);
    return is_known(d, p->k + 1, SAMPLES) || rate * p->seconds[AT_WORST] - p->tokens < may_lose;
}

static struct vv_depth_choice best_of(const struct vv_depth *d, const struct vv_depth_offers *o) {
    struct vv_depth_choice choice = {0, 0, false};
    double rate = standing_rate(d, o), best = 1 - rate * vv_depth_seconds(d, 1);
    for (uint32_t i = 0; i < o->count; i++) {
        struct plan p = begin(d, o, i);
        while (p.k < o->offer[i].most) {
            next(&p);
            double gain = p.tokens - rate * p.seconds[HOPED];
            if (gain > best && affordable(&p, rate)) {
                best = gain;
                choice = (struct vv_depth_choice){i, p.k, false};
            }
        }
    }
    return choice;
}

/* ---- tests ---- */

/* Of the offer that is known least, if there is one and its share of the time allows. */
static struct vv_depth_choice test_of(const struct vv_depth *d, const struct vv_depth_offers *o) {
    struct vv_depth_choice choice = {0, 0, false};
    double least = 0;
    for (uint32_t i = 0; i < o->count; i++) {
        double known = d->chance[i][o->offer[i].kind][0].offered;
        if (o->offer[i].most > 0 && (!choice.test || known < least)) {
            choice = (struct vv_depth_choice){i, 0, true};
            least = known;
        }
    }
    choice.test &= d->debt + draft_seconds(d, choice.drafter, o->ready[choice.drafter]) <=
                   test_first * vv_depth_seconds(d, 1);
    return choice;
}

struct vv_depth_choice vv_depth_choose(const struct vv_depth *d, const struct vv_depth_offers *o) {
    struct vv_depth_choice choice = {0, 0, false};
    if (d->right && !plain_due(d)) {
        choice = best_of(d, o);
    }
    return choice.count > 0 ? choice : test_of(d, o);
}

/* A draft that was right is the cheaper the less that was expected (its chance's fourth power): it
 * tells the most, and more tests are to follow at once. */
void vv_depth_tested(struct vv_depth *d, uint32_t drafter, uint32_t kind, bool right) {
    struct vv_chance *c = &d->chance[drafter][kind][0];
    double expected = vv_chance_mean(c, guess[kind], guess_drafts), squared = expected * expected;
    d->debt += draft_seconds(d, drafter, true) * (right ? squared * squared : 1);
    vv_chance_judge(c, right);
    d->right |= right;
}

/* ---- what happened ---- */

/* Chances of drafts that a window hasn't tried: a place that once had bad luck is tried again. */
static void fade(struct vv_depth *d, uint32_t drafts) {
    for (uint32_t i = 0; i < VV_DRAFTERS_MAX * VV_DRAFT_KINDS_MAX; i++) {
        for (uint32_t place = drafts; place < VV_DRAFTS_MAX; place++) {
            vv_chance_fade(&d->chance[i / VV_DRAFT_KINDS_MAX][i % VV_DRAFT_KINDS_MAX][place],
                           1.0 / FORGET_CHANCE);
        }
    }
}

static void forget_times(struct vv_depth *d) {
    for (uint32_t r = 2; r <= VV_VERIFY_ROWS_MAX; r++) {
        struct vv_cost *c = &d->rows[r];
        if (c->count + c->bounds > 0 && d->windows - c->used > keep_for(c)) {
            c->count = c->bounds = 0;
            c->forgotten++;
        }
    }
}

static void end_window(struct vv_depth *d, uint32_t rows, double seconds,
                       void (*add)(struct vv_cost *, uint64_t, double)) {
    d->windows++;
    d->drafted = rows > 1 ? d->windows : d->drafted;
    d->debt = d->debt > test_share * seconds ? d->debt - test_share * seconds : 0;
    add(&d->rows[rows], d->windows, seconds);
    fade(d, rows - 1);
    forget_times(d);
}

void vv_depth_window(struct vv_depth *d, uint32_t rows, double seconds) {
    end_window(d, rows, seconds, add_sample);
}

void vv_depth_prepared(struct vv_depth *d, uint32_t rows, double seconds) {
    end_window(d, rows, seconds, add_bound);
}

void vv_depth_drafted(struct vv_depth *d, uint32_t drafter, uint32_t count, double seconds) {
    add_sample(&d->draft[drafter], d->windows, seconds / count);
}

void vv_depth_judged(struct vv_depth *d, uint32_t drafter, uint32_t kind, uint32_t accepted,
                     bool refused) {
    struct vv_chance *chance = d->chance[drafter][kind];
    for (uint32_t i = 0; i < accepted + refused; i++) {
        vv_chance_judge(&chance[i], i < accepted);
    }
    d->right |= accepted > 0;
}

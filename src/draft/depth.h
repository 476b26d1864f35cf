/*
 * How many drafts pay.
 *
 * A window of k drafts takes T(k) = what drafting them takes + the time of a window of k + 1 rows,
 * and gives E(k) = 1 + a1 + a1 a2 + … tokens, where ai is the chance that the i-th draft is right
 * if those before it are. The best k has the largest rate E(k) / T(k); plain decoding is k = 0.
 * Where a drafter has an offer only now and then, its windows compete with the rate r of what there
 * always is: the largest E(k) - r T(k) is taken.
 *
 * Chances are learnt without being bet on: beside a plain window one draft is made and only
 * compared with the token that comes, a test, which costs a draft where a window of drafts that are
 * wrong costs its rows. Until one draft was right none is verified, so a text that can't be drafted
 * costs its tests alone; they have a fixed share of the time, and a right one that was not expected
 * is nearly free, so that a text that begins to be draftable is soon followed.
 *
 * Times are measured: those of real windows of this text, at its depth and with the experts that
 * its tokens take, from whichever memory they come. A size's time is the median of its last five,
 * which a single slow spell does not move; sizes in between are interpolated. A window in which
 * something was prepared (a GPU's first two of a size, up to twice as slow as later ones) gives a
 * bound: at worst later ones take as long; by hope they take what they would without it, until that
 * was disappointed some times. A larger size is tried
 * if by hope it is the best, and if at worst, where a row more costs as much as rows did so far,
 * little is lost. Plain windows are measured at the beginning and then ever more seldom. What is
 * not used fades: times are forgotten, and the chance of a place that windows no longer have
 * returns to that of the place before, so that one draft more is tried again now and then.
 */
#pragma once
#include "draft/chance.h"
#include "draft/drafter.h"

enum { VV_DRAFTERS_MAX = 2, VV_COST_SAMPLES = 5 };

struct vv_cost {
    double recent[VV_COST_SAMPLES]; /* seconds; a ring */
    uint64_t count, used;           /* samples so far, and the window of the last */
    uint32_t forgotten;             /* how many times all of them were */
    double bound;                   /* seconds; without samples: it takes no longer than that, */
    uint32_t bounds;                /* the least of so many */
};

/* All zero at first. */
struct vv_depth {
    uint64_t windows, drafted; /* so far, and the last one that had drafts */
    bool right;                /* a draft was, some time */
    double debt;               /* seconds that tests took beyond their share of the time */
    struct vv_cost rows[VV_VERIFY_ROWS_MAX + 1]; /* of windows, by their rows */
    struct vv_cost draft[VV_DRAFTERS_MAX];       /* of one draft */
    struct vv_chance chance[VV_DRAFTERS_MAX][VV_DRAFT_KINDS_MAX][VV_DRAFTS_MAX];
};

/* What may be chosen: each drafter's offer, and whether that is always there. */
struct vv_depth_offers {
    struct vv_offer offer[VV_DRAFTERS_MAX];
    bool ready[VV_DRAFTERS_MAX];
    uint32_t count; /* drafters */
};
struct vv_depth_choice {
    uint32_t drafter, count; /* drafts; 0: plain decoding */
    bool test;               /* with that: this drafter's next draft is worth being compared */
};
struct vv_depth_choice vv_depth_choose(const struct vv_depth *depth,
                                       const struct vv_depth_offers *offers);

/* A window of `rows` rows is over, drafts behind the first; its commit included. */
void vv_depth_window(struct vv_depth *depth, uint32_t rows, double seconds);
/* The same of a window in which something was prepared, so that later ones take no longer. */
void vv_depth_prepared(struct vv_depth *depth, uint32_t rows, double seconds);
/* Drafting `count` tokens took so long. */
void vv_depth_drafted(struct vv_depth *depth, uint32_t drafter, uint32_t count, double seconds);
/* Of a window's drafts the first `accepted` were right and, if `refused`, the next one wasn't. */
void vv_depth_judged(struct vv_depth *depth, uint32_t drafter, uint32_t kind, uint32_t accepted,
                     bool refused);
/* A test's draft was right, or wasn't. */
void vv_depth_tested(struct vv_depth *depth, uint32_t drafter, uint32_t kind, bool right);

/* Seconds of a window of so many rows, measured or hoped for; 0: no window was measured. */
double vv_depth_seconds(const struct vv_depth *depth, uint32_t rows);

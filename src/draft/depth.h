/*
 * How many drafts pay.
 *
 * A window of k drafts takes T(k) = what drafting them takes + the time of a window of k + 1 rows,
 * and gives E(k) = 1 + a1 + a1 a2 + … tokens, where ai is the chance that the i-th draft is right
 * if those before it are. The best k has the largest rate E(k) / T(k); plain decoding is k = 0.
 * Where a drafter has an offer only now and then, its windows compete with the rate r of what there
 * always is: the largest E(k) - r T(k) is taken.
 *
 * Times are measured: those of real windows of this text, at its depth and with the experts that
 * its tokens take, from whichever memory they come. A size's time is the median of its last five,
 * which a single slow spell does not move; sizes in between are interpolated, larger ones tried
 * step by step, each at most twice the largest before. Chances are running means that forget
 * (about 100 windows; all of them where the last ten tell of another text), pulled to that of the
 * draft before, and at first to a guess. What is not used fades: while windows have no such draft,
 * the guesses come back and times are forgotten, so that drafting, or one draft more, is tried
 * again now and then; while none is plain, one in 256 is, for its time. A wrong try lowers the
 * chance at once, so that tries cost about as much whatever a window does: some two tokens at the
 * beginning of a text that can't be drafted, and one in two hundred then.
 */
#pragma once
#include "draft/drafter.h"

enum { VV_DRAFTERS_MAX = 2, VV_COST_SAMPLES = 5 };

struct vv_cost {
    double recent[VV_COST_SAMPLES]; /* seconds; a ring */
    uint64_t count, used;           /* samples so far, and the window of the last */
};

struct vv_chance {
    double offered, accepted; /* running counts */
    double lately;            /* a mean of the last few tries */
    double doubt;             /* how far the guess has lost its weight, 0 to 1 */
};

/* All zero at first. */
struct vv_depth {
    uint64_t windows;
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
};
struct vv_depth_choice vv_depth_choose(const struct vv_depth *depth,
                                       const struct vv_depth_offers *offers);

/* A window of `rows` rows is over, drafts behind the first; its commit included. */
void vv_depth_window(struct vv_depth *depth, uint32_t rows, double seconds);
/* Drafting `count` tokens took so long. */
void vv_depth_drafted(struct vv_depth *depth, uint32_t drafter, uint32_t count, double seconds);
/* Of a window's drafts the first `accepted` were right and, if `refused`, the next one wasn't. */
void vv_depth_judged(struct vv_depth *depth, uint32_t drafter, uint32_t kind, uint32_t accepted,
                     bool refused);

/* Seconds of a window of so many rows, measured or estimated; 0: no window was measured. */
double vv_depth_seconds(const struct vv_depth *depth, uint32_t rows);

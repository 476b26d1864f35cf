#include "draft/chance.h"

static const double keep = 0.99; /* of the counts, each draft */
static const double lately_share = 0.15, lately_drafts = 5;
static const double surprise = 2.75; /* standard deviations */

/* Where the last few drafts tell of another text than the many before, by more than chance would,
 * these are forgotten. */
void vv_chance_judge(struct vv_chance *c, bool right) {
    c->offered = keep * c->offered + 1;
    c->accepted = keep * c->accepted + right;
    c->lately += lately_share * (right - c->lately);
    double mean = c->accepted / c->offered, off = c->lately - mean;
    double variance = (mean * (1 - mean) + 0.01) * lately_share / (2 - lately_share);
    if (c->offered > lately_drafts && off * off > surprise * surprise * variance) {
        c->offered = lately_drafts;
        c->accepted = lately_drafts * c->lately;
    } else if (c->offered <= lately_drafts) {
        c->lately = mean;
    }
}

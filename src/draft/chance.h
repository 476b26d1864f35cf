/*
 * The chance that a draft is right, of one kind and place in the window: a running mean that
 * forgets (about 100 drafts; all of them where the last few tell of another text).
 */
#pragma once
#include <stdbool.h>

struct vv_chance {
    double offered, accepted; /* running counts */
    double lately;            /* a mean of the last few */
};

/* One more draft was right, or wasn't. */
void vv_chance_judge(struct vv_chance *chance, bool right);

/* The mean, pulled to `guess` as if so many drafts had told that. */
static inline double vv_chance_mean(const struct vv_chance *chance, double guess, double drafts) {
    return (chance->accepted + drafts * guess) / (chance->offered + drafts);
}

/* What was counted weighs less by a share, so that the guess returns. */
static inline void vv_chance_fade(struct vv_chance *chance, double share) {
    chance->offered *= 1 - share;
    chance->accepted *= 1 - share;
}

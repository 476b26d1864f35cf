/* A deepseek4 model against its golden container, through the public interface: every sequence in
 * windows, logits and, with floats alone, inner tensors. */
#pragma once
#include "support/golden.h"
#include "varve.h"

/* Of absolute differences of logits. INFINITY: any. */
struct deepseek4_limits {
    double each, median; /* a position's largest; the median of those of a sequence */
    double divergence;   /* the mean of KL(golden || ours) of a sequence */
    bool strict; /* inner tensors, too: choices equal, floats within 1e-3 of their deviation */
    const char *sequences; /* names between blanks; NULL: all */
};

/* `options`: kv_f16, exact_cache, float_activations, window, threads, isa count; window 0: of a
 * sequence's length. `what` names the case in a failure. */
void deepseek4_golden_run(struct golden *g, const char *model, const char *container,
                          const struct varve_session_options *options,
                          const struct deepseek4_limits *limits, const char *what);

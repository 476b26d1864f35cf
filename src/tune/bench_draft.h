/*
 * `varve bench draft`: what drafts gain on this machine and model, for drafts that are right with a
 * given chance.
 *
 * Windows, commits and the drafts of the model's block are real, so they cost what they cost; which
 * drafts are right is drawn. The text's own drafts (suffix) are made up, since random tokens repeat
 * nothing: they cost nothing and are at hand always, or, beside the block's, at every other window.
 */
#pragma once
#include "draft/decoder.h"

enum vv_draft_way {
    VV_WAY_PLAIN, /* one token at a time, in a session that does not follow with its draft block */
    VV_WAY_MTP_1, /* the block's drafts, always as many */
    VV_WAY_MTP_2,
    VV_WAY_MTP_3,
    VV_WAY_MTP_4,
    VV_WAY_ADAPTIVE, /* the block's, as many as pay */
    VV_WAY_SUFFIX,   /* the text's, as many as pay */
    VV_WAY_BOTH,     /* either, as many as pay */
    VV_WAYS,
};

/* What one way came to, with drafts that are right with chance `accept`. */
struct vv_bench_draft_result {
    double accept;
    enum vv_draft_way way;
    const double *rate; /* [rounds] tokens a second */
    size_t rounds;
    double window_tokens; /* a window, in the mean */
    double model;         /* tokens a second by the cost model; of both: 0, it has none */
    uint32_t drafts;      /* with so many drafts a window */
};

struct vv_bench_draft_options {
    const double *accept; /* [accept_count] chances, 0 to 1 */
    size_t accept_count;
    uint32_t depth;  /* tokens that the sequence has at first, of made-up state */
    uint32_t tokens; /* of a text, 1 or more */
    uint32_t most;   /* drafts a window at most, of the ways that choose */
    uint32_t rounds; /* 1 to VV_SAMPLES_MAX */
    uint64_t seed;
    bool (*progress)(void *context, const char *what, uint64_t done, uint64_t total);
    void (*result)(void *context, const struct vv_bench_draft_result *result);
    void *context;
};

/*
 * In every round every way writes one text for every chance, with a new decoder, so that finding
 * out how many drafts pay is part of it; then `result` gets each. The cost model's figure is the
 * best of E(k) / T(k) over k = 0 to `most` (src/draft/depth.h): E by the chance, T the median over
 * the rounds of windows that always have k drafts, measured apart. A model without a draft block
 * has no ways of VV_WAY_MTP_…, ADAPTIVE and BOTH. Of `session` slots, context and outputs are set
 * here.
 */
int vv_bench_draft(const struct vv_gguf *file, const struct vv_family *family, const void *geometry,
                   const struct vv_session_options *session,
                   const struct vv_bench_draft_options *options, struct vv_error *error);

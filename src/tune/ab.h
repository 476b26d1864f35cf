/* `varve ab`: two settings of a session, alternated on one prompt. */
#pragma once
#include "draft/decoder.h"
#include "tune/series.h"

struct vv_ab_side {
    double prompt_ms[VV_PAIRS_MAX];   /* reading the prompt, each round */
    double generate_ms[VV_PAIRS_MAX]; /* generating, each round */
};

struct vv_ab_result {
    struct vv_ab_side sides[2];
    double prompt_p, generate_p; /* vv_permutation_p of the two */
    bool equal;                  /* both generated the same tokens, in every round */
    size_t differs;              /* else the first token that was another, from 0 */
};

struct vv_ab_options {
    const struct vv_session_options *sides[2]; /* slots, context and outputs are set here */
    struct vv_decoder_options drafts[2];       /* how each generates */
    const int32_t *prompt;                     /* [prompt_count], 1 or more */
    size_t prompt_count;
    uint32_t generate; /* tokens, greedily */
    uint32_t rounds;   /* 1 to VV_PAIRS_MAX */
    bool (*progress)(void *context, const char *what, uint64_t done, uint64_t total);
    void *context;
};

/* Each round runs both sides, first one, then the other first. A run that is not counted comes
 * before. Stops at the first token that differs: the times of what is left are 0 then. */
int vv_ab(const struct vv_gguf *file, const struct vv_family *family, const void *geometry,
          const struct vv_ab_options *options, struct vv_ab_result *result, struct vv_error *error);

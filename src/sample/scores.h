/* Step 1 of sample.h: what the filters see instead of the logits. */
#pragma once
#include "sample/sample.h"

struct vv_scores {
    int32_t vocabulary;
    float *score;    /* [vocabulary] */
    uint32_t *times; /* [vocabulary] all 0 between calls; NULL if no penalty is on */
};

/* Whether any penalty can change a score. */
int vv_scores_penalised(const struct vv_sampling *settings);

/* Fills scores->score. Errors as vv_sampler_draw. */
int vv_scores_fill(struct vv_scores *scores, const struct vv_sampling *settings,
                   const float *logits, const int32_t *history, size_t history_length,
                   uint64_t position, struct vv_error *error);

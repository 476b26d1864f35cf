/* Sampling. */
#include "api/internal.h"
#include "sample/sample.h"

#include <math.h>
#include <stdlib.h>

void varve_sampling_defaults(struct varve_sampling *sampling) {
    const struct vv_sampling usual = vv_sampling_default();
    *sampling = (struct varve_sampling){
        .temperature = 0, /* greedy */
        .top_k = usual.top_k,
        .top_p = usual.top_p,
        .min_p = usual.min_p,
        .repetition_penalty = usual.repetition_penalty,
        .presence_penalty = usual.presence_penalty,
        .frequency_penalty = usual.frequency_penalty,
        .penalty_last_n = usual.penalty_last_n,
        .temperature_last = usual.order == VV_TEMPERATURE_LAST,
        .seed = usual.seed,
    };
}

int varve_sampler_new(size_t vocabulary, const struct varve_sampling *sampling,
                      struct varve_sampler **sampler, struct varve_error *error) {
    struct vv_sampler *made;
    struct vv_logit_bias *bias = calloc(sampling->bias_count + 1, sizeof *bias);
    if (!bias) {
        return vv_fail_memory(vv_internal(error), sampling->bias_count * sizeof *bias, "logit biases");
    }
    for (size_t i = 0; i < sampling->bias_count; i++) {
        bias[i] = (struct vv_logit_bias){sampling->bias[i].token, sampling->bias[i].bias};
    }
    const struct vv_sampling settings = {
        .temperature = sampling->temperature,
        .top_k = sampling->top_k,
        .top_p = sampling->top_p,
        .min_p = sampling->min_p,
        .repetition_penalty = sampling->repetition_penalty,
        .presence_penalty = sampling->presence_penalty,
        .frequency_penalty = sampling->frequency_penalty,
        .penalty_last_n = sampling->penalty_last_n,
        .bias = bias,
        .bias_count = sampling->bias_count,
        .seed = sampling->seed,
        .order = sampling->temperature_last ? VV_TEMPERATURE_LAST : VV_TEMPERATURE_FIRST,
    };
    /* A vocabulary beyond int32 is out of range as well; the largest int32 says so. */
    int32_t tokens = vocabulary < INT32_MAX ? (int32_t)vocabulary : INT32_MAX;
    int code = vv_sampler_new(tokens, &settings, &made, vv_internal(error));
    free(bias);
    if (code == VV_OK) {
        *sampler = (struct varve_sampler *)made;
    }
    return code;
}

void varve_sampler_free(struct varve_sampler *sampler) {
    vv_sampler_free((struct vv_sampler *)sampler);
}

int varve_sampler_draw(struct varve_sampler *sampler, const float *logits, const int32_t *history,
                       size_t history_length, uint64_t position, int32_t *token,
                       struct varve_error *error) {
    return vv_sampler_draw((struct vv_sampler *)sampler, logits, history, history_length, position,
                           token, vv_internal(error));
}

/* Settings, logits, bias and history of any bits: refused with a sentence, or a token that can be.
 */
#include "base/math.h"
#include "sample/sample.h"
#include <stdlib.h>

enum { MOST = 32 };

struct input {
    const uint8_t *at;
    size_t left;
};

/* The next bytes as a 32-bit number; zeros once they run out. */
static uint32_t next(struct input *input) {
    uint32_t value = 0;
    size_t n = input->left < sizeof value ? input->left : sizeof value;
    memcpy(&value, input->at, n);
    input->at += n;
    input->left -= n;
    return value;
}

static void must(int condition) {
    if (!condition) {
        abort();
    }
}

static struct vv_sampling settings_from(struct input *input, struct vv_logit_bias *bias) {
    struct vv_sampling settings = vv_sampling_default();
    uint32_t given = next(input); /* a bit for each option, so that few are wrong at a time */
    float *real[] = {&settings.temperature,
                     &settings.top_p,
                     &settings.min_p,
                     &settings.repetition_penalty,
                     &settings.presence_penalty,
                     &settings.frequency_penalty};
    for (size_t i = 0; i < 6; i++) {
        *real[i] = given >> i & 1 ? vv_from_bits(next(input)) : *real[i];
    }
    settings.top_k = given >> 6 & 1 ? (int32_t)next(input) : 0;
    settings.penalty_last_n = given >> 7 & 1 ? (int32_t)next(input) : -1;
    settings.order = given >> 8 & 1 ? VV_TEMPERATURE_LAST : VV_TEMPERATURE_FIRST;
    settings.bias = bias;
    settings.bias_count = given >> 9 & 3;
    for (size_t i = 0; i < settings.bias_count; i++) {
        bias[i].token = (int32_t)next(input);
        bias[i].value = vv_from_bits(next(input));
    }
    settings.seed = next(input);
    return settings;
}

static void check_draw(struct vv_sampler *sampler, int32_t vocabulary, const float *logits,
                       const int32_t *history, size_t length) {
    struct vv_candidate candidates[MOST];
    struct vv_error error;
    size_t kept;
    int32_t token = -1;
    int status =
        vv_sampler_candidates(sampler, logits, history, length, 3, candidates, MOST, &kept, &error);
    must(status == vv_sampler_draw(sampler, logits, history, length, 3, &token, &error));
    if (status) {
        must(kept == 0 && token == -1 && error.message[0]);
        return;
    }
    double sum = 0;
    int found = 0;
    must(kept >= 1 && kept <= (size_t)vocabulary);
    for (size_t i = 0; i < kept; i++) {
        must(candidates[i].token >= 0 && candidates[i].token < vocabulary);
        must(logits[candidates[i].token] > -INFINITY);
        must(i == 0 || candidates[i].probability <= candidates[i - 1].probability);
        found += candidates[i].token == token && candidates[i].probability > 0.0f;
        sum += (double)candidates[i].probability;
    }
    must(found == 1 && fabs(sum - 1) < 1e-5);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct input input = {data, size};
    struct vv_logit_bias bias[3];
    struct vv_sampling settings = settings_from(&input, bias);
    int32_t vocabulary = 1 + (int32_t)(next(&input) % MOST), history[MOST];
    size_t length = next(&input) % MOST;
    float logits[MOST];
    struct vv_sampler *sampler;
    struct vv_error error;
    for (size_t i = 0; i < length; i++) {
        history[i] = (int32_t)(next(&input) % MOST);
    }
    for (int32_t i = 0; i < vocabulary; i++) {
        logits[i] = vv_from_bits(next(&input));
    }
    if (vv_sampler_new(vocabulary, &settings, &sampler, &error)) {
        must(error.code == VV_ERROR_INVALID && error.message[0]);
        return 0;
    }
    check_draw(sampler, vocabulary, logits, history, length);
    vv_sampler_free(sampler);
    return 0;
}

#include "base/math.h"
#include "sample/sample.h"
#include <float.h>

struct vv_sampling vv_sampling_default(void) {
    return (struct vv_sampling){
        .temperature = 1.0f,
        .top_p = 1.0f,
        .repetition_penalty = 1.0f,
        .penalty_last_n = -1,
        .order = VV_TEMPERATURE_FIRST,
    };
}

static int validate_numbers(const struct vv_sampling *s, struct vv_error *error) {
    /* The bound on the penalties keeps scores that are not infinite from becoming NaN. */
    const struct {
        const char *name;
        float value, low, high;
        const char *range;
    } option[] = {
        {"temperature", s->temperature, 0.0f, FLT_MAX, "0 (greedy) or a positive number"},
        {"top_p", s->top_p, 0.0f, 1.0f, "from 0 to 1 (1: off)"},
        {"min_p", s->min_p, 0.0f, 1.0f, "from 0 (off) to 1"},
        {"repetition_penalty", s->repetition_penalty, FLT_TRUE_MIN, FLT_MAX,
         "a positive number (1: off)"},
        {"presence_penalty", s->presence_penalty, -10000.0f, 10000.0f, "from -10000 to 10000"},
        {"frequency_penalty", s->frequency_penalty, -10000.0f, 10000.0f, "from -10000 to 10000"},
    };
    for (size_t i = 0; i < sizeof option / sizeof *option; i++) {
        if (!(option[i].value >= option[i].low && option[i].value <= option[i].high)) {
            return vv_fail(error, VV_ERROR_INVALID, "%s is %g: it must be %s", option[i].name,
                           (double)option[i].value, option[i].range);
        }
    }
    return VV_OK;
}

static int validate_bias(const struct vv_sampling *s, struct vv_error *error) {
    if (s->bias_count > 0 && !s->bias) {
        return vv_fail(error, VV_ERROR_INVALID, "logit_bias has %zu entries but no list of them",
                       s->bias_count);
    }
    for (size_t i = 0; i < s->bias_count; i++) {
        if (s->bias[i].token < 0) {
            return vv_fail(error, VV_ERROR_INVALID,
                           "logit_bias entry %zu is for token %d: tokens are numbered from 0", i,
                           (int)s->bias[i].token);
        }
        if (isnan(s->bias[i].value)) {
            return vv_fail(error, VV_ERROR_INVALID,
                           "logit_bias of token %d is not a number: give one, or an infinity",
                           (int)s->bias[i].token);
        }
    }
    return VV_OK;
}

int vv_sampling_validate(const struct vv_sampling *settings, struct vv_error *error) {
    int status = validate_numbers(settings, error);
    if (status) {
        return status;
    }
    if (settings->top_k < 0) {
        return vv_fail(error, VV_ERROR_INVALID, "top_k is %d: it must be 0 (off) or more",
                       (int)settings->top_k);
    }
    if (settings->penalty_last_n < -1) {
        return vv_fail(error, VV_ERROR_INVALID,
                       "penalty_last_n is %d: it must be -1 (all), 0 (none) or more",
                       (int)settings->penalty_last_n);
    }
    if (settings->order != VV_TEMPERATURE_FIRST && settings->order != VV_TEMPERATURE_LAST) {
        return vv_fail(error, VV_ERROR_INVALID,
                       "sampler order is %d: it must be temperature_first (%d) or "
                       "temperature_last (%d)",
                       (int)settings->order, VV_TEMPERATURE_FIRST, VV_TEMPERATURE_LAST);
    }
    return validate_bias(settings, error);
}

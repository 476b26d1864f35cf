#include "support/sampling_cases.h"
#include "sample/random.h"
#include "sample/sample.h"
#include "sample/scores.h"
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 64 }; /* logits and history entries of a case */

struct golden {
    struct vv_sampling settings;
    float logits[MOST];
    int32_t vocabulary, history[MOST];
    size_t history_length;
};

static const char *read_settings(const json_t *json, struct vv_sampling *settings) {
    const char *name;
    json_t *value;
    *settings = vv_sampling_default();
    json_object_foreach((json_t *)json, name, value) {
        float *real = !strcmp(name, "temperature")          ? &settings->temperature
                      : !strcmp(name, "top_p")              ? &settings->top_p
                      : !strcmp(name, "min_p")              ? &settings->min_p
                      : !strcmp(name, "repetition_penalty") ? &settings->repetition_penalty
                      : !strcmp(name, "presence_penalty")   ? &settings->presence_penalty
                      : !strcmp(name, "frequency_penalty")  ? &settings->frequency_penalty
                                                            : NULL;
        int32_t *whole = !strcmp(name, "top_k")            ? &settings->top_k
                         : !strcmp(name, "penalty_last_n") ? &settings->penalty_last_n
                                                           : NULL;
        if (real) {
            *real = (float)json_number_value(value);
        } else if (whole) {
            *whole = (int32_t)json_integer_value(value);
        } else {
            return "has a setting that this test does not know";
        }
    }
    return NULL;
}

static const char *read_case(const json_t *json, struct golden *golden) {
    const json_t *logits = json_object_get(json, "logits");
    const json_t *history = json_object_get(json, "history");
    const char *order = json_string_value(json_object_get(json, "order"));
    size_t count = json_array_size(logits);
    golden->history_length = json_array_size(history);
    if (!order || count == 0 || count > MOST || golden->history_length > MOST) {
        return "has no order, or too many or no logits";
    }
    const char *wrong = read_settings(json_object_get(json, "settings"), &golden->settings);
    if (wrong) {
        return wrong;
    }
    golden->settings.order =
        !strcmp(order, "temperature_last") ? VV_TEMPERATURE_LAST : VV_TEMPERATURE_FIRST;
    golden->vocabulary = (int32_t)count;
    for (size_t i = 0; i < count; i++) {
        golden->logits[i] = (float)json_number_value(json_array_get(logits, i));
    }
    for (size_t i = 0; i < golden->history_length; i++) {
        golden->history[i] = (int32_t)json_integer_value(json_array_get(history, i));
    }
    return NULL;
}

static double number_at(const json_t *json, const char *name, size_t index) {
    return json_number_value(json_array_get(json_object_get(json, name), index));
}

static const char *check_penalties(const json_t *json, const struct golden *golden) {
    float score[MOST];
    uint32_t times[MOST] = {0};
    struct vv_scores scores = {golden->vocabulary, score, times};
    struct vv_error error;
    const json_t *stage = json_array_get(json_object_get(json, "stages"), 0);
    if (vv_scores_fill(&scores, &golden->settings, golden->logits, golden->history,
                       golden->history_length, 0, &error)) {
        return "has scores that fail";
    }
    for (size_t i = 0; i < (size_t)golden->vocabulary; i++) {
        double expected = number_at(stage, "logits", i);
        if (!(fabs((double)score[i] - expected) <= 1e-6 * fmax(1.0, fabs(expected)))) {
            return "has other scores after the penalties";
        }
    }
    return NULL;
}

static const char *check_kept(const json_t *json, const struct golden *golden,
                              struct vv_sampler *sampler) {
    struct vv_candidate candidates[MOST];
    struct vv_error error;
    size_t kept;
    if (vv_sampler_candidates(sampler, golden->logits, golden->history, golden->history_length, 0,
                              candidates, MOST, &kept, &error)) {
        return "has candidates that fail";
    }
    if (kept != json_array_size(json_object_get(json, "kept_descending"))) {
        return "keeps another number of tokens";
    }
    for (size_t i = 0; i < kept; i++) {
        if (candidates[i].token != (int32_t)number_at(json, "kept_descending", i)) {
            return "keeps other tokens, or in another order";
        }
        if (!(fabs((double)candidates[i].probability - number_at(json, "probabilities", i)) <=
              1e-6)) {
            return "has another probability";
        }
    }
    return NULL;
}

/* The golden token for the u of this position, or -1 if u is too near a border to tell. */
static int32_t golden_draw(const json_t *json, uint64_t seed, uint64_t position) {
    double u = (double)vv_random_at(seed, position) * 0x1p-64;
    size_t count = json_array_size(json_object_get(json, "cdf_descending"));
    for (size_t i = 0; i + 1 < count; i++) {
        double border = number_at(json, "cdf_descending", i);
        if (fabs(u - border) < 2e-6) {
            return -1;
        }
        if (border > u) {
            return (int32_t)number_at(json, "kept_descending", i);
        }
    }
    return (int32_t)number_at(json, "kept_descending", count - 1);
}

static const char *check_draws(const json_t *json, const struct golden *golden,
                               struct vv_sampler *sampler) {
    for (uint64_t position = 0; position < 300; position++) {
        struct vv_error error;
        int32_t token, expected = golden_draw(json, golden->settings.seed, position);
        if (vv_sampler_draw(sampler, golden->logits, golden->history, golden->history_length,
                            position, &token, &error)) {
            return "has a draw that fails";
        }
        if (expected >= 0 && token != expected) {
            return "draws another token";
        }
    }
    return NULL;
}

static const char *run_case(const json_t *json) {
    struct golden golden;
    struct vv_sampler *sampler;
    struct vv_error error;
    const char *wrong = read_case(json, &golden);
    if (wrong) {
        return wrong;
    }
    golden.settings.seed = 0x123456789abcdef0u;
    if (vv_sampler_new(golden.vocabulary, &golden.settings, &sampler, &error)) {
        return "has settings that are refused";
    }
    wrong = check_penalties(json, &golden);
    wrong = wrong ? wrong : check_kept(json, &golden, sampler);
    wrong = wrong ? wrong : check_draws(json, &golden, sampler);
    vv_sampler_free(sampler);
    return wrong;
}

size_t sampling_cases_run(const char *path, void (*report)(const char *name, const char *what),
                          size_t *failed) {
    json_error_t trouble;
    json_t *cases = json_load_file(path, 0, &trouble), *json;
    size_t index, passed = 0;
    *failed = 0;
    if (json_array_size(cases) == 0) {
        report(path, "cannot be read as a list of cases");
        *failed = 1;
    }
    json_array_foreach(cases, index, json) {
        const char *wrong = run_case(json);
        if (wrong) {
            report(json_string_value(json_object_get(json, "name")), wrong);
            ++*failed;
        } else {
            passed++;
        }
    }
    json_decref(cases);
    return passed;
}

#include "support/sampling_cases.h"
#include "base/random.h"
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

/* The settings and the order of a case. */
static const char *read_settings(const json_t *json, struct vv_sampling *settings) {
    const char *name, *order = json_string_value(json_object_get(json, "order"));
    json_t *value;
    *settings = vv_sampling_default();
    if (!order) {
        return "has no order";
    }
    settings->order =
        !strcmp(order, "temperature_last") ? VV_TEMPERATURE_LAST : VV_TEMPERATURE_FIRST;
    json_object_foreach(json_object_get(json, "settings"), name, value) {
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
    size_t count = json_array_size(logits);
    golden->history_length = json_array_size(history);
    if (count == 0 || count > MOST || golden->history_length > MOST) {
        return "has no logits, or too many, or too long a history";
    }
    const char *wrong = read_settings(json, &golden->settings);
    if (wrong) {
        return wrong;
    }
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

/* ---- draws.json ---- */

static int64_t integer_at(const json_t *json, const char *name, size_t index) {
    return json_integer_value(json_array_get(json_object_get(json, name), index));
}

static int64_t integer_of(const json_t *json, const char *name) {
    return json_integer_value(json_object_get(json, name));
}

/* The formula that stands in for the logits; see tools/oracle/sampling_draws.py. */
static float *make_logits(const json_t *json, size_t count) {
    float *logits = malloc(count * sizeof *logits);
    float shift = (float)json_number_value(json_object_get(json, "shift"));
    float scale = (float)json_number_value(json_object_get(json, "scale"));
    for (size_t i = 0; logits && i < count; i++) {
        logits[i] = ((float)((uint32_t)(i * 2654435761u) >> 8) * 0x1p-24f - shift) * scale;
    }
    return logits;
}

static size_t read_bias(const json_t *json, struct vv_logit_bias *bias) {
    const json_t *list = json_object_get(json, "bias");
    size_t count = json_array_size(list) < MOST ? json_array_size(list) : MOST;
    for (size_t i = 0; i < count; i++) {
        const json_t *value = json_array_get(json_array_get(list, i), 1);
        bias[i].token = (int32_t)json_integer_value(json_array_get(json_array_get(list, i), 0));
        bias[i].value = json_is_null(value) ? -INFINITY : (float)json_number_value(value);
    }
    return count;
}

enum { BEST = 16, HISTORY = 256 };

static const char *check_golden_draws(const json_t *json, struct vv_sampler *sampler,
                                      const float *logits) {
    int32_t history[HISTORY], token;
    size_t length = json_array_size(json_object_get(json, "history")), kept;
    struct vv_candidate candidates[BEST];
    struct vv_error error;
    for (size_t i = 0; i < length && i < HISTORY; i++) {
        history[i] = (int32_t)integer_at(json, "history", i);
    }
    if (length > HISTORY || vv_sampler_candidates(sampler, logits, history, length, 0, candidates,
                                                  BEST, &kept, &error)) {
        return "has candidates that fail";
    }
    if (kept != (size_t)integer_of(json, "kept")) {
        return "keeps another number of tokens";
    }
    for (size_t i = 0; i < json_array_size(json_object_get(json, "best")); i++) {
        if (candidates[i].token != integer_at(json, "best", i) ||
            vv_bits(candidates[i].probability) != integer_at(json, "probability_bits", i)) {
            return "has another token, or another bit of its probability, among the best";
        }
    }
    for (size_t i = 0; i < json_array_size(json_object_get(json, "positions")); i++) {
        if (vv_sampler_draw(sampler, logits, history, length,
                            (uint64_t)integer_at(json, "positions", i), &token, &error) ||
            token != integer_at(json, "tokens", i)) {
            return "draws another token";
        }
    }
    return NULL;
}

static const char *run_draws(const json_t *json) {
    int32_t vocabulary = (int32_t)integer_of(json, "vocabulary");
    struct vv_logit_bias bias[MOST];
    struct vv_sampling settings;
    struct vv_sampler *sampler;
    struct vv_error error;
    const char *wrong = read_settings(json, &settings);
    if (wrong) {
        return wrong;
    }
    settings.seed = (uint64_t)integer_of(json, "seed");
    settings.bias = bias;
    settings.bias_count = read_bias(json, bias);
    float *logits = make_logits(json, (size_t)vocabulary);
    if (!logits || vv_sampler_new(vocabulary, &settings, &sampler, &error)) {
        free(logits);
        return "has settings that are refused";
    }
    wrong = check_golden_draws(json, sampler, logits);
    vv_sampler_free(sampler);
    free(logits);
    return wrong;
}

static size_t run_file(const char *path, const char *(*run)(const json_t *),
                       void (*report)(const char *name, const char *what), size_t *failed) {
    json_error_t trouble;
    json_t *cases = json_load_file(path, 0, &trouble), *json;
    size_t index, passed = 0;
    *failed = 0;
    if (json_array_size(cases) == 0) {
        report(path, "cannot be read as a list of cases");
        *failed = 1;
    }
    json_array_foreach(cases, index, json) {
        const char *wrong = run(json), *name = json_string_value(json_object_get(json, "name"));
        if (wrong) {
            char number[32];
            snprintf(number, sizeof number, "%zu", index);
            report(name ? name : number, wrong);
            ++*failed;
        } else {
            passed++;
        }
    }
    json_decref(cases);
    return passed;
}

size_t sampling_cases_run(const char *path, void (*report)(const char *name, const char *what),
                          size_t *failed) {
    return run_file(path, run_case, report, failed);
}

size_t sampling_draws_run(const char *path, void (*report)(const char *name, const char *what),
                          size_t *failed) {
    return run_file(path, run_draws, report, failed);
}

#include "base/random.h"
#include "op/sample/weights.h"
#include "sample/ranks.h"
#include "sample/sample.h"
#include "sample/scores.h"
#include <stdlib.h>

struct vv_sampler {
    struct vv_sampling settings; /* bias is ours */
    struct vv_logit_bias *bias;  /* [bias_count] */
    struct vv_scores scores;
    size_t k;                 /* ranks that top_k keeps; the vocabulary if it is off */
    struct vv_ranked *ranked; /* [vv_ranks_room(vocabulary, k)] */
};

void vv_sampler_free(struct vv_sampler *sampler) {
    if (sampler) {
        free(sampler->bias);
        free(sampler->scores.score);
        free(sampler->scores.times);
        free(sampler->ranked);
        free(sampler);
    }
}

static int check_vocabulary(int32_t vocabulary, const struct vv_sampling *settings,
                            struct vv_error *error) {
    if (vocabulary < 1 || vocabulary >= 1 << 24) {
        return vv_fail(error, VV_ERROR_INVALID,
                       "a vocabulary of %d tokens cannot be sampled: it must have 1 to %d",
                       (int)vocabulary, (1 << 24) - 1);
    }
    for (size_t i = 0; i < settings->bias_count; i++) {
        if (settings->bias[i].token >= vocabulary) {
            return vv_fail(
                error, VV_ERROR_INVALID,
                "logit_bias entry %zu is for token %d: the vocabulary has tokens 0 to %d", i,
                (int)settings->bias[i].token, (int)(vocabulary - 1));
        }
    }
    return VV_OK;
}

static int allocate(struct vv_sampler *s, const struct vv_sampling *settings,
                    struct vv_error *error) {
    size_t vocabulary = (size_t)s->scores.vocabulary, room = vv_ranks_room(vocabulary, s->k);
    int penalised = vv_scores_penalised(settings);
    s->scores.score = calloc(vocabulary, sizeof *s->scores.score);
    s->scores.times = penalised ? calloc(vocabulary, sizeof *s->scores.times) : NULL;
    s->ranked = calloc(room, sizeof *s->ranked);
    s->bias = calloc(settings->bias_count + 1, sizeof *s->bias);
    if (!s->scores.score || (penalised && !s->scores.times) || !s->ranked || !s->bias) {
        return vv_fail_memory(error,
                              vocabulary * (sizeof *s->scores.score + sizeof *s->scores.times) +
                                  room * sizeof *s->ranked,
                              "the sampler's work space");
    }
    return VV_OK;
}

int vv_sampler_new(int32_t vocabulary, const struct vv_sampling *settings,
                   struct vv_sampler **sampler, struct vv_error *error) {
    *sampler = NULL;
    int status = vv_sampling_validate(settings, error);
    if (status || (status = check_vocabulary(vocabulary, settings, error))) {
        return status;
    }
    struct vv_sampler *s = calloc(1, sizeof *s);
    if (!s) {
        return vv_fail_memory(error, sizeof *s, "a sampler");
    }
    size_t top_k = settings->temperature == 0.0f ? 1 : (size_t)settings->top_k; /* greedy */
    s->k = top_k > 0 && top_k < (size_t)vocabulary ? top_k : (size_t)vocabulary;
    s->scores.vocabulary = vocabulary;
    s->settings = *settings;
    status = allocate(s, settings, error);
    if (status) {
        vv_sampler_free(s);
        return status;
    }
    for (size_t i = 0; i < settings->bias_count; i++) {
        s->bias[i] = settings->bias[i];
    }
    s->settings.bias = s->bias;
    *sampler = s;
    return VV_OK;
}

static uint64_t sum_of_weights(const struct vv_ranked *ranked, size_t count) {
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += ranked[i].weight;
    }
    return sum;
}

static void weigh(struct vv_ranked *ranked, size_t count, const float *score, float temperature) {
    uint64_t best = 0;
    for (size_t i = 0; i < count; i++) {
        best = ranked[i].key > best ? ranked[i].key : best;
    }
    float top = score[0xffffffffu - (uint32_t)best];
    for (size_t i = 0; i < count; i++) {
        ranked[i].weight = vv_draw_weight(score[vv_ranked_token(&ranked[i])], top, temperature);
    }
}

/* Step 5 on `ranked` [count]: how many of them stay, first. */
static size_t filter(const struct vv_sampling *settings, struct vv_ranked *ranked, size_t count) {
    if (settings->top_p < 1.0f) {
        uint64_t need = vv_draw_need(settings->top_p, sum_of_weights(ranked, count));
        count = vv_ranks_reaching(ranked, count, need);
    }
    if (settings->min_p == 0.0f) {
        return count;
    }
    uint64_t least = vv_draw_least(settings->min_p);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (ranked[i].weight >= least) {
            ranked[kept++] = ranked[i];
        }
    }
    return kept;
}

/* Steps 1 to 5: the kept tokens, in any order, with the weights to draw by. */
static int distribution(struct vv_sampler *s, const float *logits, const int32_t *history,
                        size_t history_length, uint64_t position, size_t *kept,
                        struct vv_error *error) {
    const struct vv_sampling *settings = &s->settings;
    int status =
        vv_scores_fill(&s->scores, settings, logits, history, history_length, position, error);
    if (status) {
        return status;
    }
    size_t count = vv_ranks_best(s->scores.score, (size_t)s->scores.vocabulary, s->k, s->ranked);
    if (count == 0) {
        return vv_fail(
            error, VV_ERROR_INVALID,
            "no token can be drawn at position %llu: all %d are banned (minus infinity); "
            "leave one allowed by logit_bias or by the grammar",
            (unsigned long long)position, (int)s->scores.vocabulary);
    }
    if (settings->temperature > 0.0f) {
        int last = settings->order == VV_TEMPERATURE_LAST;
        weigh(s->ranked, count, s->scores.score, last ? 1.0f : settings->temperature);
        count = filter(settings, s->ranked, count);
        if (last) {
            weigh(s->ranked, count, s->scores.score, settings->temperature);
        }
    }
    *kept = count;
    return VV_OK;
}

int vv_sampler_draw(struct vv_sampler *sampler, const float *logits, const int32_t *history,
                    size_t history_length, uint64_t position, int32_t *token,
                    struct vv_error *error) {
    size_t kept = 0;
    int status = distribution(sampler, logits, history, history_length, position, &kept, error);
    if (status) {
        return status;
    }
    uint64_t sum = sum_of_weights(sampler->ranked, kept);
    uint64_t x = vv_high_product(vv_random_at(sampler->settings.seed, position), sum);
    *token = vv_ranked_token(&sampler->ranked[vv_ranks_reaching(sampler->ranked, kept, x + 1) - 1]);
    return VV_OK;
}

struct vv_draw vv_sampler_ask(const struct vv_sampler *sampler, size_t vocabulary,
                              uint64_t position) {
    const struct vv_sampling *s = &sampler->settings;
    if ((size_t)sampler->scores.vocabulary != vocabulary || s->bias_count > 0 ||
        vv_scores_penalised(s)) {
        return (struct vv_draw){.wanted = 0};
    }
    return (struct vv_draw){
        .seed = s->seed,
        .position = position,
        .wanted = 1,
        .top_k = s->top_k,
        .temperature = s->temperature,
        .filtering = s->order == VV_TEMPERATURE_LAST ? 1.0f : s->temperature,
        .top_p = s->top_p,
        .min_p = s->min_p,
    };
}

static int by_rank(const void *a, const void *b) {
    const struct vv_ranked *x = a, *y = b;
    return x->key < y->key ? 1 : x->key > y->key ? -1 : 0;
}

int vv_sampler_candidates(struct vv_sampler *sampler, const float *logits, const int32_t *history,
                          size_t history_length, uint64_t position, struct vv_candidate *candidates,
                          size_t room, size_t *kept, struct vv_error *error) {
    *kept = 0;
    int status = distribution(sampler, logits, history, history_length, position, kept, error);
    if (status) {
        return status;
    }
    float sum = (float)sum_of_weights(sampler->ranked, *kept);
    qsort(sampler->ranked, *kept, sizeof *sampler->ranked, by_rank);
    for (size_t i = 0; i < *kept && i < room; i++) {
        candidates[i].token = vv_ranked_token(&sampler->ranked[i]);
        candidates[i].probability = (float)sampler->ranked[i].weight / sum;
    }
    return VV_OK;
}

#include "sample/scores.h"
#include "base/math.h"

static int copy_logits(struct vv_scores *scores, const float *logits, uint64_t position,
                       struct vv_error *error) {
    size_t count = (size_t)scores->vocabulary, nans = 0;
    for (size_t i = 0; i < count; i++) {
        scores->score[i] = logits[i];
        nans += isnan(logits[i]) ? 1 : 0;
    }
    if (nans == 0) {
        return VV_OK;
    }
    size_t first = 0;
    while (!isnan(logits[first])) {
        first++;
    }
    return vv_fail(error, VV_ERROR_NOT_FINITE,
                   "%zu of %zu logits at position %llu are not a number, the first is token %zu's: "
                   "check the model file",
                   nans, count, (unsigned long long)position, first);
}

static void add_bias(float *score, const struct vv_sampling *settings) {
    for (size_t i = 0; i < settings->bias_count; i++) {
        float *z = &score[settings->bias[i].token], value = settings->bias[i].value;
        *z = *z == -INFINITY ? *z : value == -INFINITY ? value : *z + value;
    }
}

int vv_scores_penalised(const struct vv_sampling *settings) {
    return settings->penalty_last_n != 0 &&
           (settings->repetition_penalty != 1.0f || settings->presence_penalty != 0.0f ||
            settings->frequency_penalty != 0.0f);
}

static float penalised(float z, uint32_t times, const struct vv_sampling *s) {
    z = z > 0.0f ? z / s->repetition_penalty : z * s->repetition_penalty;
    return z - ((float)times * s->frequency_penalty + s->presence_penalty);
}

/* `window` [length]: the part of the history that counts. A token is penalised where it is met
 * first, which also clears its count. */
static void penalise(struct vv_scores *scores, const struct vv_sampling *settings,
                     const int32_t *window, size_t length) {
    for (size_t i = 0; i < length; i++) {
        scores->times[window[i]]++;
    }
    for (size_t i = 0; i < length; i++) {
        int32_t token = window[i];
        if (scores->times[token] > 0) {
            scores->score[token] = penalised(scores->score[token], scores->times[token], settings);
            scores->times[token] = 0;
        }
    }
}

static int check_window(const int32_t *history, size_t begin, size_t end, int32_t vocabulary,
                        struct vv_error *error) {
    for (size_t i = begin; i < end; i++) {
        if (history[i] < 0 || history[i] >= vocabulary) {
            return vv_fail(error, VV_ERROR_INVALID,
                           "history entry %zu is token %d: the vocabulary has tokens 0 to %d", i,
                           (int)history[i], (int)(vocabulary - 1));
        }
    }
    return VV_OK;
}

int vv_scores_fill(struct vv_scores *scores, const struct vv_sampling *settings,
                   const float *logits, const int32_t *history, size_t history_length,
                   uint64_t position, struct vv_error *error) {
    int status = copy_logits(scores, logits, position, error);
    if (status) {
        return status;
    }
    add_bias(scores->score, settings);
    if (!vv_scores_penalised(settings)) {
        return VV_OK;
    }
    size_t last = settings->penalty_last_n < 0 ? history_length : (size_t)settings->penalty_last_n;
    size_t length = last < history_length ? last : history_length;
    status =
        check_window(history, history_length - length, history_length, scores->vocabulary, error);
    if (status) {
        return status;
    }
    penalise(scores, settings, history + (history_length - length), length);
    return VV_OK;
}

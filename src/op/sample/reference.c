/* Sorts all that is not banned, then walks along the rank. */
#include "base/random.h"
#include "op/sample/contract.h"
#include "op/sample/internal.h"
#include "op/sample/weights.h"

#include <stdlib.h>

struct ranked {
    uint64_t key;
    float z;
};

static int by_rank(const void *a, const void *b) {
    const struct ranked *x = a, *y = b;
    return x->key < y->key ? 1 : x->key > y->key ? -1 : 0;
}

/* The rank of all that may be drawn; returns how many; 0 also where a logit is NaN. */
static size_t rank(const float *logits, size_t vocabulary, struct ranked *ranked) {
    size_t n = 0;
    for (size_t i = 0; i < vocabulary; i++) {
        if (isnan(logits[i])) {
            return 0;
        }
        if (logits[i] > -INFINITY) {
            ranked[n++] = (struct ranked){vv_selection_key(logits[i], (uint32_t)i), logits[i]};
        }
    }
    qsort(ranked, n, sizeof *ranked, by_rank);
    return n;
}

static uint64_t weight(const struct ranked *ranked, size_t i, float temperature) {
    return vv_draw_weight(ranked[i].z, ranked[0].z, temperature);
}

/* How many of `ranked` [n] the cuts by number and by mass leave. */
static size_t cut(const struct ranked *ranked, size_t n, const struct vv_draw *draw) {
    n = draw->top_k > 0 && (size_t)draw->top_k < n ? (size_t)draw->top_k : n;
    if (draw->top_p == 1.0f) {
        return n;
    }
    uint64_t sum = 0, reached = 0;
    for (size_t i = 0; i < n; i++) {
        sum += weight(ranked, i, draw->filtering);
    }
    uint64_t need = vv_draw_need(draw->top_p, sum);
    for (size_t i = 0; i < n; i++) {
        reached += weight(ranked, i, draw->filtering);
        if (reached >= need) {
            return i + 1;
        }
    }
    return n;
}

static int32_t choose(const struct ranked *ranked, size_t n, const struct vv_draw *draw) {
    uint64_t least = vv_draw_least(draw->min_p), sum = 0, reached = 0;
    size_t i;
    n = cut(ranked, n, draw);
    for (i = 0; i < n; i++) {
        bool kept = weight(ranked, i, draw->filtering) >= least;
        sum += kept ? weight(ranked, i, draw->temperature) : 0;
    }
    uint64_t x = vv_high_product(vv_random_at(draw->seed, draw->position), sum);
    for (i = 0; i < n; i++) {
        bool kept = weight(ranked, i, draw->filtering) >= least;
        reached += kept ? weight(ranked, i, draw->temperature) : 0;
        if (reached > x) {
            break;
        }
    }
    return (int32_t)(0xffffffffu - (uint32_t)ranked[i].key);
}

int vv_sample_reference(const void *args, size_t begin, size_t end) {
    const struct vv_sample *a = args;
    if (a->window->draws == VV_DRAWS_NONE) {
        return VV_OK;
    }
    struct ranked *ranked = malloc(a->vocabulary * sizeof *ranked);
    if (!ranked) {
        return VV_ERROR_MEMORY;
    }
    for (size_t r = begin; r < end; r++) {
        const struct vv_draw *draw = &a->window->draw[r];
        size_t n = draw->wanted ? rank(a->logits + r * a->vocabulary, a->vocabulary, ranked) : 0;
        a->token[r] = n == 0                      ? -1
                      : draw->temperature == 0.0f ? (int32_t)(0xffffffffu - (uint32_t)ranked->key)
                                                  : choose(ranked, n, draw);
    }
    free(ranked);
    return VV_OK;
}

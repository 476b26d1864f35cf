/* Sampling without a sort against sampling with one, on random settings and logits full of ties. */
#include "base/math.h"
#include "base/random.h"
#include "sample/sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MOST = 20000 };

struct item {
    float z;
    int32_t token;
    uint64_t weight;
};

static uint64_t state = 20261129;

static uint32_t random_below(uint32_t bound) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((state >> 33) % bound);
}

static int by_rank(const void *a, const void *b) {
    const struct item *x = a, *y = b;
    return x->z != y->z ? (x->z < y->z ? 1 : -1) : x->token - y->token;
}

static void weigh(struct item *item, size_t count, float temperature) {
    for (size_t i = 0; i < count; i++) {
        float x = (item[i].z - item[0].z) / temperature;
        item[i].weight = (uint64_t)(vv_exp(x) * 0x1p+40f);
    }
}

static uint64_t sum_of(const struct item *item, size_t count) {
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += item[i].weight;
    }
    return sum;
}

/* sample.h, steps 2 to 5, word for word: sort everything, then walk down. Returns how many stay. */
static size_t naive_kept(struct item *item, size_t count, const struct vv_sampling *s) {
    qsort(item, count, sizeof *item, by_rank);
    while (count > 0 && item[count - 1].z == -INFINITY) {
        count--;
    }
    if (s->temperature == 0.0f) {
        item[0].weight = 1;
        return 1;
    }
    if (s->top_k > 0 && (size_t)s->top_k < count) {
        count = (size_t)s->top_k;
    }
    weigh(item, count, s->order == VV_TEMPERATURE_LAST ? 1.0f : s->temperature);
    if (s->top_p < 1.0f) {
        double least = (double)s->top_p * (double)sum_of(item, count);
        uint64_t sum = 0;
        size_t kept = 0;
        do {
            sum += item[kept++].weight;
        } while ((double)sum < least);
        count = kept;
    }
    while (item[count - 1].weight < (uint64_t)(s->min_p * 0x1p+40f)) {
        count--;
    }
    weigh(item, count, s->temperature);
    return count;
}

static uint64_t wide_high_product(uint64_t a, uint64_t b) {
    __extension__ typedef unsigned __int128 wide;
    return (uint64_t)((wide)a * b >> 64);
}

static int32_t naive_draw(const struct item *item, size_t count, uint64_t seed, uint64_t position) {
    uint64_t x = wide_high_product(vv_random_at(seed, position), sum_of(item, count)), sum = 0;
    size_t i = 0;
    while ((sum += item[i].weight) <= x) {
        i++;
    }
    return item[i].token;
}

/* Few distinct values, so that cuts run through ties; ascending ones are the worst case of top_k.
 */
static void fill(float *logits, struct item *item, size_t count) {
    uint32_t kind = random_below(5), values = kind == 0 ? 5 : kind == 1 ? 300 : 1000000;
    for (size_t i = 0; i < count; i++) {
        float z = ((float)random_below(values) / (float)values - 0.7f) * 25.0f;
        z = kind == 3 ? (float)i * 0.001f : z;
        logits[i] = kind == 4 && random_below(2) ? -INFINITY : z;
        item[i] = (struct item){logits[i], (int32_t)i, 0};
    }
    if (count > 1) {
        logits[1] = item[1].z = 5.0f; /* one at least is not banned */
    } else {
        logits[0] = item[0].z = 5.0f;
    }
}

static struct vv_sampling random_settings(size_t count) {
    static const float temperature[] = {0.0f, 1e-3f, 0.3f, 0.7f, 1.0f, 1.0f, 1.7f, 100.0f};
    static const float top_p[] = {1.0f, 1.0f, 0.0f, 1e-7f, 0.1f, 0.5f, 0.9f, 0.99999994f};
    static const float min_p[] = {0.0f, 0.0f, 0.0f, 1e-9f, 0.01f, 0.2f, 1.0f};
    static const int32_t top_k[] = {0, 0, 1, 2, 20, 127, 128, 129, 255, 256, 257, 1000, 9999};
    struct vv_sampling s = vv_sampling_default();
    s.temperature = temperature[random_below(8)];
    s.top_p = top_p[random_below(8)];
    s.min_p = min_p[random_below(7)];
    s.top_k =
        random_below(4) ? top_k[random_below(13)] : 1 + (int32_t)random_below((uint32_t)count);
    s.order = random_below(2) ? VV_TEMPERATURE_FIRST : VV_TEMPERATURE_LAST;
    s.seed = state;
    return s;
}

static void run(size_t count, float *logits, struct item *item, struct vv_candidate *candidates) {
    struct vv_sampling settings = random_settings(count);
    struct vv_sampler *sampler;
    struct vv_error error;
    size_t kept;
    fill(logits, item, count);
    size_t expected = naive_kept(item, count, &settings);
    assert_int_equal(vv_sampler_new((int32_t)count, &settings, &sampler, &error), VV_OK);
    assert_int_equal(
        vv_sampler_candidates(sampler, logits, NULL, 0, 0, candidates, MOST, &kept, &error), VV_OK);
    assert_int_equal(kept, expected);
    float sum = (float)sum_of(item, kept);
    for (size_t i = 0; i < kept; i++) {
        assert_int_equal(candidates[i].token, item[i].token);
        assert_true(candidates[i].probability == (float)item[i].weight / sum);
    }
    for (uint64_t position = 0; position < 5; position++) {
        int32_t token;
        assert_int_equal(vv_sampler_draw(sampler, logits, NULL, 0, position << 30, &token, &error),
                         VV_OK);
        assert_int_equal(token, naive_draw(item, kept, settings.seed, position << 30));
    }
    vv_sampler_free(sampler);
}

static void equals_a_full_sort(void **unused) {
    (void)unused;
    float *logits = malloc(MOST * sizeof *logits);
    struct item *item = malloc(MOST * sizeof *item);
    struct vv_candidate *candidates = malloc(MOST * sizeof *candidates);
    for (int i = 0; i < 1500; i++) {
        run(1 + random_below(i % 100 == 0 ? MOST
                             : i % 3 == 0 ? 20
                                          : 1500),
            logits, item, candidates);
    }
    free(candidates);
    free(item);
    free(logits);
}

static void high_products_carry(void **unused) {
    (void)unused;
    static const uint64_t edge[] = {0, 1, 0xffffffff, 0x100000000, 0xffffffff00000000, UINT64_MAX};
    for (size_t i = 0; i < 36; i++) {
        uint64_t a = edge[i / 6], b = edge[i % 6];
        assert_true(vv_high_product(a, b) == wide_high_product(a, b));
    }
    for (uint64_t i = 0; i < 100000; i++) {
        uint64_t a = vv_random_at(1, i), b = vv_random_at(2, i) >> (i % 64);
        assert_true(vv_high_product(a, b) == wide_high_product(a, b));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_a_full_sort),
        cmocka_unit_test(high_products_carry),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

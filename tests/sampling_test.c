/* Sampling as a whole: golden cases, the rules at the edges, errors. */
#include "base/math.h"
#include "base/random.h"
#include "sample/sample.h"
#include "support/sampling_cases.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void print_case(const char *name, const char *what) {
    print_error("case \"%s\" %s\n", name, what);
}

static void golden_cases(void **state) {
    (void)state;
    size_t failed;
    assert_int_equal(
        sampling_cases_run(VARVE_SOURCE_DIR "/tests/data/sampling/cases.json", print_case, &failed),
        40);
    assert_int_equal(failed, 0);
}

static void golden_draws(void **state) {
    (void)state;
    size_t failed;
    assert_int_equal(
        sampling_draws_run(VARVE_SOURCE_DIR "/tests/data/sampling/draws.json", print_case, &failed),
        8);
    assert_int_equal(failed, 0);
}

/* The vectors published with Random123 1.14.0 (tests/kat_vectors, lines "philox4x32 10"). */
static void philox_known_answers(void **state) {
    (void)state;
    static const uint32_t vector[][10] = {
        {0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
        {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0x408f276d,
         0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
        {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0, 0xd16cfe09,
         0x94fdcceb, 0x5001e420, 0x24126ea1},
    };
    for (size_t i = 0; i < sizeof vector / sizeof *vector; i++) {
        uint32_t word[4];
        vv_philox4x32(vector[i], vector[i] + 4, word);
        assert_memory_equal(word, vector[i] + 6, sizeof word);
    }
}

static struct vv_sampler *sampler_of(int32_t vocabulary, const struct vv_sampling *settings) {
    struct vv_sampler *sampler;
    struct vv_error error;
    if (vv_sampler_new(vocabulary, settings, &sampler, &error)) {
        fail_msg("%s", error.message);
    }
    return sampler;
}

static int32_t draw(struct vv_sampler *sampler, const float *logits, uint64_t position) {
    struct vv_error error;
    int32_t token = -1;
    if (vv_sampler_draw(sampler, logits, NULL, 0, position, &token, &error)) {
        fail_msg("%s", error.message);
    }
    return token;
}

/* Fills `candidates` [room] and returns how many tokens were kept. */
static size_t kept_after(const struct vv_sampling *settings, const float *logits,
                         int32_t vocabulary, const int32_t *history, size_t history_length,
                         struct vv_candidate *candidates, size_t room) {
    struct vv_sampler *sampler = sampler_of(vocabulary, settings);
    struct vv_error error;
    size_t kept;
    if (vv_sampler_candidates(sampler, logits, history, history_length, 0, candidates, room, &kept,
                              &error)) {
        fail_msg("%s", error.message);
    }
    vv_sampler_free(sampler);
    return kept;
}

/* Chi-square of 40,000 draws over 8 tokens against probabilities from the C library's exp; 24.3 is
 * exceeded by chance once in 1,000 seeds, and these seeds are fixed. */
static void draws_follow_the_distribution(void **state) {
    (void)state;
    static const float logits[8] = {0.5f, -1.0f, 2.0f, 1.5f, 0.0f, -2.0f, 1.9f, 0.3f};
    struct vv_sampling settings = vv_sampling_default();
    settings.temperature = 1.3f;
    double sum = 0, p[8];
    for (int i = 0; i < 8; i++) {
        sum += p[i] = exp((double)logits[i] / (double)settings.temperature);
    }
    for (settings.seed = 1; settings.seed < 6; settings.seed++) {
        struct vv_sampler *sampler = sampler_of(8, &settings);
        double count[8] = {0}, chi_square = 0;
        for (uint64_t position = 0; position < 40000; position++) {
            count[draw(sampler, logits, position)]++;
        }
        for (int i = 0; i < 8; i++) {
            double expected = 40000 * p[i] / sum;
            chi_square += (count[i] - expected) * (count[i] - expected) / expected;
        }
        assert_true(chi_square < 24.3);
        vv_sampler_free(sampler);
    }
}

/* c082: a row of a verified window and the plain step at its position draw alike, whatever was
 * drawn before; another seed or position draws anew. */
static void draws_depend_on_seed_and_position_alone(void **state) {
    (void)state;
    enum { POSITIONS = 500 };
    float logits[64], other[64];
    int32_t token[POSITIONS];
    for (int i = 0; i < 64; i++) {
        logits[i] = (float)(i % 7) * 0.1f;
        other[i] = (float)(i % 5);
    }
    struct vv_sampling settings = vv_sampling_default();
    settings.seed = 0xfedcba9876543210u;
    struct vv_sampler *sampler = sampler_of(64, &settings);
    for (uint64_t i = 0; i < POSITIONS; i++) {
        token[i] = draw(sampler, logits, i);
    }
    for (uint64_t i = POSITIONS; i-- > 0;) {
        draw(sampler, other, i + 7);
        assert_int_equal(draw(sampler, logits, i), token[i]);
    }
    /* Every bit of seed and position counts: with 64 tokens, chance repeats 1 in about 64. */
    for (int bit = 0; bit < 64; bit++) {
        struct vv_sampling changed = settings;
        changed.seed ^= 1ull << bit;
        struct vv_sampler *reseeded = sampler_of(64, &changed);
        int same_seed = 0, same_position = 0;
        for (uint64_t i = 0; i < POSITIONS; i++) {
            same_seed += draw(reseeded, logits, i) == token[i];
            same_position += draw(sampler, logits, i ^ 1ull << bit) == token[i];
        }
        assert_true(same_seed < POSITIONS / 10 && same_position < POSITIONS / 10);
        vv_sampler_free(reseeded);
    }
    vv_sampler_free(sampler);
}

static void logits_and_settings_stay_the_callers(void **state) {
    (void)state;
    float logits[3] = {1.0f, 2.0f, 3.0f};
    const float before[3] = {1.0f, 2.0f, 3.0f};
    struct vv_logit_bias bias = {2, -INFINITY};
    struct vv_sampling settings = vv_sampling_default();
    settings.temperature = 0.0f;
    settings.bias = &bias;
    settings.bias_count = 1;
    struct vv_sampler *sampler = sampler_of(3, &settings);
    bias.token = 1; /* the sampler has its own copy */
    assert_int_equal(draw(sampler, logits, 0), 1);
    assert_memory_equal(logits, before, sizeof logits);
    vv_sampler_free(sampler);
}

/* z / 2 or z * 2, then - (count * 0.25 + 0.5): all exact. The difference of two scores is the log
 * of the ratio of their probabilities. */
static void penalties_count_the_history(void **state) {
    (void)state;
    static const float logits[4] = {2.0f, -1.0f, 0.0f, 1.0f};
    static const int32_t history[6] = {3, 1, 0, 1, 1, 0};
    static const struct {
        int32_t last_n;
        double score[4];
    } expected[] = {
        {-1, {0.0, -3.25, 0.0, -0.25}}, {100, {0.0, -3.25, 0.0, -0.25}},
        {6, {0.0, -3.25, 0.0, -0.25}},  {5, {0.0, -3.25, 0.0, 1.0}},
        {2, {0.25, -2.75, 0.0, 1.0}},   {1, {0.25, -1.0, 0.0, 1.0}},
        {0, {2.0, -1.0, 0.0, 1.0}},
    };
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        struct vv_sampling settings = vv_sampling_default();
        settings.repetition_penalty = 2.0f;
        settings.frequency_penalty = 0.25f;
        settings.presence_penalty = 0.5f;
        settings.penalty_last_n = expected[i].last_n;
        struct vv_candidate candidates[4];
        double p[4];
        assert_int_equal(kept_after(&settings, logits, 4, history, 6, candidates, 4), 4);
        for (size_t c = 0; c < 4; c++) {
            p[candidates[c].token] = (double)candidates[c].probability;
        }
        for (size_t t = 0; t < 4; t++) {
            assert_true(fabs(log(p[t] / p[2]) - expected[i].score[t]) < 1e-6);
        }
    }
}

static void history_outside_the_vocabulary_is_refused(void **state) {
    (void)state;
    static const float logits[2] = {0.0f, 1.0f};
    static const int32_t history[3] = {7, 1, 0};
    struct vv_sampling settings = vv_sampling_default();
    struct vv_error error;
    int32_t token = -5;
    settings.presence_penalty = 1.0f;
    struct vv_sampler *sampler = sampler_of(2, &settings);
    assert_int_equal(vv_sampler_draw(sampler, logits, history, 3, 3, &token, &error),
                     VV_ERROR_INVALID);
    assert_string_equal(error.message,
                        "history entry 0 is token 7: the vocabulary has tokens 0 to 1");
    assert_int_equal(token, -5);
    vv_sampler_free(sampler);
    settings.penalty_last_n = 2; /* what does not count is not looked at */
    sampler = sampler_of(2, &settings);
    assert_int_equal(vv_sampler_draw(sampler, logits, history, 3, 3, &token, &error), VV_OK);
    vv_sampler_free(sampler);
}

/* c083 */
static void bias_bans_and_forces(void **state) {
    (void)state;
    static const float logits[4] = {5.0f, 4.9f, 4.8f, -3.0f};
    static const struct {
        struct vv_logit_bias bias[3];
        int32_t never, always;
    } rule[] = {
        {{{0, -INFINITY}, {1, 0.5f}, {0, 100.0f}}, 0, -1}, /* a ban stays */
        {{{0, INFINITY}, {0, -INFINITY}, {2, 0.0f}}, 0, -1},
        {{{0, -INFINITY}, {0, INFINITY}, {2, 0.0f}}, 0, -1},
        {{{3, INFINITY}, {2, 1.0f}, {1, -1.0f}}, -1, 3},
        {{{3, 100.0f}, {0, -100.0f}, {1, 7.0f}}, 0, 3},
        {{{3, 60.0f}, {3, 40.0f}, {1, 7.0f}}, 0, 3}, /* entries add up */
    };
    for (size_t i = 0; i < sizeof rule / sizeof *rule; i++) {
        struct vv_sampling settings = vv_sampling_default();
        settings.bias = rule[i].bias;
        settings.bias_count = 3;
        struct vv_sampler *sampler = sampler_of(4, &settings);
        for (uint64_t position = 0; position < 2000; position++) {
            int32_t token = draw(sampler, logits, position);
            assert_true(token != rule[i].never);
            assert_true(rule[i].always < 0 || token == rule[i].always);
        }
        vv_sampler_free(sampler);
    }
}

/* The sign that decides between z / r and z * r is the biased one's. */
static void bias_comes_before_penalties(void **state) {
    (void)state;
    static const float logits[2] = {-1.0f, 0.0f};
    static const struct vv_logit_bias bias = {0, 3.0f};
    static const int32_t history[1] = {0};
    struct vv_sampling settings = vv_sampling_default();
    settings.bias = &bias;
    settings.bias_count = 1;
    settings.repetition_penalty = 4.0f; /* (-1 + 3) / 4 = 0.5, not -1 * 4 + 3 = -1 */
    struct vv_candidate candidates[2];
    assert_int_equal(kept_after(&settings, logits, 2, history, 1, candidates, 2), 2);
    assert_int_equal(candidates[0].token, 0);
    assert_true(fabs((double)candidates[0].probability - 1 / (1 + exp(-0.5))) < 1e-6);
}

static void refused_logits_are_named(void **state) {
    (void)state;
    float logits[3] = {-INFINITY, -INFINITY, -INFINITY};
    struct vv_sampling settings = vv_sampling_default();
    for (int greedy = 0; greedy < 2; greedy++) {
        settings.temperature = greedy ? 0.0f : 1.0f;
        struct vv_sampler *sampler = sampler_of(3, &settings);
        struct vv_error error;
        int32_t token = -5;
        logits[1] = -INFINITY;
        assert_int_equal(vv_sampler_draw(sampler, logits, NULL, 0, 12, &token, &error),
                         VV_ERROR_INVALID);
        assert_non_null(strstr(error.message, "position 12: all 3 are banned"));
        logits[1] = NAN;
        assert_int_equal(vv_sampler_draw(sampler, logits, NULL, 0, 12, &token, &error),
                         VV_ERROR_NOT_FINITE);
        assert_non_null(strstr(error.message, "1 of 3 logits at position 12 are not a number"));
        assert_non_null(strstr(error.message, "token 1"));
        assert_int_equal(token, -5);
        vv_sampler_free(sampler);
    }
}

static void infinite_logits_are_ordinary(void **state) {
    (void)state;
    static const float logits[5] = {-INFINITY, 3.0f, INFINITY, -3e38f, INFINITY};
    struct vv_sampling settings = vv_sampling_default();
    struct vv_candidate candidates[5];
    assert_int_equal(kept_after(&settings, logits, 5, NULL, 0, candidates, 5), 4);
    assert_int_equal(candidates[0].token, 2);
    assert_int_equal(candidates[1].token, 4);
    assert_true(candidates[0].probability == 0.5f && candidates[1].probability == 0.5f);
    assert_true(candidates[2].token == 1 && candidates[2].probability == 0.0f);
    settings.temperature = 0.0f;
    assert_int_equal(kept_after(&settings, logits, 5, NULL, 0, candidates, 5), 1);
    assert_int_equal(candidates[0].token, 2);
}

static void zeros_of_both_signs_tie(void **state) {
    (void)state;
    static const float logits[4] = {-1.0f, -0.0f, 0.0f, -0.0f};
    struct vv_sampling settings = vv_sampling_default();
    struct vv_candidate candidates[4];
    settings.top_k = 2;
    assert_int_equal(kept_after(&settings, logits, 4, NULL, 0, candidates, 4), 2);
    assert_true(candidates[0].token == 1 && candidates[1].token == 2);
    assert_true(candidates[0].probability == 0.5f);
    settings.temperature = 0.0f;
    assert_int_equal(kept_after(&settings, logits, 4, NULL, 0, candidates, 4), 1);
    assert_int_equal(candidates[0].token, 1);
}

static void one_token_and_large_top_k(void **state) {
    (void)state;
    static const float logits[3] = {1.0f, 3.0f, 2.0f};
    struct vv_sampling settings = vv_sampling_default();
    struct vv_candidate candidates[3];
    settings.top_k = INT32_MAX;
    assert_int_equal(kept_after(&settings, logits, 1, NULL, 0, candidates, 3), 1);
    assert_true(candidates[0].token == 0 && candidates[0].probability == 1.0f);
    assert_int_equal(kept_after(&settings, logits, 3, NULL, 0, candidates, 1), 3); /* little room */
    assert_int_equal(candidates[0].token, 1);
}

static void extreme_temperatures(void **state) {
    (void)state;
    static const float logits[4] = {3e37f, 1.0f, 3e37f, -3e38f},
                       small[4] = {1.0f, 2.0f, 1.9f, 2.0f};
    struct vv_sampling settings = vv_sampling_default();
    struct vv_candidate candidates[4];
    static const float cold[] = {1e-6f, 1e-38f, 1e-45f};
    for (size_t i = 0; i < sizeof cold / sizeof *cold; i++) {
        settings.temperature = cold[i];
        assert_int_equal(kept_after(&settings, logits, 4, NULL, 0, candidates, 4), 4);
        assert_true(candidates[0].token == 0 && candidates[0].probability == 0.5f);
        assert_true(candidates[1].token == 2 && candidates[1].probability == 0.5f);
        assert_int_equal(kept_after(&settings, small, 4, NULL, 0, candidates, 4), 4);
        assert_true(candidates[0].token == 1 && candidates[0].probability == 0.5f);
        assert_true(candidates[1].token == 3 && candidates[2].probability == 0.0f);
    }
    settings.temperature = 1e6f;
    assert_int_equal(kept_after(&settings, small, 4, NULL, 0, candidates, 4), 4);
    for (size_t i = 0; i < 4; i++) {
        assert_true(fabs((double)candidates[i].probability - 0.25) < 1e-6);
    }
}

static void equal_logits_rank_by_token(void **state) {
    (void)state;
    float logits[1000];
    struct vv_candidate candidates[1000];
    for (int i = 0; i < 1000; i++) {
        logits[i] = 2.5f;
    }
    struct vv_sampling settings = vv_sampling_default();
    settings.top_k = 800;
    settings.top_p = 0.25f;
    assert_int_equal(kept_after(&settings, logits, 1000, NULL, 0, candidates, 1000), 200);
    for (int32_t i = 0; i < 200; i++) {
        assert_int_equal(candidates[i].token, i);
        assert_true(candidates[i].probability == 1.0f / 200);
    }
    settings.min_p = 1.0f;
    assert_int_equal(kept_after(&settings, logits, 1000, NULL, 0, candidates, 1000), 200);
    settings.temperature = 0.0f;
    assert_int_equal(kept_after(&settings, logits, 1000, NULL, 0, candidates, 1000), 1);
    assert_int_equal(candidates[0].token, 0);
}

static void wrong_settings_are_named(void **state) {
    (void)state;
    static const struct vv_logit_bias negative = {-1, 1.0f}, nan_bias = {3, NAN};
    struct vv_sampling bad[22];
    const char *word[22];
    size_t count = 0;
#define BAD(member, wrong, text)                                                                   \
    (bad[count] = vv_sampling_default(), bad[count].member = (wrong), word[count++] = (text))
    BAD(temperature, -1.0f, "temperature is -1:");
    BAD(temperature, NAN, "temperature is nan:");
    BAD(temperature, INFINITY, "temperature is inf:");
    BAD(top_p, -0.5f, "top_p is -0.5: it must be from 0 to 1");
    BAD(top_p, 1.5f, "top_p is 1.5:");
    BAD(top_p, NAN, "top_p is nan:");
    BAD(min_p, -0.1f, "min_p is -0.1:");
    BAD(min_p, 2.0f, "min_p is 2: it must be from 0 (off) to 1");
    BAD(repetition_penalty, 0.0f, "repetition_penalty is 0:");
    BAD(repetition_penalty, -1.0f, "repetition_penalty is -1:");
    BAD(repetition_penalty, INFINITY, "repetition_penalty is inf:");
    BAD(presence_penalty, NAN, "presence_penalty is nan:");
    BAD(presence_penalty, 1e6f, "presence_penalty is 1e+06: it must be from -10000 to 10000");
    BAD(frequency_penalty, -INFINITY, "frequency_penalty is -inf:");
    BAD(top_k, -1, "top_k is -1: it must be 0 (off) or more");
    BAD(penalty_last_n, -2, "penalty_last_n is -2:");
    BAD(order, (enum vv_sampling_order)2, "sampler order is 2:");
    BAD(bias, NULL, "logit_bias has 1 entries but no list");
    bad[count - 1].bias_count = 1;
    BAD(bias, &negative, "logit_bias entry 0 is for token -1:");
    bad[count - 1].bias_count = 1;
    BAD(bias, &nan_bias, "logit_bias of token 3 is not a number");
    bad[count - 1].bias_count = 1;
#undef BAD
    for (size_t i = 0; i < count; i++) {
        struct vv_error error;
        struct vv_sampler *sampler;
        assert_int_equal(vv_sampling_validate(&bad[i], &error), VV_ERROR_INVALID);
        if (strncmp(error.message, word[i], strlen(word[i]))) {
            fail_msg("\"%s\" does not begin with \"%s\"", error.message, word[i]);
        }
        assert_int_equal(vv_sampler_new(10, &bad[i], &sampler, &error), VV_ERROR_INVALID);
        assert_null(sampler);
    }
    struct vv_sampling good = vv_sampling_default();
    struct vv_error error;
    assert_int_equal(vv_sampling_validate(&good, &error), VV_OK);
}

static void vocabularies_out_of_range_are_refused(void **state) {
    (void)state;
    static const int32_t vocabulary[] = {0, -1, INT32_MIN, 1 << 24, INT32_MAX};
    static const struct vv_logit_bias bias = {10, 1.0f};
    struct vv_sampling settings = vv_sampling_default();
    struct vv_error error;
    struct vv_sampler *sampler;
    for (size_t i = 0; i < sizeof vocabulary / sizeof *vocabulary; i++) {
        assert_int_equal(vv_sampler_new(vocabulary[i], &settings, &sampler, &error),
                         VV_ERROR_INVALID);
        assert_null(sampler);
        assert_non_null(strstr(error.message, "must have 1 to 16777215"));
    }
    settings.bias = &bias;
    settings.bias_count = 1;
    assert_int_equal(vv_sampler_new(10, &settings, &sampler, &error), VV_ERROR_INVALID);
    assert_string_equal(error.message,
                        "logit_bias entry 0 is for token 10: the vocabulary has tokens 0 to 9");
    vv_sampler_free(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_cases),
        cmocka_unit_test(golden_draws),
        cmocka_unit_test(philox_known_answers),
        cmocka_unit_test(draws_follow_the_distribution),
        cmocka_unit_test(draws_depend_on_seed_and_position_alone),
        cmocka_unit_test(logits_and_settings_stay_the_callers),
        cmocka_unit_test(penalties_count_the_history),
        cmocka_unit_test(history_outside_the_vocabulary_is_refused),
        cmocka_unit_test(bias_bans_and_forces),
        cmocka_unit_test(bias_comes_before_penalties),
        cmocka_unit_test(refused_logits_are_named),
        cmocka_unit_test(infinite_logits_are_ordinary),
        cmocka_unit_test(zeros_of_both_signs_tie),
        cmocka_unit_test(one_token_and_large_top_k),
        cmocka_unit_test(extreme_temperatures),
        cmocka_unit_test(equal_logits_rank_by_token),
        cmocka_unit_test(wrong_settings_are_named),
        cmocka_unit_test(vocabularies_out_of_range_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Tokens drawn where the logits are: the operation gives what the sampler gives; and texts written
 * on the emulated GPU are the CPU's, greedy and sampled, with drafts and in company, while all that
 * comes to the host of a token is the token.
 */
#include "api/internal.h"
#include "base/random.h"
#include "op/sample/contract.h"
#include "program/internal.h"
#include "sample/sample.h"
#include "session/internal.h"
#include "support/opened.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the operation ---- */

enum { VOCABULARY = 700, SETTINGS = 400 };

static uint64_t drawn;

static size_t below(size_t n) {
    return (size_t)vv_high_product(vv_random_at(5, drawn++), n);
}

static float uniform(void) {
    return (float)below(1 << 20) * 0x1p-20f;
}

static struct vv_sampling any_settings(void) {
    struct vv_sampling s = vv_sampling_default();
    s.temperature = below(5) ? uniform() * 2 : 0.0f;
    s.top_k = below(2) ? (int32_t)below(80) : 0;
    s.top_p = below(2) ? uniform() : 1.0f;
    s.min_p = below(2) ? uniform() * 0.2f : 0.0f;
    s.seed = vv_random_at(6, drawn++);
    s.order = below(2) ? VV_TEMPERATURE_FIRST : VV_TEMPERATURE_LAST;
    return s;
}

static void operation_draws_what_the_sampler_draws(void **state) {
    (void)state;
    float *logits = malloc(VOCABULARY * sizeof *logits);
    for (size_t i = 0; i < SETTINGS; i++) {
        const struct vv_sampling settings = any_settings();
        struct vv_sampler *sampler;
        struct vv_error error;
        int32_t want, got;
        for (size_t k = 0; k < VOCABULARY; k++) {
            logits[k] = i % 4 ? uniform() * 12 : rintf(uniform() * 12);
            logits[k] = i % 5 || below(3) ? logits[k] : -INFINITY;
        }
        assert_int_equal(vv_sampler_new(VOCABULARY, &settings, &sampler, &error), VV_OK);
        assert_int_equal(vv_sampler_draw(sampler, logits, NULL, 0, i, &want, &error), VV_OK);
        struct vv_draw draw = vv_sampler_ask(sampler, VOCABULARY, i);
        struct vv_window w = {.outputs = 1, .draws = VV_DRAWS_WEIGHED, .draw = &draw};
        const struct vv_sample a = {logits, &got, VOCABULARY, &w, {&w.outputs, 1}};
        assert_int_equal(vv_sample.variants[0].run(&a, 0, 1), VV_OK);
        assert_int_equal(got, want);
        vv_sampler_free(sampler);
    }
    free(logits);
}

static void not_all_can_be_asked_for(void **state) {
    (void)state;
    const struct vv_logit_bias bias = {3, 1};
    struct vv_sampling settings[3] = {vv_sampling_default(), vv_sampling_default(),
                                      vv_sampling_default()};
    settings[1].bias = &bias;
    settings[1].bias_count = 1;
    settings[2].presence_penalty = 1;
    for (size_t i = 0; i < 3; i++) {
        struct vv_sampler *sampler;
        struct vv_error error;
        assert_int_equal(vv_sampler_new(VOCABULARY, &settings[i], &sampler, &error), VV_OK);
        assert_int_equal(vv_sampler_ask(sampler, VOCABULARY, 0).wanted, i == 0);
        assert_int_equal(vv_sampler_ask(sampler, VOCABULARY + 1, 0).wanted, 0);
        vv_sampler_free(sampler);
    }
}

/* ---- texts ---- */

#define MICRO "qwen4exp/micro.f32.gguf"

enum { PROMPT = 8, WRITTEN = 4, TEXT = PROMPT + WRITTEN };

static struct varve_sampler *sampler_of(const struct opened *o, const struct varve_sampling *how) {
    struct varve_sampler *sampler = NULL;
    struct varve_error error;
    if (varve_sampler_new(o->info.vocabulary, how, &sampler, &error) != VARVE_OK) {
        fail_msg("%s", error.message);
    }
    return sampler;
}

/* On the CPU, from logits alone. */
static void write_plainly(const struct opened *o, const struct varve_sampling *how, int32_t *text) {
    const struct varve_session_options options = {.context = 64, .threads = 1};
    struct varve_session *s = open_session(o, &options);
    struct varve_sampler *sampler = sampler_of(o, how);
    struct varve_error error;
    for (size_t at = 0, n = PROMPT; at < TEXT; n = at + 1) {
        struct varve_row rows[PROMPT];
        for (size_t i = at; i < n; i++) {
            rows[i - at] = (struct varve_row){0, text[i], i + 1 == n};
        }
        assert_int_equal(varve_session_evaluate(s, rows, n - at, VARVE_ADVANCE, NULL, NULL, &error),
                         VARVE_OK);
        at = n;
        if (n < TEXT) {
            assert_int_equal(varve_sampler_draw(sampler, varve_session_logits(s, 0), text, n, n,
                                                &text[n], &error),
                             VARVE_OK);
        }
    }
    varve_sampler_free(sampler);
    varve_session_close(s);
}

static struct varve_session *emulated(const struct opened *o) {
    const struct varve_session_options options = {.context = 64,
                                                  .window = 32,
                                                  .slots = 2,
                                                  .threads = 1,
                                                  .device = VARVE_DEVICE_CUDA_EMULATED};
    return open_session(o, &options);
}

/* Whether logits of the last window are still where they were computed: nobody needed them. */
static bool unseen(const struct varve_session *s) {
    return vv_session_of(s)->last->program->result_left;
}

/* How much was prepared in the next window of one row. */
static uint64_t prepares(struct varve_session *s, const struct opened *o) {
    const struct vv_session *inner = vv_session_of(s);
    uint64_t before = vv_session_prepared(inner);
    int32_t token;
    float *logits = malloc(o->info.vocabulary * sizeof *logits);
    random_tokens(o, 4, &token, 1);
    advance(s, o, 0, &token, 1, logits);
    free(logits);
    return vv_session_prepared(inner) - before;
}

/* What drafts go by: a size's first two windows are none to go by where they are recorded. */
static void first_windows_prepare_later_ones(void **state) {
    const struct varve_session_options cpu = {.context = 64, .threads = 1},
                                       queued = {.context = 64,
                                                 .threads = 1,
                                                 .no_recordings = true,
                                                 .device = VARVE_DEVICE_CUDA_EMULATED};
    struct opened o = open_model(MICRO);
    struct varve_session *on[3] = {emulated(&o), open_session(&o, &cpu), open_session(&o, &queued)};
    (void)state;
    for (int i = 0; i < 3; i++) {
        for (int window = 0; window < 5; window++) {
            assert_int_equal(prepares(on[i], &o), i == 0 && window < 2);
        }
        varve_session_close(on[i]);
    }
    close_model(&o);
}

/* Knows what will be written. */
struct prophet {
    struct vv_drafter base;
    const int32_t *text; /* [TEXT] */
    size_t at;
};

static int append(struct vv_drafter *drafter, const int32_t *tokens, size_t count,
                  struct vv_error *error) {
    (void)tokens;
    (void)error;
    ((struct prophet *)drafter)->at += count;
    return VV_OK;
}

static void clear(struct vv_drafter *drafter) {
    ((struct prophet *)drafter)->at = 0;
}

static struct vv_offer offer(const struct vv_drafter *drafter, uint32_t most) {
    const struct prophet *p = (const struct prophet *)drafter;
    return (struct vv_offer){p->at + most <= TEXT ? most : 0, 0};
}

static int propose(struct vv_drafter *drafter, uint32_t count, int32_t *drafts,
                   struct vv_error *error) {
    const struct prophet *p = (const struct prophet *)drafter;
    (void)error;
    memcpy(drafts, p->text + p->at, count * sizeof *drafts);
    return VV_OK;
}

static void release(struct vv_drafter *drafter) {
    free(drafter);
}

static struct vv_drafter *prophet(const int32_t *text) {
    static const char *const kinds[] = {"right"};
    static const struct vv_drafter_calls calls = {kinds, 1,     true,    0,      append,
                                                  clear, offer, propose, release};
    struct prophet *p = malloc(sizeof *p);
    *p = (struct prophet){{&calls}, text, 0};
    return &p->base;
}

/* `drafts`: right ones. Returns whether all windows but the first drew. */
static bool write_there(const struct opened *o, const struct varve_sampling *how, bool drafts,
                        const int32_t *want) {
    const struct varve_decoder_options options = {.most = 3, .fixed = true};
    struct varve_session *s = emulated(o);
    struct varve_sampler *sampler = sampler_of(o, how);
    struct varve_decoder *decoder;
    struct varve_error error = {0};
    struct varve_row rows[PROMPT];
    int32_t token;
    bool drew = true;
    for (size_t i = 0; i < PROMPT; i++) {
        rows[i] = (struct varve_row){0, want[i], i + 1 == PROMPT};
    }
    assert_int_equal(varve_session_evaluate(s, rows, PROMPT, VARVE_ADVANCE, NULL, NULL, &error), 0);
    assert_int_equal(varve_decoder_open(s, &options, &decoder, &error), 0);
    if (drafts) {
        vv_decoder_add((struct vv_decoder *)decoder, prophet(want));
    }
    assert_int_equal(varve_decoder_begin(decoder, want, PROMPT, &error), 0);
    for (size_t n = PROMPT; n < TEXT; n++) {
        assert_int_equal(varve_decoder_sample(decoder, sampler, want, n, n, &token, &error), 0);
        assert_int_equal(token, want[n]);
        drew &= n == PROMPT || unseen(s);
        assert_int_equal(varve_decoder_take(decoder, token, TEXT - n, &error), 0);
    }
    /* what was not brought can be had */
    assert_int_equal(varve_sampler_draw(sampler, varve_decoder_logits(decoder), want, TEXT, TEXT,
                                        &token, &error),
                     0);
    int32_t again;
    assert_int_equal(varve_decoder_sample(decoder, sampler, want, TEXT, TEXT, &again, &error), 0);
    assert_int_equal(again, token);
    varve_decoder_close(decoder);
    varve_sampler_free(sampler);
    varve_session_close(s);
    return drew;
}

/* Penalties and biases are the host's, which asks for the logits then. */
static void c083_texts_are_those_of_the_cpu(void **state) {
    (void)state;
    struct opened o = open_model(MICRO);
    struct varve_sampling how[5];
    for (size_t i = 0; i < 5; i++) {
        varve_sampling_defaults(&how[i]);
        how[i].seed = 3 + i;
        how[i].temperature = i ? 1.2f : 0.0f;
    }
    how[1].top_k = 30;
    how[1].top_p = 0.9f;
    how[2].min_p = 0.01f;
    how[2].temperature_last = true;
    how[3].presence_penalty = 1;
    const struct varve_logit_bias bias = {17, 5};
    how[4].bias = &bias;
    how[4].bias_count = 1;
    for (size_t i = 0; i < 5; i++) {
        int32_t text[TEXT];
        random_tokens(&o, 21, text, PROMPT);
        write_plainly(&o, &how[i], text);
        assert_int_equal(write_there(&o, &how[i], i < 2 || i == 4, text), i < 3);
    }
    close_model(&o);
}

/* ---- in company ---- */

struct asked {
    int32_t text[TEXT];
    size_t count;
};

static int take(void *context, const float *logits, struct varve_next *next,
                struct varve_error *error) {
    struct asked *a = context;
    (void)error;
    assert_null(logits);
    assert_int_equal(next->count, 1);
    a->text[a->count++] = next->tokens[0];
    next->count = a->count < TEXT;
    return VARVE_OK;
}

static void requests_are_drawn_for(void **state) {
    (void)state;
    struct opened o = open_model(MICRO);
    struct varve_session *s = emulated(&o);
    struct varve_schedule *schedule;
    struct varve_schedule_step step;
    struct varve_error error;
    struct varve_sampling how;
    struct asked asked[2];
    int32_t want[2][TEXT];
    uint64_t id;
    varve_sampling_defaults(&how);
    how.temperature = 1;
    struct varve_sampler *sampler = sampler_of(&o, &how);
    assert_int_equal(varve_schedule_open(s, 0, &schedule, &error), 0);
    for (size_t i = 0; i < 2; i++) {
        random_tokens(&o, 30 + (uint32_t)i, want[i], PROMPT);
        memcpy(asked[i].text, want[i], PROMPT * sizeof **want);
        asked[i].count = PROMPT;
        write_plainly(&o, &how, want[i]);
        const struct varve_request request = {.prompt = want[i],
                                              .count = PROMPT,
                                              .sampler = sampler,
                                              .next = take,
                                              .context = &asked[i]};
        assert_int_equal(varve_schedule_add(schedule, &request, &id, &error), 0);
    }
    do {
        assert_int_equal(varve_schedule_step(schedule, &step, &error), 0);
        assert_true(step.idle || unseen(s));
    } while (!step.idle);
    for (size_t i = 0; i < 2; i++) {
        assert_memory_equal(asked[i].text, want[i], sizeof want[i]);
    }
    varve_schedule_close(schedule);
    varve_sampler_free(sampler);
    varve_session_close(s);
    close_model(&o);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operation_draws_what_the_sampler_draws),
        cmocka_unit_test(not_all_can_be_asked_for),
        cmocka_unit_test(c083_texts_are_those_of_the_cpu),
        cmocka_unit_test(first_windows_prepare_later_ones),
        cmocka_unit_test(requests_are_drawn_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

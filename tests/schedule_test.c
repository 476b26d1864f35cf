/*
 * Many requests at once: each gets the tokens that it gets alone, whatever its company, its drafts,
 * the slots and the latency; who goes first; what is cancelled or fails disturbs nobody.
 */
#include "support/opened.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { REQUESTS = 12, LONGEST = 90, ANSWER = 24, CONTEXT = 128, NOT_ENDED = 99, CANCELLED_AT = 3 };
static const char micro[] = "qwen4exp/micro.f32.gguf", drafting[] = "qwen4exp/odd.f32.gguf";
static struct varve_error error;

static void done(int code) {
    if (code != VARVE_OK) {
        fail_msg("%s", error.message);
    }
}

/* A request: its prompt, what it writes alone, and what came. */
struct asked {
    int32_t prompt[LONGEST], want[ANSWER];
    size_t prompt_count, answer_count;
    size_t got; /* tokens asked for so far; all were right */
    size_t vocabulary;
    uint32_t drafts; /* that it offers, and how many of them are right */
    uint32_t right;
    enum varve_draft made; /* drafts that the schedule makes */
    size_t spoilt; /* before so many tokens of its answer it names one that there isn't; 0: not */
    int code;      /* NOT_ENDED, or how it ended */
    size_t *order, place; /* how many began to answer before it */
    uint64_t id;
    bool over;
    struct asked *cancels; /* once it has so many tokens; or NULL */
    struct desk *desk;
};

struct desk {
    struct opened o;
    struct varve_session *session;
    struct varve_schedule *schedule;
    struct asked asked[REQUESTS];
    size_t order;
    size_t offered, accepted; /* drafts */
};

static int32_t greedy(const float *logits, size_t count) {
    size_t best = 0;
    for (size_t i = 1; i < count; i++) {
        best = logits[i] > logits[best] ? i : best;
    }
    return (int32_t)best;
}

static int next(void *context, const float *logits, struct varve_next *n,
                struct varve_error *failure) {
    struct asked *a = context;
    (void)failure;
    if (a->got == 0) {
        a->place = (*a->order)++;
    }
    assert_false(a->over);
    if (a->got == a->answer_count) {
        return VARVE_OK;
    }
    n->tokens[0] = greedy(logits, a->vocabulary);
    assert_int_equal(n->tokens[0], a->want[a->got]);
    a->got++;
    n->count = 1;
    if (a->cancels && a->got == CANCELLED_AT) {
        varve_schedule_cancel(a->desk->schedule, a->cancels->id);
        a->cancels->over = true; /* asked for no more */
        a->cancels = NULL;
    }
    if (a->got == a->spoilt) {
        n->tokens[0] = a->want[a->got - 1] = (int32_t)a->vocabulary;
        return VARVE_OK;
    }
    for (uint32_t i = 0; i < a->drafts && a->got + i < a->answer_count; i++) {
        int32_t token = a->want[a->got + i];
        n->tokens[n->count++] = i < a->right ? token : (token + 1) % (int32_t)a->vocabulary;
    }
    return VARVE_OK;
}

static void ended(void *context, const int32_t *text, size_t count, int code,
                  const struct varve_error *failure) {
    struct asked *a = context;
    assert_int_equal(a->code, NOT_ENDED); /* once */
    assert_true(count == a->prompt_count + a->got);
    assert_memory_equal(text, a->prompt, a->prompt_count * sizeof *text);
    assert_memory_equal(text + a->prompt_count, a->want, a->got * sizeof *text);
    assert_true(code == VARVE_OK || failure->message[0]);
    a->code = code;
}

/* ---- what each writes alone ---- */

static void write_alone(const struct desk *d, struct varve_session *s, struct asked *a) {
    float *logits = malloc(LONGEST * a->vocabulary * sizeof *logits);
    varve_session_clear(s, 0);
    advance(s, &d->o, 0, a->prompt, a->prompt_count, logits);
    const float *last = logits + (a->prompt_count - 1) * a->vocabulary;
    for (size_t i = 0; i < ANSWER; i++) {
        a->want[i] = greedy(last, a->vocabulary);
        advance(s, &d->o, 0, &a->want[i], 1, logits);
        last = logits;
    }
    free(logits);
}

/* The texts of a model are always the same: they are written once. */
static void all_alone(struct desk *d, bool second) {
    static int32_t written[2][REQUESTS][ANSWER];
    static bool there[2];
    const struct varve_session_options options = {
        .context = CONTEXT, .window = 1, .threads = 1, .keep_bytes = 1};
    struct varve_session *s = there[second] ? NULL : open_session(&d->o, &options);
    for (size_t i = 0; i < REQUESTS; i++) {
        struct asked *a = &d->asked[i];
        if (s) {
            write_alone(d, s, a);
            memcpy(written[second][i], a->want, sizeof a->want);
        }
        memcpy(a->want, written[second][i], sizeof a->want);
    }
    there[second] = true;
    varve_session_close(s);
}

static void open_desk(struct desk *d, struct varve_session_options options, double latency) {
    *d = (struct desk){.o = open_model(options.mtp ? drafting : micro)};
    options.context = CONTEXT;
    options.threads = 1;
    d->session = open_session(&d->o, &options);
    done(varve_schedule_open(d->session, latency, &d->schedule, &error));
    for (uint32_t i = 0; i < REQUESTS; i++) {
        struct asked *a = &d->asked[i];
        *a = (struct asked){.prompt_count = 1 + i * 37 % LONGEST,
                            .answer_count = i * 5 % (ANSWER + 1),
                            .vocabulary = d->o.info.vocabulary,
                            .code = NOT_ENDED,
                            .order = &d->order};
        random_tokens(&d->o, i + 7, a->prompt, a->prompt_count);
        if (i % 3 == 2) { /* some begin alike */
            size_t same = a->prompt_count < 20 ? a->prompt_count : 20;
            memcpy(a->prompt, d->asked[i - 1].prompt, same * sizeof *a->prompt);
        }
    }
    all_alone(d, options.mtp);
}

static void close_desk(struct desk *d) {
    varve_schedule_close(d->schedule);
    varve_session_close(d->session);
    close_model(&d->o);
}

static void add(struct desk *d, size_t i, int priority) {
    struct asked *a = &d->asked[i];
    const struct varve_request request = {.prompt = a->prompt,
                                          .count = a->prompt_count,
                                          .priority = priority,
                                          .stable = a->prompt_count / 2,
                                          .next = next,
                                          .drafts = {.draft = a->made, .most = 5, .fixed = true},
                                          .ended = ended,
                                          .context = a};
    done(varve_schedule_add(d->schedule, &request, &a->id, &error));
}

static size_t step(struct desk *d) {
    struct varve_schedule_step s;
    done(varve_schedule_step(d->schedule, &s, &error));
    d->offered += s.offered;
    d->accepted += s.accepted;
    return s.rows;
}

static void all_are_answered(const struct desk *d) {
    for (size_t i = 0; i < REQUESTS; i++) {
        assert_int_equal(d->asked[i].code, VARVE_OK);
        assert_int_equal(d->asked[i].got, d->asked[i].answer_count);
    }
}

/* ---- tests ---- */

static void each_gets_what_it_gets_alone(void **state) {
    (void)state;
    static const struct {
        uint32_t slots, window, logits;
        double latency;
        bool drafts, mock;
        enum varve_draft made;
    } cases[] = {
        {1, 16, 1, 0, false, false},
        {3, 8, 2, 0, false, false},
        {4, 64, 16, 1e-9, false, false},
        {3, 24, 4, 0, true, false},
        {5, 64, 5, 1e-3, true, false},
        {2, 32, 2, 0, true, true},
        {3, 64, 3, 0, false, false, VARVE_DRAFT_BOTH},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct desk d;
        const struct varve_session_options options = {.slots = cases[c].slots,
                                                      .window = cases[c].window,
                                                      .logits = cases[c].logits,
                                                      .mtp = cases[c].made != VARVE_DRAFT_OFF,
                                                      .device = cases[c].mock ? VARVE_DEVICE_MOCK
                                                                              : VARVE_DEVICE_CPU};
        open_desk(&d, options, cases[c].latency);
        size_t came = 0;
        for (size_t i = 0; i < REQUESTS; i++) {
            d.asked[i].drafts = cases[c].drafts ? (uint32_t)(i % 4) * 3 : 0;
            d.asked[i].right = (uint32_t)(i * 7 % 5);
            d.asked[i].made = cases[c].made;
        }
        for (size_t round = 0; came < REQUESTS || step(&d) > 0; round++) {
            for (; came < REQUESTS && came <= round / 2; came++) { /* they come one by one */
                add(&d, came, (int)(came % 3));
            }
            step(&d);
        }
        all_are_answered(&d);
        assert_true(cases[c].made == VARVE_DRAFT_OFF || d.offered > 50);
        assert_true(d.accepted <= d.offered);
        close_desk(&d);
    }
}

/* With one slot the waiting ones come by priority, then as they came. */
static void priorities_go_first(void **state) {
    (void)state;
    struct desk d;
    open_desk(&d, (struct varve_session_options){.slots = 1, .window = 64}, 0);
    static const int priority[REQUESTS] = {0, 5, 1, 5, 9, 0, 0, 0, 0, 0, 0, 0};
    static const size_t place[REQUESTS] = {4, 1, 3, 2, 0, 5, 6, 7, 8, 9, 10, 11};
    for (size_t i = 0; i < REQUESTS; i++) {
        add(&d, i, priority[i]);
    }
    while (step(&d) > 0) {
    }
    all_are_answered(&d);
    for (size_t i = 0; i < REQUESTS; i++) {
        assert_int_equal(d.asked[i].place, place[i]);
    }
    close_desk(&d);
}

/* A short prompt that comes after a long one, and answers that are being written. */
static void a_long_prompt_holds_up_nobody(void **state) {
    (void)state;
    struct desk d;
    open_desk(&d, (struct varve_session_options){.slots = 4, .window = 8}, 0);
    size_t longest = 0, shortest = 1;
    for (size_t i = 0; i < REQUESTS; i++) {
        longest = d.asked[i].prompt_count > d.asked[longest].prompt_count ? i : longest;
        shortest =
            d.asked[i].prompt_count > 1 && d.asked[i].prompt_count < d.asked[shortest].prompt_count
                ? i
                : shortest;
    }
    d.asked[longest].answer_count = d.asked[shortest].answer_count = ANSWER;
    add(&d, longest, 0);
    step(&d);
    add(&d, shortest, 0);
    while (d.asked[longest].got == 0) {
        size_t before = d.asked[shortest].got;
        step(&d);
        /* once it answers it gets a token of every window */
        assert_true(before == 0 || d.asked[shortest].got == before + 1 ||
                    d.asked[shortest].code == VARVE_OK);
    }
    assert_int_equal(d.asked[shortest].place, 0);
    close_desk(&d);
}

/* With no time at all a window has one row of a prompt, beside those of answers. */
static void latency_bounds_windows(void **state) {
    (void)state;
    struct desk d;
    size_t rows;
    open_desk(&d, (struct varve_session_options){.slots = 3, .window = 64}, 1e-12);
    for (size_t i = 0; i < REQUESTS; i++) {
        add(&d, i, 0);
    }
    step(&d); /* the first one has a fixed size: nothing was measured */
    while ((rows = step(&d)) > 0) {
        assert_true(rows <= 3);
    }
    all_are_answered(&d);
    close_desk(&d);
}

/* With drafts in flight, too; what was cancelled leaves its slot to the next one. */
static void c080_cancelled_between_windows(void **state) {
    (void)state;
    struct desk d;
    open_desk(&d, (struct varve_session_options){.slots = 3, .window = 16, .mtp = true}, 0);
    for (size_t i = 0; i < REQUESTS; i++) {
        d.asked[i].made = VARVE_DRAFT_BOTH;
        add(&d, i, 0);
    }
    for (size_t i = 0; i < REQUESTS; i += 2) {
        varve_schedule_cancel(d.schedule, d.asked[i].id);
        step(&d);
    }
    varve_schedule_cancel(d.schedule, 12345); /* there is none */
    while (step(&d) > 0) {
    }
    for (size_t i = 0; i < REQUESTS; i++) {
        assert_true(d.asked[i].code == VARVE_OK ||
                    (i % 2 == 0 && d.asked[i].code == VARVE_ERROR_CANCELLED));
    }
    assert_int_equal(d.asked[10].code, VARVE_ERROR_CANCELLED);
    add(&d, 3, 0);
    d.asked[3].code = NOT_ENDED;
    d.asked[3].got = 0;
    varve_schedule_close(d.schedule); /* ends what is not over */
    assert_int_equal(d.asked[3].code, VARVE_ERROR_CANCELLED);
    d.schedule = NULL;
    close_desk(&d);
}

/* A token that the model hasn't got makes its window fail, and nobody else in it. */
static void what_fails_fails_alone(void **state) {
    (void)state;
    struct desk d;
    open_desk(&d, (struct varve_session_options){.slots = 4, .window = 32}, 0);
    for (size_t i = 0; i < REQUESTS; i++) {
        d.asked[i].spoilt = i % 5 == 3 ? d.asked[i].answer_count / 2 : 0;
        add(&d, i, 0);
    }
    while (step(&d) > 0) {
    }
    for (size_t i = 0; i < REQUESTS; i++) {
        const struct asked *a = &d.asked[i];
        assert_int_equal(a->code, a->spoilt ? VARVE_ERROR_INVALID : VARVE_OK);
        assert_int_equal(a->got, a->spoilt ? a->spoilt : a->answer_count);
    }
    close_desk(&d);
}

static int nothing(void *context, const float *logits, struct varve_next *n,
                   struct varve_error *failure) {
    (void)context;
    (void)logits;
    (void)n;
    (void)failure;
    return VARVE_OK;
}

/* Short prompts that keep coming hold up a long one for some windows, not for ever. */
static void a_long_prompt_has_its_turns(void **state) {
    (void)state;
    struct desk d;
    enum { LONG = 7, MOST = 600 }; /* 80 tokens, a few of them in one window of nine */
    int32_t text[6];
    struct varve_request brief = {.prompt = text, .count = 6, .next = nothing};
    open_desk(&d, (struct varve_session_options){.slots = 3, .window = 4}, 0);
    add(&d, LONG, 0);
    for (size_t windows = 0; d.asked[LONG].got == 0; windows++) {
        uint64_t id;
        random_tokens(&d.o, (uint32_t)windows + 100, text, 6); /* more than a window can read */
        done(varve_schedule_add(d.schedule, &brief, &id, &error));
        step(&d);
        assert_true(windows < MOST);
    }
    close_desk(&d);
}

/* Who is cancelled while a window's results are handed out is asked for no more tokens. */
static void cancelled_by_another(void **state) {
    (void)state;
    struct desk d;
    enum { FIRST = 4, SECOND = 9 };
    open_desk(&d, (struct varve_session_options){.slots = 2, .window = 128}, 0);
    add(&d, FIRST, 0);
    add(&d, SECOND, 0);
    d.asked[FIRST].cancels = &d.asked[SECOND];
    d.asked[FIRST].desk = &d;
    while (step(&d) > 0) {
    }
    assert_int_equal(d.asked[FIRST].code, VARVE_OK);
    assert_int_equal(d.asked[SECOND].code, VARVE_ERROR_CANCELLED);
    close_desk(&d);
}

static void refused_at_once(void **state) {
    (void)state;
    struct desk d;
    uint64_t id;
    int32_t *text = calloc(CONTEXT + 1, sizeof *text);
    open_desk(&d, (struct varve_session_options){.slots = 1, .window = 32}, 0);
    struct varve_request request = {.prompt = text, .count = 0, .next = next};
    assert_int_equal(varve_schedule_add(d.schedule, &request, &id, &error), VARVE_ERROR_INVALID);
    request.count = CONTEXT + 1;
    assert_int_equal(varve_schedule_add(d.schedule, &request, &id, &error), VARVE_ERROR_INVALID);
    message_has(&error, WORDS("129 tokens", "128"));
    request.count = 9;
    text[7] = (int32_t)d.o.info.vocabulary;
    assert_int_equal(varve_schedule_add(d.schedule, &request, &id, &error), VARVE_ERROR_INVALID);
    message_has(&error, WORDS("token 7"));
    free(text);
    close_desk(&d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_gets_what_it_gets_alone),
        cmocka_unit_test(priorities_go_first),
        cmocka_unit_test(a_long_prompt_holds_up_nobody),
        cmocka_unit_test(latency_bounds_windows),
        cmocka_unit_test(c080_cancelled_between_windows),
        cmocka_unit_test(what_fails_fails_alone),
        cmocka_unit_test(cancelled_by_another),
        cmocka_unit_test(a_long_prompt_has_its_turns),
        cmocka_unit_test(refused_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

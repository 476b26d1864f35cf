/*
 * What a text tells of drafts before any is verified: a test is one draft beside a plain window,
 * right if the token that comes next is the one. Case C084 of docs/cases.md.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "draft/drafting.h"
#include "program/internal.h"
#include "session/internal.h"

enum { MOST = 4, NEXT = 7, ANOTHER = 8 };

/* Always says the same. */
struct parrot {
    struct vv_drafter base;
    unsigned made;
};

static int append(struct vv_drafter *drafter, const int32_t *tokens, size_t count,
                  struct vv_error *error) {
    (void)drafter, (void)tokens, (void)count, (void)error;
    return VV_OK;
}

static void clear(struct vv_drafter *drafter) {
    (void)drafter;
}

static struct vv_offer offer(const struct vv_drafter *drafter, uint32_t most) {
    (void)drafter;
    return (struct vv_offer){most, 0};
}

static int propose(struct vv_drafter *drafter, uint32_t count, int32_t *drafts,
                   struct vv_error *error) {
    (void)error;
    ((struct parrot *)drafter)->made += count;
    for (uint32_t i = 0; i < count; i++) {
        drafts[i] = NEXT;
    }
    return VV_OK;
}

static const struct vv_drafter_calls calls = {.kind_count = 1,
                                              .ready = true,
                                              .append = append,
                                              .clear = clear,
                                              .offer = offer,
                                              .propose = propose,
                                              .free = clear};

/* Of the session nothing is asked but what it prepared. */
struct text {
    struct vv_program program;
    struct vv_session session;
    struct parrot parrot;
    struct vv_drafting drafting;
    struct vv_error error;
};

static void begin(struct text *t, bool fixed) {
    const struct vv_decoder_options options = {.draft = VV_DRAFT_OFF, .most = MOST, .fixed = fixed};
    *t = (struct text){.parrot = {{&calls}, 0}};
    t->session.passes[0].program = &t->program;
    assert_int_equal(vv_drafting_open(&t->drafting, &t->session, &options, &t->error), VV_OK);
    t->drafting.drafters[t->drafting.drafter_count++] = &t->parrot.base;
}

/* How many drafts are to be verified. */
static uint32_t choose(struct text *t, uint32_t most) {
    int32_t drafts[MOST] = {0};
    uint32_t count;
    assert_int_equal(vv_drafting_propose(&t->drafting, most, drafts, &count, &t->error), VV_OK);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(drafts[i], NEXT);
    }
    return count;
}

static void plain_window(struct text *t, int32_t token) {
    vv_drafting_window(&t->drafting, 1, 1);
    vv_drafting_judged(&t->drafting, 1, 0, true);
    assert_int_equal(vv_drafting_append(&t->drafting, &token, 1, &t->error), VV_OK);
}

static void one_right_test_brings_drafts(void **state) {
    (void)state;
    struct text t;
    begin(&t, false);
    assert_int_equal(choose(&t, MOST), 0);
    assert_int_equal(t.drafting.test, NEXT);
    assert_int_equal(t.parrot.made, 1);
    plain_window(&t, NEXT);
    assert_int_equal(t.drafting.test, -1);
    assert_true(choose(&t, MOST) > 0);
    assert_int_equal(t.drafting.test, -1);
    vv_drafting_close(&t.drafting);
}

/* A window of as many rows as are chosen, which takes longer than as many plain ones; all drafts
 * right. */
static void slow_window(struct text *t, bool prepares) {
    static const int32_t text[MOST + 1] = {NEXT, NEXT, NEXT, NEXT, NEXT};
    uint32_t drafts = choose(t, MOST);
    t->program.prepared += prepares;
    vv_drafting_window(&t->drafting, drafts + 1, 1.1 * (drafts + 1));
    vv_drafting_judged(&t->drafting, drafts + 1, drafts, false);
    assert_int_equal(vv_drafting_append(&t->drafting, text, drafts + 1, &t->error), VV_OK);
}

/* A time in which something was prepared, as in the first two windows of a size on a GPU, does not
 * end the drafts; others do. */
static void preparing_tells_nothing(void **state) {
    (void)state;
    struct text t;
    begin(&t, false);
    assert_int_equal(choose(&t, MOST), 0);
    plain_window(&t, NEXT);
    for (int i = 0; i < 3; i++) {
        slow_window(&t, true);
        assert_true(choose(&t, MOST) > 0);
    }
    slow_window(&t, false);
    assert_int_equal(choose(&t, MOST), 0);
    vv_drafting_close(&t.drafting);
}

/* Where every window prepares something some are told of all the same. */
static void always_preparing_tells_at_last(void **state) {
    (void)state;
    struct text t;
    begin(&t, false);
    assert_int_equal(choose(&t, MOST), 0);
    plain_window(&t, NEXT);
    int windows = 0;
    while (choose(&t, MOST) > 0 && windows < 100) {
        slow_window(&t, true);
        windows++;
    }
    assert_true(windows >= 4 && windows < 20);
    vv_drafting_close(&t.drafting);
}

static void wrong_tests_bring_none(void **state) {
    (void)state;
    struct text t;
    begin(&t, false);
    for (int i = 0; i < 500; i++) {
        assert_int_equal(choose(&t, MOST), 0);
        plain_window(&t, ANOTHER);
    }
    assert_true(t.parrot.made > 1 && t.parrot.made <= 500);
    for (uint32_t i = 0; i < MOST; i++) { /* a test is no offer */
        assert_int_equal(t.drafting.counts[0].offered[i], 0);
    }
    vv_drafting_close(&t.drafting);
}

/* What the model did not write, the next question of a chat, tells nothing. */
static void a_test_can_be_dropped(void **state) {
    (void)state;
    struct text t;
    begin(&t, false);
    assert_int_equal(choose(&t, MOST), 0);
    vv_drafting_drop_test(&t.drafting);
    plain_window(&t, NEXT);
    assert_int_equal(choose(&t, MOST), 0);
    vv_drafting_clear(&t.drafting); /* another text */
    assert_int_equal(t.drafting.test, -1);
    vv_drafting_close(&t.drafting);
}

static void no_test_where_none_is_asked_for(void **state) {
    (void)state;
    struct text t;
    begin(&t, false);
    assert_int_equal(choose(&t, 0), 0); /* nobody wants more tokens */
    assert_int_equal(t.drafting.test, -1);
    vv_drafting_close(&t.drafting);
    begin(&t, true);
    assert_int_equal(choose(&t, MOST), MOST);
    assert_int_equal(t.drafting.test, -1);
    vv_drafting_close(&t.drafting);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_right_test_brings_drafts),
        cmocka_unit_test(preparing_tells_nothing),
        cmocka_unit_test(always_preparing_tells_at_last),
        cmocka_unit_test(wrong_tests_bring_none),
        cmocka_unit_test(a_test_can_be_dropped),
        cmocka_unit_test(no_test_where_none_is_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The index scorer against goldens of another implementation, and how its arithmetic is chosen. */
#include "support/opened.h"
#include "support/scorer_golden.h"

#include <string.h>

static void scores_are_the_goldens(void **state) {
    (void)state;
    struct golden g = {0};
    scorer_golden_run(&g, "tests/data/deepseek4/scorer.golden.gguf");
    assert_int_equal(g.failed, 0);
    assert_true(g.passed > 60);
}

/* Whether a step of the session is of that class. */
static bool has_step(const struct varve_session *session, const char *class) {
    struct varve_profile_step step;
    bool found = false;
    for (size_t i = 0; varve_session_profile_step(session, i, &step); i++) {
        found = found || strcmp(step.step_class, class) == 0;
    }
    return found;
}

static void arithmetic_is_as_asked_for(void **state) {
    (void)state;
    static const char *const class[] = {"index_score", NULL, "index_score_half", "index_score"};
    struct opened o = open_model("qwen4exp/micro.f32.gguf");
    for (int i = VARVE_INDEX_AUTO; i <= VARVE_INDEX_FLOAT; i++) {
        const struct varve_session_options options = {.index_score = (enum varve_index_score)i,
                                                      .profile = true};
        struct varve_session *session = NULL;
        struct varve_error error;
        int code = varve_session_open(o.model, &options, &session, &error);
        if (class[i]) {
            assert_int_equal(code, VARVE_OK);
            assert_true(has_step(session, class[i]));
        } else {
            assert_int_equal(code, VARVE_ERROR_UNSUPPORTED);
            message_has(&error, WORDS("floats", "half, float or auto", "--index-score"));
        }
        varve_session_close(session);
    }
    close_model(&o);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_are_the_goldens),
        cmocka_unit_test(arithmetic_is_as_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

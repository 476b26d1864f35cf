/* `varve ab`: what it demands and what it writes. No test looks at how long anything took. */
#include "support/command.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MODEL VARVE_SOURCE_DIR "/tests/data/qwen4exp/hq.ud.gguf"
#define AB "ab", "-m", MODEL, "--prompt", "40", "--gen", "20"

static void says(struct command_result *r, const char *words) {
    if (!strstr(r->out, words)) {
        fail_msg("\"%s\" is not in: %s", words, r->out);
    }
}

/* With two rounds no difference can be beyond chance: p is 0.5 or 1. */
static void c194_no_winner_below_the_noise(void **state) {
    (void)state;
    struct command_result r =
        varve(AB, "--a", "--isa portable", "--b", "--threads 1 --window 7", "--rounds", "2");
    assert_int_equal(r.code, 0);
    assert_string_equal(r.err, "");
    says(&r, "prompt ");
    says(&r, "generate ");
    says(&r, "2 rounds; all tokens were equal\n");
    char *first = strstr(r.out, "no difference beyond chance");
    assert_non_null(first);
    assert_non_null(strstr(first + 1, "no difference beyond chance"));
    assert_null(strstr(r.out, "b is "));
    command_free(&r);
}

static void json_has_all_times(void **state) {
    (void)state;
    struct command_result r =
        varve(AB, "--b", "--barriers all", "--threads", "2", "--rounds", "3", "--json");
    assert_int_equal(r.code, 0);
    json_error_t error;
    json_t *tests, *object = json_loads(r.out, 0, &error);
    const char *a, *b;
    int equal;
    assert_non_null(object);
    assert_int_equal(json_unpack(object, "{s:s, s:s, s:b, s:o !}", "a", &a, "b", &b, "equal",
                                 &equal, "tests", &tests),
                     0);
    assert_string_equal(a, "");
    assert_string_equal(b, "--barriers all");
    assert_true(equal);
    assert_int_equal(json_array_size(tests), 2);
    for (size_t i = 0; i < 2; i++) {
        const char *test;
        int n;
        double p;
        json_t *a_ms, *b_ms;
        assert_int_equal(json_unpack(json_array_get(tests, i), "{s:s, s:i, s:o, s:o, s:F !}",
                                     "test", &test, "n", &n, "a_ms", &a_ms, "b_ms", &b_ms, "p", &p),
                         0);
        assert_string_equal(test, i ? "generate" : "prompt");
        assert_int_equal(n, i ? 20 : 40);
        assert_int_equal(json_array_size(a_ms), 3);
        assert_int_equal(json_array_size(b_ms), 3);
        assert_true(p == 0.25 || p == 0.5 || p == 0.75 || p == 1); /* of 8 ways */
    }
    json_decref(object);
    command_free(&r);
}

/* Keys in half precision give another answer to this prompt, and it is noticed. */
static void c191_other_tokens_are_noticed(void **state) {
    (void)state;
    command_refuses(varve("ab", "-m", MODEL, "--prompt", "64", "--gen", "64", "--b", "--kv f16"), 1,
                    WORDS("same tokens", "token 8"));
}

static void a_text_can_be_the_prompt(void **state) {
    (void)state;
    struct command_result r = varve_reads("The fox went home", "ab", "-m", MODEL, "-f", "-",
                                          "--gen", "0", "--b", "--window 3", "--rounds", "1");
    assert_int_equal(r.code, 0);
    says(&r, "prompt ");
    assert_null(strstr(r.out, "generate"));
    says(&r, "1 rounds");
    command_free(&r);
    command_refuses(varve("ab", "-m", MODEL, "-f", "-", "--b", "--window 3"), 1, WORDS("empty"));
}

static void wrong_use_is_told(void **state) {
    (void)state;
    command_refuses(varve("ab", "-m", MODEL), 2, WORDS("--a", "--b"));
    command_refuses(varve("ab", "--b", "--isa avx2"), 2, WORDS("-m FILE"));
    command_refuses(varve(AB, "--b", "--gen 4"), 2, WORDS("--b takes", "not --gen"));
    command_refuses(varve(AB, "--b", "--isa nonsense"), 2, WORDS("--isa"));
    command_refuses(varve(AB, "--b", "words"), 2, WORDS("words"));
    command_refuses(varve(AB, "--b", "--window 3", "--rounds", "25"), 1, WORDS("25", "24"));
    command_refuses(varve("ab", "-m", MODEL, "--b", "--window 3", "--prompt", "none"), 2,
                    WORDS("needs a prompt"));
    command_refuses(varve("ab", "-m", MODEL, "--b", "--window 3", "--prompt", "9000"), 1,
                    WORDS("9033"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(c194_no_winner_below_the_noise),
        cmocka_unit_test(json_has_all_times),
        cmocka_unit_test(c191_other_tokens_are_noticed),
        cmocka_unit_test(a_text_can_be_the_prompt),
        cmocka_unit_test(wrong_use_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* `varve bench`: what it writes. No test looks at how long anything took. */
#include "support/command.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MODEL VARVE_SOURCE_DIR "/tests/data/qwen4exp/hq.ud.gguf"
#define LITTLE "--prompt", "4,30", "--depth", "0,50", "--rows", "1,3", "--gen", "2", "--rounds", "2"

/* One object a line with exactly these keys; as many times as rounds. */
static void check_line(const char *line, const char *test, int n, int depth) {
    json_error_t error;
    const char *name;
    int found_n, found_depth;
    json_t *ms, *object = json_loads(line, 0, &error);
    assert_non_null(object);
    assert_int_equal(json_object_size(object), 4);
    assert_int_equal(json_unpack(object, "{s:s, s:i, s:i, s:o}", "test", &name, "n", &found_n,
                                 "depth", &found_depth, "ms", &ms),
                     0);
    assert_string_equal(name, test);
    assert_int_equal(found_n, n);
    assert_int_equal(found_depth, depth);
    assert_int_equal(json_array_size(ms), 2);
    for (size_t i = 0; i < 2; i++) {
        assert_true(json_real_value(json_array_get(ms, i)) > 0);
    }
    json_decref(object);
}

static void json_has_a_line_for_every_test(void **state) {
    (void)state;
    static const struct {
        const char *test;
        int n, depth;
    } expected[] = {{"prompt", 4, 0},   {"prompt", 30, 0}, {"window", 1, 0},  {"window", 3, 0},
                    {"generate", 2, 0}, {"window", 1, 50}, {"window", 3, 50}, {"generate", 2, 50}};
    struct command_result r = varve("bench", "model", "-m", MODEL, LITTLE, "--json");
    assert_int_equal(r.code, 0);
    assert_string_equal(r.err, "");
    char *line = strtok(r.out, "\n");
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++, line = strtok(NULL, "\n")) {
        assert_non_null(line);
        check_line(line, expected[i].test, expected[i].n, expected[i].depth);
    }
    assert_null(line);
    command_free(&r);
}

static void c195_the_table_has_cold_and_repeated_figures(void **state) {
    (void)state;
    struct command_result r = varve("bench", "model", "-m", MODEL, LITTLE, "--same-experts");
    assert_int_equal(r.code, 0);
    static const char *const words[] = {"model ",     "machine ",         "GB/s read",
                                        "load ",      "the first window", "spread",
                                        "median",     "prompt 30",        "window 3",
                                        "of one row", "generate 2",       "% of what is possible"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (!strstr(r.out, words[i])) {
            fail_msg("\"%s\" is not in:\n%s", words[i], r.out);
        }
    }
    command_free(&r);
}

/* By default nothing is measured that a small model is not made for. */
static void defaults_fit_the_model(void **state) {
    (void)state;
    struct command_result r = varve("bench", "model", "-m", MODEL, "--rounds", "1", "--rows",
                                    "none", "--gen", "1", "--prompt", "none", "--json");
    assert_int_equal(r.code, 0);
    assert_non_null(strstr(r.out, "\"depth\":4096"));
    assert_null(strstr(r.out, "\"depth\":32768"));
    command_free(&r);
}

static void wrong_use_is_told(void **state) {
    (void)state;
    command_refuses(varve("bench"), 2, WORDS("varve bench model -m FILE"));
    command_refuses(varve("bench", "models"), 2, WORDS("varve bench model"));
    command_refuses(varve("bench", "model"), 2, WORDS("-m FILE"));
    command_refuses(varve("bench", "model", "-m", MODEL, "--rows", "1,17"), 2,
                    WORDS("--rows", "from 1 to 16", "\"1,17\""));
    command_refuses(varve("bench", "model", "-m", MODEL, "--depth", "1,,2"), 2, WORDS("--depth"));
    command_refuses(varve("bench", "model", "-m", MODEL, "--depth", "1,"), 2, WORDS("--depth"));
    command_refuses(varve("bench", "model", "-m", MODEL, "--prompt", "0"), 2, WORDS("--prompt"));
    command_refuses(varve("bench", "model", "-m", MODEL, "--depth", "1000000"), 1,
                    WORDS("tokens are needed"));
    command_refuses(varve("run", "--rounds", "3"), 2, WORDS("bench does"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_has_a_line_for_every_test),
        cmocka_unit_test(c195_the_table_has_cold_and_repeated_figures),
        cmocka_unit_test(defaults_fit_the_model),
        cmocka_unit_test(wrong_use_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

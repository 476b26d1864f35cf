/* `varve tune`, and profiles of this machine, of another one, and broken ones. */
#include "support/command.h"
#include "support/temporary.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MODEL VARVE_SOURCE_DIR "/tests/data/qwen4exp/hq.ud.gguf"

static struct temporary folder;
static char path[300];

static int make_folder(void **state) {
    (void)state;
    folder = temporary_make();
    snprintf(path, sizeof path, "%s", temporary_file(&folder, "profile.json"));
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    temporary_remove(&folder);
    return 0;
}

/* Every key of a profile is there, with what belongs to it. */
static json_t *read_profile(void) {
    json_error_t error;
    const char *version, *machine, *device, *model, *numa;
    int threads;
    json_t *choices, *profile = json_load_file(path, 0, &error);
    assert_non_null(profile);
    assert_int_equal(json_unpack(profile, "{s:s, s:s, s:s, s:s, s:i, s:s, s:o !}", "varve",
                                 &version, "machine", &machine, "device", &device, "model", &model,
                                 "threads", &threads, "numa", &numa, "choices", &choices),
                     0);
    assert_string_equal(numa, "auto");
    assert_string_equal(device, "cpu");
    assert_non_null(strstr(machine, "threads"));
    for (size_t i = 0; i < json_array_size(choices); i++) {
        const char *operation, *shape, *variant, *rule;
        double us, rule_us, p;
        int rows;
        assert_int_equal(
            json_unpack(json_array_get(choices, i), "{s:s, s:s, s:i, s:s, s:s, s:F, s:F, s:F !}",
                        "operation", &operation, "shape", &shape, "rows", &rows, "variant",
                        &variant, "rule", &rule, "us", &us, "rule_us", &rule_us, "p", &p),
            0);
        assert_string_not_equal(variant, rule);
        assert_true(us < rule_us && p <= 0.05);
    }
    return profile;
}

static void write_profile(json_t *profile) {
    assert_int_equal(json_dump_file(profile, path, 0), 0);
    json_decref(profile);
}

static struct command_result say(const char *tuned) {
    return tuned ? varve("run", "-m", MODEL, "--raw", "-n", "20", "--seed", "1", "--tuned", tuned,
                         "Once upon")
                 : varve("run", "-m", MODEL, "--raw", "-n", "20", "--seed", "1", "Once upon");
}

/* The same answer as without a profile, and the words among what is told on standard error. */
static void answers_the_same(const char *words) {
    struct command_result plain = say(NULL), tuned = say(path);
    assert_int_equal(plain.code, 0);
    assert_int_equal(tuned.code, 0);
    assert_true(plain.out_length > 0);
    assert_string_equal(plain.out, tuned.out);
    if (words && !strstr(tuned.err, words)) {
        fail_msg("\"%s\" is not in: %s", words, tuned.err);
    }
    assert_true(words || !strstr(tuned.err, "own rule"));
    command_free(&plain);
    command_free(&tuned);
}

static void c193_a_profile_is_made_and_taken(void **state) {
    (void)state;
    struct command_result r =
        varve("tune", "-m", MODEL, "--out", path, "--rounds", "1", "--threads", "2");
    assert_int_equal(r.code, 0);
    assert_string_equal(r.err, "");
    assert_non_null(strstr(r.out, " choices differ from varve's own rule"));
    command_free(&r);
    json_decref(read_profile());
    answers_the_same(NULL);
}

static void c193_a_foreign_profile_is_told_and_left(void **state) {
    (void)state;
    json_t *profile = read_profile(), *other = json_deep_copy(profile);
    json_object_set_new(other, "machine", json_string("another"));
    write_profile(other);
    answers_the_same("on another machine");
    other = json_deep_copy(profile);
    json_object_set_new(other, "device", json_string("cuda"));
    write_profile(other);
    answers_the_same("for another device");
    other = json_deep_copy(profile);
    json_object_set_new(other, "varve", json_string("0.0.1"));
    write_profile(other);
    answers_the_same("another version");
    other = json_deep_copy(profile);
    json_array_append_new(json_object_get(other, "choices"), json_integer(3));
    write_profile(other);
    answers_the_same("a choice that is none");
    other = json_deep_copy(profile);
    json_object_del(other, "choices");
    write_profile(other);
    answers_the_same("is no profile");
    assert_int_equal(remove(path), 0);
    answers_the_same("can't be read");
    write_profile(profile);
}

/* Choices that name what there is not are let be, and one that fits is taken: the slowest. */
static void choices_that_do_not_fit_are_let_be(void **state) {
    (void)state;
    json_t *profile = read_profile(), *choices = json_object_get(profile, "choices");
    json_array_clear(choices);
    json_array_append_new(choices, json_pack("{s:s, s:s, s:s, s:i}", "operation", "gemv", "shape",
                                             "nonsense", "variant", "gemv/none", "rows", 1));
    json_array_append_new(choices, json_pack("{s:s, s:s, s:s, s:i}", "operation", "route", "shape",
                                             "", "variant", "route/reference", "rows", 1));
    write_profile(profile);
    answers_the_same(NULL);
}

static void wrong_use_is_told(void **state) {
    (void)state;
    command_refuses(varve("tune", "-m", MODEL), 2, WORDS("--out FILE"));
    command_refuses(varve("tune", "--out", path), 2, WORDS("-m FILE"));
    command_refuses(varve("tune", "-m", MODEL, "--out", "/nowhere/at/all"), 1, WORDS("/nowhere"));
    command_refuses(varve("tokenize", "-m", MODEL, "--tuned", path), 2, WORDS("--tuned"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(c193_a_profile_is_made_and_taken),
        cmocka_unit_test(c193_a_foreign_profile_is_told_and_left),
        cmocka_unit_test(choices_that_do_not_fit_are_let_be),
        cmocka_unit_test(wrong_use_is_told),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

/* The command line: help, values, errors (case C183 of docs/cases.md). */
#include "support/command.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MICRO VARVE_SOURCE_DIR "/tests/data/qwen4exp/micro.f32.gguf"

static const char *const commands[] = {"run",        "inspect", "tokenize", "detokenize", "logits",
                                       "perplexity", "check",   "version",  "help"};
enum { COMMANDS = sizeof commands / sizeof *commands };

static void has(const char *text, const char *word) {
    if (!strstr(text, word)) {
        fail_msg("\"%s\" is not in: %s", word, text);
    }
}

static void every_command_has_help(void **state) {
    (void)state;
    for (size_t i = 0; i < COMMANDS; i++) {
        struct command_result asked = varve(commands[i], "--help");
        struct command_result told = varve("help", commands[i]);
        assert_int_equal(asked.code, 0);
        assert_string_equal(asked.err, "");
        assert_string_equal(asked.out, told.out);
        has(asked.out, commands[i]);
        has(asked.out, "--help");
        command_free(&asked);
        command_free(&told);
    }
    struct command_result all = varve("--help");
    assert_int_equal(all.code, 0);
    for (size_t i = 0; i < COMMANDS; i++) {
        has(all.out, commands[i]);
    }
    command_free(&all);
}

/* Help shows default, range of words, variable; and no line is wider than a terminal. */
static void help_is_complete(void **state) {
    (void)state;
    struct command_result r = varve("run", "-h");
    const char *const words[] = {"-m, --model FILE", "--kv f32|f16", "(default: f32)",
                                 "VARVE_THREADS",    "ID=X",         "be repeated"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        has(r.out, words[i]);
    }
    for (const char *line = r.out; *line; line += strcspn(line, "\n") + 1) {
        assert_true(strcspn(line, "\n") <= 88);
    }
    command_free(&r);
}

static void version_is_printed(void **state) {
    (void)state;
    struct command_result a = varve("version"), b = varve("--version");
    assert_int_equal(a.code, 0);
    assert_string_equal(a.out, "varve 0.1.0\n");
    assert_string_equal(a.out, b.out);
    command_free(&a);
    command_free(&b);
}

static void c183_unknown_words_name_the_nearest(void **state) {
    (void)state;
    command_refuses(command_input("", 0, (const char *const[]){VARVE_BINARY, NULL}), 2,
                    WORDS("varve --help"));
    command_refuses(varve("rum"), 2, WORDS("\"rum\"", "did you mean run?"));
    command_refuses(varve("xyzzy"), 2, WORDS("\"xyzzy\"", "varve --help"));
    command_refuses(varve("help", "logit"), 2, WORDS("did you mean logits?"));
    command_refuses(varve("run", "--temprature", "1"), 2,
                    WORDS("--temprature", "did you mean --temperature?"));
    command_refuses(varve("run", "--penalty", "1"), 2,
                    WORDS("--repetition-penalty or --presence-penalty or --frequency-penalty"));
    command_refuses(varve("run", "--qqqqqq=3"), 2, WORDS("no option --qqqqqq", "run --help"));
    command_refuses(varve("run", "-z"), 2, WORDS("no option -z"));
}

static void c183_unknown_values_list_the_valid_ones(void **state) {
    (void)state;
    command_refuses(varve("run", "--kv", "f8"), 2, WORDS("--kv takes f32 or f16", "\"f8\""));
    command_refuses(varve("run", "--isa=sse"), 2, WORDS("auto, portable, avx2", "avx512"));
    command_refuses(varve("tokenize", "--special", ""), 2, WORDS("all, user or none"));
    command_refuses(varve("run", "--threads", "0"), 2,
                    WORDS("--threads takes a whole number from 1 to 1024", "\"0\""));
    command_refuses(varve("run", "-t", "two"), 2, WORDS("from 1 to 1024", "\"two\""));
    command_refuses(varve("run", "-t2x"), 2, WORDS("\"2x\""));
    command_refuses(varve("run", "--window", "some"), 2, WORDS("or all"));
    command_refuses(varve("run", "--top-p", "1.5"), 2, WORDS("a number from 0 to 1"));
    command_refuses(varve("run", "--top-p", "nan"), 2, WORDS("a number from 0 to 1"));
    command_refuses(varve("run", "--temperature", "1e999"), 2, WORDS("from 0 to 100"));
    command_refuses(varve("run", "--seed", "99999999999999999999"), 2, WORDS("9007199254740991"));
    command_refuses(varve("run", "--raw=yes"), 2, WORDS("--raw takes no value"));
    command_refuses(varve("run", "-m", ""), 2, WORDS("--model"));
}

static void c183_values_that_are_missing(void **state) {
    (void)state;
    command_refuses(varve("run", "--threads"), 2, WORDS("--threads needs a value: N"));
    command_refuses(varve("run", "--kv"), 2, WORDS("f32 or f16"));
    command_refuses(varve("inspect"), 2, WORDS("-m FILE"));
    command_refuses(varve_reads("hello", "run"), 2, WORDS("-m FILE"));
}

static void c183_options_of_other_commands(void **state) {
    (void)state;
    command_refuses(varve("tokenize", "--temperature", "1"), 2,
                    WORDS("varve tokenize does not take --temperature", "run does"));
    command_refuses(varve("version", "--jsonl"), 2, WORDS("tokenize and detokenize do"));
    command_refuses(varve("inspect", "file"), 2, WORDS("options only", "\"file\""));
    command_refuses(varve("run", "-m", MICRO, "two", "words"), 2, WORDS("[PROMPT]", "quotes"));
}

static void c183_contradictions(void **state) {
    (void)state;
    command_refuses(varve("run", "-m", MICRO, "-f", MICRO, "prompt"), 2, WORDS("not both"));
    command_refuses(varve("run", "-m", MICRO, "--raw", "--system", "x", "p"), 2,
                    WORDS("--system", "--raw"));
    command_refuses(varve("run", "-m", MICRO, "--raw", "--thinking", "on", "p"), 2,
                    WORDS("--thinking", "--raw"));
    command_refuses(varve("run", "-m", MICRO, "--special", "all", "p"), 2,
                    WORDS("--special", "--raw"));
    command_refuses(varve("logits", "-m", MICRO, "--out", "x"), 2, WORDS("--tokens"));
    command_refuses(varve("logits", "-m", MICRO, "--tokens", "1", "--tokens-file", "x"), 2,
                    WORDS("not both"));
    command_refuses(varve("logits", "-m", MICRO, "--tokens", "1"), 2, WORDS("--out"));
    command_refuses(varve("logits", "-m", MICRO, "--golden", "x", "--out", "y"), 2,
                    WORDS("--out", "--golden"));
    command_refuses(varve("logits", "-m", MICRO, "--tokens", "1", "--out", "x", "--json"), 2,
                    WORDS("--json", "--golden"));
    command_refuses(varve("inspect", "-m", MICRO, "--tensor", "x"), 2, WORDS("--out"));
    command_refuses(varve("inspect", "-m", MICRO, "--out", "x"), 2, WORDS("--tensor"));
    command_refuses(varve("inspect", "-m", MICRO, "--verify", "--json"), 2,
                    WORDS("--json", "--verify"));
}

/* "-5" is a value where one is expected; "--" ends the options; the last of two counts. */
static void forms_of_words(void **state) {
    (void)state;
    struct command_result r =
        varve("run", "-m", MICRO, "-n2", "--temperature=1", "--temperature", "0",
              "--presence-penalty", "-0.5", "--logit-bias", "5=-1", "--raw", "--", "--help");
    assert_int_equal(r.code, 0);
    assert_non_null(strstr(r.err, "answer 2 tokens"));
    assert_null(strstr(r.err, "seed"));
    command_free(&r);
    command_refuses(varve("run", "-m", MICRO, "--logit-bias", "5", "p"), 2, WORDS("ID=X"));
    command_refuses(varve("run", "-m", MICRO, "--logit-bias", "x=1", "p"), 2, WORDS("ID=X"));
}

static void the_environment_repeats_options(void **state) {
    (void)state;
    setenv("VARVE_THREADS", "many", 1);
    command_refuses(varve("run", "-m", MICRO, "p"), 2, WORDS("VARVE_THREADS takes", "\"many\""));
    struct command_result r = varve("version");
    assert_int_equal(r.code, 0);
    command_free(&r);
    setenv("VARVE_THREADS", "", 1);
    setenv("VARVE_MODEL", MICRO, 1);
    r = varve("inspect");
    assert_int_equal(r.code, 0);
    has(r.out, "architecture qwen4exp");
    command_free(&r);
    r = varve("inspect", "--verify"); /* no contradiction by a variable */
    assert_int_equal(r.code, 0);
    command_free(&r);
    unsetenv("VARVE_THREADS");
    unsetenv("VARVE_MODEL");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_command_has_help),
        cmocka_unit_test(help_is_complete),
        cmocka_unit_test(version_is_printed),
        cmocka_unit_test(c183_unknown_words_name_the_nearest),
        cmocka_unit_test(c183_unknown_values_list_the_valid_ones),
        cmocka_unit_test(c183_values_that_are_missing),
        cmocka_unit_test(c183_options_of_other_commands),
        cmocka_unit_test(c183_contradictions),
        cmocka_unit_test(forms_of_words),
        cmocka_unit_test(the_environment_repeats_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

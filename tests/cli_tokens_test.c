/* `varve tokenize` and `varve detokenize` as programs: their forms in and out (the tokenizer itself
 * is tested elsewhere), with cases C026, C029, C033 and C034 of docs/cases.md. */
#include "support/command.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MICRO VARVE_SOURCE_DIR "/tests/data/qwen4exp/micro.f32.gguf"
#define TOKENIZE "tokenize", "-m", MICRO
#define DETOKENIZE "detokenize", "-m", MICRO

static char *output_of(struct command_result r) {
    if (r.code != 0 || r.err[0]) {
        fail_msg("exit code %d: %s", r.code, r.err);
    }
    free(r.err);
    return r.out;
}

/* Text → ids → the same text. */
static void round_trip(const char *text, const char *special) {
    char *ids = output_of(varve_reads(text, TOKENIZE, "--special", special));
    char *back = output_of(varve_reads(ids, DETOKENIZE));
    assert_string_equal(back, text);
    assert_int_equal(ids[strlen(ids) - 1], '\n');
    free(ids);
    free(back);
}

static void text_survives(void **state) {
    (void)state;
    round_trip("Once upon a time, there was a fox.\n", "none");
    round_trip("  blanks \t and\n\nlines\n", "user");
    round_trip("Größe, 日本語, 🪿\n", "all");
    round_trip("<|im_start|>user\nhi<|im_end|>", "all");
    round_trip("<|im_start|>user\nhi<|im_end|>", "none");
    round_trip("", "none");
}

static size_t words_in(const char *text) {
    size_t count = 0;
    for (text += strspn(text, " \n"); *text; text += strspn(text, " \n")) {
        count++;
        text += strcspn(text, " \n");
    }
    return count;
}

/* A control token's name is one id only where it is asked for; by default it is plain text. */
static void c029_special_tokens(void **state) {
    (void)state;
    char *all = output_of(varve_reads("<|im_start|>", TOKENIZE, "--special", "all"));
    char *none = output_of(varve_reads("<|im_start|>", TOKENIZE, "--special", "none"));
    char *usual = output_of(varve_reads("<|im_start|>", TOKENIZE));
    char *lines = output_of(varve_reads("{\"text\":\"<|im_start|>\",\"special\":\"all\"}\n"
                                        "{\"text\":\"<|im_start|>\"}\n",
                                        TOKENIZE, "--jsonl"));
    assert_int_equal(words_in(all), 1);
    assert_true(words_in(none) > 1);
    assert_string_equal(usual, none);
    char *second = strchr(lines, '\n');
    assert_non_null(second);
    *second++ = 0;
    assert_null(strchr(lines, ','));
    assert_non_null(strchr(second, ','));
    char *hidden = output_of(varve_reads(all, DETOKENIZE, "--skip-control"));
    assert_string_equal(hidden, "");
    free(hidden);
    free(all);
    free(none);
    free(usual);
    free(lines);
}

/* The ids of a JSON line are those of the same text on standard input. */
static void json_lines_in_and_out(void **state) {
    (void)state;
    char *plain = output_of(varve_reads("a b\n", TOKENIZE));
    char *lines = output_of(varve_reads("{\"text\": \"a b\\n\"}\n"
                                        "\n"
                                        "{\"bytes\": \"YSBiCg==\", \"special\": \"user\"}\n"
                                        "{\"text\": \"\"}\n"
                                        "{\"text\": \"\\u0000\"}",
                                        TOKENIZE, "--jsonl"));
    size_t at = 0;
    for (int i = 0; i < 2; i++) {
        json_t *array = json_loadb(lines + at, strcspn(lines + at, "\n"), 0, NULL);
        assert_true(json_is_array(array));
        assert_int_equal(json_array_size(array), words_in(plain));
        assert_int_equal(json_integer_value(json_array_get(array, 0)), atoi(plain));
        json_decref(array);
        at += strcspn(lines + at, "\n") + 1;
    }
    assert_memory_equal(lines + at, "[]\n[", 4);
    free(plain);

    char *back = output_of(varve_reads(lines, DETOKENIZE, "--jsonl"));
    assert_string_equal(back, "{\"text\":\"a b\\n\"}\n{\"text\":\"a b\\n\"}\n{\"text\":\"\"}\n"
                              "{\"text\":\"\\u0000\"}\n");
    free(back);
    free(lines);
}

/* Ill-formed UTF-8 is read as U+FFFD, whether on standard input or as base64 ("/w==" is 0xff). */
static void c026_ill_formed_text(void **state) {
    (void)state;
    char *whole = output_of(varve_reads("\xef\xbf\xbd", TOKENIZE));
    char *broken = output_of(varve_reads("\xff", TOKENIZE));
    char *cut = output_of(varve_reads("\xf0\x9f\x98", TOKENIZE));
    char *line = output_of(varve_reads("{\"bytes\":\"/w==\"}", TOKENIZE, "--jsonl"));
    assert_string_equal(broken, whole);
    assert_string_equal(cut, whole);
    assert_int_equal(atoi(line + 1), atoi(whole));
    free(whole);
    free(broken);
    free(cut);
    free(line);
}

/* Ids that are half a character give U+FFFD, never bytes that are no UTF-8. */
static void c033_ill_formed_ids(void **state) {
    (void)state;
    char *ids = output_of(varve_reads("é", TOKENIZE));
    if (words_in(ids) == 2) {
        char first[32];
        assert_int_equal(sscanf(ids, "%31s", first), 1);
        char *text = output_of(varve_reads(first, DETOKENIZE));
        assert_string_equal(text, "\xef\xbf\xbd");
        free(text);
    }
    free(ids);
}

static void c034_ids_outside_the_vocabulary(void **state) {
    (void)state;
    command_refuses(varve_reads("99999999", DETOKENIZE), 1, WORDS("99999999"));
    command_refuses(varve_reads("1 2 -1", DETOKENIZE), 1, WORDS("\"-1\"", "place 2"));
    command_refuses(varve_reads("1, 2, three", DETOKENIZE), 1, WORDS("\"three\""));
    command_refuses(varve_reads("2147483648", DETOKENIZE), 1, WORDS("2147483648"));
    command_refuses(varve_reads("[-1]", DETOKENIZE, "--jsonl"), 1, WORDS("line 1", "element 0"));
    command_refuses(varve_reads("[1.5]", DETOKENIZE, "--jsonl"), 1, WORDS("line 1", "element 0"));
}

static void lines_that_are_wrong(void **state) {
    (void)state;
    command_refuses(varve_reads("{", TOKENIZE, "--jsonl"), 1, WORDS("line 1", "JSON"));
    command_refuses(varve_reads("\n\n[1]", TOKENIZE, "--jsonl"), 1, WORDS("line 3"));
    command_refuses(varve_reads("{}", TOKENIZE, "--jsonl"), 1, WORDS("\"text\"", "\"bytes\""));
    command_refuses(varve_reads("{\"text\":\"a\",\"bytes\":\"YQ==\"}", TOKENIZE, "--jsonl"), 1,
                    WORDS("one of"));
    command_refuses(varve_reads("{\"text\":1}", TOKENIZE, "--jsonl"), 1, WORDS("\"text\""));
    command_refuses(varve_reads("{\"bytes\":\"Y\"}", TOKENIZE, "--jsonl"), 1, WORDS("base64"));
    command_refuses(varve_reads("{\"bytes\":\"Y=Q=\"}", TOKENIZE, "--jsonl"), 1, WORDS("base64"));
    command_refuses(varve_reads("{\"text\":\"a\",\"special\":\"some\"}", TOKENIZE, "--jsonl"), 1,
                    WORDS("all, user or none"));
    command_refuses(varve_reads("{\"a\":1}", DETOKENIZE, "--jsonl"), 1, WORDS("line 1", "array"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_survives),         cmocka_unit_test(c029_special_tokens),
        cmocka_unit_test(json_lines_in_and_out), cmocka_unit_test(c026_ill_formed_text),
        cmocka_unit_test(c033_ill_formed_ids),   cmocka_unit_test(c034_ids_outside_the_vocabulary),
        cmocka_unit_test(lines_that_are_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

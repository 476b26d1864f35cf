/* What is written from the table of options for others to read: the manual page, and completions,
 * which a real bash tries. */
#include "support/command.h"
#include "support/temporary.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* What bash offers for words of which the last is being written: one a line, sorted. */
static struct command_result offered(const char *words) {
    char script[1000];
    snprintf(script, sizeof script,
             "set -u\n"
             "source <('%s' help --completion bash)\n"
             "complete -p varve > /dev/null || exit 1\n"
             "COMP_WORDS=(%s)\n"
             "COMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n"
             "_varve\n"
             "printf '%%s\\n' \"${COMPREPLY[@]}\" | LC_ALL=C sort\n",
             VARVE_BINARY, words);
    struct command_result r =
        command_input("", 0, (const char *const[]){"/bin/bash", "-c", script, NULL});
    if (r.code != 0 || r.err[0]) {
        fail_msg("bash ends with %d: %s", r.code, r.err);
    }
    return r;
}

static void offers(const char *words, const char *expected) {
    struct command_result r = offered(words);
    if (strcmp(r.out, expected) != 0) {
        fail_msg("for %s bash offers: %s", words, r.out);
    }
    command_free(&r);
}

static void bash_completes_commands_and_options(void **state) {
    (void)state;
    offers("varve ru", "run\n");
    offers("varve --", "--help\n--version\n");
    offers("varve run --temp", "--temperature\n");
    offers("varve tokenize --temp", "\n"); /* an option of run alone */
    offers("varve help det", "detokenize\n");
    offers("varve inspect ''", "--cache-precision\n--ctx-size\n--full\n--help\n--json\n--kv\n--"
                               "load\n--model\n--out\n--tables\n--tensor\n"
                               "--verify\n--window\n");
}

static void bash_completes_values(void **state) {
    (void)state;
    offers("varve run --kv ''", "f16\nf32\n");
    offers("varve run --kv =", "f16\nf32\n"); /* bash makes "=" a word */
    offers("varve run --kv = f1", "f16\n");
    offers("varve run --window a", "all\n");
    offers("varve run -w a", "all\n");
    offers("varve run --threads ''", "\n");
    offers("varve run --stop ''", "\n");
    offers("varve help --completion z", "zsh\n");
}

static void bash_completes_files(void **state) {
    (void)state;
    struct temporary folder = temporary_make();
    char path[300], words[400], expected[310];
    snprintf(path, sizeof path, "%s", temporary_file(&folder, "a model.gguf"));
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
    snprintf(words, sizeof words, "varve run -m '%.*s'", (int)strlen(path) - 3, path);
    snprintf(expected, sizeof expected, "%s\n", path);
    offers(words, expected);
    temporary_remove(&folder);
}

/* True if `word` is there with no letter or dash behind it. */
static bool has_word(const char *text, const char *word) {
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word)) {
        char next = at[strlen(word)];
        if (!(next >= 'a' && next <= 'z') && next != '-' && next != '\\') {
            return true;
        }
    }
    return false;
}

/* Every command and option of the help is in all of the files. */
static void nothing_is_missing(void **state) {
    (void)state;
    static const char *const commands[] = {"run",    "inspect",    "tokenize", "detokenize",
                                           "logits", "perplexity", "check",    "version"};
    struct command_result bash = varve("help", "--completion", "bash");
    struct command_result zsh = varve("help", "--completion=zsh");
    struct command_result man = varve("help", "--man");
    assert_int_equal(bash.code | zsh.code | man.code, 0);
    for (size_t c = 0; c < sizeof commands / sizeof *commands; c++) {
        char head[40];
        snprintf(head, sizeof head, "\\fBvarve %s\\fR", commands[c]);
        assert_true(has_word(man.out, head));
        struct command_result help = varve(commands[c], "--help");
        for (char *at = strstr(help.out, " --"); at; at = strstr(at + 1, " --")) {
            char option[60], troff[140] = "";
            snprintf(option, sizeof option, "%.*s",
                     (int)strspn(at + 1, "-abcdefghijklmnopqrstuvwxyz"), at + 1);
            for (size_t i = 0; option[i]; i++) {
                strcat(troff, option[i] == '-' ? "\\-" : (char[]){option[i], 0});
            }
            if (strlen(option) > 2 && (!has_word(bash.out, option) || !has_word(zsh.out, option) ||
                                       !strstr(man.out, troff))) {
                fail_msg("%s of %s is missing", option, commands[c]);
            }
        }
        assert_true(!strstr(help.out, " --isa ") || strstr(help.out, "|dotprod|i8mm\n"));
        command_free(&help);
    }
    assert_non_null(strstr(man.out, "VARVE_THREADS"));
    command_free(&bash);
    command_free(&zsh);
    command_free(&man);
}

static void one_thing_at_a_time(void **state) {
    (void)state;
    command_refuses(varve("help", "run", "--man"), 2, WORDS("choose one"));
    command_refuses(varve("help", "--man", "--completion", "zsh"), 2, WORDS("choose one"));
    command_refuses(varve("help", "--completion", "fish"), 2, WORDS("bash or zsh"));
    command_refuses(varve("run", "--man"), 2, WORDS("help does"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bash_completes_commands_and_options),
        cmocka_unit_test(bash_completes_values),
        cmocka_unit_test(bash_completes_files),
        cmocka_unit_test(nothing_is_missing),
        cmocka_unit_test(one_thing_at_a_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* `varve run` and `varve chat` with drafts: the same bytes, wherever the text ends, and figures of
 * what came of the drafts. */
#include "support/command.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TINY VARVE_SOURCE_DIR "/models/varve-tiny.gguf"
#define TELL "run", "-m", TINY, "-t", "1", "Tell me a story about a fox. Once there was a fox. Once"

static const char *const ways[][6] = {
    {"--draft", "off", "--draft-max", "2", "--draft-fixed", NULL}, /* that changes nothing */
    {"--draft", "mtp", "--draft-max", "3", "--draft-fixed", NULL},
    {"--draft", "mtp", "--draft-max", "1", NULL},
    {"--draft", "suffix", "--draft-max", "15", "--draft-fixed", NULL},
    {"--draft", "both", "--draft-fixed", NULL},
    {"--draft", "both", NULL},
};
enum { WAYS = sizeof ways / sizeof *ways, WORDS_MOST = 40 };

/* Runs `arguments` with the options of a way behind them; `input` may be "". */
static struct command_result with(const char *const *arguments, const char *const *way,
                                  const char *input) {
    const char *all[WORDS_MOST] = {NULL};
    size_t count = 0;
    for (; *arguments; arguments++) {
        all[count++] = *arguments;
    }
    for (; way && *way; way++) {
        all[count++] = *way;
    }
    assert_true(count < WORDS_MOST);
    struct command_result r = command_input(input, strlen(input), all);
    if (r.code != 0) {
        fail_msg("exit code %d: %s", r.code, r.err);
    }
    return r;
}

/* Every way writes what the first one, with `--draft off` alone, does. */
static void all_write_the_same(const char *const *arguments, const char *input) {
    static const char *const off[] = {"--draft", "off", NULL};
    struct command_result want = with(arguments, off, input);
    assert_true(want.out_length > 0);
    for (int i = 0; i < WAYS; i++) {
        struct command_result got = with(arguments, ways[i], input);
        assert_int_equal(got.out_length, want.out_length);
        assert_memory_equal(got.out, want.out, want.out_length);
        command_free(&got);
    }
    command_free(&want);
}

static void texts_are_equal(void **state) {
    (void)state;
    all_write_the_same(ARGUMENTS(TELL, "--temperature", "0", "-n", "48"), "");
    all_write_the_same(ARGUMENTS(TELL, "--seed", "5", "-n", "48", "--repetition-penalty", "1.2"),
                       "");
}

/* It ends at any place of a window: by -n, by a text, by the context, by the model. */
static void ends_are_equal(void **state) {
    (void)state;
    all_write_the_same(ARGUMENTS(TELL, "--temperature", "0", "-n", "1"), "");
    all_write_the_same(ARGUMENTS(TELL, "--temperature", "0", "-n", "22"), "");
    all_write_the_same(ARGUMENTS(TELL, "--temperature", "0", "-n", "60", "--stop", " fox"), "");
    all_write_the_same(ARGUMENTS(TELL, "--temperature", "0", "-c", "60"), "");
    all_write_the_same(
        ARGUMENTS("run", "-m", TINY, "-t", "1", "--temperature", "0", "-w", "1", "What is 2 + 3?"),
        "");
}

/* A second message goes on where the first answer's last draft was taken back. */
static void chats_are_equal(void **state) {
    (void)state;
    all_write_the_same(
        ARGUMENTS("chat", "-m", TINY, "-t", "1", "--temperature", "0", "-n", "30"),
        "Tell me a story about a fox.\nWhat is 2 + 3?\nTell me a story about a fox.\n");
}

static json_t *last_line(const char *out) {
    const char *line = strstr(out, "{\"event\":\"done\"");
    json_error_t error;
    line = line ? line : strstr(out, "{\"event\": \"done\"");
    assert_non_null(line);
    json_t *done = json_loads(line, JSON_DISABLE_EOF_CHECK, &error);
    assert_non_null(done);
    return done;
}

static void figures_are_told(void **state) {
    (void)state;
    struct command_result r =
        with(ARGUMENTS(TELL, "--temperature", "0", "-n", "40", "--json"), ways[1], "");
    json_t *done = last_line(r.out), *drafts = json_object_get(done, "drafts");
    json_t *mtp = json_object_get(json_object_get(drafts, "kinds"), "mtp");
    json_int_t offered = 0, accepted = 0;
    assert_int_equal(json_array_size(json_object_get(mtp, "offered")), 3);
    for (size_t i = 0; i < 3; i++) {
        json_int_t of = json_integer_value(json_array_get(json_object_get(mtp, "offered"), i));
        json_int_t right = json_integer_value(json_array_get(json_object_get(mtp, "accepted"), i));
        assert_true(right <= of && of > 0);
        offered += of;
        accepted += right;
    }
    assert_int_equal(json_integer_value(json_object_get(drafts, "offered")), offered);
    assert_int_equal(json_integer_value(json_object_get(drafts, "accepted")), accepted);
    /* Each of the 39 tokens that were taken is a right draft or the first of a window. */
    assert_int_equal(json_integer_value(json_object_get(drafts, "tokens")), 39);
    assert_int_equal(json_integer_value(json_object_get(drafts, "windows")) + accepted, 39);
    assert_true(accepted > 10);
    json_decref(done);
    command_free(&r);
    r = with(ARGUMENTS(TELL, "--temperature", "0", "-n", "4", "--json"), NULL, "");
    done = last_line(r.out);
    assert_true(json_is_null(json_object_get(done, "drafts")));
    json_decref(done);
    command_free(&r);
    r = with(ARGUMENTS(TELL, "--temperature", "0", "-n", "20", "--profile"), ways[1], "");
    assert_non_null(strstr(r.err, "varve: drafts: "));
    assert_non_null(strstr(r.err, "tokens a window"));
    assert_non_null(strstr(r.err, "mtp              1 "));
    command_free(&r);
}

static void two_ways_side_by_side(void **state) {
    (void)state;
    struct command_result r =
        varve("ab", "-m", TINY, "-t", "1", "--prompt", "8", "--gen", "16", "--rounds", "2", "--a",
              "--draft off", "--b", "--draft both --draft-max 4");
    assert_int_equal(r.code, 0);
    assert_non_null(strstr(r.out, "all tokens were equal"));
    command_free(&r);
}

/* ---- varve bench draft: what it writes, not how long that took ---- */

#define ODD VARVE_SOURCE_DIR "/tests/data/qwen4exp/odd.f32.gguf"
#define LITTLE                                                                                     \
    "bench", "draft", "-m", ODD, "-t", "1", "--gen", "30", "--rounds", "2", "--depth", "9"

static void ways_are_measured(void **state) {
    (void)state;
    static const char *const names[] = {"plain", "mtp 1",    "mtp 2",  "mtp 3",
                                        "mtp 4", "adaptive", "suffix", "both"};
    struct command_result r = varve(LITTLE, "--accept", "1,0", "--json");
    assert_int_equal(r.code, 0);
    assert_string_equal(r.err, "");
    char *line = strtok(r.out, "\n");
    for (int i = 0; i < 16; i++, line = strtok(NULL, "\n")) {
        json_error_t error;
        double accept, rate, tokens, of_plain;
        const char *way;
        assert_non_null(line);
        json_t *object = json_loads(line, 0, &error);
        assert_int_equal(json_unpack(object, "{s:F, s:s, s:F, s:F, s:F}", "accept", &accept, "way",
                                     &way, "tokens_per_second", &rate, "tokens_per_window", &tokens,
                                     "of_plain", &of_plain),
                         0);
        assert_string_equal(way, names[i % 8]);
        assert_true(accept == (i < 8) && rate > 0 && of_plain > 0);
        int k = i % 8; /* drafts of the fixed ways; the text's last window may be shorter */
        if (k <= 4) {
            assert_true(i < 8 ? tokens > 0.8 * (k + 1) && tokens <= k + 1 : tokens == 1);
        } else {
            assert_true(tokens >= 1 && tokens <= (i < 8 ? 9 : 1));
        }
        json_decref(object);
    }
    assert_null(line);
    command_free(&r);
}

/* Of a model that is described alone. */
static void without_weights(void **state) {
    (void)state;
    struct command_result r = varve("bench", "draft", "--geometry", ODD, "-t", "1", "--gen", "8",
                                    "--rounds", "1", "--accept", "0.5", "--csv");
    if (r.code != 0) {
        fail_msg("%s", r.err);
    }
    assert_non_null(strstr(r.out, "\n0.5,mtp 2,"));
    assert_non_null(strstr(r.err, "weights"));
    command_free(&r);
}

static void forms_of_the_table(void **state) {
    (void)state;
    struct command_result r = varve(LITTLE, "--accept", "0.5");
    assert_int_equal(r.code, 0);
    assert_non_null(strstr(r.out, "adaptive"));
    command_free(&r);
    r = varve(LITTLE, "--accept", "0.5", "--csv");
    assert_int_equal(r.code, 0);
    assert_non_null(strstr(r.out, "\n0.5,mtp 4,"));
    command_free(&r);
    r = varve(LITTLE, "--accept", ".5,1", "--svg");
    assert_int_equal(r.code, 0);
    assert_memory_equal(r.out, "<svg ", 5);
    assert_non_null(strstr(r.out, "chance 0.5</text>"));
    assert_non_null(strstr(r.out, "</svg>\n"));
    command_free(&r);
}

static void refusals(void **state) {
    (void)state;
    command_refuses(varve(TELL, "--draft", "ngram"), 2,
                    WORDS("--draft", "off, mtp, suffix or both", "ngram"));
    command_refuses(varve(TELL, "--draft-max", "16"), 2, WORDS("--draft-max", "1 to 15"));
    command_refuses(varve(LITTLE, "--accept", "1.5"), 2, WORDS("--accept", "0 to 1", "1.5"));
    command_refuses(varve(LITTLE, "--accept", "0.5,"), 2, WORDS("--accept", "0.5,"));
    command_refuses(varve(LITTLE, "--rows", "2"), 2, WORDS("--rows", "drafts"));
    command_refuses(varve("bench", "model", "-m", ODD, "--accept", "1"), 2,
                    WORDS("--accept", "bench draft"));
    command_refuses(varve(LITTLE, "--csv", "--svg"), 2, WORDS("choose one"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_equal),
        cmocka_unit_test(ends_are_equal),
        cmocka_unit_test(chats_are_equal),
        cmocka_unit_test(figures_are_told),
        cmocka_unit_test(two_ways_side_by_side),
        cmocka_unit_test(ways_are_measured),
        cmocka_unit_test(without_weights),
        cmocka_unit_test(forms_of_the_table),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* `varve bench sweep`: what it measures and writes. No test looks at how long anything took. */
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
#define SWEEP "bench", "sweep", "-m", MODEL
#define LITTLE SWEEP, "--from", "16", "--to", "70", "--step", "x2", "--gen", "5"

/* The fields of a line of values, as many as there are, to `fields`. */
static size_t cut(char *line, char **fields, size_t most) {
    size_t n = 0;
    for (char *at = line; at && n < most; n++) {
        fields[n] = strsep(&at, ",");
    }
    return n;
}

/* A line for each depth and setting: what was read, what was decoded, what was compared. */
static void csv_has_a_line_for_every_depth_and_setting(void **state) {
    (void)state;
    static const char *const depth[] = {"16", "32", "64"}, *const read[] = {"16", "11", "27"};
    struct command_result r =
        varve(LITTLE, "--csv", "--a", "--threads 1", "--b", "--threads 2 --window 8");
    char *rest = r.out, *fields[11], *line = strsep(&rest, "\n");
    assert_int_equal(r.code, 0);
    assert_int_equal(cut(line, fields, 11), 10);
    assert_string_equal(fields[0], "depth");
    for (size_t i = 0; i < 6; i++) {
        line = strsep(&rest, "\n");
        assert_int_equal(cut(line, fields, 11), 10);
        assert_string_equal(fields[0], depth[i / 2]);
        assert_string_equal(fields[1], i % 2 ? "b" : "a");
        assert_string_equal(fields[2], read[i / 2]);
        assert_string_equal(fields[5], "5");
        assert_true(strtod(fields[3], NULL) > 0 && strtod(fields[4], NULL) > 0);
        assert_true(strtod(fields[6], NULL) > 0 && strtod(fields[7], NULL) > 0);
        assert_string_equal(fields[8], "6"); /* five decoded ones, and the last one read */
        assert_string_equal(fields[9], "0");
    }
    assert_string_equal(rest, "");
    command_free(&r);
}

static void other_logits_are_counted_and_a_failure(void **state) {
    (void)state;
    struct command_result r = varve(LITTLE, "--b", "--kv f16");
    assert_int_equal(r.code, 1);
    assert_non_null(strstr(r.err, "18 of 18 rows of logits differ between the settings"));
    assert_non_null(strstr(r.out, "6 of 6 rows differ"));
    command_free(&r);
}

static void json_has_an_object_for_every_depth(void **state) {
    (void)state;
    struct command_result r = varve(LITTLE, "--json", "--gen", "0");
    char *rest = r.out;
    assert_int_equal(r.code, 0);
    for (int depth = 16; depth <= 64; depth *= 2) {
        json_error_t error;
        int at, read, generated;
        double prompt, generate;
        json_t *line = json_loads(strsep(&rest, "\n"), 0, &error);
        assert_int_equal(json_unpack_ex(line, &error, JSON_STRICT, "{s:i, s:i, s:i, s:{s:F, s:F}}",
                                        "depth", &at, "read", &read, "generated", &generated, "a",
                                        "prompt_ms", &prompt, "generate_ms", &generate),
                         0);
        assert_int_equal(at, depth);
        assert_int_equal(read, depth == 16 ? 16 : depth / 2);
        assert_int_equal(generated, 0);
        assert_true(prompt > 0 && generate == 0);
        json_decref(line);
    }
    command_free(&r);
}

static void a_plot_has_a_point_for_every_depth(void **state) {
    (void)state;
    struct temporary folder = temporary_make();
    const char *path = temporary_file(&folder, "sweep.svg");
    struct command_result r = varve(LITTLE, "--a", "--isa portable", "--out", path);
    assert_int_equal(r.code, 0);
    command_free(&r);
    FILE *file = fopen(path, "rb");
    char text[1 << 14];
    assert_non_null(file);
    size_t n = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[n] = 0;
    size_t lines = 0, points = 0;
    for (const char *at = text; (at = strstr(at, "<polyline")) != NULL; lines++) {
        at = strstr(at, "points=\"") + strlen("points=\"");
        for (; *at != '"'; at++) {
            points += *at == ',';
        }
    }
    assert_int_equal(lines, 4); /* of two panels and two settings */
    assert_int_equal(points, 12);
    assert_non_null(strstr(text, "a: --isa portable<"));
    assert_non_null(strstr(text, "</svg>\n"));
    temporary_remove(&folder);
}

static void what_makes_no_sense_is_refused(void **state) {
    (void)state;
    command_refuses(varve(SWEEP, "--step", "x1"), 2, WORDS("--step", "x2", "x1"));
    command_refuses(varve(SWEEP, "--step", "2x"), 2, WORDS("--step", "2x"));
    command_refuses(varve(SWEEP, "--from", "9", "--to", "8"), 2, WORDS("--from 9", "--to 8"));
    command_refuses(varve(SWEEP, "--from", "1", "--to", "100", "--step", "1"), 2,
                    WORDS("more than 64 depths", "--step"));
    command_refuses(varve(SWEEP, "--from", "16", "--to", "32", "--gen", "16"), 1,
                    WORDS("depth of 32", "32 tokens", "ascend"));
    command_refuses(varve(SWEEP, "--from", "16", "--to", "9999999", "--step", "9999900"), 1,
                    WORDS("9999948 tokens", "made for"));
    command_refuses(varve(SWEEP, "--a", "--draft suffix"), 2, WORDS("--draft", "varve ab"));
    command_refuses(varve(SWEEP, "--a", "--json"), 2, WORDS("--a takes", "--index-score"));
    command_refuses(varve(SWEEP, "--csv", "--svg"), 2, WORDS("choose one", "--out"));
    command_refuses(varve(SWEEP, "--depth", "4"), 2, WORDS("--depth", "contexts", "bench model"));
    command_refuses(varve("bench", "--from", "4", "rope"), 2, WORDS("--from", "bench sweep"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(csv_has_a_line_for_every_depth_and_setting),
        cmocka_unit_test(other_logits_are_counted_and_a_failure),
        cmocka_unit_test(json_has_an_object_for_every_depth),
        cmocka_unit_test(a_plot_has_a_point_for_every_depth),
        cmocka_unit_test(what_makes_no_sense_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* `varve bench`: what it writes. No test looks at how long anything took. */
#include "support/command.h"

#include <jansson.h>
#include <math.h>
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
    struct command_result r =
        varve("bench", "model", "-m", MODEL, LITTLE, "--same-experts", "--numa", "spread");
    assert_int_equal(r.code, 0);
    static const char *const words[] = {" on node ",
                                        "model ",
                                        "machine ",
                                        "GB/s read",
                                        "load ",
                                        "the first window",
                                        "spread",
                                        "median",
                                        "prompt 30",
                                        "window 3",
                                        "of one row",
                                        "generate 2",
                                        "% of what is possible"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (!strstr(r.out, words[i])) {
            fail_msg("\"%s\" is not in:\n%s", words[i], r.out);
        }
    }
    command_free(&r);
}

/* More sequences' bytes can't be fewer; the floor stands beside its share. */
static void a_batch_has_its_floor(void **state) {
    (void)state;
    struct command_result r =
        varve("bench", "model", "-m", MODEL, "--prompt", "none", "--depth", "9", "--rows", "none",
              "--gen", "2", "--rounds", "2", "--batch", "1,7");
    float one, seven;
    char unit[2][3];
    assert_int_equal(r.code, 0);
    const char *at = strstr(r.out, "batch 1 "), *then = strstr(r.out, "batch 7 ");
    assert_true(at && then);
    at = strstr(at, "its ");
    then = strstr(then, "its ");
    assert_true(at && then && at < then);
    assert_int_equal(sscanf(at, "its %f %2s need ", &one, unit[0]), 2);
    assert_int_equal(sscanf(then, "its %f %2s need ", &seven, unit[1]), 2);
    assert_string_equal(unit[0], unit[1]);
    assert_true(seven > one && seven < 7 * one);
    assert_non_null(strstr(then, "% of what it takes"));
    command_free(&r);
    r = varve("bench", "model", "-m", MODEL, "--prompt", "none", "--depth", "9", "--rows", "none",
              "--gen", "0", "--rounds", "2", "--batch", "3", "--json");
    assert_int_equal(r.code, 0);
    check_line(strtok(r.out, "\n"), "batch", 3, 9);
    command_free(&r);
}

/* ---- without weights ---- */

/* The plan stands on standard error before the results, which have the same form. */
static void a_model_without_its_weights(void **state) {
    (void)state;
    struct command_result r =
        varve("bench", "model", "--geometry", MODEL, "--layers", "4", "--prompt", "4", "--depth",
              "0", "--rows", "2", "--gen", "0", "--rounds", "2", "--json");
    assert_int_equal(r.code, 0);
    static const char *const words[] = {"weights (made up)", "keys and values", "recurrent state",
                                        "activations"};
    for (size_t i = 0; i < 4; i++) {
        assert_non_null(strstr(r.err, words[i]));
    }
    check_line(strtok(r.out, "\n"), "prompt", 4, 0);
    check_line(strtok(NULL, "\n"), "window", 2, 0);
    assert_null(strtok(NULL, "\n"));
    command_free(&r);
    r = varve("bench", "model", "-m", MODEL, "--synthetic", "--prompt", "4", "--depth", "none",
              "--rounds", "1");
    assert_int_equal(r.code, 0);
    assert_non_null(strstr(r.err, "weights (made up)"));
    assert_non_null(strstr(r.out, "prompt 4"));
    command_free(&r);
}

/* Every step of the model's program that has the name, in the model's own shapes. */
static void operations_of_a_model(void **state) {
    (void)state;
    struct command_result r = varve("bench", "gemv", "experts", "--geometry", MODEL, "--rows",
                                    "1,3", "--rounds", "1", "--variant", "portable", "--csv");
    assert_int_equal(r.code, 0);
    static const char *const words[] = {"\ngemv,gemv/portable,\"attn_qkv Q6_K 256x512\",1,",
                                        "\ngemv,gemv/portable,\"attn_qkv Q6_K 256x512\",3,",
                                        "\nexpert_up,expert_up/portable,"};
    for (size_t i = 0; i < 3; i++) {
        if (!strstr(r.out, words[i])) {
            fail_msg("\"%s\" is not in:\n%s", words[i], r.out);
        }
    }
    command_free(&r);
}

static void what_makes_no_sense_without_weights_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *words[8], *told;
    } wrong[] = {
        {{"model", "--geometry", "no-such-model"}, "no-such-model cannot be opened"},
        {{"model", "--geometry", MODEL, "--types", "q8"}, "has types of its own"},
        {{"model", "--geometry", MODEL, "-m", MODEL}, "two models"},
        {{"model", "-m", MODEL, "--layers", "2"}, "--geometry, or -m with --synthetic"},
        {{"model", "--synthetic"}, "-m FILE"},
        {{"gemv", "-m", MODEL}, "--model has no meaning for measurements of operations"},
        {{"nothing", "--geometry", MODEL}, "no step of this model is called \"nothing\""},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const char *const *w = wrong[i].words;
        struct command_result r = w[4]   ? varve("bench", w[0], w[1], w[2], w[3], w[4])
                                  : w[3] ? varve("bench", w[0], w[1], w[2], w[3])
                                  : w[2] ? varve("bench", w[0], w[1], w[2])
                                         : varve("bench", w[0], w[1]);
        assert_int_not_equal(r.code, 0);
        if (!strstr(r.err, wrong[i].told)) {
            fail_msg("\"%s\" is not in: %s", wrong[i].told, r.err);
        }
        command_free(&r);
    }
}

/* ---- operations ---- */

#define NORM "bench", "rms_norm", "--shape", "index queries", "--rows", "1,2", "--rounds", "2"

static void operations_have_a_line_for_each_variant_and_rows(void **state) {
    (void)state;
    struct command_result r = varve(NORM, "--variant", "rms_norm/", "--json");
    assert_int_equal(r.code, 0);
    assert_string_equal(r.err, "");
    int rows_seen[3] = {0}, references = 0;
    for (char *line = strtok(r.out, "\n"); line; line = strtok(NULL, "\n")) {
        json_error_t error;
        const char *operation, *variant, *shape, *bound;
        int rows;
        double bytes, operations, share;
        json_t *us, *object = json_loads(line, 0, &error);
        assert_non_null(object);
        assert_int_equal(json_unpack(object, "{s:s, s:s, s:s, s:i, s:o, s:F, s:F, s:F, s:s !}",
                                     "operation", &operation, "variant", &variant, "shape", &shape,
                                     "rows", &rows, "us", &us, "bytes", &bytes, "operations",
                                     &operations, "share", &share, "bound", &bound),
                         0);
        assert_string_equal(operation, "rms_norm");
        assert_non_null(strstr(shape, "index queries"));
        assert_true(rows == 1 || rows == 2);
        rows_seen[rows]++;
        references += strcmp(variant, "rms_norm/reference") == 0;
        assert_int_equal(json_array_size(us), 2);
        /* 4 groups of 128 floats in and out, and their weight. */
        assert_true(bytes == rows * 2 * 4 * 128 * 4 + 128 * 4);
        assert_true(share > 0);
        json_decref(object);
    }
    assert_true(rows_seen[1] >= 2 && rows_seen[1] == rows_seen[2]);
    assert_int_equal(references, 2); /* measured, since they were asked for */
    command_free(&r);
}

static void operations_in_other_forms(void **state) {
    (void)state;
    struct command_result r = varve(NORM);
    assert_int_equal(r.code, 0);
    assert_non_null(strstr(r.out, "least us"));
    assert_non_null(strstr(r.out, "rms_norm/portable"));
    assert_null(strstr(r.out, "rms_norm/reference"));
    assert_non_null(strstr(r.out, "at most, with "));
    command_free(&r);
    r = varve(NORM, "--csv");
    assert_int_equal(r.code, 0);
    assert_ptr_equal(strstr(r.out, "operation,variant,shape,rows,"), r.out);
    assert_non_null(strstr(r.out, "\nrms_norm,rms_norm/portable,\"Qwen"));
    command_free(&r);
    r = varve(NORM, "--svg");
    assert_int_equal(r.code, 0);
    assert_ptr_equal(strstr(r.out, "<svg "), r.out);
    assert_non_null(strstr(r.out, "rms_norm/portable</text>"));
    assert_string_equal(r.out + r.out_length - 7, "</svg>\n");
    command_free(&r);
}

/* ---- tables ---- */

/* Lines of one variant of one operation, by rows: ratios are those of least times. */
struct series {
    char operation[40], variant[64];
    double least[4], ratio[4]; /* of so many rows; 0: no line */
    double gain[4];
    size_t published[4];
};
enum { SERIES_MOST = 64 };

static double least_of(const json_t *us) {
    double least = json_real_value(json_array_get(us, 0));
    for (size_t i = 1; i < json_array_size(us); i++) {
        double value = json_real_value(json_array_get(us, i));
        least = value < least ? value : least;
    }
    assert_true(least > 0);
    return least;
}

static struct series *series_of(struct series *list, size_t *count, const char *operation,
                                const char *variant) {
    for (size_t i = 0; i < *count; i++) {
        if (strcmp(list[i].operation, operation) == 0 && strcmp(list[i].variant, variant) == 0) {
            return &list[i];
        }
    }
    assert_true(*count < SERIES_MOST);
    struct series *s = &list[(*count)++];
    *s = (struct series){.operation = ""};
    snprintf(s->operation, sizeof s->operation, "%s", operation);
    snprintf(s->variant, sizeof s->variant, "%s", variant);
    return s;
}

/* Reads what --json wrote of one shape with rows 1 to 3. */
static size_t read_table(char *text, const char *shape, struct series *list) {
    size_t count = 0;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        json_error_t error;
        const char *operation, *variant, *of, *bound;
        int rows;
        double bytes, operations, share, ratio, gain = 0;
        json_t *us, *published, *object = json_loads(line, 0, &error);
        assert_non_null(object);
        assert_int_equal(
            json_unpack(object, "{s:s, s:s, s:s, s:i, s:o, s:F, s:F, s:F, s:s, s:F, s?F, s:o !}",
                        "operation", &operation, "variant", &variant, "shape", &of, "rows", &rows,
                        "us", &us, "bytes", &bytes, "operations", &operations, "share", &share,
                        "bound", &bound, "ratio", &ratio, "gain", &gain, "published", &published),
            0);
        assert_non_null(strstr(of, shape));
        assert_true(rows >= 1 && rows <= 3 && bytes > 0 && share > 0);
        struct series *s = series_of(list, &count, operation, variant);
        assert_true(s->least[rows] == 0);
        s->least[rows] = least_of(us);
        s->ratio[rows] = ratio;
        s->gain[rows] = gain;
        s->published[rows] = json_array_size(published);
        json_decref(object);
    }
    assert_true(count > 0);
    for (size_t i = 0; i < count; i++) {
        assert_true(list[i].ratio[1] == 1);
        for (int rows = 2; rows <= 3; rows++) {
            double expected = list[i].least[rows] / list[i].least[1];
            assert_true(list[i].least[rows] > 0);
            assert_true(fabs(list[i].ratio[rows] - expected) < 1e-6 * expected);
        }
    }
    return count;
}

#define OF_TINY "--shape", "varve-tiny", "--rows", "1,2,3", "--rounds", "2"

/* Every step alone, in every variant, and all of a read together. */
static void reads_by_rows(void **state) {
    (void)state;
    static const char *const operations[] = {"hyper_norm", "hyper_down", "hyper_up", "hyper_read"};
    struct series list[SERIES_MOST];
    size_t found[4] = {0};
    struct command_result r = varve("bench", "hyper_read", "--tiles", OF_TINY, "--json");
    assert_int_equal(r.code, 0);
    size_t count = read_table(r.out, "varve-tiny", list);
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < 4; k++) {
            found[k] += strcmp(list[i].operation, operations[k]) == 0;
        }
        assert_int_equal(list[i].published[1], 0); /* of another shape */
    }
    assert_true(found[0] > 0 && found[1] > 0 && found[2] > 0);
    assert_int_equal(found[3], 1);
    command_free(&r);
}

static void modes_by_rows(void **state) {
    (void)state;
    static const char *const modes[] = {"advance", "verify", "commit"};
    struct series list[SERIES_MOST];
    struct command_result r = varve("bench", "gdn_step", "--modes", OF_TINY, "--json");
    assert_int_equal(r.code, 0);
    assert_int_equal(read_table(r.out, "varve-tiny", list), 3);
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(list[i].variant, modes[i]);
    }
    command_free(&r);
    r = varve("bench", "gdn", "--shape", "varve-tiny", "--rows", "17", "--rounds", "1");
    assert_int_equal(r.code, 0);
    assert_non_null(strstr(r.out, " 17 scan "));
    assert_null(strstr(r.out, " advance "));
    command_free(&r);
}

/* The gain is that of least times. */
static void together_and_apart(void **state) {
    (void)state;
    struct series list[SERIES_MOST];
    struct command_result r = varve("bench", "gemv_cat", OF_TINY, "--json");
    assert_int_equal(r.code, 0);
    assert_int_equal(read_table(r.out, "varve-tiny", list), 2);
    assert_string_equal(list[0].variant, "together");
    assert_string_equal(list[1].variant, "apart");
    for (int rows = 1; rows <= 3; rows++) {
        double expected = list[1].least[rows] / list[0].least[rows];
        assert_true(fabs(list[0].gain[rows] - expected) < 1e-6 * expected);
        assert_true(list[1].gain[rows] == 0);
    }
    command_free(&r);
}

/* Beside the shapes that they are of, with whose they are. */
static void published_figures_stand_beside(void **state) {
    (void)state;
    struct series list[SERIES_MOST];
    struct command_result r = varve("bench", "gemv_cat", "--shape", "attn_k Q6_K", "--rows",
                                    "1,2,3", "--rounds", "1", "--json");
    assert_int_equal(r.code, 0);
    assert_int_equal(read_table(r.out, "attn_k", list), 2);
    assert_int_equal(list[0].published[1], 1);
    assert_int_equal(list[0].published[2], 1);
    assert_int_equal(list[0].published[3], 0);
    command_free(&r);
    r = varve("bench", "gemv_cat", "--shape", "attn_k Q6_K", "--rows", "1,2", "--rounds", "1");
    assert_int_equal(r.code, 0);
    static const char *const words[] = {"of 1 row",      "together",     "apart",
                                        "22.6     1.40", "Apple M3 Max", "of read",
                                        "at most, with "};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (!strstr(r.out, words[i])) {
            fail_msg("\"%s\" is not in:\n%s", words[i], r.out);
        }
    }
    command_free(&r);
    command_refuses(varve("bench", "gemv", "--tiles"), 2, WORDS("--tiles", "hyper_read --tiles"));
    command_refuses(varve("bench", "hyper_read", "--modes"), 2, WORDS("--modes", "bench gdn"));
    command_refuses(varve("bench", "gdn", "gemv"), 2, WORDS("delta rule", "\"gemv\""));
    command_refuses(varve("bench", "gdn", "--rows", "none"), 1, WORDS("no rows"));
    command_refuses(varve("bench", "gdn", "--csv"), 2, WORDS("--csv", "operations"));
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
    command_refuses(varve("bench", "models"), 1, WORDS("\"models\"", "gemv", "rms_norm"));
    command_refuses(varve("bench", "gemv", "--depth", "1"), 2, WORDS("--depth", "bench model"));
    command_refuses(varve("bench", "model", "--csv"), 2, WORDS("--csv", "operations"));
    command_refuses(varve("bench", "model", "gemv"), 2, WORDS("\"gemv\""));
    command_refuses(varve("bench", "gemv", "--csv", "--svg"), 2, WORDS("choose one"));
    command_refuses(varve("bench", "gemv", "--shape", "no such"), 1, WORDS("nothing is called"));
    command_refuses(varve("bench", "model"), 2, WORDS("-m FILE"));
    command_refuses(varve("bench", "model", "-m", MODEL, "--rows", "1,17"), 1, WORDS("17", "16"));
    command_refuses(varve("bench", "model", "-m", MODEL, "--rows", "1,5000"), 2,
                    WORDS("--rows", "from 1 to 4096", "\"1,5000\""));
    command_refuses(varve("bench", "model", "-m", MODEL, "--depth", "1,,2"), 2, WORDS("--depth"));
    command_refuses(varve("bench", "model", "-m", MODEL, "--depth", "1,"), 2, WORDS("--depth"));
    command_refuses(varve("bench", "model", "-m", MODEL, "--prompt", "0"), 2, WORDS("--prompt"));
    command_refuses(varve("bench", "model", "-m", MODEL, "--depth", "1000000"), 1,
                    WORDS("tokens are needed"));
    command_refuses(varve("run", "--rounds", "3"), 2, WORDS("bench, ab and tune do"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_batch_has_its_floor),
        cmocka_unit_test(a_model_without_its_weights),
        cmocka_unit_test(operations_of_a_model),
        cmocka_unit_test(what_makes_no_sense_without_weights_is_refused),
        cmocka_unit_test(json_has_a_line_for_every_test),
        cmocka_unit_test(c195_the_table_has_cold_and_repeated_figures),
        cmocka_unit_test(operations_have_a_line_for_each_variant_and_rows),
        cmocka_unit_test(operations_in_other_forms),
        cmocka_unit_test(reads_by_rows),
        cmocka_unit_test(modes_by_rows),
        cmocka_unit_test(together_and_apart),
        cmocka_unit_test(published_figures_stand_beside),
        cmocka_unit_test(defaults_fit_the_model),
        cmocka_unit_test(wrong_use_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

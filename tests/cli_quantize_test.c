/* `varve quantize`: what it says, what it refuses, what it leaves behind. */
#include "support/command.h"
#include "support/folder.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define HQ VARVE_SOURCE_DIR "/tests/data/qwen4exp/hq.ud.gguf"
#define MICRO VARVE_SOURCE_DIR "/tests/data/qwen4exp/micro.f32.gguf"

static void nothing_is_left(const char *name) {
    char partial[100];
    snprintf(partial, sizeof partial, "%s.partial", name);
    assert_int_not_equal(access(temporary_file(&folder, name), F_OK), 0);
    assert_int_not_equal(access(temporary_file(&folder, partial), F_OK), 0);
}

/* The object that --json gives; the program's code must be 0. */
static json_t *quantize_json(const char *in, const char *option, const char *value) {
    const char *out = temporary_file(&folder, "out.gguf");
    struct command_result r =
        varve("quantize", "-m", in, option, value, "-o", out, "--json", "--threads", "2");
    if (r.code != 0) {
        fail_msg("%s", r.err);
    }
    json_t *page = json_loads(r.out, 0, NULL);
    assert_non_null(page);
    command_free(&r);
    return page;
}

static json_t *named(json_t *page, const char *list, const char *key, const char *name) {
    size_t i;
    json_t *object;
    json_array_foreach(json_object_get(page, list), i, object) {
        if (strcmp(json_string_value(json_object_get(object, key)), name) == 0) {
            return object;
        }
    }
    fail_msg("no %s in %s", name, list);
    return NULL;
}

static const char *string_in(json_t *object, const char *key) {
    return json_string_value(json_object_get(object, key));
}

/* ---- what it says ---- */

static void a_table(void **state) {
    (void)state;
    const char *out = temporary_file(&folder, "t.gguf");
    struct command_result r = varve("quantize", "-m", MICRO, "-t", "q4_0", "-o", out);
    assert_int_equal(r.code, 0);
    assert_string_equal(r.err, ""); /* no progress where nobody looks */
    assert_non_null(strstr(r.out, "Q4_0 "));
    assert_non_null(strstr(r.out, "RMS error 8"));
    assert_non_null(strstr(r.out, "copied"));
    assert_non_null(strstr(r.out, out));
    command_free(&r);
    r = varve("run", "-m", out, "--raw", "-n", "2", "x");
    assert_int_equal(r.code, 0);
    command_free(&r);
}

static void json(void **state) {
    (void)state;
    json_t *page = quantize_json(MICRO, "--type", "Q8_0");
    json_t *type = named(page, "types", "type", "Q8_0");
    json_t *tensor = named(page, "tensors", "name", "output.weight");
    double e = json_real_value(json_object_get(type, "rms_error"));
    assert_true(e > 0.003 && e < 0.006);
    assert_true(json_integer_value(json_object_get(type, "encoded")) > 10);
    assert_string_equal(string_in(tensor, "from"), "F32");
    assert_string_equal(string_in(tensor, "to"), "Q8_0");
    assert_true(json_is_false(json_object_get(tensor, "requantised")));
    tensor = named(page, "tensors", "name", "blk.0.hc_attn_norm.weight");
    assert_string_equal(string_in(tensor, "to"), "F32");
    assert_true(json_is_null(json_object_get(tensor, "rms_error")));
    struct stat s;
    assert_int_equal(stat(string_in(page, "out"), &s), 0);
    assert_true(json_integer_value(json_object_get(page, "bytes")) < s.st_size);
    json_decref(page);
}

static void requantising_is_said(void **state) {
    (void)state;
    const char *out = temporary_file(&folder, "again.gguf");
    struct command_result r = varve("quantize", "-m", HQ, "-t", "Q4_K", "-o", out);
    assert_int_equal(r.code, 0);
    assert_non_null(strstr(r.err, "requantising"));
    assert_non_null(strstr(r.out, "smaller blocks"));
    command_free(&r);
}

static void rules_in_a_file(void **state) {
    (void)state;
    const char *path = temporary_file(&folder, "rules");
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("# types by name\nblk.0.*=Q8_0\nblk.*=Q5_K, output.weight=BF16", file);
    fclose(file);
    json_t *page = quantize_json(HQ, "--map", path);
    static const char *const want[][2] = {{"blk.0.attn_qkv.weight", "Q8_0"},
                                          {"blk.1.attn_q.weight", "Q5_K"},
                                          {"output.weight", "BF16"},
                                          {"token_embd.weight", "Q4_K"}};
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        assert_string_equal(string_in(named(page, "tensors", "name", want[i][0]), "to"),
                            want[i][1]);
    }
    json_decref(page);
}

/* -t is a type here and the threads elsewhere. */
static void one_letter_two_options(void **state) {
    (void)state;
    struct command_result r = varve("help", "quantize");
    assert_non_null(strstr(r.out, "-t, --type TYPE"));
    assert_non_null(strstr(r.out, "      --threads N"));
    command_free(&r);
    r = varve("help", "run");
    assert_non_null(strstr(r.out, "-t, --threads N"));
    command_free(&r);
    command_refuses(varve("run", "-m", MICRO, "-t", "many", "x"), 2, WORDS("--threads"));
    command_refuses(varve("inspect", "-m", MICRO, "-t", "1"), 2, WORDS("inspect does not take"));
}

/* ---- what runs ---- */

/* How far a model that was encoded in a type is from itself. It has to run, too. */
static double distance_of(const char *type) {
    json_decref(quantize_json(HQ, "--type", type));
    const char *out = temporary_file(&folder, "out.gguf");
    struct command_result r = varve("run", "-m", out, "--raw", "-n", "2", "-t", "1", "x");
    if (r.code != 0) {
        fail_msg("%s: %s", type, r.err);
    }
    command_free(&r);
    r = varve_reads("Fewer bits, and the model is a little farther from what it was: its words are "
                    "nearly the same, its doubts are not, and nobody has told it so.",
                    "perplexity", "-m", out, "--kl", HQ, "-f", "-", "-t", "1", "--json");
    json_t *page = json_loads(r.out, 0, NULL);
    assert_non_null(page);
    double kl = json_real_value(json_object_get(page, "kl"));
    json_decref(page);
    command_free(&r);
    return kl;
}

/* Every encoder, in three rows of ever fewer bits: what ran was what had been encoded. */
static void c025_fewer_bits_are_farther_off(void **state) {
    (void)state;
    static const char *const rows[][7] = {
        {"F32", "Q8_0", "Q6_K", "Q5_K", "Q4_K", "Q3_K", "Q2_K"},
        {"F16", "Q5_1", "Q5_0", "Q4_1", "Q4_0", "MXFP4"},
        {"BF16", "IQ4_NL", "IQ4_XS"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double last = 0;
        for (size_t k = 0; k < sizeof rows[i] / sizeof *rows[i] && rows[i][k]; k++) {
            double distance = distance_of(rows[i][k]);
            if (!(distance > last)) {
                fail_msg("%s: a distance of %g after %g", rows[i][k], distance, last);
            }
            last = distance;
        }
    }
}

/* ---- what it refuses ---- */

static void wrong_use(void **state) {
    (void)state;
    const char *out = temporary_file(&folder, "w.gguf");
    command_refuses(varve("quantize", "-m", MICRO, "-t", "Q8_0"), 2, WORDS("-o OUT.gguf"));
    command_refuses(varve("quantize", "-m", MICRO, "-o", out), 2, WORDS("-t Q4_K"));
    command_refuses(varve("quantize", "-t", "Q8_0", "-o", out), 2, WORDS("-m FILE"));
    command_refuses(varve("quantize", "-m", MICRO, "-t", "Q8_1", "-o", out), 1,
                    WORDS("Q8_1", "Q8_0"));
    command_refuses(varve("quantize", "-m", MICRO, "--map", "nothing.*=Q8_0", "-o", out), 1,
                    WORDS("nothing.*", "micro.f32.gguf"));
    command_refuses(varve("quantize", "-m", MICRO, "--map", "no-such-file", "-o", out), 1,
                    WORDS("no-such-file"));
    command_refuses(varve("quantize", "-m", MICRO, "-t", "Q8_0", "-o", MICRO), 1,
                    WORDS("micro.f32.gguf", "another name"));
    nothing_is_left("w.gguf");
}

static void a_full_disk(void **state) {
    (void)state;
    char line[1500];
    const char *out = temporary_file(&folder, "full.gguf");
    snprintf(line, sizeof line, "ulimit -f 64; exec %s quantize -m %s -t Q8_0 -o %s", VARVE_BINARY,
             MICRO, out);
    command_refuses(command_input("", 0, (const char *const[]){"/bin/sh", "-c", line, NULL}), 1,
                    WORDS("full.gguf", "cannot be written"));
    nothing_is_left("full.gguf");
    command_refuses(varve("quantize", "-m", MICRO, "-t", "Q8_0", "-o",
                          temporary_file(&folder, "no/folder.gguf")),
                    1, WORDS("folder.gguf"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table),
        cmocka_unit_test(json),
        cmocka_unit_test(requantising_is_said),
        cmocka_unit_test(rules_in_a_file),
        cmocka_unit_test(one_letter_two_options),
        cmocka_unit_test(c025_fewer_bits_are_farther_off),
        cmocka_unit_test(wrong_use),
        cmocka_unit_test(a_full_disk),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

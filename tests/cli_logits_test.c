/* `varve logits` as a program: files of logits, comparison with golden tensors (C034, C044, C076,
 * C185).
 */
#include "support/command.h"

#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/folder.h"
#include "varve.h"

#define DATA VARVE_SOURCE_DIR "/tests/data/qwen4exp/"
#define MICRO DATA "micro.f32.gguf"
#define MICRO_GOLDEN DATA "micro.golden.gguf"
#define MIXED DATA "hq.ud.gguf"
#define MIXED_GOLDEN DATA "hq.ud.golden.gguf"

struct bytes {
    unsigned char *at;
    size_t size;
};

static struct bytes load(const char *path) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    struct bytes b = {.size = (size_t)ftell(file)};
    rewind(file);
    b.at = malloc(b.size);
    assert_non_null(b.at);
    assert_int_equal(fread(b.at, 1, b.size, file), b.size);
    fclose(file);
    return b;
}

/* A file of logits, its header checked against the shape that is expected. */
static struct bytes load_logits(const char *path, size_t rows, size_t width) {
    struct bytes b = load(path);
    char shape[64];
    snprintf(shape, sizeof shape, "(%zu, %zu)", rows, width);
    assert_non_null(memmem(b.at, 128, shape, strlen(shape)));
    assert_int_equal(b.size, 128 + rows * width * sizeof(float));
    memmove(b.at, b.at + 128, b.size - 128);
    b.size -= 128;
    return b;
}

/* Nothing is said but, on a small machine, that threads are many. */
static void succeeds(struct command_result r) {
    bool said = r.err[0] && !strstr(r.err, "warning: ");
    if (r.code != 0 || said) {
        fail_msg("exit code %d: %s%s", r.code, r.err, r.out);
    }
    command_free(&r);
}

/* ---- golden data, by the library ---- */

static struct varve_error error;

static float *golden_floats(const char *name, size_t *count) {
    struct varve_file *file;
    struct varve_tensor tensor;
    size_t index;
    assert_int_equal(varve_file_open(MICRO_GOLDEN, false, &file, &error), 0);
    assert_int_equal(varve_file_find(file, name, &index, &error), 0);
    varve_file_tensor(file, index, &tensor);
    *count = (size_t)tensor.elements;
    float *values = malloc(*count * sizeof *values);
    assert_non_null(values);
    assert_int_equal(varve_file_decode(file, index, 0, tensor.elements, values, &error), 0);
    varve_file_close(file);
    return values;
}

/* The ids of sequence 1 ("seven"). */
static const char *golden_tokens(void) {
    static char text[200];
    size_t count, used = 0;
    float *ids = golden_floats("s1.tokens", &count);
    for (size_t i = 0; i < count; i++) {
        used +=
            (size_t)snprintf(text + used, sizeof text - used, "%s%d", i ? " " : "", (int)ids[i]);
    }
    free(ids);
    assert_int_equal(count, 7);
    return text;
}

static void close_to_golden(const struct bytes *logits, const char *name, size_t width) {
    size_t count;
    float *golden = golden_floats(name, &count);
    const float *ours = (const float *)(const void *)logits->at;
    assert_int_equal(logits->size, count * sizeof(float));
    for (size_t i = 0; i < count; i++) {
        if (!(fabsf(ours[i] - golden[i]) < 1e-3f)) {
            fail_msg("%s: row %zu, token %zu: %g, golden %g", name, i / width, i % width,
                     (double)ours[i], (double)golden[i]);
        }
    }
    free(golden);
}

static size_t vocabulary(void) {
    size_t count;
    free(golden_floats("s1.logits", &count));
    return count / 7;
}

/* ---- files ---- */

static void the_file_holds_the_logits(void **state) {
    (void)state;
    const char *path = temporary_file(&folder, "seven.npy");
    succeeds(varve("logits", "-m", MICRO, "--tokens", golden_tokens(), "--out", path));
    struct bytes logits = load_logits(path, 7, vocabulary());
    close_to_golden(&logits, "s1.logits", vocabulary());
    free(logits.at);
}

/* Row j of the drafts is made from position j and token j + 1. */
static void the_file_holds_drafts(void **state) {
    (void)state;
    const char *path = temporary_file(&folder, "drafts.npy");
    static const char *const windows[] = {"all", "1", "3"};
    for (size_t i = 0; i < 3; i++) {
        succeeds(varve("logits", "-m", MICRO, "--tokens", golden_tokens(), "--mtp", "--window",
                       windows[i], "--out", path));
        struct bytes logits = load_logits(path, 6, vocabulary());
        close_to_golden(&logits, "s1.mtp.logits", vocabulary());
        free(logits.at);
    }
    command_refuses(varve("logits", "-m", MICRO, "--tokens", "5", "--mtp", "--out", path), 1,
                    WORDS("two tokens"));
    command_refuses(varve("logits", "-m", MIXED, "--tokens", "5 6", "--mtp", "--out", path), 1,
                    WORDS("MTP"));
}

/* "1 2 3 … 150": longer than a window, and than the sparse attention's budget. */
static const char *many_tokens(void) {
    static char text[700];
    size_t used = 0;
    for (int i = 1; i <= 150; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "%d,", i);
    }
    return text;
}

static void c044_files_are_equal_to_the_byte(void **state) {
    (void)state;
    const char *path = temporary_file(&folder, "a.npy"), *other = temporary_file(&folder, "b.npy");
    const char *const settings[][4] = {
        {"--window", "1", "--threads", "1"},     {"--window", "7", "--threads", "3"},
        {"--window", "all", "--threads", "4"},   {"--device", "mock", "--threads", "2"},
        {"--isa", "portable", "--threads", "2"}, {"--barriers", "all", "--threads", "2"},
        {"--load", "read", "--window", "64"},
    };
    static const char *const models[] = {MICRO, MIXED};
    for (size_t m = 0; m < 2; m++) {
        succeeds(varve("logits", "-m", models[m], "--tokens", many_tokens(), "--out", path));
        struct bytes want = load(path);
        for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
            succeeds(varve("logits", "-m", models[m], "--tokens", many_tokens(), settings[i][0],
                           settings[i][1], settings[i][2], settings[i][3], "--out", other));
            struct bytes got = load(other);
            assert_int_equal(got.size, want.size);
            if (memcmp(got.at, want.at, want.size) != 0) {
                fail_msg("%s %s %s %s changes logits", settings[i][0], settings[i][1],
                         settings[i][2], settings[i][3]);
            }
            free(got.at);
        }
        succeeds(varve("logits", "-m", models[m], "--tokens", many_tokens(), "--activations", "f32",
                       "--out", other));
        struct bytes exact = load(other); /* the comparison can fail */
        assert_true(m == 0 || memcmp(exact.at, want.at, want.size) != 0);
        free(exact.at);
        free(want.at);
    }
}

static void tokens_from_a_file(void **state) {
    (void)state;
    const char *list = temporary_file(&folder, "ids"), *a = temporary_file(&folder, "a.npy"),
               *b = temporary_file(&folder, "b.npy");
    FILE *file = fopen(list, "w");
    assert_non_null(file);
    fputs("3\n 1,4\t1, 5\n", file);
    fclose(file);
    succeeds(varve("logits", "-m", MICRO, "--tokens", "3 1 4 1 5", "--out", a));
    succeeds(varve("logits", "-m", MICRO, "--tokens-file", list, "--out", b));
    struct bytes x = load(a), y = load(b);
    assert_int_equal(x.size, y.size);
    assert_memory_equal(x.at, y.at, x.size);
    free(x.at);
    free(y.at);
}

static void c034_tokens_that_are_refused(void **state) {
    (void)state;
    const char *path = temporary_file(&folder, "refused.npy");
    command_refuses(varve("logits", "-m", MICRO, "--tokens", "1 2 999999", "--out", path), 1,
                    WORDS("token 2", "999999"));
    command_refuses(varve("logits", "-m", MICRO, "--tokens", "1 -1", "--out", path), 1,
                    WORDS("\"-1\"", "place 1"));
    command_refuses(varve("logits", "-m", MICRO, "--tokens", " ", "--out", path), 2,
                    WORDS("no token"));
    command_refuses(varve("logits", "-m", MICRO, "--tokens-file", "/no/file", "--out", path), 1,
                    WORDS("/no/file"));
    assert_int_not_equal(access(path, F_OK), 0);
}

/* ---- golden ---- */

/* Runs the comparison with --json; the last line's count of sequences beyond the tolerance. */
static json_int_t beyond(struct command_result r, size_t sequences, int code) {
    size_t lines = 0;
    json_t *last = NULL;
    if (r.code != code || r.err[0]) {
        fail_msg("exit code %d instead of %d: %s%s", r.code, code, r.err, r.out);
    }
    for (const char *line = r.out; *line; line += strcspn(line, "\n") + 1, lines++) {
        json_decref(last);
        last = json_loadb(line, strcspn(line, "\n"), 0, NULL);
        assert_non_null(last);
    }
    command_free(&r);
    assert_int_equal(lines, sequences + 1);
    assert_int_equal(json_integer_value(json_object_get(last, "sequences")), sequences);
    json_int_t count = json_integer_value(json_object_get(last, "beyond"));
    json_decref(last);
    return count;
}

#define GOLDEN(model, golden) "logits", "-m", model, "--golden", golden

static void golden_sequences_agree(void **state) {
    (void)state;
    assert_int_equal(beyond(varve(GOLDEN(MICRO, MICRO_GOLDEN), "--json"), 6, 0), 0);
    assert_int_equal(
        beyond(varve(GOLDEN(MICRO, MICRO_GOLDEN), "--json", "--window", "37", "--mtp"), 6, 0), 0);
    assert_int_equal(
        beyond(varve(GOLDEN(MIXED, MIXED_GOLDEN), "--json", "--activations", "f32"), 2, 0), 0);
    struct command_result r = varve(GOLDEN(MICRO, MICRO_GOLDEN), "--sequence", "seven");
    assert_int_equal(r.code, 0);
    assert_non_null(strstr(r.out, "seven"));
    assert_non_null(strstr(r.out, "1 sequences, 0 beyond the tolerance"));
    command_free(&r);
}

/* Rounded activations are told, and judged only where a tolerance is given. */
static void golden_with_rounded_activations(void **state) {
    (void)state;
    assert_int_equal(beyond(varve(GOLDEN(MIXED, MIXED_GOLDEN), "--json"), 2, 0), 0);
    assert_int_equal(
        beyond(varve(GOLDEN(MIXED, MIXED_GOLDEN), "--json", "--tolerance", "0.2"), 2, 0), 0);
    assert_int_equal(
        beyond(varve(GOLDEN(MIXED, MIXED_GOLDEN), "--json", "--tolerance", "1e-6"), 2, 1), 2);
}

/* A copy of a file in which some bytes amid a tensor are others. */
static const char *damaged(const char *from, const char *tensor, const void *value, size_t size) {
    struct varve_file *file;
    struct varve_tensor t;
    size_t index;
    assert_int_equal(varve_file_open(from, false, &file, &error), 0);
    assert_int_equal(varve_file_find(file, tensor, &index, &error), 0);
    varve_file_tensor(file, index, &t);
    struct bytes b = load(from);
    memcpy(b.at + t.offset + t.bytes / 2, value, size);
    varve_file_close(file);
    const char *path = temporary_file(&folder, "damaged.gguf");
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(b.at, 1, b.size, out), b.size);
    fclose(out);
    free(b.at);
    return path;
}

/* One weight that is off is found, and the layer where it is. */
static void golden_finds_the_layer(void **state) {
    (void)state;
    static const struct {
        const char *tensor, *departs;
    } cases[] = {
        {"blk.0.ssm_out.weight", "departs at gdn.0"},
        {"blk.2.ffn_gate_inp.weight", "departs at router_probs.2"},
        {"blk.3.attn_v.weight", "departs at attn.3"},
        {"output_hc_up.weight", "departs at mix"},
    };
    const float value = 3;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *path = damaged(MICRO, cases[i].tensor, &value, sizeof value);
        struct command_result r = varve(GOLDEN(path, MICRO_GOLDEN), "--sequence", "sixtyfour");
        assert_int_equal(r.code, 1);
        if (!strstr(r.out, cases[i].departs)) {
            fail_msg("%s: not \"%s\" but %s", cases[i].tensor, cases[i].departs, r.out);
        }
        command_free(&r);
    }
}

/* A golden draft that is off is found in its sequence, by the same comparison that passes others.
 */
static void c076_wrong_golden_drafts(void **state) {
    (void)state;
    const float value = 0.25f;
    const char *path = damaged(MICRO_GOLDEN, "s1.mtp.logits", &value, sizeof value);
    assert_int_equal(beyond(varve(GOLDEN(MICRO, path), "--json"), 6, 1), 1);
    assert_int_equal(beyond(varve(GOLDEN(MICRO, path), "--json", "--sequence", "sixtyfour"), 1, 0),
                     0);
}

static void golden_containers_that_are_refused(void **state) {
    (void)state;
    command_refuses(varve(GOLDEN(MICRO, MICRO_GOLDEN), "--sequence", "eleven"), 1,
                    WORDS("\"eleven\"", "seven", "long", "repeat"));
    command_refuses(varve(GOLDEN(MICRO, MICRO)), 1, WORDS("golden.sequence_count"));
    command_refuses(varve(GOLDEN(MICRO, "/no/file")), 1, WORDS("/no/file"));
    command_refuses(varve(GOLDEN(MIXED, MIXED_GOLDEN), "--mtp"), 1, WORDS("draft"));
}

/* The guards against NaN work in this very build, whatever its flags. */
static void c185_a_value_that_is_not_finite(void **state) {
    (void)state;
    const float bad = NAN;
    const char *path = damaged(MICRO, "blk.1.ffn_up_shexp.weight", &bad, sizeof bad);
    command_refuses(varve("logits", "-m", path, "--tokens", "1 2 3", "--out",
                          temporary_file(&folder, "nan.npy")),
                    1, WORDS("blk.1"));
    assert_int_not_equal(access(temporary_file(&folder, "nan.npy"), F_OK), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_file_holds_the_logits),
        cmocka_unit_test(the_file_holds_drafts),
        cmocka_unit_test(c044_files_are_equal_to_the_byte),
        cmocka_unit_test(tokens_from_a_file),
        cmocka_unit_test(c034_tokens_that_are_refused),
        cmocka_unit_test(golden_sequences_agree),
        cmocka_unit_test(golden_with_rounded_activations),
        cmocka_unit_test(golden_finds_the_layer),
        cmocka_unit_test(c076_wrong_golden_drafts),
        cmocka_unit_test(golden_containers_that_are_refused),
        cmocka_unit_test(c185_a_value_that_is_not_finite),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

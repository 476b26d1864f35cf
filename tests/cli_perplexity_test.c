/* `varve perplexity` against figures that are computed here from what `varve logits` writes. */
#include "support/command.h"
#include "support/golden.h"
#include "support/temporary.h"

#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define DATA VARVE_SOURCE_DIR "/tests/data/qwen4exp/"
#define MICRO DATA "micro.f32.gguf"
#define MIXED DATA "hq.ud.gguf"
#define TEXT "The fox went home, and the \"others\" laughed.\n"

enum { VOCABULARY = 304, CHUNK = 16, NPY_HEADER = 128 };

static struct temporary folder;
static const char *text_path;

static void write_file(const char *path, const void *bytes, size_t size) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static int make_folder(void **state) {
    static char path[300];
    (void)state;
    folder = temporary_make();
    snprintf(path, sizeof path, "%s", temporary_file(&folder, "text"));
    write_file(path, TEXT, strlen(TEXT));
    text_path = path;
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    temporary_remove(&folder);
    return 0;
}

/* ---- the figures, from files of logits ---- */

struct tokens {
    int32_t at[sizeof TEXT];
    size_t count;
};

static struct tokens tokens_of_text(void) {
    struct tokens tokens = {0};
    struct command_result r = varve_reads(TEXT, "tokenize", "-m", MIXED);
    assert_int_equal(r.code, 0);
    char *end, *at = r.out;
    for (long id = strtol(at, &end, 10); end != at; id = strtol(at, &end, 10)) {
        tokens.at[tokens.count++] = (int32_t)id;
        at = end;
    }
    command_free(&r);
    return tokens;
}

/* Logits [count][VOCABULARY] of a sequence; free them. */
static float *logits_of(const int32_t *ids, size_t count, const char *activations) {
    char list[400] = "", path[300];
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        used += (size_t)snprintf(list + used, sizeof list - used, "%d ", ids[i]);
    }
    snprintf(path, sizeof path, "%s", temporary_file(&folder, "logits.npy"));
    struct command_result r =
        varve("logits", "-m", MIXED, "--tokens", list, "--activations", activations, "--out", path);
    assert_int_equal(r.code, 0);
    command_free(&r);
    float *logits = malloc(count * VOCABULARY * sizeof *logits);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, NPY_HEADER, SEEK_SET), 0);
    assert_int_equal(fread(logits, VOCABULARY * sizeof *logits, count, file), count);
    assert_int_equal(fgetc(file), EOF);
    fclose(file);
    return logits;
}

/* Probabilities of one row, straight from the definition in extended precision. */
static void probabilities(const float *logits, long double *p) {
    long double sum = 0;
    for (size_t i = 0; i < VOCABULARY; i++) {
        sum += p[i] = expl((long double)logits[i]);
    }
    for (size_t i = 0; i < VOCABULARY; i++) {
        p[i] /= sum;
    }
}

struct figures {
    size_t scored, chunks, same;
    long double loss, squares, kl; /* sums over the scored tokens */
};

static size_t top(const long double *p) {
    size_t best = 0;
    for (size_t i = 1; i < VOCABULARY; i++) {
        best = p[i] > p[best] ? i : best;
    }
    return best;
}

/* Scores ids[1 … count) of a chunk; ours with float activations, the other's as usual. */
static void add_chunk(struct figures *f, const int32_t *ids, size_t count) {
    float *ours = logits_of(ids, count, "f32"), *other = logits_of(ids, count, "int8");
    for (size_t row = 0; row + 1 < count; row++) {
        long double q[VOCABULARY], p[VOCABULARY];
        probabilities(ours + row * VOCABULARY, q);
        probabilities(other + row * VOCABULARY, p);
        long double loss = -logl(q[ids[row + 1]]);
        f->loss += loss;
        f->squares += loss * loss;
        for (size_t i = 0; i < VOCABULARY; i++) {
            f->kl += p[i] * logl(p[i] / q[i]);
        }
        f->same += top(p) == top(q);
        f->scored++;
    }
    f->chunks++;
    free(ours);
    free(other);
}

static struct figures compute(const struct tokens *tokens) {
    struct figures f = {0};
    for (size_t at = 0; at + 1 < tokens->count; at += CHUNK) {
        size_t rest = tokens->count - at;
        add_chunk(&f, tokens->at + at, rest < CHUNK ? rest : CHUNK);
    }
    return f;
}

/* ---- the command ---- */

static json_t *parse(struct command_result r) {
    if (r.code != 0 || r.err[0]) {
        fail_msg("exit code %d: %s", r.code, r.err);
    }
    json_t *object = json_loads(r.out, 0, NULL);
    assert_non_null(object);
    command_free(&r);
    return object;
}

static double number(const json_t *object, const char *name) {
    json_t *value = json_object_get(object, name);
    if (!json_is_number(value)) {
        fail_msg("%s is missing", name);
    }
    return json_number_value(value);
}

static void near(const json_t *object, const char *name, long double expected) {
    double seen = number(object, name);
    if (!(fabsl(seen - expected) <= 1e-6L * (1 + fabsl(expected)))) {
        fail_msg("%s is %.12g, and should be %.12Lg", name, seen, expected);
    }
}

static void figures_are_those_of_the_logits(void **state) {
    (void)state;
    struct tokens tokens = tokens_of_text();
    struct figures f = compute(&tokens);
    long double n = (long double)f.scored, loss = f.loss / n;
    long double error = sqrtl((f.squares - n * loss * loss) / (n - 1) / n);
    assert_true(f.chunks >= 3 && tokens.count % CHUNK > 1); /* the last chunk is a short one */
    static const char *const windows[] = {"5", "all"};
    for (size_t i = 0; i < 2; i++) {
        json_t *object =
            parse(varve("perplexity", "-m", MIXED, "-f", text_path, "--ctx-size", "16", "--window",
                        windows[i], "--activations", "f32", "--kl", MIXED, "--json"));
        near(object, "tokens", (long double)tokens.count);
        near(object, "scored", n);
        near(object, "chunks", (long double)f.chunks);
        near(object, "ctx_size", CHUNK);
        near(object, "loss", loss);
        near(object, "loss_error", error);
        near(object, "perplexity", expl(loss));
        near(object, "perplexity_error", expl(loss) * error);
        near(object, "kl", f.kl / n);
        near(object, "top1", (long double)f.same / n);
        assert_true(number(object, "kl") > 1e-6); /* the settings do differ */
        json_decref(object);
    }
}

/* The tokens of sequence s0 of the golden file. */
#define GOLDEN_TEXT                                                                                \
    "\x11"                                                                                         \
    "ata#Z `\x11"
enum { GOLDEN_TOKENS = 7 };

/* The loss by the logits that another implementation computed in double precision. */
static long double golden_loss(void) {
    struct golden g = {0};
    long double loss = 0, p[VOCABULARY];
    golden_open(&g, DATA "hq.ud.golden.gguf");
    const int32_t *ids = golden_tensor(&g, "s0.tokens", VV_TYPE_I32, GOLDEN_TOKENS);
    const float *logits =
        golden_tensor(&g, "s0.logits", VV_TYPE_F32, (size_t)GOLDEN_TOKENS * VOCABULARY);
    assert_true(ids && logits);
    for (size_t row = 0; row + 1 < GOLDEN_TOKENS; row++) {
        probabilities(logits + row * VOCABULARY, p);
        loss -= logl(p[ids[row + 1]]) / (GOLDEN_TOKENS - 1);
    }
    golden_close(&g);
    return loss;
}

/* Exact where weights are decoded, and within noise as models usually run. */
static void c024_as_another_implementation(void **state) {
    (void)state;
    static const struct {
        const char *activations;
        long double off;
    } runs[] = {{"f32", 1e-5L}, {"int8", 0.03L}};
    long double loss = golden_loss();
    for (size_t i = 0; i < 2; i++) {
        json_t *object = parse(varve_reads(GOLDEN_TEXT, "perplexity", "-m", MIXED, "-f", "-",
                                           "--activations", runs[i].activations, "--json"));
        assert_true(number(object, "tokens") == GOLDEN_TOKENS);
        if (!(fabsl(number(object, "loss") - loss) <= runs[i].off * loss)) {
            fail_msg("%s: a loss of %g, the other's is %Lg", runs[i].activations,
                     number(object, "loss"), loss);
        }
        json_decref(object);
    }
}

/* What keys and values of half the size cost is a figure that anyone can have. */
static void c025_halved_keys_and_values(void **state) {
    (void)state;
    json_t *object = parse(
        varve("perplexity", "-m", MIXED, "-f", text_path, "--kv", "f16", "--kl", MIXED, "--json"));
    assert_true(number(object, "kl") > 0 && number(object, "kl") < 0.01);
    assert_true(number(object, "top1") > 0.8);
    json_decref(object);
}

static void a_file_is_no_distance_from_itself(void **state) {
    (void)state;
    json_t *object =
        parse(varve("perplexity", "-m", MICRO, "-f", text_path, "--kl", MICRO, "--json"));
    assert_true(number(object, "kl") == 0);
    assert_true(number(object, "top1") == 1);
    assert_true(number(object, "chunks") == 1);
    json_decref(object);
    object = parse(varve("perplexity", "-m", MICRO, "-f", text_path, "--json"));
    assert_null(json_object_get(object, "kl"));
    json_decref(object);
}

static void a_person_reads_the_same(void **state) {
    (void)state;
    struct command_result r =
        varve_reads(TEXT, "perplexity", "-m", MICRO, "-f", "-", "--kl", MICRO, "-t", "1");
    assert_int_equal(r.code, 0);
    assert_string_equal(r.err, "");
    assert_non_null(strstr(r.out, "perplexity  "));
    assert_non_null(strstr(r.out, "KL          0.000000 ± 0.000000 nats a token"));
    assert_non_null(strstr(r.out, "same top-1  100.000 %"));
    command_free(&r);
}

/* Two tokens of the vocabulary change places: same size, another meaning. */
static const char *swapped_vocabulary(void) {
    static const char pair[] = "\1\0\0\0\0\0\0\0!\1\0\0\0\0\0\0\0\"";
    static char bytes[4 << 20];
    FILE *file = fopen(MICRO, "rb");
    assert_non_null(file);
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    char *at = memmem(bytes, size, pair, sizeof pair - 1);
    assert_non_null(at);
    at[8] = '"';
    at[17] = '!';
    const char *path = temporary_file(&folder, "swapped.gguf");
    write_file(path, bytes, size);
    return path;
}

static void what_can_not_be_is_refused(void **state) {
    (void)state;
    const char *one = temporary_file(&folder, "one");
    write_file(one, "a", 1);
    command_refuses(varve("perplexity", "-m", MICRO), 2, WORDS("-f FILE"));
    command_refuses(varve("perplexity", "-f", text_path), 2, WORDS("-m FILE"));
    command_refuses(varve("perplexity", "-m", MICRO, "-f", one), 1, WORDS("1 token", "more text"));
    command_refuses(varve("perplexity", "-m", MICRO, "-f", text_path, "-c", "1"), 2,
                    WORDS("--ctx-size", "2 at least"));
    command_refuses(varve("perplexity", "-m", MICRO, "-f", text_path, "--kl", MIXED), 1,
                    WORDS("304 tokens", "320", "one vocabulary"));
    command_refuses(varve("perplexity", "-m", MICRO, "-f", text_path, "--kl", swapped_vocabulary()),
                    1, WORDS("token 0", "\"\"\"", "\"!\"", "one vocabulary"));
    command_refuses(varve("perplexity", "-m", MICRO, "-f", text_path, "--kl", "missing.gguf"), 1,
                    WORDS("missing.gguf"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_are_those_of_the_logits),
        cmocka_unit_test(c024_as_another_implementation),
        cmocka_unit_test(c025_halved_keys_and_values),
        cmocka_unit_test(a_file_is_no_distance_from_itself),
        cmocka_unit_test(a_person_reads_the_same),
        cmocka_unit_test(what_can_not_be_is_refused),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

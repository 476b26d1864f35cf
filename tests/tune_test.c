/* Tunings: what they choose, that they change no bit, and that those that don't fit are let be. */
#include "gguf/types.h"
#include "registry/tuning.h"
#include "session/session.h"
#include "support/opened.h"

#include <stdlib.h>
#include <string.h>

#define MODEL VARVE_SOURCE_DIR "/tests/data/qwen4exp/hq.ud.gguf"

/* ---- an operation of the test's own ---- */

static size_t one(const void *args) {
    (void)args;
    return 1;
}

static size_t nothing(const void *args, struct vv_buffer *out) {
    (void)args;
    (void)out;
    return 0;
}

static struct vv_weight matrix = {"m", VV_TYPE_Q8_0, 64, 5, 1, 68, (const uint8_t *)"", NULL, NULL};
static struct vv_weight experts = {"e", VV_TYPE_F32,         32,   3,   7,
                                   128, (const uint8_t *)"", NULL, NULL};

static size_t weights(const void *args, struct vv_weight **out) {
    (void)args;
    if (out) {
        out[0] = &matrix;
        out[1] = &experts;
    }
    return 2;
}

static int run(const void *args, size_t begin, size_t end) {
    (void)args;
    (void)begin;
    (void)end;
    return VV_OK;
}

static bool never(const void *args) {
    (void)args;
    return false;
}

static const struct vv_layout other_order = {"other", NULL, NULL};
static const struct vv_variant variants[] = {
    {"op/reference", VV_CPU_ANY, true, NULL, NULL, run},
    {"op/plain", VV_CPU_ANY, true, NULL, NULL, run},
    {"op/rare", VV_CPU_AVX2, true, NULL, NULL, run},
    {"op/fast", VV_CPU_ANY, false, NULL, NULL, run},
    {"op/narrow", VV_CPU_ANY, true, never, NULL, run},
    {"op/packed", VV_CPU_ANY, true, NULL, &other_order, run},
    {"op/rule", VV_CPU_ANY, true, NULL, NULL, run},
    {0},
};
static const struct vv_operation operation = {.name = "op",
                                              .args_bytes = 1,
                                              .units = one,
                                              .buffers = nothing,
                                              .weights = weights,
                                              .variants = variants};
static const struct vv_variant *const rule = &variants[6];
#define SHAPE "Q8_0 64x5 + F32 32x3x7"

static const char *chosen(const char *name, const char *shape, uint32_t rows, size_t row_class,
                          uint32_t features) {
    const struct vv_tuning_choice choice = {"op", shape, name, rows};
    const struct vv_tuning tuning = {&choice, 1};
    char args = 0;
    return vv_tuned_variant(&tuning, &operation, &args, rule, features, row_class)->name;
}

static void c192_a_choice_counts_for_its_rows_alone(void **state) {
    (void)state;
    static const struct {
        size_t rows, row_class;
    } classes[] = {{1, 0}, {2, 1},  {3, 2},  {4, 2},   {5, 3},     {8, 3},
                   {9, 4}, {32, 4}, {33, 5}, {256, 5}, {100000, 5}};
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        assert_int_equal(vv_row_class(classes[i].rows), classes[i].row_class);
    }
    for (size_t c = 0; c < VV_ROW_CLASSES; c++) {
        assert_int_equal(vv_row_class(vv_row_class_rows(c)), c);
        for (size_t k = 0; k < VV_ROW_CLASSES; k++) {
            assert_string_equal(chosen("op/plain", SHAPE, vv_row_class_rows(k), c, 0),
                                c == k ? "op/plain" : "op/rule");
        }
    }
}

static void a_choice_that_does_not_fit_is_let_be(void **state) {
    (void)state;
    char args = 0, shape[VV_SHAPE_TEXT];
    vv_shape_text(&operation, &args, shape);
    assert_string_equal(shape, SHAPE);
    assert_string_equal(chosen("op/plain", "Q8_0 64x5", 1, 0, 0), "op/rule");
    assert_string_equal(chosen("op/none", SHAPE, 1, 0, 0), "op/rule");
    assert_string_equal(chosen("op/rare", SHAPE, 1, 0, 0), "op/rule"); /* not on this machine */
    assert_string_equal(chosen("op/rare", SHAPE, 1, 0, VV_CPU_AVX2), "op/rare");
    assert_string_equal(chosen("op/fast", SHAPE, 1, 0, 0), "op/rule");   /* not exact */
    assert_string_equal(chosen("op/narrow", SHAPE, 1, 0, 0), "op/rule"); /* not this shape */
    assert_string_equal(chosen("op/packed", SHAPE, 1, 0, 0), "op/rule"); /* another order */
    assert_string_equal(vv_tuned_variant(NULL, &operation, &args, rule, 0, 0)->name, "op/rule");
}

/* ---- a session ---- */

enum { ROWS = 11, LARGEST = 6 };

struct bare {
    struct vv_gguf *file;
    const struct vv_family *family;
    void *geometry;
    struct vv_session *session;
    struct vv_model_facts facts;
};

static struct bare bare_open(const struct vv_tuning *tuning) {
    struct bare b = {0};
    struct vv_error error;
    const struct vv_session_options options = {.slots = 1,
                                               .context = 40,
                                               .window = LARGEST,
                                               .outputs = LARGEST,
                                               .threads = 2,
                                               .features = UINT32_MAX,
                                               .kv_type = VV_TYPE_F32,
                                               .tuning = tuning};
    const struct vv_gguf_options map = {0};
    assert_int_equal(vv_gguf_open(MODEL, &map, &b.file, &error), 0);
    b.family = vv_family_of(b.file, &error);
    assert_int_equal(b.family->open(b.file, &b.geometry, &error), 0);
    b.family->facts(b.geometry, &b.facts);
    assert_int_equal(vv_session_new(b.file, b.family, b.geometry, &options, &b.session, &error), 0);
    return b;
}

static void bare_close(struct bare *b) {
    vv_session_free(b->session);
    b->family->close(b->geometry);
    vv_gguf_close(b->file);
}

/* How many steps of the trunk the reference ran last. */
static size_t references(const struct bare *b) {
    const struct vv_program *p = vv_session_program(b->session, 0);
    size_t count = 0;
    for (size_t i = 0; i < vv_program_steps(p); i++) {
        struct vv_program_step step;
        vv_program_step(p, i, &step);
        count += strstr(step.variant, "/reference") != NULL;
    }
    return count;
}

/* Windows of 1, 4 and 6 rows; logits of all, and how many references each ran. */
static void read_rows(struct bare *b, float *logits, size_t *seen /* [3] */) {
    static const size_t windows[] = {1, 4, 6};
    size_t at = 0;
    for (size_t w = 0; w < 3; w++) {
        struct vv_row rows[LARGEST];
        struct vv_error error;
        for (size_t i = 0; i < windows[w]; i++) {
            rows[i] = (struct vv_row){0, (int32_t)(7 * (at + i) + 3), true};
        }
        assert_int_equal(vv_session_run(b->session, rows, windows[w], VV_ADVANCE, &error), 0);
        memcpy(logits + at * b->facts.vocabulary, vv_session_logits(b->session, 0),
               windows[w] * b->facts.vocabulary * sizeof *logits);
        seen[w] = references(b);
        at += windows[w];
    }
}

/* The slowest variant of all there is, for windows of 3 and 4 rows. */
static size_t choose_references(const struct bare *b, struct vv_tuning_choice *choices,
                                char (*shapes)[VV_SHAPE_TEXT]) {
    const struct vv_program *p = vv_session_program(b->session, 0);
    size_t steps = vv_program_steps(p);
    for (size_t i = 0; i < steps; i++) {
        struct vv_program_call call;
        vv_program_call(p, i, &call);
        vv_shape_text(call.operation, call.args, shapes[i]);
        choices[i] = (struct vv_tuning_choice){call.operation->name, shapes[i],
                                               call.operation->variants->name, 4};
    }
    return steps;
}

static void c192_a_tuned_session_computes_the_same(void **state) {
    (void)state;
    enum { STEPS_MOST = 1000 };
    static char shapes[STEPS_MOST][VV_SHAPE_TEXT];
    static struct vv_tuning_choice choices[STEPS_MOST];
    size_t plain_seen[3], tuned_seen[3];
    struct bare plain = bare_open(NULL);
    size_t n = ROWS * plain.facts.vocabulary;
    float *want = malloc(n * sizeof *want), *got = malloc(n * sizeof *got);
    read_rows(&plain, want, plain_seen);
    assert_true(vv_program_steps(vv_session_program(plain.session, 0)) < STEPS_MOST);
    struct vv_tuning tuning = {choices, choose_references(&plain, choices, shapes)};
    struct bare tuned = bare_open(&tuning);
    read_rows(&tuned, got, tuned_seen);
    assert_memory_equal(want, got, n * sizeof *want);
    assert_int_equal(tuned_seen[0], plain_seen[0]);
    assert_int_equal(tuned_seen[2], plain_seen[2]);
    assert_true(tuned_seen[1] > plain_seen[1] + tuning.count / 2); /* they really ran */
    bare_close(&tuned);
    bare_close(&plain);
    free(want);
    free(got);
}

/* ---- finding one ---- */

struct heard {
    size_t lines, kept, steps;
    uint64_t end_at;
};

static void on_line(void *context, const struct varve_tune_line *line) {
    struct heard *h = context;
    assert_true(line->us > 0 && line->rule_us > 0 && line->p > 0 && line->p <= 1);
    assert_true(strncmp(line->variant, line->operation, strlen(line->operation)) == 0);
    if (line->kept) {
        assert_string_not_equal(line->variant, line->rule);
        assert_true(line->p <= 0.05 && line->us < line->rule_us);
        h->kept++;
    }
    h->lines++;
}

static bool on_progress(void *context, const char *what, uint64_t done, uint64_t total) {
    struct heard *h = context;
    (void)what;
    assert_true(done < total);
    return ++h->steps != h->end_at;
}

static int tune(struct heard *heard, uint32_t rounds, struct varve_error *error) {
    struct opened o = open_model("qwen4exp/hq.ud.gguf");
    const struct varve_session_options session = {.threads = 2};
    const struct varve_tune_options options = {.session = &session,
                                               .rounds = rounds,
                                               .seed = 1,
                                               .progress = on_progress,
                                               .line = on_line,
                                               .context = heard};
    struct varve_tune_threads threads = {.threads = 99};
    int code = varve_tune(o.model, &options, &threads, error);
    assert_int_equal(threads.threads, code == VARVE_OK ? 0 : 99); /* given, so none are tried */
    close_model(&o);
    return code;
}

static void c194_what_is_kept_won_twice(void **state) {
    (void)state;
    struct heard heard = {0};
    struct varve_error error;
    assert_int_equal(tune(&heard, 2, &error), VARVE_OK);
    assert_true(heard.lines > 0 && heard.kept < heard.lines && heard.steps >= heard.lines);
    heard = (struct heard){.end_at = 3};
    assert_int_equal(tune(&heard, 2, &error), VARVE_ERROR_CANCELLED);
    heard = (struct heard){0};
    assert_int_equal(tune(&heard, 0, &error), VARVE_ERROR_INVALID);
    assert_int_equal(heard.lines, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(c192_a_choice_counts_for_its_rows_alone),
        cmocka_unit_test(a_choice_that_does_not_fit_is_let_be),
        cmocka_unit_test(c192_a_tuned_session_computes_the_same),
        cmocka_unit_test(c194_what_is_kept_won_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Results against references and against themselves: cases C046, C047, C049, C053 and C054 of
 * docs/cases.md.
 */
#include "registry/check_internal.h"
#include "registry/operation.h"
#include "support/edited.h"
#include "support/folder.h"
#include "support/golden.h"
#include "support/opened.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DATA VARVE_SOURCE_DIR "/tests/data/qwen4exp/"

/* ---- golden containers ---- */

enum { GOLDEN_TOKENS_MAX = 512 };

struct example {
    struct golden golden;
    int32_t tokens[GOLDEN_TOKENS_MAX];
    size_t count;
};

/* Sequence `number` of a container. */
static struct example open_example(const char *path, int number) {
    struct example x = {0};
    char name[32];
    golden_open(&x.golden, path);
    assert_non_null(x.golden.file);
    snprintf(name, sizeof name, "s%d.tokens", number);
    const struct vv_gguf_tensor *t = vv_gguf_find_tensor(x.golden.file, name);
    assert_true(t && t->elements <= GOLDEN_TOKENS_MAX);
    x.count = (size_t)t->elements;
    memcpy(x.tokens, vv_gguf_tensor_data(x.golden.file, t), x.count * sizeof *x.tokens);
    return x;
}

/* A session that has read the example and kept its inner tensors. */
static struct varve_session *read_example(const struct opened *o, const struct example *x,
                                          const struct varve_session_options *how) {
    struct varve_session_options options = *how;
    options.context = options.window = GOLDEN_TOKENS_MAX;
    options.observe = true;
    struct varve_session *s = open_session(o, &options);
    advance(s, o, 0, x->tokens, x->count, NULL);
    return s;
}

static struct varve_observed observed(struct varve_session *s, const char *name) {
    struct varve_observed o;
    struct varve_error error = {0};
    assert_int_equal(varve_session_observed(s, name, &o, &error), VARVE_OK);
    return o;
}

/* ---- C046 ---- */

/* Numbers of table rows on every path: instruction sets, threads, the mock device. */
static void c046_rows_of_the_ngram_table(void **state) {
    (void)state;
    static const char *const models[][2] = {{"micro.f32.gguf", "micro.golden.gguf"},
                                            {"odd.f32.gguf", "odd.golden.gguf"},
                                            {"hq.ud.gguf", "hq.ud.golden.gguf"}};
    static const struct varve_session_options ways[] = {
        {.threads = 1},
        {.threads = 2, .numa = VARVE_NUMA_SPREAD},
        {.threads = 1, .numa = VARVE_NUMA_NODE},
        {.threads = 1, .isa = "portable"},
        {.threads = 2, .device = VARVE_DEVICE_MOCK}};
    for (size_t m = 0; m < 3; m++) {
        char model[400], golden[400];
        snprintf(model, sizeof model, "%s%s", DATA, models[m][0]);
        snprintf(golden, sizeof golden, "%s%s", DATA, models[m][1]);
        struct opened o = open_path(model, false);
        struct example x = open_example(golden, 1);
        const struct vv_gguf_tensor *t = vv_gguf_find_tensor(x.golden.file, "s1.ngram_rows");
        assert_non_null(t);
        for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
            struct varve_session *s = read_example(&o, &x, &ways[w]);
            struct varve_observed rows = observed(s, "ngram_rows");
            assert_int_equal(rows.rows * rows.width, t->elements);
            assert_memory_equal(rows.i32, vv_gguf_tensor_data(x.golden.file, t), t->bytes);
            varve_session_close(s);
        }
        golden_close(&x.golden);
        close_model(&o);
    }
}

/* ---- C047 ---- */

/* The largest difference of layer 0's gated delta net from the reference, as a share of its
 * largest value. */
static double distance_of_layer_0(const char *model) {
    struct opened o = open_path(model, false);
    struct example x = open_example(DATA "micro.golden.gguf", 2);
    struct varve_session *s = read_example(&o, &x, &(struct varve_session_options){.threads = 1});
    struct varve_observed y = observed(s, "gdn.0");
    const struct vv_gguf_tensor *t = vv_gguf_find_tensor(x.golden.file, "s2.gdn.0");
    const struct vv_gguf_tensor *r = vv_gguf_find_tensor(x.golden.file, "s2.inner_rows");
    assert_true(t && r && t->ne[0] == y.width && t->ne[1] == r->elements);
    const float *want = vv_gguf_tensor_data(x.golden.file, t);
    const int32_t *row = vv_gguf_tensor_data(x.golden.file, r);
    double far = 0, most = 0;
    for (size_t i = 0; i < t->elements; i++) {
        double w = (double)want[i];
        far = fmax(far, fabs((double)y.f32[(size_t)row[i / y.width] * y.width + i % y.width] - w));
        most = fmax(most, fabs(w));
    }
    varve_session_close(s);
    golden_close(&x.golden);
    close_model(&o);
    return far / most;
}

/* Exchanges two stretches of `bytes` bytes. */
static void exchange(unsigned char *a, unsigned char *b, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) {
        unsigned char kept = a[i];
        a[i] = b[i];
        b[i] = kept;
    }
}

/* `micro` has 4 value heads of 16 on 2 key heads: in a checkpoint's order, heads 1 and 2 stand the
 * other way round. Rows (or columns, if `columns`) from `first` on are grouped `group` to a head.
 */
static void reorder(struct edited *e, const char *name, size_t first, size_t group, bool columns) {
    struct edited_tensor *t = edited_tensor(e, name);
    size_t row = t->ne[0] * sizeof(float);
    if (t->dimensions == 1) {
        exchange(t->data + 1 * sizeof(float), t->data + 2 * sizeof(float), sizeof(float));
    } else if (columns) {
        size_t head = group * sizeof(float);
        for (size_t r = 0; r < t->ne[1]; r++) {
            exchange(t->data + r * row + head, t->data + r * row + 2 * head, head);
        }
    } else {
        exchange(t->data + (first + group) * row, t->data + (first + 2 * group) * row, group * row);
    }
}

/* Value head j reads key head j mod 2. A file whose value heads stand in a checkpoint's order, for
 * which j div 2 would be right, must not pass for the same: the comparison tells the maps apart. */
static void c047_value_heads_and_their_key_heads(void **state) {
    (void)state;
    enum { HEAD = 16, KEYS = 2 * 2 * HEAD };
    assert_true(distance_of_layer_0(DATA "micro.f32.gguf") < 1e-5);
    struct edited *e = edited_open("qwen4exp/micro.f32.gguf");
    reorder(e, "blk.0.attn_qkv.weight", KEYS, HEAD, false);
    reorder(e, "blk.0.ssm_conv1d.weight", KEYS, HEAD, false);
    reorder(e, "blk.0.attn_gate.weight", 0, HEAD, false);
    reorder(e, "blk.0.ssm_alpha.weight", 0, 1, false);
    reorder(e, "blk.0.ssm_beta.weight", 0, 1, false);
    reorder(e, "blk.0.ssm_a", 0, 1, false);
    reorder(e, "blk.0.ssm_dt.bias", 0, 1, false);
    reorder(e, "blk.0.ssm_out.weight", 0, HEAD, true);
    edited_write(e, temporary_file(&folder, "heads.gguf"));
    edited_close(e);
    assert_true(distance_of_layer_0(temporary_file(&folder, "heads.gguf")) > 1e-2);
}

/* ---- C049 ---- */

/* Where blocks of 3 and 4 keys, tiles of rows, chunks of 64 keys and the budgets of 48 and 64
 * tokens begin and end. */
static const size_t sizes[] = {1,  2,  3,  4,  5,  6,  7,   8,   9,   15,  16,  17, 31,
                               32, 33, 47, 48, 49, 50, 51,  63,  64,  65,  66,  67, 68,
                               69, 71, 72, 95, 96, 97, 127, 128, 129, 191, 192, 193};
enum { LONGEST = 193 };

/* Contexts of each size, filled in one window, against tokens one by one. */
static void c049_every_border_equals_one_by_one(void **state) {
    (void)state;
    static const char *const models[] = {"qwen4exp/micro.f32.gguf", "qwen4exp/odd.f32.gguf",
                                         "qwen4exp/hq.ud.gguf", "deepseek4/tiny.gguf"};
    for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
        struct opened o = open_model(models[m]);
        size_t v = o.info.vocabulary;
        int32_t tokens[LONGEST];
        random_tokens(&o, 49, tokens, LONGEST);
        struct varve_session_options one = {.context = 256, .window = 1, .logits = 1, .threads = 1};
        float *want = logits_of(&o, &one, tokens, LONGEST);
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            size_t n = sizes[i];
            struct varve_session_options all = {
                .context = (uint32_t)n, .window = (uint32_t)n, .logits = 1, .threads = 1};
            struct varve_session *s = open_session(&o, &all);
            struct varve_row rows[LONGEST];
            struct varve_error error = {0};
            for (size_t r = 0; r < n; r++) {
                rows[r] = (struct varve_row){0, tokens[r], r + 1 == n};
            }
            assert_int_equal(varve_session_evaluate(s, rows, n, VARVE_ADVANCE, NULL, NULL, &error),
                             VARVE_OK);
            if (memcmp(varve_session_logits(s, 0), want + (n - 1) * v, v * sizeof *want) != 0) {
                fail_msg("%s: a context of %zu tokens differs", models[m], n);
            }
            assert_int_equal(varve_session_evaluate(s, rows, 1, VARVE_ADVANCE, NULL, NULL, &error),
                             VARVE_ERROR_INVALID); /* it is full */
            varve_session_close(s);
        }
        free(want);
        close_model(&o);
    }
}

/* ---- C053 ---- */

/* One prefix read in pieces of all kinds, then the same text: the same state (of the draft block
 * too) and logits. */
static void c053_a_prefix_in_other_pieces(void **state) {
    (void)state;
    enum { PREFIX = 67, REST = 9 };
    static const size_t pieces[][5] = {{PREFIX},          {64, 3}, {3, 64}, {1, 1, 60, 5},
                                       {5, 13, 2, 40, 7}, {66, 1}, {33, 34}};
    static const char *const models[] = {"qwen4exp/micro.f32.gguf", "qwen4exp/odd.f32.gguf",
                                         "qwen4exp/hq.ud.gguf", "deepseek4/tiny.gguf"};
    for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
        struct opened o = open_model(models[m]);
        struct varve_session_options options = {.context = 128,
                                                .window = 80,
                                                .logits = REST,
                                                .threads = 1,
                                                .mtp = o.info.mtp_layers > 0};
        struct varve_session *s = open_session(&o, &options);
        int32_t tokens[PREFIX + REST];
        size_t bytes = REST * o.info.vocabulary * sizeof(float), size, other_size;
        float *want = malloc(bytes), *got = malloc(bytes);
        random_tokens(&o, 53, tokens, PREFIX + REST);
        void *kept = NULL;
        for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
            varve_session_clear(s, 0);
            for (size_t k = 0, at = 0; k < 5 && pieces[i][k] > 0; at += pieces[i][k++]) {
                advance(s, &o, 0, tokens + at, pieces[i][k], NULL);
            }
            assert_int_equal(varve_session_length(s, 0), PREFIX);
            void *now = state_of(s, 0, &other_size);
            advance(s, &o, 0, tokens + PREFIX, REST, i == 0 ? want : got);
            if (i == 0) {
                kept = now;
                size = other_size;
            } else {
                assert_int_equal(size, other_size);
                assert_memory_equal(kept, now, size);
                assert_memory_equal(want, got, bytes);
                free(now);
            }
        }
        free(kept);
        free(want);
        free(got);
        varve_session_close(s);
        close_model(&o);
    }
}

/* ---- C054 ---- */

static char said[400];

static void keep_line(void *context, const char *line) {
    (void)context;
    snprintf(said, sizeof said, "%s", line);
}

static bool tells_apart(const float *right, const float *wrong, size_t n, double least) {
    struct vv_check check = {.folder = "example", .seed = 1, .report = keep_line};
    said[0] = 0;
    vv_check_misreading(&check, "mean for sum", right, wrong, n, least);
    assert_int_equal(check.passed + check.failed, 1);
    assert_int_equal(check.failed == 1, said[0] != 0);
    return check.passed == 1;
}

/* A check that can't tell a misreading from the formula fails, and names it. */
static void c054_a_blind_check_fails(void **state) {
    (void)state;
    const float right[] = {1, -2, 4, 0}, wrong[] = {1, -2, 4, 0.125f}, nan[] = {1, NAN, 4, 0};
    const float zeros[4] = {0};
    assert_true(tells_apart(right, wrong, 4, 0));
    assert_false(tells_apart(right, right, 4, 0));
    assert_non_null(strstr(said, "mean for sum"));
    assert_non_null(strstr(said, "example"));
    assert_false(tells_apart(right, wrong, 3, 0));    /* where it differs isn't looked at */
    assert_false(tells_apart(right, wrong, 4, 0.05)); /* by less than counts */
    assert_true(tells_apart(right, wrong, 4, 0.03));
    assert_true(tells_apart(right, nan, 4, 0.05));
    assert_false(tells_apart(zeros, zeros, 4, 0));
}

/* Every operation's check has misreadings to tell apart, or does nothing but move values. */
static void c054_every_check_has_misreadings(void **state) {
    (void)state;
    static const char *const movers[] = {"gather_rows", "mtp_join"};
    for (size_t i = 0; vv_operation_folders[i]; i++) {
        const char *name = vv_operation_folders[i]->name;
        char line[700];
        bool moves = false;
        for (size_t k = 0; k < sizeof movers / sizeof *movers; k++) {
            moves = moves || strcmp(name, movers[k]) == 0;
        }
        snprintf(line, sizeof line, "grep -q misreading %s/src/op/%s/check*.c", VARVE_SOURCE_DIR,
                 name);
        if (!moves && system(line) != 0) {
            fail_msg("the check of %s has no misreading", name);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(c046_rows_of_the_ngram_table),
        cmocka_unit_test(c047_value_heads_and_their_key_heads),
        cmocka_unit_test(c049_every_border_equals_one_by_one),
        cmocka_unit_test(c053_a_prefix_in_other_pieces),
        cmocka_unit_test(c054_a_blind_check_fails),
        cmocka_unit_test(c054_every_check_has_misreadings),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

/* Files whose tensors get other types: which, what is kept, what is refused, what is left behind.
 */
#include "base/file.h"
#include "gguf/writer.h"
#include "quant/format.h"
#include "support/folder.h"
#include "support/opened.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define DATA "tests/data/qwen4exp/"
#define MICRO DATA "micro.f32.gguf" /* hidden size 64 */
#define HQ DATA "hq.ud.gguf"        /* hidden size 256, quantised */

/* ---- quantising, and looking at what comes of it ---- */

static struct varve_error error;

static int try_quantize(const char *in, const char *out,
                        const struct varve_quantize_options *options) {
    struct varve_file *file;
    assert_int_equal(varve_file_open(in, false, &file, &error), VARVE_OK);
    int code = varve_quantize(file, out, options, &error);
    varve_file_close(file);
    return code;
}

static struct vv_gguf *open_gguf(const char *path) {
    struct vv_gguf *g;
    struct vv_error e;
    if (vv_gguf_open(path, NULL, &g, &e) != VV_OK) {
        fail_msg("%s", e.message);
    }
    return g;
}

/* The result under `name`, opened. */
static struct vv_gguf *quantize(const char *in, const char *name, const char *type,
                                const char *rules) {
    const char *out = temporary_file(&folder, name);
    const struct varve_quantize_options options = {.type = type, .rules = rules, .threads = 2};
    if (try_quantize(in, out, &options) != VARVE_OK) {
        fail_msg("%s", error.message);
    }
    return open_gguf(out);
}

static void refused(const char *in, const struct varve_quantize_options *options,
                    const char *word) {
    const char *out = temporary_file(&folder, "refused.gguf");
    assert_int_equal(try_quantize(in, out, options), VARVE_ERROR_INVALID);
    if (!strstr(error.message, word)) {
        fail_msg("no \"%s\" in: %s", word, error.message);
    }
    assert_int_not_equal(access(out, F_OK), 0);
    assert_int_not_equal(access(temporary_file(&folder, "refused.gguf.partial"), F_OK), 0);
}

static const struct vv_gguf_tensor *tensor_of(const struct vv_gguf *g, const char *name) {
    const struct vv_gguf_tensor *t = vv_gguf_find_tensor(g, name);
    if (!t) {
        fail_msg("no tensor %s", name);
    }
    return t;
}

static void has_type(const struct vv_gguf *g, const char *name, int type) {
    const struct vv_gguf_tensor *t = tensor_of(g, name);
    if (t->type != type) {
        fail_msg("%s is %s", name, vv_type_name(t->type));
    }
}

static uint32_t number_of(const struct vv_gguf *g, const char *key) {
    uint32_t value;
    struct vv_error e;
    assert_int_equal(vv_gguf_get_u32(g, key, &value, &e), VV_OK);
    return value;
}

static float *values_of(const struct vv_gguf *g, const struct vv_gguf_tensor *t) {
    float *x = malloc((size_t)t->elements * sizeof *x);
    assert_non_null(x);
    vv_format(t->type)->decode(vv_gguf_tensor_data(g, t), x, (size_t)t->elements);
    return x;
}

static double relative_error(const struct vv_gguf *a, const struct vv_gguf *b, const char *name) {
    const struct vv_gguf_tensor *t = tensor_of(a, name), *u = tensor_of(b, name);
    float *x = values_of(a, t), *y = values_of(b, u);
    double left = 0, all = 0;
    for (size_t i = 0; i < t->elements; i++) {
        left += ((double)x[i] - (double)y[i]) * ((double)x[i] - (double)y[i]);
        all += (double)x[i] * (double)x[i];
    }
    free(x);
    free(y);
    return sqrt(left / all);
}

static bool same_files(const char *a, const char *b) {
    FILE *f = fopen(a, "rb"), *g = fopen(b, "rb");
    int c, d;
    assert_true(f && g);
    do {
        c = getc(f);
        d = getc(g);
    } while (c == d && c != EOF);
    fclose(f);
    fclose(g);
    return c == d;
}

/* ---- a file of our own ---- */

/* F32 matrices [rows][256] "a.weight" and "b.weight" with `value` as element `at` of the second. */
static const char *small_file(const char *name, float value, size_t at) {
    enum { ROWS = 600, VALUES = 256 * ROWS };
    const char *path = temporary_file(&folder, name);
    const uint64_t ne[] = {256, ROWS};
    static float x[VALUES];
    struct vv_gguf_writer *w;
    struct vv_error e;
    for (size_t i = 0; i < VALUES; i++) {
        x[i] = (float)((int)(i * 7919 % 201) - 100) * 0.01f;
    }
    assert_int_equal(vv_gguf_writer_open(path, &w, &e), VV_OK);
    vv_gguf_writer_u32(w, "general.file_type", 0, &e);
    vv_gguf_writer_tensor(w, "a.weight", VV_TYPE_F32, 2, ne, &e);
    vv_gguf_writer_tensor(w, "b.weight", VV_TYPE_F32, 2, ne, &e);
    vv_gguf_writer_data(w, x, sizeof x, &e);
    x[at] = value;
    vv_gguf_writer_data(w, x, sizeof x, &e);
    assert_int_equal(vv_gguf_writer_finish(w, &e), VV_OK);
    return path;
}

/* ---- what becomes of tensors ---- */

static void matrices_and_what_is_kept(void **state) {
    (void)state;
    struct vv_gguf *g = quantize(MICRO, "m.gguf", "Q8_0", NULL), *source = open_gguf(MICRO);
    static const char *const encoded[] = {"token_embd.weight",        "output.weight",
                                          "blk.0.attn_qkv.weight",    "blk.0.hc_attn_down.weight",
                                          "blk.1.ffn_up_exps.weight", "blk.0.ssm_out.weight"};
    static const char *const kept[] = {"blk.0.hc_attn_norm.weight",   "blk.0.ffn_gate_inp.weight",
                                       "blk.0.ssm_conv1d.weight",     "blk.0.hc_ffn_inject.weight",
                                       "blk.0.ssm_alpha.weight",      "blk.0.ssm_beta.weight",
                                       "blk.3.indexer.q_proj.weight", "blk.0.ssm_dt.bias"};
    for (size_t i = 0; i < sizeof encoded / sizeof *encoded; i++) {
        has_type(g, encoded[i], VV_TYPE_Q8_0);
        double e = relative_error(source, g, encoded[i]);
        assert_true(e > 0.001 && e < 0.006);
    }
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        has_type(g, kept[i], VV_TYPE_F32);
    }
    for (size_t i = 0; i < vv_gguf_tensor_count(source); i++) {
        const struct vv_gguf_tensor *t = vv_gguf_tensor_at(source, i), *u = vv_gguf_tensor_at(g, i);
        assert_string_equal(t->name, u->name);
        assert_int_equal(t->dimensions, u->dimensions);
        assert_memory_equal(t->ne, u->ne, sizeof t->ne);
        if (t->type == u->type) {
            assert_memory_equal(vv_gguf_tensor_data(source, t), vv_gguf_tensor_data(g, u),
                                t->bytes);
        }
    }
    assert_int_equal(vv_gguf_tensor_count(source), vv_gguf_tensor_count(g));
    vv_gguf_close(source);
    vv_gguf_close(g);
}

static void metadata_are_kept(void **state) {
    (void)state;
    struct vv_gguf *g = quantize(MICRO, "m.gguf", "q5_1", NULL), *source = open_gguf(MICRO);
    size_t kept = 0;
    for (size_t i = 0; i < vv_gguf_entry_count(source); i++) {
        const struct vv_gguf_entry *entry = vv_gguf_entry_at(source, i);
        char key[200];
        snprintf(key, sizeof key, "%.*s", (int)entry->key_length, entry->key);
        const struct vv_gguf_entry *ours = vv_gguf_find(g, key);
        assert_non_null(ours);
        if (strcmp(key, "general.file_type") != 0) {
            assert_int_equal(ours->type, entry->type);
            assert_int_equal(ours->size, entry->size);
            assert_memory_equal(ours->bytes, entry->bytes, entry->size);
            kept++;
        }
    }
    assert_true(kept > 20);
    assert_int_equal(number_of(g, "general.file_type"), 9);
    assert_int_equal(number_of(g, "general.quantization_version"), 2);
    vv_gguf_close(source);
    vv_gguf_close(g);
}

static void floats_are_no_quantisation(void **state) {
    (void)state;
    const char *path = small_file("small.gguf", 0, 0);
    struct vv_gguf *g = quantize(path, "f.gguf", "F16", NULL);
    assert_int_equal(number_of(g, "general.file_type"), 1);
    assert_false(vv_gguf_has(g, "general.quantization_version"));
    has_type(g, "a.weight", VV_TYPE_F16);
    vv_gguf_close(g);
}

/* Formats of 256 values, what stands in for them where rows have 32 or 64, and what is kept where
 * they have 4. */
static void rows_that_do_not_fit(void **state) {
    (void)state;
    static const struct {
        const char *type;
        int smaller;
    } types[] = {
        {"Q2_K", VV_TYPE_Q4_0}, {"Q3_K", VV_TYPE_Q4_0}, {"Q4_K", VV_TYPE_Q5_0},
        {"Q5_K", VV_TYPE_Q5_1}, {"Q6_K", VV_TYPE_Q8_0}, {"IQ4_XS", VV_TYPE_IQ4_NL},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        char rules[100];
        snprintf(rules, sizeof rules, "*conv1d.weight = %s", types[i].type);
        struct vv_gguf *g = quantize(HQ, "h.gguf", types[i].type, rules);
        has_type(g, "blk.1.attn_q.weight", vv_type_by_name(types[i].type));
        has_type(g, "blk.0.ffn_down_exps.weight", types[i].smaller);
        has_type(g, "output_hc_up.weight", types[i].smaller);
        has_type(g, "blk.0.ssm_conv1d.weight", VV_TYPE_F32);
        vv_gguf_close(g);
    }
}

static void rules_by_name(void **state) {
    (void)state;
    struct vv_gguf *g = quantize(HQ, "h.gguf", "Q6_K",
                                 "# the first that matches counts\n"
                                 " blk.1.ffn_down_exps.weight = bf16 ,blk.?.ffn_down*=Q4_0 # both\n"
                                 "\n"
                                 "blk.[01].attn_v*=keep\r\n"
                                 "*ffn_gate_inp*=Q8_0");
    has_type(g, "blk.1.ffn_down_exps.weight", VV_TYPE_BF16);
    has_type(g, "blk.0.ffn_down_exps.weight", VV_TYPE_Q4_0);
    has_type(g, "blk.1.ffn_down_shexp.weight", VV_TYPE_Q4_0);
    has_type(g, "blk.1.attn_v.weight", VV_TYPE_IQ4_XS);
    has_type(g, "blk.1.attn_k.weight", VV_TYPE_Q6_K);
    has_type(g, "blk.0.ffn_gate_inp.weight", VV_TYPE_Q8_0); /* a rule says so */
    has_type(g, "blk.0.hc_attn_norm.weight", VV_TYPE_F32);
    vv_gguf_close(g);
    g = quantize(HQ, "h.gguf", NULL, "output.weight=Q4_K"); /* all others keep theirs */
    has_type(g, "output.weight", VV_TYPE_Q4_K);
    has_type(g, "token_embd.weight", VV_TYPE_Q4_K);
    has_type(g, "blk.0.attn_qkv.weight", VV_TYPE_Q6_K);
    vv_gguf_close(g);
}

static void rules_that_are_none(void **state) {
    (void)state;
    static const struct {
        const char *type, *rules, *word;
    } cases[] = {
        {NULL, NULL, "type for all"},
        {NULL, " # nothing\n,", "type for all"},
        {"Q9_K", NULL, "Q9_K"},
        {"Q9_K", NULL, "Q4_K, "},
        {"IQ2_XS", NULL, "cannot be encoded"},
        {"I32", NULL, "cannot be encoded"},
        {"Q8_1", NULL, "cannot be encoded"},
        {"Q8_0", "blk.9.*=Q4_0", "blk.9.*"},
        {"Q8_0", "*ssm_a=Q4_0", "*ssm_a"}, /* one dimension only */
        {NULL, "output.weight", "output.weight"},
        {NULL, "=Q4_0", "=Q4_0"},
        {NULL, "output.weight=", "\"\""},
        {NULL, "output.weight=Q4", "Q4"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct varve_quantize_options options = {.type = cases[i].type,
                                                       .rules = cases[i].rules};
        refused(HQ, &options, cases[i].word);
    }
}

/* ---- sums ---- */

struct seen {
    size_t tensors, encoded, requantised, fell_back;
    double errors; /* of all that were encoded, added */
};

static void see(void *context, const struct varve_quantized *t) {
    struct seen *seen = context;
    seen->tensors++;
    seen->encoded += t->encoded;
    seen->requantised += t->requantised;
    seen->fell_back += t->fell_back;
    seen->errors += t->encoded ? sqrt(t->left / t->all) : 0;
    assert_true(t->encoded == (strcmp(t->from, t->to) != 0));
}

static void what_is_told_of_tensors(void **state) {
    (void)state;
    struct seen seen = {0};
    struct varve_quantize_options options = {.type = "Q4_K", .tensor = see, .context = &seen};
    struct vv_gguf *source = open_gguf(HQ);
    const char *out = temporary_file(&folder, "told.gguf");
    assert_int_equal(try_quantize(HQ, out, &options), VARVE_OK);
    struct vv_gguf *g = open_gguf(out);
    size_t encoded = 0, again = 0;
    double errors = 0;
    for (size_t i = 0; i < vv_gguf_tensor_count(g); i++) {
        const struct vv_gguf_tensor *t = vv_gguf_tensor_at(source, i);
        bool changed = t->type != vv_gguf_tensor_at(g, i)->type;
        encoded += changed;
        again += changed && t->type != VV_TYPE_F32 && t->type != VV_TYPE_BF16;
        errors += changed ? relative_error(source, g, t->name) : 0;
    }
    assert_int_equal(seen.tensors, vv_gguf_tensor_count(g));
    assert_int_equal(seen.encoded, encoded);
    assert_int_equal(seen.requantised, again);
    assert_true(again > 0 && again < encoded && seen.fell_back > 0);
    assert_true(fabs(seen.errors - errors) < 1e-9);
    vv_gguf_close(source);
    vv_gguf_close(g);
}

/* ---- the same bytes ---- */

#define TINY "models/varve-tiny.gguf"
#define LARGE                                                                                      \
    "per_layer_token_embd.weight=Q4_0,token_embd.weight=Q3_K" /* 2.6 and 1 million values */

static void threads_and_reading_change_nothing(void **state) {
    (void)state;
    const char *first = temporary_file(&folder, "threads1.gguf");
    const struct varve_quantize_options one = {.rules = LARGE, .threads = 1};
    assert_int_equal(try_quantize(TINY, first, &one), VARVE_OK);
    for (uint32_t threads = 2; threads <= 5; threads += 3) {
        const char *other = temporary_file(&folder, "threads.gguf");
        const struct varve_quantize_options options = {.rules = LARGE, .threads = threads};
        struct varve_file *file;
        assert_int_equal(varve_file_open(TINY, true, &file, &error), VARVE_OK); /* plain reads */
        assert_int_equal(varve_quantize(file, other, &options, &error), VARVE_OK);
        varve_file_close(file);
        assert_true(same_files(first, other));
    }
}

/* A tensor of many pieces has the bytes of one call. */
static void pieces_are_put_together(void **state) {
    (void)state;
    static const char *const name = "per_layer_token_embd.weight";
    struct vv_gguf *source = open_gguf(TINY), *g = quantize(TINY, "p.gguf", NULL, LARGE);
    const struct vv_gguf_tensor *t = tensor_of(g, name);
    float *x = values_of(source, tensor_of(source, name));
    void *blocks = malloc(t->bytes);
    assert_non_null(blocks);
    vv_format(VV_TYPE_Q4_0)->encode(x, blocks, (size_t)t->elements);
    assert_memory_equal(blocks, vv_gguf_tensor_data(g, t), t->bytes);
    free(blocks);
    free(x);
    vv_gguf_close(source);
    vv_gguf_close(g);
}

/* Two shards of one tensor each. */
static void write_shard(const char *name, uint32_t no, const char *tensor, float value) {
    const uint64_t ne[] = {32, 2};
    float x[64];
    struct vv_gguf_writer *w;
    struct vv_error e;
    for (size_t i = 0; i < 64; i++) {
        x[i] = value;
    }
    assert_int_equal(vv_gguf_writer_open(temporary_file(&folder, name), &w, &e), VV_OK);
    if (no == 0) {
        vv_gguf_writer_u32(w, "some.key", 77, &e);
    }
    vv_gguf_writer_u32(w, "split.no", no, &e);
    vv_gguf_writer_u32(w, "split.count", 2, &e);
    vv_gguf_writer_u32(w, "split.tensors.count", 2, &e);
    vv_gguf_writer_tensor(w, tensor, VV_TYPE_F32, 2, ne, &e);
    vv_gguf_writer_data(w, x, sizeof x, &e);
    assert_int_equal(vv_gguf_writer_finish(w, &e), VV_OK);
}

static void shards_become_one_file(void **state) {
    (void)state;
    write_shard("s-00001-of-00002.gguf", 0, "a.weight", 1);
    write_shard("s-00002-of-00002.gguf", 1, "b.weight", -2);
    struct vv_gguf *g =
        quantize(temporary_file(&folder, "s-00002-of-00002.gguf"), "s.gguf", "Q8_0", NULL);
    assert_int_equal(vv_gguf_shard_count(g), 1);
    assert_false(vv_gguf_has(g, "split.count") || vv_gguf_has(g, "split.no") ||
                 vv_gguf_has(g, "split.tensors.count"));
    assert_int_equal(number_of(g, "some.key"), 77);
    assert_int_equal(number_of(g, "general.file_type"), 7);
    float *b = values_of(g, tensor_of(g, "b.weight"));
    assert_true(fabsf(b[63] + 2) < 0.01f);
    free(b);
    vv_gguf_close(g);
    /* no shard is written over */
    const struct varve_quantize_options options = {.type = "Q8_0"};
    const char *in = temporary_file(&folder, "s-00001-of-00002.gguf");
    const char *second = temporary_file(&folder, "s-00002-of-00002.gguf");
    assert_int_equal(try_quantize(in, second, &options), VARVE_ERROR_INVALID);
    assert_non_null(strstr(error.message, "s-00002-of-00002.gguf"));
    vv_gguf_close(open_gguf(second));
}

/* ---- failures ---- */

static void values_that_do_not_fit(void **state) {
    (void)state;
    const struct varve_quantize_options q4_1 = {.type = "Q4_1"}, f16 = {.type = "F16"};
    refused(small_file("nan.gguf", NAN, 150000), &q4_1, "element 150000 of tensor b.weight is NaN");
    refused(small_file("inf.gguf", -INFINITY, 0), &f16, "element 0 of tensor b.weight is infinite");
    refused(small_file("large.gguf", -1e5f, 300), &q4_1,
            "element 300 of tensor b.weight is -100000, but Q4_1 holds no more than 65504");
    vv_gguf_close(quantize(small_file("fits.gguf", -1e5f, 300), "o.gguf", "Q4_0", NULL));
}

static void the_input_is_not_written_over(void **state) {
    (void)state;
    const struct varve_quantize_options options = {.type = "Q8_0"};
    const char *in = small_file("in.gguf", 1, 1), *name = temporary_file(&folder, "link.gguf");
    assert_int_equal(try_quantize(in, in, &options), VARVE_ERROR_INVALID);
    assert_int_equal(symlink("in.gguf", name), 0);
    assert_int_equal(try_quantize(in, name, &options), VARVE_ERROR_INVALID);
    assert_int_equal(try_quantize(name, in, &options), VARVE_ERROR_INVALID);
    const char *partial = small_file("x.gguf.partial", 1, 1);
    assert_int_equal(try_quantize(partial, temporary_file(&folder, "x.gguf"), &options),
                     VARVE_ERROR_INVALID);
    vv_gguf_close(open_gguf(in));
    vv_gguf_close(open_gguf(partial));
}

/* Progress that goes up to its total. */
static bool upwards(void *context, const char *what, uint64_t done, uint64_t total) {
    uint64_t *last = context;
    assert_string_equal(what, "quantising");
    assert_true(done > *last && done <= total);
    *last = done == total ? UINT64_MAX : done;
    return true;
}

static void progress_is_told(void **state) {
    (void)state;
    uint64_t last = 0;
    const struct varve_quantize_options options = {
        .type = "Q8_0", .progress = upwards, .context = &last};
    assert_int_equal(try_quantize(HQ, temporary_file(&folder, "p.gguf"), &options), VARVE_OK);
    assert_true(last == UINT64_MAX);
}

static bool grow_source(void *context, const char *what, uint64_t done, uint64_t total) {
    FILE *file = fopen(context, "ab");
    (void)what, (void)done, (void)total;
    assert_non_null(file);
    fputs("more", file);
    fclose(file);
    return true;
}

/* What was read may be neither the old nor the new contents. */
static void a_source_that_changes(void **state) {
    (void)state;
    char source[300];
    snprintf(source, sizeof source, "%s", small_file("changes.gguf", 0, 0));
    const char *out = temporary_file(&folder, "changed.gguf");
    const struct varve_quantize_options options = {
        .type = "Q8_0", .progress = grow_source, .context = source};
    assert_int_equal(try_quantize(source, out, &options), VARVE_ERROR_IO);
    assert_non_null(strstr(error.message, "changes.gguf"));
    assert_int_not_equal(access(out, F_OK), 0);
}

static bool until_half(void *context, const char *what, uint64_t done, uint64_t total) {
    (void)context;
    assert_string_equal(what, "quantising");
    return done < total / 2;
}

static void stopped_in_the_middle(void **state) {
    (void)state;
    const struct varve_quantize_options options = {.type = "Q8_0", .progress = until_half};
    const char *out = temporary_file(&folder, "stopped.gguf");
    assert_int_equal(try_quantize(MICRO, out, &options), VARVE_ERROR_CANCELLED);
    assert_int_not_equal(access(out, F_OK), 0);
    assert_int_not_equal(access(temporary_file(&folder, "stopped.gguf.partial"), F_OK), 0);
}

static bool kill_at_nine_tenths(void *context, const char *what, uint64_t done, uint64_t total) {
    (void)context;
    (void)what;
    if (done >= total / 10 * 9) {
        kill(getpid(), SIGKILL);
    }
    return true;
}

/* What was there stays, what is left is no model, and the next try is not in its way. */
static void c017_killed_at_nine_tenths(void **state) {
    (void)state;
    const char *out = temporary_file(&folder, "killed.gguf");
    const char *partial = temporary_file(&folder, "killed.gguf.partial");
    struct varve_quantize_options options = {.type = "Q8_0", .progress = kill_at_nine_tenths};
    struct vv_error e;
    struct vv_gguf *g;
    for (int before = 0; before <= 1; before++) { /* without and with an older file of that name */
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            try_quantize(MICRO, out, &options);
            _exit(0);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        assert_int_equal(access(partial, F_OK), 0);
        assert_int_not_equal(vv_gguf_open(partial, NULL, &g, &e), VV_OK);
        assert_int_equal(access(out, F_OK) == 0, before);
        if (before) {
            vv_gguf_close(open_gguf(out));
        }
        vv_gguf_close(quantize(MICRO, "killed.gguf", "Q8_0", NULL));
        assert_int_not_equal(access(partial, F_OK), 0);
    }
}

/* ---- models that run ---- */

enum { TOKENS = 24 };

/* Logits of the model that is hq.ud with matrices of that type (NULL: as it is). */
static float *logits_with(const char *type, size_t *count) {
    const char *path = HQ;
    if (type) {
        vv_gguf_close(quantize(HQ, "run.gguf", type, NULL));
        path = temporary_file(&folder, "run.gguf");
    }
    struct opened o;
    const struct varve_session_options options = {.context = TOKENS, .logits = TOKENS};
    assert_int_equal(varve_file_open(path, false, &o.file, &error), VARVE_OK);
    if (varve_model_open(o.file, NULL, NULL, &o.model, &error) != VARVE_OK) {
        fail_msg("%s: %s", type, error.message);
    }
    varve_model_info(o.model, &o.info);
    struct varve_session *session = open_session(&o, &options);
    int32_t tokens[TOKENS];
    *count = TOKENS * o.info.vocabulary;
    float *logits = malloc(*count * sizeof *logits);
    assert_non_null(logits);
    random_tokens(&o, 5, tokens, TOKENS);
    advance(session, &o, 0, tokens, TOKENS, logits);
    varve_session_close(session);
    close_model(&o);
    return logits;
}

/* The weights are random ones, and the model magnifies what is wrong with them. */
static void every_type_runs(void **state) {
    (void)state;
    static const struct {
        const char *type;
        double largest; /* relative RMS difference */
    } types[] = {
        {"F32", 0.1},    {"F16", 0.1},   {"BF16", 0.1}, {"Q8_0", 0.1},
        {"Q6_K", 0.2},   {"Q5_0", 0.5},  {"Q5_1", 0.4}, {"Q5_K", 0.4},
        {"Q4_0", 0.7},   {"Q4_1", 0.6},  {"Q4_K", 0.6}, {"IQ4_NL", 0.7},
        {"IQ4_XS", 0.7}, {"MXFP4", 0.9}, {"Q3_K", 1.0}, {"Q2_K", 1.2},
    };
    size_t n, m;
    float *want = logits_with(NULL, &n);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        float *got = logits_with(types[i].type, &m);
        double left = 0, all = 0;
        assert_int_equal(n, m);
        for (size_t k = 0; k < n; k++) {
            left += pow((double)want[k] - (double)got[k], 2);
            all += pow((double)want[k], 2);
        }
        assert_true(sqrt(left / all) <= types[i].largest);
        free(got);
    }
    free(want);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matrices_and_what_is_kept),
        cmocka_unit_test(metadata_are_kept),
        cmocka_unit_test(floats_are_no_quantisation),
        cmocka_unit_test(rows_that_do_not_fit),
        cmocka_unit_test(rules_by_name),
        cmocka_unit_test(rules_that_are_none),
        cmocka_unit_test(what_is_told_of_tensors),
        cmocka_unit_test(threads_and_reading_change_nothing),
        cmocka_unit_test(pieces_are_put_together),
        cmocka_unit_test(shards_become_one_file),
        cmocka_unit_test(values_that_do_not_fit),
        cmocka_unit_test(the_input_is_not_written_over),
        cmocka_unit_test(progress_is_told),
        cmocka_unit_test(a_source_that_changes),
        cmocka_unit_test(stopped_in_the_middle),
        cmocka_unit_test(c017_killed_at_nine_tenths),
        cmocka_unit_test(every_type_runs),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

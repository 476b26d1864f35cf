/*
 * Models whose contents are bad, or go bad while they are used: cases C010, C016, C018, C045 and
 * C050 of docs/cases.md. What was computed from such values never comes out as a result.
 */
#include "support/edited.h"
#include "support/folder.h"
#include "support/opened.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { TOKENS = 80, CONTEXT = 128 }; /* 20 index blocks, of which 16 are selected */

static const struct varve_session_options plain = {
    .slots = 2, .context = CONTEXT, .window = CONTEXT, .threads = 1};

/* ---- contents that are bad ---- */

/* A copy of the file of a model that can be written to while it is open. */
struct patched {
    char path[600];
    size_t size;
    unsigned char *bytes; /* [size] shared with the file */
};

static struct patched patch(const char *model) {
    struct patched p;
    struct edited *e = edited_open(model);
    snprintf(p.path, sizeof p.path, "%s", temporary_file(&folder, "patched.gguf"));
    edited_write(e, p.path);
    edited_close(e);
    int descriptor = open(p.path, O_RDWR);
    off_t size = lseek(descriptor, 0, SEEK_END);
    assert_true(size > 0);
    p.size = (size_t)size;
    p.bytes = mmap(NULL, p.size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    assert_true(p.bytes != MAP_FAILED);
    close(descriptor);
    return p;
}

static void unpatch(struct patched *p) {
    munmap(p->bytes, p->size);
    unlink(p->path);
}

static struct varve_tensor tensor_at(const struct varve_file *file, size_t index) {
    struct varve_tensor t;
    varve_file_tensor(file, index, &t);
    return t;
}

/* A scale of each format that `hq.ud` has, made infinite or NaN in its last block but one. */
static void c010_verify_names_tensor_and_block(void **state) {
    (void)state;
    static const struct {
        const char *type;
        size_t block_bytes, at; /* of a half float */
    } formats[] = {{"Q4_K", 144, 2},  {"Q5_K", 176, 0},  {"Q6_K", 210, 208}, {"Q8_0", 34, 0},
                   {"IQ4_NL", 18, 0}, {"IQ2_S", 82, 0},  {"IQ3_XXS", 98, 0}, {"BF16", 2, 0},
                   {"IQ3_S", 110, 0}, {"IQ4_XS", 136, 0}};
    struct patched p = patch("qwen4exp/hq.ud.gguf");
    struct varve_file_info info;
    struct varve_file *file;
    struct varve_error error = {0};
    size_t found = 0;
    assert_int_equal(varve_file_open(p.path, false, &file, &error), 0);
    varve_file_info(file, &info);
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++) {
        size_t i = 0;
        while (i < info.tensors && strcmp(tensor_at(file, i).type, formats[f].type) != 0) {
            i++;
        }
        if (i == info.tensors) {
            continue;
        }
        found++;
        struct varve_tensor t = tensor_at(file, i);
        const uint16_t bad = f % 2 ? 0x7e00 : 0xfc00; /* NaN, -infinity; both also as bfloat16 */
        size_t blocks = t.bytes / formats[f].block_bytes, block = blocks - 2;
        unsigned char *at = p.bytes + t.offset + block * formats[f].block_bytes + formats[f].at;
        uint16_t was;
        char where[64];
        memcpy(&was, at, sizeof was);
        memcpy(at, strcmp(t.type, "BF16") == 0 ? &(const uint16_t){0x7fc0} : &bad, sizeof bad);
        snprintf(where, sizeof where, "block %zu of %zu", block, blocks);
        assert_int_equal(varve_file_verify(file, NULL, NULL, &error), VARVE_ERROR_INVALID);
        message_has(&error, WORDS(t.name, t.type, where, "patched.gguf"));
        memcpy(at, &was, sizeof was);
    }
    assert_true(found >= 7);
    varve_file_close(file);
    assert_int_equal(varve_file_open(p.path, false, &file, &error), 0);
    assert_int_equal(varve_file_verify(file, NULL, NULL, &error), VARVE_OK);
    varve_file_close(file);
    unpatch(&p);
}

static int run_all(struct varve_session *s, const struct opened *o, struct varve_error *error) {
    int32_t tokens[TOKENS];
    struct varve_row rows[TOKENS];
    random_tokens(o, 1, tokens, TOKENS);
    for (size_t i = 0; i < TOKENS; i++) {
        rows[i] = (struct varve_row){0, tokens[i], i + 1 == TOKENS};
    }
    return varve_session_evaluate(s, rows, TOKENS, VARVE_ADVANCE, NULL, NULL, error);
}

/* The trouble with a tensor of layer L is told at layer L, wherever in the layer it shows. */
static void must_name_layer(const char *tensor, const struct varve_error *error) {
    char layer[16] = "";
    int length = 0;
    if (sscanf(tensor, "blk.%*d.%n", &length) == 0 && length > 0) {
        snprintf(layer, sizeof layer, "%.*s", length, tensor);
    }
    bool of_drafts = strstr(tensor, ".nextn.") && strstr(error->message, "mtp."); /* its head */
    bool named = layer[0] ? of_drafts || strstr(error->message, layer) != NULL
                          : strstr(error->message, "head") || strstr(error->message, "output") ||
                                strstr(error->message, "blk.");
    if (!named) {
        fail_msg("NaN in %s: %s", tensor, error->message);
    }
}

/* Layers 0 and 2 have nothing that layer 1 has not; the draft block of `micro` attends to all. */
static bool left_out(const char *model, const char *tensor) {
    if (strstr(model, "deepseek4")) { /* integers can't be NaN; layer 1 pools 128 tokens */
        return strstr(tensor, "tid2eid") || strstr(tensor, "blk.1.attn_compressor");
    }
    return strncmp(tensor, "blk.0.", 6) == 0 || strncmp(tensor, "blk.2.", 6) == 0 ||
           strncmp(tensor, "blk.4.indexer.", 14) == 0;
}

/* NaN in one tensor after another: no operation lets it pass, none loses it. */
static void nan_names_its_layer(const char *model) {
    struct patched p = patch(model);
    struct varve_session_options options = plain;
    options.mtp = true;
    struct varve_file *file;
    struct varve_file_info info;
    struct varve_error error = {0};
    assert_int_equal(varve_file_open(p.path, false, &file, &error), 0);
    varve_file_info(file, &info);
    for (size_t i = 0; i < info.tensors; i++) {
        struct varve_tensor t = tensor_at(file, i);
        if (left_out(model, t.name)) {
            continue;
        }
        unsigned char *kept = malloc(t.bytes);
        memcpy(kept, p.bytes + t.offset, t.bytes);
        memset(p.bytes + t.offset, 0xff, t.bytes);
        struct opened o = open_path(p.path, false);
        struct varve_session *s = open_session(&o, &options);
        int code = run_all(s, &o, &error);
        if (code == VARVE_OK) { /* only drafts read the draft block's own head */
            int32_t draft;
            code = varve_session_draft(s, 0, 5, 1, &draft, NULL, &error);
        } else {
            assert_int_equal(varve_session_length(s, 0), 0);
        }
        if (code != VARVE_ERROR_NOT_FINITE) {
            fail_msg("NaN in %s: %s", t.name, code ? error.message : "not noticed");
        }
        must_name_layer(t.name, &error);
        varve_session_close(s);
        close_model(&o);
        memcpy(p.bytes + t.offset, kept, t.bytes);
        free(kept);
    }
    varve_file_close(file);
    struct opened o = open_path(p.path, false);
    struct varve_session *s = open_session(&o, &options);
    assert_int_equal(run_all(s, &o, &error), VARVE_OK);
    varve_session_close(s);
    close_model(&o);
    unpatch(&p);
}

static void c010_the_first_nan_names_its_layer(void **state) {
    (void)state;
    nan_names_its_layer("qwen4exp/micro.f32.gguf");
    nan_names_its_layer("deepseek4/tiny.gguf");
}

/* Experts of layer 2 that the token at `row` uses. */
static struct varve_observed routed(struct varve_session *s) {
    struct varve_observed o;
    struct varve_error error = {0};
    assert_int_equal(varve_session_observed(s, "experts.2", &o, &error), 0);
    return o;
}

/* NaN in one output of one expert: sequences that don't use the expert go on as they would; the
 * first that does ends with an error, and nothing of it is kept. */
static void c045_nan_of_an_expert_goes_nowhere(void **state) {
    (void)state;
    enum { ROWS = 40, EXPERTS = 8, OUTPUT = 5 };
    struct edited *e = edited_open("qwen4exp/micro.f32.gguf");
    struct opened good = open_model("qwen4exp/micro.f32.gguf");
    struct varve_session_options options = plain;
    options.observe = true;
    struct varve_session *s = open_session(&good, &options);
    struct varve_error error = {0};
    int32_t tokens[ROWS];
    random_tokens(&good, 4, tokens, ROWS);
    advance(s, &good, 0, tokens, ROWS, NULL);
    struct varve_observed o = routed(s);
    /* The expert whose first use comes latest. */
    size_t first_use[EXPERTS], expert = 0;
    for (size_t x = 0; x < EXPERTS; x++) {
        first_use[x] = 0;
        while (first_use[x] < o.rows * o.width && o.i32[first_use[x]] != (int32_t)x) {
            first_use[x]++;
        }
        first_use[x] /= o.width;
        expert = first_use[x] < ROWS && first_use[x] > first_use[expert] ? x : expert;
    }
    size_t before = first_use[expert];
    assert_true(before > 0);
    varve_session_clear(s, 0);
    advance(s, &good, 0, tokens, before, NULL);
    size_t size, bad_size;
    void *want = state_of(s, 0, &size);
    varve_session_close(s);

    struct edited_tensor *down = edited_tensor(e, "blk.2.ffn_down_exps.weight");
    const float nan = NAN;
    size_t row = (expert * down->ne[1] + OUTPUT) * down->ne[0];
    memcpy(down->data + (row + 3) * sizeof nan, &nan, sizeof nan);
    edited_write(e, temporary_file(&folder, "expert.gguf"));
    edited_close(e);
    struct opened bad = open_path(temporary_file(&folder, "expert.gguf"), false);
    s = open_session(&bad, &plain);
    advance(s, &bad, 0, tokens, before, NULL);
    advance(s, &bad, 1, tokens, before, NULL);
    struct varve_row next = {0, tokens[before], true};
    assert_int_equal(varve_session_evaluate(s, &next, 1, VARVE_ADVANCE, NULL, NULL, &error),
                     VARVE_ERROR_NOT_FINITE);
    message_has(&error, WORDS("blk.2.ffn_down_exps", "expert_down", "--verify"));
    assert_int_equal(varve_session_length(s, 0), 0);
    void *got = state_of(s, 1, &bad_size); /* the other sequence is as it was */
    assert_int_equal(size, bad_size);
    assert_memory_equal(want, got, size);
    free(want);
    free(got);
    varve_session_close(s);
    close_model(&bad);
    close_model(&good);
}

/* Values of 7e4 and more, which half precision has no numbers for. */
static void c050_what_half_precision_can_not_hold(void **state) {
    (void)state;
    struct edited *e = edited_open("qwen4exp/micro.f32.gguf");
    struct edited_tensor *v = edited_tensor(e, "blk.3.attn_v.weight");
    float *values = edited_floats(v);
    for (size_t i = 0; i < edited_count(v); i++) {
        values[i] *= 1e6f;
    }
    memcpy(v->data, values, v->size);
    free(values);
    edited_write(e, temporary_file(&folder, "large.gguf"));
    edited_close(e);
    struct opened o = open_path(temporary_file(&folder, "large.gguf"), false);
    struct varve_session_options options = plain;
    struct varve_error error = {0};
    struct varve_session *s = open_session(&o, &options);
    assert_int_equal(run_all(s, &o, &error), VARVE_OK); /* kept as float32: wide enough */
    const float *logits = varve_session_logits(s, 0);
    for (size_t i = 0; i < o.info.vocabulary; i++) {
        assert_true(isfinite(logits[i]));
    }
    varve_session_close(s);
    options.kv_f16 = true;
    s = open_session(&o, &options);
    assert_int_equal(run_all(s, &o, &error), VARVE_ERROR_NOT_FINITE);
    message_has(&error, WORDS("blk.3.attn_v", "cache_write"));
    varve_session_close(s);
    close_model(&o);
}

/* ---- files that change while they are used ---- */

static void copy_model(const char *path) {
    struct edited *e = edited_open("qwen4exp/micro.f32.gguf");
    edited_write(e, path);
    edited_close(e);
}

/* Cut to nothing: every page that is read now would raise a signal. */
static void c016_a_session_survives_its_file(void **state) {
    (void)state;
    char path[600];
    snprintf(path, sizeof path, "%s", temporary_file(&folder, "cut.gguf"));
    /* Here and not once for all: cmocka takes the handlers for each of its tests. */
    assert_int_equal(varve_guard_mappings(&(struct varve_error){0}), VARVE_OK);
    for (int how = 0; how < 4; how++) { /* advance, verify, commit, draft */
        copy_model(path);
        struct opened cut = open_path(path, false), whole = open_model("qwen4exp/micro.f32.gguf");
        struct varve_session_options options = plain;
        options.mtp = true;
        struct varve_session *s = open_session(&cut, &options),
                             *other = open_session(&whole, &plain);
        struct varve_row row = {0, 5, true};
        struct varve_error error = {0};
        int32_t draft;
        int32_t tokens[TOKENS];
        random_tokens(&cut, 3, tokens, TOKENS);
        advance(s, &cut, 0, tokens, 10, NULL);
        advance(other, &whole, 0, tokens, 10, NULL);
        if (how == 2) {
            assert_int_equal(varve_session_evaluate(s, &row, 1, VARVE_VERIFY, NULL, NULL, &error),
                             VARVE_OK);
        }
        assert_int_equal(truncate(path, how % 2 ? 0 : 10000), 0);
        int code = how == 2 ? varve_session_commit(s, 0, 1, &error)
                   : how == 3
                       ? varve_session_draft(s, 0, 5, 1, &draft, NULL, &error)
                       : varve_session_evaluate(s, &row, 1, how ? VARVE_VERIFY : VARVE_ADVANCE,
                                                NULL, NULL, &error);
        assert_int_equal(code, VARVE_ERROR_IO);
        message_has(&error, WORDS("cut.gguf", "changed while it was in use"));
        if (how < 3) {
            assert_int_equal(varve_session_length(s, 0), 0);
        }
        advance(other, &whole, 0, tokens + 10, 10, NULL); /* nobody else is hurt */
        assert_int_equal(varve_session_evaluate(s, &(struct varve_row){1, 5, true}, 1,
                                                VARVE_ADVANCE, NULL, NULL, &error),
                         VARVE_ERROR_IO); /* and it stays so */
        varve_session_close(s);
        varve_session_close(other);
        close_model(&cut);
        close_model(&whole);
    }
}

/* Not even a result on its way out is given away. */
static int count_rows(void *context, size_t row, const float *logits, struct varve_error *error) {
    (void)row, (void)logits, (void)error;
    (*(int *)context)++;
    return VARVE_OK;
}

static void c016_a_file_that_is_written_to_or_replaced(void **state) {
    (void)state;
    char path[600], fresh[600];
    snprintf(path, sizeof path, "%s", temporary_file(&folder, "written.gguf"));
    snprintf(fresh, sizeof fresh, "%s", temporary_file(&folder, "fresh.gguf"));
    copy_model(path);
    copy_model(fresh);
    struct opened o = open_path(path, false), read = open_path(path, true);
    struct varve_session *s = open_session(&o, &plain), *own = open_session(&read, &plain);
    struct varve_error error = {0};
    int given = 0;
    assert_int_equal(run_all(s, &o, &error), VARVE_OK);
    /* One bit of a weight: no kernel could tell. */
    int descriptor = open(path, O_RDWR);
    unsigned char byte;
    assert_int_equal(pread(descriptor, &byte, 1, 2000000), 1);
    byte ^= 1;
    usleep(20000); /* file systems count time in ticks */
    assert_int_equal(pwrite(descriptor, &byte, 1, 2000000), 1);
    close(descriptor);
    assert_int_equal(varve_session_evaluate(s, &(struct varve_row){1, 5, true}, 1, VARVE_ADVANCE,
                                            count_rows, &given, &error),
                     VARVE_ERROR_IO);
    message_has(&error, WORDS("written.gguf", "written to"));
    assert_int_equal(given, 0);
    varve_session_close(s);
    /* Plain reads have left nothing in the file. */
    assert_int_equal(run_all(own, &read, &error), VARVE_OK);
    varve_session_close(own);
    close_model(&read);
    close_model(&o);

    o = open_path(path, false); /* another file under its name is no change of this one */
    s = open_session(&o, &plain);
    assert_int_equal(rename(fresh, path), 0);
    assert_int_equal(run_all(s, &o, &error), VARVE_OK);
    varve_session_close(s);
    close_model(&o);
}

static void c018_weights_that_end_early(void **state) {
    (void)state;
    char path[600];
    snprintf(path, sizeof path, "%s", temporary_file(&folder, "short.gguf"));
    copy_model(path);
    struct opened o = open_path(path, true);
    struct varve_session *s = NULL;
    struct varve_error error = {0};
    struct varve_tensor last = {0};
    for (size_t i = 0; i < 145; i++) {
        struct varve_tensor t = tensor_at(o.file, i);
        last = t.offset > last.offset ? t : last;
    }
    char offset[40], bytes[60];
    assert_int_equal(truncate(path, (off_t)(last.offset + 8)), 0);
    snprintf(offset, sizeof offset, "offset %llu ", (unsigned long long)last.offset);
    snprintf(bytes, sizeof bytes, "8 bytes of the %llu wanted", (unsigned long long)last.bytes);
    assert_int_equal(varve_session_open(o.model, &plain, &s, &error), VARVE_ERROR_IO);
    message_has(&error, WORDS("short.gguf", last.name, offset, bytes));
    assert_null(s);
    close_model(&o);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(c010_verify_names_tensor_and_block),
        cmocka_unit_test(c010_the_first_nan_names_its_layer),
        cmocka_unit_test(c045_nan_of_an_expert_goes_nowhere),
        cmocka_unit_test(c050_what_half_precision_can_not_hold),
        cmocka_unit_test(c016_a_session_survives_its_file),
        cmocka_unit_test(c016_a_file_that_is_written_to_or_replaced),
        cmocka_unit_test(c018_weights_that_end_early),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

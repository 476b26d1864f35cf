/*
 * Files of the second family that are damaged: metadata missing, of another type or out of range,
 * each refused with a sentence that names the key; tables of experts that name none; tensors
 * missing, too many, or of the wrong shape (cases C009 and C010 of docs/cases.md).
 */
#include "support/edited.h"
#include "support/opened.h"
#include "support/temporary.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define P "deepseek4."
#define TINY "deepseek4/tiny.gguf"
enum { MANY = 1 << 24 };

static struct temporary folder;
static char path[600];

static int make_folder(void **state) {
    (void)state;
    folder = temporary_make();
    snprintf(path, sizeof path, "%s", temporary_file(&folder, "changed.gguf"));
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    temporary_remove(&folder);
    return 0;
}

static void refuses(struct edited *e, const char *const *words) {
    edited_write(e, path);
    edited_close(e);
    refuse_path(path, words);
}

static struct edited *open_keys(void) {
    struct edited *e = edited_open(TINY);
    edited_drop_all(e);
    edited_unset(e, "tokenizer.ggml.tokens");
    return e;
}

static void unchanged_keys_are_accepted(void **state) {
    (void)state;
    refuses(open_keys(), WORDS("token_embd.weight", "missing"));
}

/* The nearest values that are refused; 0 below: any from 0 on is right. */
static const struct range {
    const char *key;
    uint32_t low, high;
    bool optional;
} ranges[] = {
    {P "block_count", 1, 4097, false},
    {P "nextn_predict_layers", 0, 2, true},
    {P "embedding_length", 0, MANY + 1, false},
    {P "context_length", 0, UINT32_C(1) << 31, false},
    {P "hyper_connection.count", 1, 17, false},
    {P "hyper_connection.sinkhorn_iterations", 0, 1001, false},
    {P "attention.head_count", 0, MANY + 1, false},
    {P "attention.head_count_kv", 0, 2, false},
    {P "attention.key_length", 0, MANY + 1, false},
    {P "attention.value_length", 0, MANY + 1, true},
    {P "rope.dimension_count", 1, MANY + 1, false},
    {P "attention.q_lora_rank", 0, MANY + 1, false},
    {P "attention.output_lora_rank", 0, MANY + 1, false},
    {P "attention.output_group_count", 0, MANY + 1, false},
    {P "attention.sliding_window", 0, (1 << 20) + 1, false},
    {P "attention.indexer.head_count", 0, MANY + 1, false},
    {P "attention.indexer.key_length", 0, MANY + 1, false},
    {P "attention.indexer.top_k", 0, MANY + 1, false},
    {P "expert_count", 0, MANY + 1, false},
    {P "expert_used_count", 0, MANY + 1, false},
    {P "expert_feed_forward_length", 0, MANY + 1, false},
    {P "expert_shared_count", 0, 65, false},
    {P "expert_gating_func", 3, 5, true},
    {P "hash_layer_count", 0, 5, true},
    {P "rope.scaling.original_context_length", 0, UINT32_C(1) << 31, false},
};

static bool may_be_0(const struct range *r) {
    return strcmp(r->key, P "nextn_predict_layers") == 0 ||
           strcmp(r->key, P "hash_layer_count") == 0;
}

static void c009_numbers_out_of_range(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        const struct range *r = &ranges[i];
        const uint32_t wrong[] = {r->low, r->high, UINT32_MAX};
        for (size_t k = may_be_0(r) ? 1 : 0; k < 3; k++) {
            struct edited *e = open_keys();
            char value[24];
            edited_set_u32(e, r->key, wrong[k]);
            snprintf(value, sizeof value, "%u", wrong[k]);
            refuses(e, WORDS(r->key, value, "changed.gguf"));
        }
    }
}

static void c009_numbers_that_are_none(void **state) {
    (void)state;
    const unsigned char text[] = {1, 0, 0, 0, 0, 0, 0, 0, '4'};
    const int32_t negative = -4;
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        for (int how = ranges[i].optional ? 1 : 0; how < 3; how++) {
            struct edited *e = open_keys();
            const char *key = ranges[i].key;
            if (how == 0) {
                edited_unset(e, key);
            } else if (how == 1) {
                edited_set(e, key, VV_GGUF_STRING, text, sizeof text);
            } else {
                edited_set(e, key, VV_GGUF_I32, &negative, sizeof negative);
            }
            refuses(e, WORDS(key));
        }
    }
}

static void c009_reals_that_are_not_above_0(void **state) {
    (void)state;
    static const char *const keys[] = {P "hyper_connection.epsilon",
                                       P "attention.layer_norm_rms_epsilon",
                                       P "expert_weights_scale",
                                       P "rope.freq_base",
                                       P "attention.compress_rope_freq_base",
                                       P "rope.scaling.factor",
                                       P "rope.scaling.yarn_beta_fast",
                                       P "rope.scaling.yarn_beta_slow",
                                       P "swiglu_clamp_exp",
                                       P "swiglu_clamp_shexp"};
    static const float wrong[] = {0.0f, -1.0f, NAN};
    static const char *const why[] = {"above 0", "above 0", "finite"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        for (size_t k = 0; k < 3; k++) {
            struct edited *e = open_keys();
            edited_set(e, keys[i], VV_GGUF_F32, &wrong[k], sizeof wrong[k]);
            refuses(e, WORDS(keys[i], why[k]));
        }
    }
}

/* A limit for all layers is as good as one for each. */
static void one_limit_for_all_layers(void **state) {
    (void)state;
    const float limit = 2.0f;
    struct edited *e = open_keys();
    edited_set(e, P "swiglu_clamp_exp", VV_GGUF_F32, &limit, sizeof limit);
    edited_unset(e, P "swiglu_clamp_shexp");
    refuses(e, WORDS("token_embd.weight", "missing"));
}

static void refuses_number(const char *key, uint32_t value, const char *why) {
    struct edited *e = open_keys();
    edited_set_u32(e, key, value);
    refuses(e, WORDS(key, why));
}

static void c009_numbers_that_contradict_others(void **state) {
    (void)state;
    const float low = 0.5f;
    refuses_number(P "attention.value_length", 79, "key_length");
    refuses_number(P "attention.output_group_count", 3, "head_count");
    refuses_number(P "rope.dimension_count", 15, "even");
    refuses_number(P "rope.dimension_count", 82, "fit in a head");
    refuses_number(P "attention.indexer.key_length", 48, "power of two");
    refuses_number(P "attention.indexer.key_length", 1024, "power of two");
    refuses_number(P "attention.indexer.key_length", 16, "power of two");
    refuses_number(P "expert_used_count", 6, "expert_count");
    struct edited *e = open_keys();
    edited_set(e, P "rope.freq_base", VV_GGUF_F32, &low, sizeof low);
    refuses(e, WORDS(P "rope.freq_base", "1 or more"));
    e = open_keys();
    edited_set(e, P "rope.scaling.factor", VV_GGUF_F32, &low, sizeof low);
    refuses(e, WORDS(P "rope.scaling.factor", "1 or more"));
    e = open_keys();
    edited_set(e, P "expert_weights_norm", VV_GGUF_BOOL, "", 1);
    refuses(e, WORDS(P "expert_weights_norm", "false"));
    e = open_keys();
    edited_set(e, P "rope.scaling.type", VV_GGUF_STRING, "\6\0\0\0\0\0\0\0linear", 14);
    refuses(e, WORDS(P "rope.scaling.type", "yarn"));
}

static void c009_layer_kinds(void **state) {
    (void)state;
    static const int32_t kinds[][5] = {
        {4, 128, 0, 8, 0}, {4, 128, -4, 4, 0}, {4, 128, 0, 4, 4}, {1, 128, 0, 4, 0}};
    static const uint64_t counts[] = {5, 5, 5, 5};
    for (size_t i = 0; i < 4; i++) {
        struct edited *e = open_keys();
        edited_set_array(e, P "attention.compress_ratios", VV_GGUF_I32, kinds[i], counts[i], 4);
        refuses(e, WORDS(P "attention.compress_ratios"));
    }
    struct edited *e = open_keys();
    edited_set_array(e, P "attention.compress_ratios", VV_GGUF_I32, kinds[2], 4, 4);
    refuses(e, WORDS(P "attention.compress_ratios", "4 elements"));
    const float limit[4] = {1, 1, 1, 1};
    e = open_keys();
    edited_set_array(e, P "swiglu_clamp_exp", VV_GGUF_F32, limit, 4, 4);
    refuses(e, WORDS(P "swiglu_clamp_exp", "fewer elements"));
}

/* ---- tensors ---- */

static void c010_tables_of_experts(void **state) {
    (void)state;
    static const int32_t wrong[] = {5, -1, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < 4; i++) {
        struct edited *e = edited_open(TINY);
        struct edited_tensor *t = edited_tensor(e, "blk.0.ffn_gate_tid2eid.weight");
        memcpy(t->data + t->size - 4, &wrong[i], 4);
        edited_write(e, path);
        edited_close(e);
        struct opened o = open_path(path, false);
        struct varve_session_options options = {.threads = 1};
        struct varve_session *s;
        struct varve_error error = {0};
        assert_int_equal(varve_session_open(o.model, &options, &s, &error), VARVE_ERROR_INVALID);
        message_has(&error, WORDS("ffn_gate_tid2eid", "element 551", "changed.gguf"));
        close_model(&o);
    }
    struct edited *e = edited_open(TINY);
    edited_tensor(e, "blk.0.ffn_gate_tid2eid.weight")->type = 0; /* F32 */
    refuses(e, WORDS("ffn_gate_tid2eid", "F32", "whole numbers"));
}

static void c010_tensors_of_another_shape(void **state) {
    (void)state;
    static const char *const dropped[] = {"output_hc_fn.weight",
                                          "blk.0.hc_attn_scale.weight",
                                          "blk.1.attn_compressor_ape.weight",
                                          "blk.3.indexer.proj.weight",
                                          "blk.1.exp_probs_b.bias",
                                          "blk.0.ffn_gate_tid2eid.weight",
                                          "blk.4.nextn.eh_proj.weight",
                                          "blk.2.attn_sinks.weight"};
    for (size_t i = 0; i < sizeof dropped / sizeof *dropped; i++) {
        struct edited *e = edited_open(TINY);
        edited_drop(e, dropped[i]);
        char stem[64];
        snprintf(stem, sizeof stem, "%s", dropped[i]);
        *strrchr(stem, '.') = 0;
        bool e_proj = strstr(stem, "eh_proj"); /* the two apart would do as well */
        refuses(e, WORDS(e_proj ? "e_proj" : stem, "missing"));
    }
    static const char *const turned[] = {"blk.1.attn_output_a.weight", "blk.0.attn_q_b.weight",
                                         "blk.0.indexer_compressor_kv.weight",
                                         "blk.0.ffn_gate_tid2eid.weight"};
    for (size_t i = 0; i < sizeof turned / sizeof *turned; i++) {
        struct edited *e = edited_open(TINY);
        struct edited_tensor *t = edited_tensor(e, turned[i]);
        uint64_t width = t->ne[0];
        t->ne[0] = t->ne[1];
        t->ne[1] = width;
        refuses(e, WORDS(turned[i], "metadata"));
    }
    struct edited *e = edited_open(TINY);
    edited_add(e, "blk.1.ffn_gate_tid2eid.weight", 26, 2, (uint64_t[]){2, 276});
    refuses(e, WORDS("blk.1.ffn_gate_tid2eid.weight", "unknown"));
}

/* ---- damage anywhere ---- */

static unsigned char *bytes_of(const char *file, size_t *size) {
    FILE *f = fopen(file, "rb");
    assert_non_null(f);
    fseek(f, 0, SEEK_END);
    *size = (size_t)ftell(f);
    rewind(f);
    unsigned char *bytes = malloc(*size);
    assert_int_equal(fread(bytes, 1, *size, f), *size);
    fclose(f);
    return bytes;
}

/* As far as it goes: opened, bound, evaluated. What fails has a sentence. */
static int use(const char *file) {
    const struct varve_session_options options = {.threads = 1, .context = 16, .window = 8};
    struct varve_error error = {0};
    struct varve_file *f = NULL;
    struct varve_model *m = NULL;
    struct varve_session *s = NULL;
    const struct varve_row rows[] = {{0, 3, true}, {0, 200, true}};
    int code = varve_file_open(file, false, &f, &error);
    code = code ? code : varve_model_open(f, NULL, NULL, &m, &error);
    code = code ? code : varve_session_open(m, &options, &s, &error);
    code = code ? code : varve_session_evaluate(s, rows, 2, VARVE_ADVANCE, NULL, NULL, &error);
    assert_true(code == VARVE_OK || error.message[0]);
    varve_session_close(s);
    varve_model_close(m);
    varve_file_close(f);
    return code;
}

/* A few bytes of the header or of the weights changed, or the end cut off: a model, or a refusal.
 */
static void damage_anywhere(void **state) {
    (void)state;
    enum { TRIES = 300 };
    size_t size, refused = 0;
    unsigned char *bytes = bytes_of(VARVE_SOURCE_DIR "/tests/data/" TINY, &size);
    uint64_t random = 88172645463325252u;
    for (int t = 0; t < TRIES; t++) {
        unsigned char *copy = malloc(size);
        memcpy(copy, bytes, size);
        for (int i = 0; i <= t % 4; i++) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            size_t within = t % 3 ? 20000 : size; /* mostly of the header */
            copy[random % within] ^= (unsigned char)(1 + (random >> 40) % 255);
        }
        FILE *f = fopen(path, "wb");
        size_t kept = t % 50 == 49 ? (size_t)(random % size) : size;
        assert_int_equal(fwrite(copy, 1, kept, f), kept);
        fclose(f);
        refused += use(path) != VARVE_OK;
        free(copy);
    }
    free(bytes);
    assert_in_range(refused, TRIES / 10, TRIES - TRIES / 10);
}

/* ---- a scale beside a matrix (C011) ---- */

enum { TOKENS = 12 };

static float *logits_of_edited(struct edited *e, size_t *count) {
    int32_t tokens[TOKENS];
    const struct varve_session_options options = {.threads = 1, .context = 16, .logits = TOKENS};
    edited_write(e, path);
    edited_close(e);
    struct opened o = open_path(path, false);
    random_tokens(&o, 3, tokens, TOKENS);
    float *logits = logits_of(&o, &options, tokens, TOKENS);
    *count = TOKENS * o.info.vocabulary;
    close_model(&o);
    return logits;
}

/* Of the output's groups, which the file has as one matrix: one scale for all, or one each; twice
 * the values are the same, to the bit. */
static void c011_a_scale_for_all_groups_or_each(void **state) {
    (void)state;
    static const char name[] = "blk.1.attn_output_a.weight", scale[] = "blk.1.attn_output_a.scale";
    const float two[8] = {2, 2, 2, 2, 2, 2, 2, 2};
    size_t count;
    struct edited *e = edited_open(TINY);
    float *plain = logits_of_edited(e, &count);
    e = edited_open(TINY);
    struct edited_tensor *t = edited_tensor(e, name);
    assert_int_equal(t->type, 1); /* F16 */
    for (size_t i = 0; i < t->size; i += 2) {
        uint16_t half;
        memcpy(&half, t->data + i, 2);
        half = (uint16_t)(half & 0x7c00 ? half + 0x400 : (half & 0x8000) | (half & 0x3ff) << 1);
        memcpy(t->data + i, &half, 2);
    }
    float *doubled = logits_of_edited(e, &count);
    assert_memory_not_equal(plain, doubled, count * sizeof *plain);
    static const uint64_t groups[] = {1, 2};
    for (size_t i = 0; i < 2; i++) {
        e = edited_open(TINY);
        memcpy(edited_add(e, scale, 0, 1, &groups[i])->data, two, groups[i] * sizeof *two);
        float *scaled = logits_of_edited(e, &count);
        assert_memory_equal(scaled, doubled, count * sizeof *scaled);
        free(scaled);
    }
    e = edited_open(TINY);
    edited_add(e, scale, 0, 1, (uint64_t[]){3});
    refuses(e, WORDS(scale, "3 x 1"));
    e = edited_open(TINY); /* experts are several matrices in the file */
    edited_add(e, "blk.1.ffn_up_exps.scale", 0, 1, (uint64_t[]){1});
    refuses(e, WORDS("blk.1.ffn_up_exps.scale", "1 x 1"));
    free(plain);
    free(doubled);
}

/* ---- the draft block in a file of its own (3.8) ---- */

enum { LAYERS = 4, STEPS = 4 };

static char *written(struct edited *e, const char *name) {
    char *file = strdup(temporary_file(&folder, name));
    edited_write(e, file);
    edited_close(e);
    return file;
}

static char *write_trunk(void) {
    static const int32_t kinds[LAYERS] = {4, 128, 0, 4};
    struct edited *e = edited_open(TINY);
    for (size_t i = e->tensor_count; i-- > 0;) {
        if (strncmp(e->tensors[i]->name, "blk.4.", 6) == 0) {
            edited_drop(e, e->tensors[i]->name);
        }
    }
    edited_set_u32(e, P "block_count", LAYERS);
    edited_unset(e, P "nextn_predict_layers");
    edited_set_array(e, P "attention.compress_ratios", VV_GGUF_I32, kinds, LAYERS, 4);
    return written(e, "trunk.gguf");
}

/* Of each row of `from` [rows][2n] half `which`, as a matrix [rows][n] of halves. */
static void add_half(struct edited *e, const char *name, const struct edited_tensor *from,
                     size_t which) {
    uint64_t ne[2] = {from->ne[0] / 2, from->ne[1]};
    struct edited_tensor *to = edited_add(e, name, from->type, 2, ne);
    size_t row = (size_t)ne[0] * 2;
    for (size_t r = 0; r < ne[1]; r++) {
        memcpy(to->data + r * row, from->data + (2 * r + which) * row, row);
    }
}

/* Under the names that such files have: the two projections apart, the last norm called "norm". */
static char *write_block(void) {
    struct edited *e = edited_open(TINY);
    struct edited_tensor *joined = edited_tensor(e, "blk.4.nextn.eh_proj.weight");
    assert_int_equal(joined->type, 1); /* F16 */
    add_half(e, "mtp.0.e_proj.weight", joined, 0);
    add_half(e, "mtp.0.h_proj.weight", joined, 1);
    edited_drop(e, "blk.4.nextn.eh_proj.weight");
    for (size_t i = e->tensor_count; i-- > 0;) {
        char *name = e->tensors[i]->name, rest[64];
        if (strncmp(name, "blk.4.", 6) == 0) {
            snprintf(rest, sizeof rest, "%s", name + (strncmp(name + 6, "nextn.", 6) ? 6 : 12));
            bool last = strcmp(rest, "shared_head_norm.weight") == 0;
            snprintf(name, 64, "mtp.0.%.50s", last ? "norm.weight" : rest);
        } else if (strncmp(name, "mtp.0.", 6) != 0) {
            edited_drop(e, name);
        }
    }
    return written(e, "block.gguf");
}

static void draft(struct opened *o, int32_t *drafts, float *logits) {
    const struct varve_session_options options = {
        .threads = 1, .context = 64, .mtp = true, .exact_cache = true};
    struct varve_error error = {0};
    struct varve_session *s = open_session(o, &options);
    int32_t tokens[40];
    random_tokens(o, 5, tokens, 40);
    advance(s, o, 0, tokens, 40, NULL);
    assert_int_equal(varve_session_draft(s, 0, 3, STEPS, drafts, logits, &error), 0);
    varve_session_close(s);
}

/* The same block gives the same drafts, and logits as near as sums in another order are. */
static void drafts_from_a_file_of_their_own(void **state) {
    (void)state;
    char *trunk = write_trunk(), *block = write_block();
    struct opened whole = open_model(TINY), both = {0};
    struct varve_error error = {0};
    assert_int_equal(varve_file_open(trunk, false, &both.file, &error), 0);
    if (varve_file_add_drafts(both.file, block, &error) != VARVE_OK ||
        varve_model_open(both.file, NULL, NULL, &both.model, &error) != VARVE_OK) {
        fail_msg("%s", error.message);
    }
    varve_model_info(both.model, &both.info);
    assert_int_equal(both.info.mtp_layers, 1);
    size_t count = STEPS * whole.info.vocabulary;
    int32_t a[STEPS], b[STEPS];
    float *x = malloc(count * sizeof *x), *y = malloc(count * sizeof *y);
    draft(&whole, a, x);
    draft(&both, b, y);
    assert_memory_equal(a, b, sizeof a);
    for (size_t i = 0; i < count; i++) {
        assert_true(fabsf(x[i] - y[i]) < 1e-3f);
    }
    assert_memory_not_equal(x, x + whole.info.vocabulary, whole.info.vocabulary * sizeof *x);
    free(x), free(y), free(trunk), free(block);
    close_model(&whole);
    close_model(&both);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unchanged_keys_are_accepted),
        cmocka_unit_test(c009_numbers_out_of_range),
        cmocka_unit_test(c009_numbers_that_are_none),
        cmocka_unit_test(c009_reals_that_are_not_above_0),
        cmocka_unit_test(one_limit_for_all_layers),
        cmocka_unit_test(c009_numbers_that_contradict_others),
        cmocka_unit_test(c009_layer_kinds),
        cmocka_unit_test(c010_tables_of_experts),
        cmocka_unit_test(c010_tensors_of_another_shape),
        cmocka_unit_test(damage_anywhere),
        cmocka_unit_test(c011_a_scale_for_all_groups_or_each),
        cmocka_unit_test(drafts_from_a_file_of_their_own),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

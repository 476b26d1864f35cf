/*
 * Metadata of a `qwen4exp` file that are missing, of another type, or out of range, key by key:
 * each is refused with a sentence that names the key (cases C009 and C010 of docs/cases.md). The
 * files have no tensors, which would be missed after the geometry alone.
 */
#include "support/edited.h"
#include "support/opened.h"
#include "support/temporary.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define P "qwen4exp."
#define NO_TENSOR "token_embd.weight"

static struct temporary folder;
static char path[600];

static int make_folder(void **state) {
    (void)state;
    folder = temporary_make();
    snprintf(path, sizeof path, "%s", temporary_file(&folder, "keys.gguf"));
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    temporary_remove(&folder);
    return 0;
}

static struct edited *open_keys(const char *model) {
    struct edited *e = edited_open(model);
    edited_drop_all(e);
    /* The vocabulary has a test of its own. */
    edited_unset(e, "tokenizer.ggml.tokens");
    return e;
}

static void refuses(struct edited *e, const char *const *words) {
    edited_write(e, path);
    edited_close(e);
    refuse_path(path, words);
}

static const char *const models[] = {"qwen4exp/micro.f32.gguf", "qwen4exp/odd.f32.gguf",
                                     "qwen4exp/hq.ud.gguf"};

/* What the tests below change is all right before. */
static void unchanged_keys_are_accepted(void **state) {
    (void)state;
    for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
        refuses(open_keys(models[m]), WORDS(NO_TENSOR, "missing"));
    }
}

/* ---- whole numbers ---- */

/* `low` and `high` are the nearest values that are refused; 0: any is refused below 1, none above
 * (of 32 bits). */
static const struct range {
    const char *key;
    uint32_t low, high;
    bool optional;
} ranges[] = {
    {P "block_count", 1, 4097, false}, /* 1: the draft block alone */
    {P "nextn_predict_layers", 0, 2, true},
    {P "embedding_length", 0, (1 << 24) + 1, false},
    {P "hyper_connection.count", 1, 65, false},
    {P "hyper_connection.low_rank", 0, (1 << 24) + 1, false},
    {P "context_length", 0, UINT32_C(1) << 31, false},
    {P "attention.head_count", 0, (1 << 24) + 1, false},
    {P "attention.head_count_kv", 0, (1 << 24) + 1, false},
    {P "attention.key_length", 0, (1 << 24) + 1, false},
    {P "attention.value_length", 0, (1 << 24) + 1, true},
    {P "rope.dimension_count", 1, (1 << 24) + 1, false},
    {P "attention.indexer.head_count", 0, (1 << 24) + 1, false},
    {P "attention.indexer.key_length", 0, (1 << 24) + 1, false},
    {P "attention.indexer.top_k", 0, (1 << 24) + 1, false},
    {P "ssm.group_count", 0, (1 << 24) + 1, false},
    {P "ssm.time_step_rank", 0, (1 << 24) + 1, false},
    {P "ssm.state_size", 0, (1 << 24) + 1, false},
    {P "ssm.conv_kernel", 1, 65, false},
    {P "ssm.inner_size", 0, (1 << 24) + 1, false},
    {P "expert_count", 0, (1 << 24) + 1, false},
    {P "expert_used_count", 0, (1 << 24) + 1, false},
    {P "expert_feed_forward_length", 0, (1 << 24) + 1, false},
    {P "expert_shared_feed_forward_length", 0, (1 << 24) + 1, false},
    {P "ple.ngram_size", 1, 9, false},
    {P "ple.heads_per_ngram", 0, 65, false},
    {P "embedding_length_per_layer_input", 0, (1 << 24) + 1, false},
    {P "ple.conv_kernel", 1, 65, false},
    {P "ple.eos_token_id", 0, UINT32_C(1) << 31, false},
    {P "full_attention_interval", 0, 4097, false},
};

static void c009_numbers_out_of_range(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        const struct range *r = &ranges[i];
        const uint32_t wrong[] = {r->low, r->high, UINT32_MAX};
        bool low = strcmp(r->key, P "nextn_predict_layers") != 0 &&
                   strcmp(r->key, P "ple.eos_token_id") != 0; /* where 0 is right */
        for (size_t k = low ? 0 : 1; k < 3; k++) {
            struct edited *e = open_keys(models[0]);
            char value[24];
            edited_set_u32(e, r->key, wrong[k]);
            snprintf(value, sizeof value, "%u", wrong[k]);
            refuses(e, WORDS(r->key, value, "keys.gguf"));
        }
    }
}

/* Missing; text; a fraction; below zero; 2^63. */
static void c009_numbers_that_are_none(void **state) {
    (void)state;
    const unsigned char text[] = {1, 0, 0, 0, 0, 0, 0, 0, '4'};
    const float fraction = 4.5f;
    const int32_t negative = -4;
    const uint64_t huge = UINT64_C(1) << 63;
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        for (int how = 0; how < 5; how++) {
            struct edited *e = open_keys(models[0]);
            const char *key = ranges[i].key;
            switch (how) {
            case 0:
                edited_unset(e, key);
                break;
            case 1:
                edited_set(e, key, VV_GGUF_STRING, text, sizeof text);
                break;
            case 2:
                edited_set(e, key, VV_GGUF_F32, &fraction, sizeof fraction);
                break;
            case 3:
                edited_set(e, key, VV_GGUF_I32, &negative, sizeof negative);
                break;
            default:
                edited_set(e, key, VV_GGUF_U64, &huge, sizeof huge);
            }
            /* Without nextn_predict_layers block_count has one layer more, and so on: whatever
             * comes of it, the key itself isn't blamed. */
            refuses(e, how == 0 && ranges[i].optional ? WORDS("keys.gguf") : WORDS(key));
        }
    }
}

/* ---- numbers that contradict others ---- */

static void c009_numbers_that_contradict_others(void **state) {
    (void)state;
    static const struct {
        const char *key;
        uint32_t value;
        const char *other;
    } cases[] = {
        {P "attention.head_count", 3, "attention.head_count_kv"},
        {P "attention.value_length", 16, "attention.key_length"},
        {P "rope.dimension_count", 15, "even"},
        {P "rope.dimension_count", 34, "fit in a head"}, /* heads have 32 */
        {P "ssm.inner_size", 66, "ssm.time_step_rank"},
        {P "ssm.time_step_rank", 1, "ssm.group_count"},
        {P "expert_used_count", 9, "expert_count"},
        {P "ple.heads_per_ngram", 33, "64 heads"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct edited *e = open_keys(models[0]);
        edited_set_u32(e, cases[i].key, cases[i].value);
        refuses(e, WORDS(cases[i].key, cases[i].other));
    }
    struct edited *e = open_keys(models[0]); /* narrower index heads */
    edited_set_u32(e, P "attention.indexer.key_length", 14);
    refuses(e, WORDS(P "rope.dimension_count", "fit in a head"));
}

/* ---- real numbers ---- */

static void c009_real_numbers(void **state) {
    (void)state;
    static const char *const keys[] = {P "attention.layer_norm_rms_epsilon", P "rope.freq_base"};
    const float wrong[] = {0.0f, -1e-6f, NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < 2; i++) {
        for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
            struct edited *e = open_keys(models[0]);
            edited_set(e, keys[i], VV_GGUF_F32, &wrong[k], sizeof wrong[k]);
            refuses(e, WORDS(keys[i]));
        }
        struct edited *e = open_keys(models[0]);
        edited_unset(e, keys[i]);
        refuses(e, WORDS(keys[i]));
        e = open_keys(models[0]);
        const double wide = 1e300; /* no float */
        edited_set(e, keys[i], VV_GGUF_F64, &wide, sizeof wide);
        refuses(e, WORDS(keys[i]));
    }
}

/* ---- arrays ---- */

static void set_i32(struct edited *e, const char *key, const int32_t *values, uint64_t count) {
    edited_set_array(e, key, VV_GGUF_I32, values, count, sizeof *values);
}

static void set_u64(struct edited *e, const char *key, const uint64_t *values, uint64_t count) {
    edited_set_array(e, key, VV_GGUF_U64, values, count, sizeof *values);
}

/* Each array missing, one element short, a number instead. */
static void c009_arrays_that_are_short(void **state) {
    (void)state;
    static const struct {
        const char *key;
        uint64_t count;
    } arrays[] = {{P "attention.compress_ratios", 5},
                  {P "ple.layers", 1},
                  {P "ple.layer_multipliers", 3},
                  {P "ple.head_vocab_sizes", 8},
                  {P "ple.head_offsets", 8}};
    const uint64_t ones[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        const char *key = arrays[i].key;
        char needed[40];
        struct edited *e = open_keys(models[0]);
        edited_unset(e, key);
        refuses(e, WORDS(key));
        e = open_keys(models[0]);
        edited_set_u32(e, key, 4);
        refuses(e, WORDS(key));
        e = open_keys(models[0]);
        set_u64(e, key, ones, arrays[i].count - 1);
        snprintf(needed, sizeof needed, "%zu are needed", (size_t)arrays[i].count);
        refuses(e, WORDS(key, needed));
    }
}

static void c009_elements_out_of_range(void **state) {
    (void)state;
    static const struct {
        const char *key;
        int32_t values[8];
        uint64_t count;
        const char *why;
    } cases[] = {
        {P "attention.compress_ratios", {0, 0, 0, 5, 0}, 5, "divide"},
        {P "attention.compress_ratios", {0, 0, 0, 128, 0}, 5, "divide"},
        {P "attention.compress_ratios", {0, 0, 0, -4, 0}, 5, "-4"},
        {P "ple.layers", {3}, 1, "gated-delta-net"}, /* attends */
        {P "ple.layers", {4}, 1, "gated-delta-net"}, /* the draft block */
        {P "ple.layers", {1000000}, 1, "gated-delta-net"},
        {P "ple.layers", {-1}, 1, "-1"},
        {P "ple.layer_multipliers", {3, -5, 7}, 3, "-5"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct edited *e = open_keys(models[0]);
        set_i32(e, cases[i].key, cases[i].values, cases[i].count);
        refuses(e, WORDS(cases[i].key, cases[i].why));
    }
    struct edited *e = open_keys(models[0]);
    const float ratios[5] = {0, 0, 0, 4, 0};
    edited_set_array(e, P "attention.compress_ratios", VV_GGUF_F32, ratios, 5, sizeof *ratios);
    refuses(e, WORDS(P "attention.compress_ratios"));
}

/* Rows of the n-gram table that no table has, or that this one hasn't: ids beyond a table are what
 * a file's data can't make, since they are bounded here. */
static void c010_heads_beyond_the_table(void **state) {
    (void)state;
    const uint64_t sizes[8] = {211, 223, 227, 229, 233, 239, 241, 0};
    const uint64_t huge[8] = {211, 223, 227, 229, 233, UINT64_C(1) << 63, 241, 251};
    const uint64_t offsets[8] = {0, 211, 434, 661, 890, 1123, 1362, UINT64_MAX - 100};
    struct edited *e = open_keys(models[0]);
    set_u64(e, P "ple.head_vocab_sizes", sizes, 8);
    refuses(e, WORDS(P "ple.head_vocab_sizes", "no rows"));
    e = open_keys(models[0]);
    set_u64(e, P "ple.head_vocab_sizes", huge, 8);
    refuses(e, WORDS(P "ple.head_vocab_sizes", "2^31 - 1"));
    e = open_keys(models[0]);
    set_u64(e, P "ple.head_offsets", offsets, 8); /* wraps when the size is added */
    refuses(e, WORDS(P "ple.head_vocab_sizes", "2^31 - 1"));

    e = edited_open(models[0]); /* one row less than the heads reach */
    uint64_t rows = edited_tensor(e, "per_layer_token_embd.weight")->ne[1];
    uint64_t last[8] = {0, 211, 434, 661, 890, 1123, 1362, 0};
    const uint64_t all[8] = {211, 223, 227, 229, 233, 239, 241, 251};
    last[7] = rows - all[7] + 1;
    set_u64(e, P "ple.head_offsets", last, 8);
    set_u64(e, P "ple.head_vocab_sizes", all, 8);
    refuses(e, WORDS("per_layer_token_embd.weight", "ple.head_offsets"));
    e = edited_open(models[0]); /* the last row */
    last[7]--;
    set_u64(e, P "ple.head_offsets", last, 8);
    edited_write(e, path);
    edited_close(e);
    struct opened o = open_path(path, false);
    close_model(&o);
}

static void lists_of_recurrent_layers(void **state) {
    (void)state;
    const unsigned char flags[6] = {1, 1, 1, 0, 0, 0};
    const int32_t numbers[5] = {1, 1, 1, 0, 0};
    for (uint64_t count = 4; count <= 6; count += 2) {
        struct edited *e = open_keys(models[0]);
        edited_set_array(e, P "attention.recurrent_layers", VV_GGUF_BOOL, flags, count, 1);
        refuses(e, WORDS(P "attention.recurrent_layers", "5"));
    }
    struct edited *e = open_keys(models[0]);
    set_i32(e, P "attention.recurrent_layers", numbers, 5);
    refuses(e, WORDS(P "attention.recurrent_layers", "bool"));
    e = open_keys(models[0]);
    const unsigned char none[5] = {1, 0, 1, 0, 0};
    edited_set_array(e, P "attention.recurrent_layers", VV_GGUF_BOOL, none, 5, 1);
    refuses(e, WORDS(P "ple.layers", "gated-delta-net"));
}

/* ---- tables and architecture ---- */

static void vocabularies_that_do_not_fit(void **state) {
    (void)state;
    struct edited *e = edited_open(models[0]);
    struct edited_tensor *t = edited_tensor(e, "token_embd.weight");
    t->ne[1]--;
    t->size -= t->ne[0] * sizeof(float);
    refuses(e, WORDS("tokenizer.ggml.tokens", "320", "319"));
}

static void other_architectures(void **state) {
    (void)state;
    const unsigned char name[] = {5, 0, 0, 0, 0, 0, 0, 0, 'l', 'l', 'a', 'm', 'a'};
    struct edited *e = open_keys(models[0]);
    edited_set(e, "general.architecture", VV_GGUF_STRING, name, sizeof name);
    refuses(e, WORDS("\"llama\"", "qwen4exp"));
    e = open_keys(models[0]);
    edited_unset(e, "general.architecture");
    refuses(e, WORDS("general.architecture"));
    e = open_keys(models[0]);
    edited_set_u32(e, "general.architecture", 4);
    refuses(e, WORDS("general.architecture"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unchanged_keys_are_accepted),
        cmocka_unit_test(c009_numbers_out_of_range),
        cmocka_unit_test(c009_numbers_that_are_none),
        cmocka_unit_test(c009_numbers_that_contradict_others),
        cmocka_unit_test(c009_real_numbers),
        cmocka_unit_test(c009_arrays_that_are_short),
        cmocka_unit_test(c009_elements_out_of_range),
        cmocka_unit_test(c010_heads_beyond_the_table),
        cmocka_unit_test(lists_of_recurrent_layers),
        cmocka_unit_test(vocabularies_that_do_not_fit),
        cmocka_unit_test(other_architectures),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

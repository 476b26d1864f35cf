/* Metadata of a `qwen4exp` file: read, range-checked, held against each other. */
#include "base/rotary.h"
#include "model/qwen4exp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT_MAX = 1 << 24, LAYERS_MAX = 4096 };

/* Reads keys until the first failure, which it keeps: the list below reads as a list. */
struct reader {
    const struct vv_gguf *file;
    struct vv_error *error;
    int code;
};

static void refuse(struct reader *r, const char *key, const char *why) {
    if (r->code == VV_OK) {
        r->code = vv_fail(r->error, VV_ERROR_INVALID, "%s: the metadata key \"qwen4exp.%s\" %s",
                          vv_gguf_path(r->file, 0), key, why);
    }
}

static void full_key(char *to, size_t room, const char *key) {
    snprintf(to, room, "qwen4exp.%s", key);
}

static bool has(const struct reader *r, const char *key) {
    char name[96];
    full_key(name, sizeof name, key);
    return vv_gguf_has(r->file, name);
}

/* A number between `least` and `most`. */
static size_t number(struct reader *r, const char *key, uint64_t least, uint64_t most) {
    char name[96], why[120];
    uint64_t value = least;
    full_key(name, sizeof name, key);
    if (r->code == VV_OK) {
        r->code = vv_gguf_get_u64(r->file, name, &value, r->error);
    }
    if (r->code == VV_OK && (value < least || value > most)) {
        snprintf(why, sizeof why, "is %llu, which is not between %llu and %llu",
                 (unsigned long long)value, (unsigned long long)least, (unsigned long long)most);
        refuse(r, key, why);
    }
    return (size_t)value;
}

static size_t number_or(struct reader *r, const char *key, uint64_t least, uint64_t most,
                        size_t missing) {
    return has(r, key) ? number(r, key, least, most) : missing;
}

static double real(struct reader *r, const char *key) {
    char name[96];
    float value = 1.0f;
    full_key(name, sizeof name, key);
    if (r->code == VV_OK) {
        r->code = vv_gguf_get_f32(r->file, name, &value, r->error);
    }
    if (r->code == VV_OK && !(value > 0)) {
        refuse(r, key, "must be above 0");
    }
    return (double)value;
}

/* At least `count` whole numbers; more are let be. */
static void numbers(struct reader *r, const char *key, size_t count, uint64_t *to) {
    char name[96], why[120];
    const struct vv_gguf_entry *entry = NULL;
    full_key(name, sizeof name, key);
    if (r->code == VV_OK) {
        r->code = vv_gguf_get_array(r->file, name, &entry, r->error);
    }
    if (r->code == VV_OK && entry->count < count) {
        snprintf(why, sizeof why, "has %llu elements where %zu are needed",
                 (unsigned long long)entry->count, count);
        refuse(r, key, why);
    }
    for (size_t i = 0; r->code == VV_OK && i < count; i++) {
        r->code = vv_gguf_entry_u64(r->file, entry, i, &to[i], r->error);
    }
}

static void widths(struct reader *r, struct qwen4exp *g) {
    g->mtp_layers = number_or(r, "nextn_predict_layers", 0, 1, 0);
    g->layers = number(r, "block_count", 1 + g->mtp_layers, LAYERS_MAX) - g->mtp_layers;
    g->width = number(r, "embedding_length", 1, COUNT_MAX);
    g->streams = number(r, "hyper_connection.count", 2, 64);
    g->rank = number(r, "hyper_connection.low_rank", 1, COUNT_MAX);
    g->context = number(r, "context_length", 1, INT32_MAX);
    g->eps = (float)real(r, "attention.layer_norm_rms_epsilon");
}

static void attention(struct reader *r, struct qwen4exp *g) {
    g->heads = number(r, "attention.head_count", 1, COUNT_MAX);
    g->kv_heads = number(r, "attention.head_count_kv", 1, COUNT_MAX);
    g->head_width = number(r, "attention.key_length", 1, COUNT_MAX);
    g->rotated = number(r, "rope.dimension_count", 2, COUNT_MAX);
    g->index_heads = number(r, "attention.indexer.head_count", 1, COUNT_MAX);
    g->index_width = number(r, "attention.indexer.key_length", 1, COUNT_MAX);
    g->index_tokens = number(r, "attention.indexer.top_k", 1, COUNT_MAX);
    if (r->code == VV_OK && g->heads % g->kv_heads != 0) {
        refuse(r, "attention.head_count", "is no multiple of attention.head_count_kv");
    }
    if (number_or(r, "attention.value_length", 1, COUNT_MAX, g->head_width) != g->head_width) {
        refuse(r, "attention.value_length",
               "differs from attention.key_length, which this "
               "architecture does not have");
    }
    if (g->rotated % 2 != 0 || g->rotated > g->head_width || g->rotated > g->index_width) {
        refuse(r, "rope.dimension_count", "must be even and fit in a head");
    }
}

static void delta_net(struct reader *r, struct qwen4exp *g) {
    g->key_heads = number(r, "ssm.group_count", 1, COUNT_MAX);
    g->value_heads = number(r, "ssm.time_step_rank", 1, COUNT_MAX);
    g->key_width = number(r, "ssm.state_size", 1, COUNT_MAX);
    g->kernel = number(r, "ssm.conv_kernel", 2, 64);
    size_t inner = number(r, "ssm.inner_size", 1, COUNT_MAX);
    if (r->code == VV_OK && inner % g->value_heads != 0) {
        refuse(r, "ssm.inner_size", "is no multiple of ssm.time_step_rank");
    }
    g->value_width = r->code == VV_OK ? inner / g->value_heads : 1;
    if (r->code == VV_OK && g->value_heads % g->key_heads != 0) {
        refuse(r, "ssm.time_step_rank", "is no multiple of ssm.group_count");
    }
}

static void moe(struct reader *r, struct qwen4exp *g) {
    g->experts = number(r, "expert_count", 1, COUNT_MAX);
    g->experts_used = number(r, "expert_used_count", 1, COUNT_MAX);
    g->expert_width = number(r, "expert_feed_forward_length", 1, COUNT_MAX);
    g->shared_width = number(r, "expert_shared_feed_forward_length", 1, COUNT_MAX);
    if (g->experts_used > g->experts) {
        refuse(r, "expert_used_count", "is more than expert_count");
    }
}

static void ple(struct reader *r, struct qwen4exp *g) {
    uint64_t layer = 0;
    numbers(r, "ple.layers", 1, &layer);
    g->ple_layer = (size_t)layer;
    g->ngram = number(r, "ple.ngram_size", 2, QWEN4EXP_NGRAM_MAX);
    g->ngram_heads_per = number(r, "ple.heads_per_ngram", 1, QWEN4EXP_HEADS_MAX);
    g->ngram_width = number(r, "embedding_length_per_layer_input", 1, COUNT_MAX);
    g->ple_kernel = number(r, "ple.conv_kernel", 2, 64);
    g->separator = (int32_t)number(r, "ple.eos_token_id", 0, INT32_MAX);
    g->ngram_heads = (g->ngram - 1) * g->ngram_heads_per;
    if (g->ngram_heads > QWEN4EXP_HEADS_MAX) {
        refuse(r, "ple.heads_per_ngram", "gives more than 64 heads in all");
        return;
    }
    numbers(r, "ple.layer_multipliers", g->ngram, g->multiplier);
    numbers(r, "ple.head_vocab_sizes", g->ngram_heads, g->head_vocabulary);
    numbers(r, "ple.head_offsets", g->ngram_heads, g->head_offset);
    for (size_t k = 0; r->code == VV_OK && k < g->ngram_heads; k++) {
        uint64_t v = g->head_vocabulary[k], o = g->head_offset[k];
        if (v == 0 || v > INT32_MAX || o > INT32_MAX || v + o > INT32_MAX) {
            refuse(r, "ple.head_vocab_sizes",
                   "and ple.head_offsets have a head of no rows, or one "
                   "that ends beyond 2^31 - 1");
        } else if (v + o > g->ngram_rows) {
            g->ngram_rows = (size_t)(v + o);
        }
    }
}

/* Which layers are recurrent, and each one's block size. */
static void layer_kinds(struct reader *r, struct qwen4exp *g) {
    size_t all = g->layers + g->mtp_layers;
    uint64_t *ratio = calloc(all, sizeof *ratio);
    bool *given = calloc(all, sizeof *given);
    g->recurrent = calloc(all, sizeof *g->recurrent);
    g->ratio = calloc(all, sizeof *g->ratio);
    if (!ratio || !given || !g->recurrent || !g->ratio) {
        r->code = vv_fail_memory(r->error, all * sizeof *ratio, "the list of layers");
    } else {
        g->attention_every = number(r, "full_attention_interval", 1, LAYERS_MAX);
        numbers(r, "attention.compress_ratios", all, ratio);
        bool listed = has(r, "attention.recurrent_layers");
        if (listed && r->code == VV_OK) {
            r->code = vv_gguf_array_bool(r->file, "qwen4exp.attention.recurrent_layers", all, given,
                                         r->error);
        }
        for (size_t i = 0; r->code == VV_OK && i < all; i++) {
            bool trunk = i < g->layers;
            g->recurrent[i] = trunk && (listed ? given[i] : (i + 1) % g->attention_every != 0);
            g->ratio[i] = g->recurrent[i] ? 0 : (uint32_t)ratio[i];
            if (ratio[i] > g->index_tokens || (ratio[i] > 0 && g->index_tokens % ratio[i] != 0)) {
                refuse(r, "attention.compress_ratios",
                       "has a block size that doesn't divide attention.indexer.top_k");
            }
        }
    }
    free(ratio);
    free(given);
    if (r->code == VV_OK && (g->ple_layer >= g->layers || !g->recurrent[g->ple_layer])) {
        refuse(r, "ple.layers", "must name one gated-delta-net layer of the trunk");
    }
}

/* The table may have more rows than the heads need, never fewer. */
static void table_rows(struct reader *r, struct qwen4exp *g) {
    const struct vv_gguf_tensor *t = vv_gguf_find_tensor(r->file, "per_layer_token_embd.weight");
    if (r->code == VV_OK && t && t->ne[1] < g->ngram_rows) {
        r->code = vv_fail(r->error, VV_ERROR_INVALID,
                          "%s: the tensor \"%s\" has %llu rows, but ple.head_offsets and "
                          "ple.head_vocab_sizes reach row %zu; the file is damaged",
                          vv_gguf_path(r->file, t->shard), t->name, (unsigned long long)t->ne[1],
                          g->ngram_rows);
    }
    g->ngram_rows = t ? (size_t)t->ne[1] : g->ngram_rows;
}

static void add_stop(struct qwen4exp *g, const struct vv_gguf *file, const char *key) {
    uint32_t id;
    struct vv_error ignored;
    if (!vv_gguf_has(file, key) || vv_gguf_get_u32(file, key, &id, &ignored) != VV_OK ||
        id >= g->vocabulary || g->stop_count == sizeof g->stop / sizeof *g->stop) {
        return;
    }
    for (size_t i = 0; i < g->stop_count; i++) {
        if (g->stop[i] == (int32_t)id) {
            return;
        }
    }
    g->stop[g->stop_count++] = (int32_t)id;
}

/* The vocabulary is what the embedding has rows for; a file's token list, if any, must agree. */
static void vocabulary(struct reader *r, struct qwen4exp *g) {
    const struct vv_gguf_tensor *t = vv_gguf_find_tensor(r->file, "token_embd.weight");
    const struct vv_gguf_entry *tokens = vv_gguf_find(r->file, "tokenizer.ggml.tokens");
    g->vocabulary = t ? (size_t)t->ne[1] : 0;
    if (r->code == VV_OK && t && (t->ne[1] > INT32_MAX || (tokens && tokens->count != t->ne[1]))) {
        r->code =
            vv_fail(r->error, VV_ERROR_INVALID,
                    "%s: tokenizer.ggml.tokens has %llu tokens, the tensor \"%s\" %llu rows; "
                    "they must be equal",
                    vv_gguf_path(r->file, 0), (unsigned long long)(tokens ? tokens->count : 0),
                    t->name, (unsigned long long)t->ne[1]);
    }
    /* The chat's end of turn, and the text separator: the file names only the first as eos. */
    add_stop(g, r->file, "tokenizer.ggml.eos_token_id");
    add_stop(g, r->file, "tokenizer.ggml.eot_token_id");
    add_stop(g, r->file, "qwen4exp.ple.eos_token_id");
}

int qwen4exp_open(const struct vv_gguf *file, void **geometry, struct vv_error *error) {
    struct qwen4exp *g = calloc(1, sizeof *g);
    if (!g) {
        return vv_fail_memory(error, sizeof *g, "the model's geometry");
    }
    struct reader r = {file, error, VV_OK};
    widths(&r, g);
    attention(&r, g);
    delta_net(&r, g);
    moe(&r, g);
    ple(&r, g);
    if (r.code == VV_OK) {
        layer_kinds(&r, g);
    }
    table_rows(&r, g);
    vocabulary(&r, g);
    double base = real(&r, "rope.freq_base");
    g->turn = r.code == VV_OK ? calloc(g->rotated / 2, sizeof *g->turn) : NULL;
    if (r.code == VV_OK && !g->turn) {
        r.code = vv_fail_memory(error, g->rotated * sizeof *g->turn, "rotary frequencies");
    }
    for (size_t i = 0; r.code == VV_OK && i < g->rotated / 2; i++) {
        g->turn[i] = vv_rotary_turn(base, (unsigned)i, (unsigned)g->rotated);
    }
    if (r.code != VV_OK) {
        qwen4exp_close(g);
        return r.code;
    }
    *geometry = g;
    return VV_OK;
}

void qwen4exp_close(void *geometry) {
    struct qwen4exp *g = geometry;
    if (g) {
        free(g->recurrent);
        free(g->ratio);
        free(g->turn);
        free(g);
    }
}

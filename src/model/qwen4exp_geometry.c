/* Metadata of a `qwen4exp` file: read, range-checked, held against each other. */
#include "model/metadata.h"
#include "model/qwen4exp.h"

#include <stdlib.h>

static void widths(struct vv_metadata *r, struct qwen4exp *g) {
    g->mtp_layers = vv_number_or(r, "nextn_predict_layers", 0, 1, 0);
    g->layers = vv_number(r, "block_count", 1 + g->mtp_layers, VV_LAYERS_MAX) - g->mtp_layers;
    g->width = vv_number(r, "embedding_length", 1, VV_COUNT_MAX);
    g->streams = vv_number(r, "hyper_connection.count", 2, 64);
    g->rank = vv_number(r, "hyper_connection.low_rank", 1, VV_COUNT_MAX);
    g->context = vv_number(r, "context_length", 1, INT32_MAX);
    g->eps = (float)vv_real(r, "attention.layer_norm_rms_epsilon");
}

static void attention(struct vv_metadata *r, struct qwen4exp *g) {
    g->heads = vv_number(r, "attention.head_count", 1, VV_COUNT_MAX);
    g->kv_heads = vv_number(r, "attention.head_count_kv", 1, VV_COUNT_MAX);
    g->head_width = vv_number(r, "attention.key_length", 1, VV_COUNT_MAX);
    g->rotated = vv_number(r, "rope.dimension_count", 2, VV_COUNT_MAX);
    g->index_heads = vv_number(r, "attention.indexer.head_count", 1, VV_COUNT_MAX);
    g->index_width = vv_number(r, "attention.indexer.key_length", 1, VV_COUNT_MAX);
    g->index_tokens = vv_number(r, "attention.indexer.top_k", 1, VV_COUNT_MAX);
    if (r->code == VV_OK && g->heads % g->kv_heads != 0) {
        vv_refuse_key(r, "attention.head_count", "is no multiple of attention.head_count_kv");
    }
    if (vv_number_or(r, "attention.value_length", 1, VV_COUNT_MAX, g->head_width) !=
        g->head_width) {
        vv_refuse_key(r, "attention.value_length",
                      "differs from attention.key_length, which this "
                      "architecture does not have");
    }
    if (g->rotated % 2 != 0 || g->rotated > g->head_width || g->rotated > g->index_width) {
        vv_refuse_key(r, "rope.dimension_count", "must be even and fit in a head");
    }
}

static void delta_net(struct vv_metadata *r, struct qwen4exp *g) {
    g->key_heads = vv_number(r, "ssm.group_count", 1, VV_COUNT_MAX);
    g->value_heads = vv_number(r, "ssm.time_step_rank", 1, VV_COUNT_MAX);
    g->key_width = vv_number(r, "ssm.state_size", 1, VV_COUNT_MAX);
    g->kernel = vv_number(r, "ssm.conv_kernel", 2, 64);
    size_t inner = vv_number(r, "ssm.inner_size", 1, VV_COUNT_MAX);
    if (r->code == VV_OK && inner % g->value_heads != 0) {
        vv_refuse_key(r, "ssm.inner_size", "is no multiple of ssm.time_step_rank");
    }
    g->value_width = r->code == VV_OK ? inner / g->value_heads : 1;
    if (r->code == VV_OK && g->value_heads % g->key_heads != 0) {
        vv_refuse_key(r, "ssm.time_step_rank", "is no multiple of ssm.group_count");
    }
}

static void moe(struct vv_metadata *r, struct qwen4exp *g) {
    g->experts = vv_number(r, "expert_count", 1, VV_COUNT_MAX);
    g->experts_used = vv_number(r, "expert_used_count", 1, VV_COUNT_MAX);
    g->expert_width = vv_number(r, "expert_feed_forward_length", 1, VV_COUNT_MAX);
    g->shared_width = vv_number(r, "expert_shared_feed_forward_length", 1, VV_COUNT_MAX);
    if (g->experts_used > g->experts) {
        vv_refuse_key(r, "expert_used_count", "is more than expert_count");
    }
}

static void ple(struct vv_metadata *r, struct qwen4exp *g) {
    uint64_t layer = 0;
    vv_numbers(r, "ple.layers", 1, &layer);
    g->ple_layer = (size_t)layer;
    g->ngram = vv_number(r, "ple.ngram_size", 2, QWEN4EXP_NGRAM_MAX);
    g->ngram_heads_per = vv_number(r, "ple.heads_per_ngram", 1, QWEN4EXP_HEADS_MAX);
    g->ngram_width = vv_number(r, "embedding_length_per_layer_input", 1, VV_COUNT_MAX);
    g->ple_kernel = vv_number(r, "ple.conv_kernel", 2, 64);
    g->separator = (int32_t)vv_number(r, "ple.eos_token_id", 0, INT32_MAX);
    g->ngram_heads = (g->ngram - 1) * g->ngram_heads_per;
    if (g->ngram_heads > QWEN4EXP_HEADS_MAX) {
        vv_refuse_key(r, "ple.heads_per_ngram", "gives more than 64 heads in all");
        return;
    }
    vv_numbers(r, "ple.layer_multipliers", g->ngram, g->multiplier);
    vv_numbers(r, "ple.head_vocab_sizes", g->ngram_heads, g->head_vocabulary);
    vv_numbers(r, "ple.head_offsets", g->ngram_heads, g->head_offset);
    for (size_t k = 0; r->code == VV_OK && k < g->ngram_heads; k++) {
        uint64_t v = g->head_vocabulary[k], o = g->head_offset[k];
        if (v == 0 || v > INT32_MAX || o > INT32_MAX || v + o > INT32_MAX) {
            vv_refuse_key(r, "ple.head_vocab_sizes",
                          "and ple.head_offsets have a head of no rows, or one "
                          "that ends beyond 2^31 - 1");
        } else if (v + o > g->ngram_rows) {
            g->ngram_rows = (size_t)(v + o);
        }
    }
}

/* Which layers are recurrent, and each one's block size. */
static void layer_kinds(struct vv_metadata *r, struct qwen4exp *g) {
    size_t all = g->layers + g->mtp_layers;
    uint64_t *ratio = calloc(all, sizeof *ratio);
    bool *given = calloc(all, sizeof *given);
    g->recurrent = calloc(all, sizeof *g->recurrent);
    g->ratio = calloc(all, sizeof *g->ratio);
    if (!ratio || !given || !g->recurrent || !g->ratio) {
        r->code = vv_fail_memory(r->error, all * sizeof *ratio, "the list of layers");
    } else {
        g->attention_every = vv_number(r, "full_attention_interval", 1, VV_LAYERS_MAX);
        vv_numbers(r, "attention.compress_ratios", all, ratio);
        bool listed = vv_has_key(r, "attention.recurrent_layers");
        if (listed && r->code == VV_OK) {
            r->code = vv_gguf_array_bool(r->file, "qwen4exp.attention.recurrent_layers", all, given,
                                         r->error);
        }
        for (size_t i = 0; r->code == VV_OK && i < all; i++) {
            bool trunk = i < g->layers;
            g->recurrent[i] = trunk && (listed ? given[i] : (i + 1) % g->attention_every != 0);
            g->ratio[i] = g->recurrent[i] ? 0 : (uint32_t)ratio[i];
            if (ratio[i] > g->index_tokens || (ratio[i] > 0 && g->index_tokens % ratio[i] != 0)) {
                vv_refuse_key(r, "attention.compress_ratios",
                              "has a block size that doesn't divide attention.indexer.top_k");
            }
        }
    }
    free(ratio);
    free(given);
    if (r->code == VV_OK && (g->ple_layer >= g->layers || !g->recurrent[g->ple_layer])) {
        vv_refuse_key(r, "ple.layers", "must name one gated-delta-net layer of the trunk");
    }
}

/* The table may have more rows than the heads need, never fewer. */
static void table_rows(struct vv_metadata *r, struct qwen4exp *g) {
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

/* The chat's end of turn, and the text separator: the file names only the first as eos. */
static void stops(struct vv_metadata *r, struct qwen4exp *g) {
    vv_read_stop(r, "tokenizer.ggml.eos_token_id", g->vocabulary, &g->stops);
    vv_read_stop(r, "tokenizer.ggml.eot_token_id", g->vocabulary, &g->stops);
    vv_read_stop(r, "qwen4exp.ple.eos_token_id", g->vocabulary, &g->stops);
}

int qwen4exp_open(const struct vv_gguf *file, void **geometry, struct vv_error *error) {
    struct qwen4exp *g = calloc(1, sizeof *g);
    if (!g) {
        return vv_fail_memory(error, sizeof *g, "the model's geometry");
    }
    struct vv_metadata r = {file, "qwen4exp", error, VV_OK};
    widths(&r, g);
    attention(&r, g);
    delta_net(&r, g);
    moe(&r, g);
    ple(&r, g);
    if (r.code == VV_OK) {
        layer_kinds(&r, g);
    }
    table_rows(&r, g);
    g->vocabulary = vv_read_vocabulary(&r);
    stops(&r, g);
    g->turn = vv_read_turns(&r, vv_real(&r, "rope.freq_base"), g->rotated);
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

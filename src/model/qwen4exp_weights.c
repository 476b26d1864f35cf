/* The weights of a `qwen4exp` file by name and shape, and the state of its sequences. */
#include "gguf/types.h"
#include "model/parts.h"
#include "model/qwen4exp.h"

#include <stdio.h>
#include <stdlib.h>

static struct hyper hyper(const struct qwen4exp *g, struct vv_weights *w, const char *prefix,
                          bool inject) {
    size_t wide = g->streams * g->width;
    return (struct hyper){
        .norm = vv_weights_vector(w, wide, 1, "%s_norm", prefix),
        .down = vv_weights_matrix(w, wide, g->rank, 1, "%s_down", prefix),
        .up = vv_weights_matrix(w, g->rank, wide, 1, "%s_up", prefix),
        .inject = inject ? vv_weights_matrix(w, wide, g->streams, 1, "%s_inject", prefix) : NULL,
    };
}

static struct attention attention(const struct qwen4exp *g, struct vv_weights *w, size_t i) {
    size_t q = g->heads * g->head_width, kv = g->kv_heads * g->head_width;
    return (struct attention){
        .q = vv_weights_matrix(w, g->width, 2 * q, 1, "blk.%zu.attn_q", i),
        .k = vv_weights_matrix(w, g->width, kv, 1, "blk.%zu.attn_k", i),
        .v = vv_weights_matrix(w, g->width, kv, 1, "blk.%zu.attn_v", i),
        .output = vv_weights_matrix(w, q, g->width, 1, "blk.%zu.attn_output", i),
        .q_norm = vv_weights_vector(w, g->head_width, 1, "blk.%zu.attn_q_norm", i),
        .k_norm = vv_weights_vector(w, g->head_width, 1, "blk.%zu.attn_k_norm", i),
        .index_q = vv_weights_matrix(w, g->width, g->index_heads * g->index_width, 1,
                                     "blk.%zu.indexer.q_proj", i),
        .index_k = vv_weights_matrix(w, g->width, g->index_width, 1, "blk.%zu.indexer.k_proj", i),
        .index_q_norm = vv_weights_vector(w, g->index_width, 1, "blk.%zu.indexer.q_norm", i),
        .index_k_norm = vv_weights_vector(w, g->index_width, 1, "blk.%zu.indexer.k_norm", i),
    };
}

static struct delta_net delta_net(const struct qwen4exp *g, struct vv_weights *w, size_t i) {
    size_t inner = g->value_heads * g->value_width;
    size_t channels = 2 * g->key_heads * g->key_width + inner;
    return (struct delta_net){
        .qkv = vv_weights_matrix(w, g->width, channels, 1, "blk.%zu.attn_qkv", i),
        .gate = vv_weights_matrix(w, g->width, inner, 1, "blk.%zu.attn_gate", i),
        .alpha = vv_weights_matrix(w, g->width, g->value_heads, 1, "blk.%zu.ssm_alpha", i),
        .beta = vv_weights_matrix(w, g->width, g->value_heads, 1, "blk.%zu.ssm_beta", i),
        .output = vv_weights_matrix(w, inner, g->width, 1, "blk.%zu.ssm_out", i),
        .conv = vv_weights_vector(w, g->kernel, channels, "blk.%zu.ssm_conv1d", i),
        .a = vv_weights_vector(w, g->value_heads, 1, "blk.%zu.ssm_a", i),
        .dt_bias = vv_weights_vector(w, g->value_heads, 1, "blk.%zu.ssm_dt.bias", i),
        .norm = vv_weights_vector(w, g->value_width, 1, "blk.%zu.ssm_norm", i),
    };
}

struct vv_moe_sizes qwen4exp_moe_sizes(const struct qwen4exp *g) {
    return (struct vv_moe_sizes){.width = g->width,
                                 .experts = g->experts,
                                 .used = g->experts_used,
                                 .expert_width = g->expert_width,
                                 .shared_width = g->shared_width};
}

static struct moe moe(const struct qwen4exp *g, struct vv_weights *w, size_t i) {
    struct vv_moe_sizes sizes = qwen4exp_moe_sizes(g);
    char prefix[32];
    snprintf(prefix, sizeof prefix, "blk.%zu", i);
    return (struct moe){
        .experts = vv_moe_bind(w, &sizes, prefix),
        .shared_router = vv_weights_matrix(w, g->width, 1, 1, "blk.%zu.ffn_gate_inp_shexp", i),
    };
}

static struct ple ple(const struct qwen4exp *g, struct vv_weights *w) {
    size_t i = g->ple_layer, wide = g->streams * g->width, in = g->ngram_heads * g->ngram_width;
    return (struct ple){
        .table = vv_weights_table(w, g->ngram_width, g->ngram_rows, "per_layer_token_embd"),
        .key = vv_weights_matrix(w, in, wide, 1, "blk.%zu.ple_key", i),
        .value = vv_weights_matrix(w, in, g->width, 1, "blk.%zu.ple_value", i),
        .norm_key = vv_weights_vector(w, wide, 1, "blk.%zu.ple_norm_key", i),
        .norm_query = vv_weights_vector(w, wide, 1, "blk.%zu.ple_norm_query", i),
        .norm_conv = vv_weights_vector(w, wide, 1, "blk.%zu.ple_norm_conv", i),
        .conv = vv_weights_vector(w, g->ple_kernel, wide, "blk.%zu.ple_conv1d", i),
        .multiplier = vv_weights_constant(w, g->multiplier, sizeof g->multiplier),
        .vocabulary = vv_weights_constant(w, g->head_vocabulary, sizeof g->head_vocabulary),
        .offset = vv_weights_constant(w, g->head_offset, sizeof g->head_offset),
    };
}

static void mtp(const struct qwen4exp *g, struct vv_weights *w, struct qwen4exp_weights *b) {
    size_t i = g->layers, wide = g->streams * g->width;
    char prefix[64];
    b->mtp.join = vv_weights_matrix(w, 2 * g->width, g->width, 1, "blk.%zu.nextn.eh_proj", i);
    b->mtp.embedding_norm = vv_weights_vector(w, g->width, 1, "blk.%zu.nextn.enorm", i);
    b->mtp.hidden_norm = vv_weights_vector(w, wide, 1, "blk.%zu.nextn.hnorm", i);
    snprintf(prefix, sizeof prefix, "blk.%zu.nextn.hc_head", i);
    b->mtp.head = hyper(g, w, prefix, false);
    b->mtp.embedding =
        vv_weights_has(w, "blk.%zu.nextn.embed_tokens", i)
            ? vv_weights_matrix(w, g->width, g->vocabulary, 1, "blk.%zu.nextn.embed_tokens", i)
            : b->embedding;
    b->mtp.output =
        vv_weights_has(w, "blk.%zu.nextn.shared_head_head", i)
            ? vv_weights_matrix(w, g->width, g->vocabulary, 1, "blk.%zu.nextn.shared_head_head", i)
            : b->output;
}

static struct qwen4exp_layer layer(const struct qwen4exp *g, struct vv_weights *w, size_t i) {
    char prefix[64];
    struct qwen4exp_layer l = {.recurrent = g->recurrent[i]};
    snprintf(prefix, sizeof prefix, "blk.%zu.hc_attn", i);
    l.attention_hc = hyper(g, w, prefix, true);
    if (l.recurrent) {
        l.delta_net = delta_net(g, w, i);
    } else {
        l.attention = attention(g, w, i);
    }
    snprintf(prefix, sizeof prefix, "blk.%zu.hc_ffn", i);
    l.ffn_hc = hyper(g, w, prefix, true);
    l.moe = moe(g, w, i);
    return l;
}

void *qwen4exp_bind(const void *geometry, struct vv_weights *weights) {
    const struct qwen4exp *g = geometry;
    size_t all = g->layers + g->mtp_layers;
    struct qwen4exp_weights *b = calloc(1, sizeof *b);
    struct qwen4exp_layer *layers = calloc(all, sizeof *layers);
    if (!b || !layers) {
        free(b);
        free(layers);
        return NULL;
    }
    b->layers = layers;
    b->embedding = vv_weights_matrix(weights, g->width, g->vocabulary, 1, "token_embd");
    b->ple = ple(g, weights);
    for (size_t i = 0; i < all; i++) {
        layers[i] = layer(g, weights, i);
    }
    b->head = hyper(g, weights, "output_hc", false);
    b->output = vv_weights_matrix(weights, g->width, g->vocabulary, 1,
                                  vv_weights_has(weights, "output") ? "output" : "token_embd");
    b->turn = vv_weights_constant(weights, g->turn, g->rotated / 2 * sizeof *g->turn);
    if (g->mtp_layers > 0) {
        mtp(g, weights, b);
    }
    return b;
}

void qwen4exp_unbind(void *bound) {
    struct qwen4exp_weights *b = bound;
    if (b) {
        free(b->layers);
        free(b);
    }
}

/* ---- state ---- */

/* One walk declares the parts and numbers them, so that the two can't part. */
static size_t walk(const struct qwen4exp *g, const struct vv_state_options *options,
                   struct vv_parts *d, struct qwen4exp_state *map) {
    size_t wide = g->streams * g->width, inner = g->value_heads * g->value_width;
    size_t channels = 2 * g->key_heads * g->key_width + inner;
    size_t kv = g->kv_heads * g->head_width;
    size_t all = g->layers + (options->mtp ? g->mtp_layers : 0);
    map->ids = vv_declare(d, vv_ring_part(VV_TYPE_I32, 1, g->ngram - 1), "ids");
    map->ple_conv =
        vv_declare(d, vv_ring_part(VV_TYPE_F32, wide, g->ngram * (g->ple_kernel - 1)), "ple.conv");
    for (size_t i = 0; i < all; i++) {
        bool draft = i >= g->layers;
        if (g->recurrent[i]) {
            map->layer[i].delta =
                vv_declare(d, vv_fixed_part(g->value_heads * g->key_width * g->value_width),
                           "blk.%zu.delta", i);
            map->layer[i].conv = vv_declare(d, vv_ring_part(VV_TYPE_F32, channels, g->kernel - 1),
                                            "blk.%zu.conv", i);
            map->layer[i].gates =
                vv_declare(d, vv_ring_part(VV_TYPE_F32, 2 * g->value_heads, 0), "blk.%zu.gates", i);
            continue;
        }
        map->layer[i].k = vv_declare(
            d, vv_lagging_part(vv_rows_part(options->kv_type, kv, 1), draft), "blk.%zu.k", i);
        map->layer[i].v = vv_declare(
            d, vv_lagging_part(vv_rows_part(options->kv_type, kv, 1), draft), "blk.%zu.v", i);
        if (g->ratio[i] > 0) {
            map->layer[i].index_raw = vv_declare(
                d,
                vv_lagging_part(vv_ring_part(VV_TYPE_F32, g->index_width, g->ratio[i] - 1), draft),
                "blk.%zu.index_raw", i);
            map->layer[i].index_pooled = vv_declare(
                d, vv_lagging_part(vv_rows_part(VV_TYPE_F32, g->index_width, g->ratio[i]), draft),
                "blk.%zu.index_pooled", i);
        }
    }
    if (options->mtp && g->mtp_layers > 0) {
        map->wide = vv_declare(d, vv_ring_part(VV_TYPE_F32, wide, 1), "mtp.wide");
    }
    return d->count;
}

struct qwen4exp_state *qwen4exp_state_map(const struct qwen4exp *g) {
    size_t all = g->layers + g->mtp_layers;
    struct qwen4exp_state *map = calloc(1, sizeof *map + all * sizeof map->layer[0]);
    if (map) {
        struct vv_parts none = {0};
        walk(g, &(struct vv_state_options){.kv_type = VV_TYPE_F32, .mtp = true}, &none, map);
    }
    return map;
}

size_t qwen4exp_state(const void *geometry, const struct vv_state_options *options,
                      struct vv_state_part *parts) {
    const struct qwen4exp *g = geometry;
    struct qwen4exp_state *map =
        calloc(1, sizeof *map + (g->layers + g->mtp_layers) * sizeof map->layer[0]);
    struct vv_parts d = {parts, 0};
    size_t count = map ? walk(g, options, &d, map) : 0;
    free(map);
    return count;
}

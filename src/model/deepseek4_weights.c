/* The weights of a `deepseek4` file by name and shape, and the state of its sequences. Names begin
 * with the block's: "blk.3", or "mtp.0" in a file of the draft block alone. */
#include "gguf/types.h"
#include "model/deepseek4.h"
#include "model/parts.h"
#include "op/compress/contract.h"

#include <stdio.h>
#include <stdlib.h>

enum { NAME_BYTES = 96 };

static struct deepseek4_hyper hyper(const struct deepseek4 *g, struct vv_weights *w,
                                    const char *prefix, bool head) {
    size_t mixes = head ? g->streams : g->streams * (2 + g->streams);
    return (struct deepseek4_hyper){
        .mix = vv_weights_matrix(w, g->streams * g->width, mixes, 1, "%s_fn", prefix),
        .base = vv_weights_vector(w, mixes, 1, "%s_base", prefix),
        .scale = vv_weights_vector(w, head ? 1 : 3, 1, "%s_scale", prefix),
    };
}

/* Channels of what is pooled to `width` values. */
static size_t channels(size_t ratio, size_t width) {
    return ratio == DEEPSEEK4_CSA ? 2 * width : width;
}

static struct deepseek4_compressor compressor(const struct deepseek4 *g, struct vv_weights *w,
                                              size_t ratio, size_t width, const char *prefix) {
    size_t n = channels(ratio, width);
    return (struct deepseek4_compressor){
        .k = vv_weights_matrix(w, g->width, n, 1, "%s_kv", prefix),
        .gate = vv_weights_matrix(w, g->width, n, 1, "%s_gate", prefix),
        .ape = vv_weights_vector(w, n, ratio, "%s_ape", prefix),
        .norm = vv_weights_vector(w, width, 1, "%s_norm", prefix),
    };
}

static struct deepseek4_attention attention(const struct deepseek4 *g, struct vv_weights *w,
                                            size_t ratio, const char *p) {
    size_t q = g->heads * g->head_width;
    char name[NAME_BYTES];
    struct deepseek4_attention a = {
        .q_a = vv_weights_matrix(w, g->width, g->query_rank, 1, "%s.attn_q_a", p),
        .q_norm = vv_weights_vector(w, g->query_rank, 1, "%s.attn_q_a_norm", p),
        .q_b = vv_weights_matrix(w, g->query_rank, q, 1, "%s.attn_q_b", p),
        .kv = vv_weights_matrix(w, g->width, g->head_width, 1, "%s.attn_kv", p),
        .kv_norm = vv_weights_vector(w, g->head_width, 1, "%s.attn_kv_a_norm", p),
        .sink = vv_weights_vector(w, g->heads, 1, "%s.attn_sinks", p),
        .output_a =
            vv_weights_blocks(w, q / g->groups, g->group_rank, g->groups, "%s.attn_output_a", p),
        .output_b =
            vv_weights_matrix(w, g->groups * g->group_rank, g->width, 1, "%s.attn_output_b", p),
    };
    if (ratio > 0) {
        snprintf(name, sizeof name, "%s.attn_compressor", p);
        a.pooled = compressor(g, w, ratio, g->head_width, name);
    }
    if (ratio == DEEPSEEK4_CSA) {
        a.index_q = vv_weights_matrix(w, g->query_rank, g->index_heads * g->index_width, 1,
                                      "%s.indexer.attn_q_b", p);
        a.index_weight = vv_weights_matrix(w, g->width, g->index_heads, 1, "%s.indexer.proj", p);
        snprintf(name, sizeof name, "%s.indexer_compressor", p);
        a.index = compressor(g, w, ratio, g->index_width, name);
    }
    return a;
}

static struct deepseek4_layer layer(const struct deepseek4 *g, struct vv_weights *w, size_t i,
                                    const char *p) {
    char name[NAME_BYTES];
    struct deepseek4_layer l = {.hashed = i < g->hashed};
    snprintf(name, sizeof name, "%s.hc_attn", p);
    l.attention_hc = hyper(g, w, name, false);
    l.attention_norm = vv_weights_vector(w, g->width, 1, "%s.attn_norm", p);
    l.attention = attention(g, w, g->ratio[i], p);
    snprintf(name, sizeof name, "%s.hc_ffn", p);
    l.ffn_hc = hyper(g, w, name, false);
    l.ffn_norm = vv_weights_vector(w, g->width, 1, "%s.ffn_norm", p);
    l.moe = vv_moe_bind(w, &g->moe, p);
    l.moe.limit = g->limit[i];
    l.moe.shared_limit = g->shared_limit[i];
    if (l.hashed) {
        l.table = vv_weights_integers(w, g->moe.used, g->vocabulary, g->moe.experts,
                                      "%s.ffn_gate_tid2eid", p);
    } else {
        l.bias = vv_weights_vector(w, g->moe.experts, 1, "%s.exp_probs_b.bias", p);
    }
    return l;
}

static struct deepseek4_head trunk_head(const struct deepseek4 *g, struct vv_weights *w) {
    return (struct deepseek4_head){hyper(g, w, "output_hc", true),
                                   vv_weights_vector(w, g->width, 1, "output_norm")};
}

/* How the draft block's tensors are called: the block's own, what is around it, and its last norm.
 * A file of the block alone has other names than one of the whole model. */
struct names {
    char block[32], around[40];
    const char *norm;
};

static struct names draft_names(const struct deepseek4 *g, const struct vv_weights *w) {
    struct names n = {.block = "mtp.0", .around = "mtp.0.", .norm = "norm"};
    if (!vv_weights_has(w, "mtp.0.enorm")) {
        snprintf(n.block, sizeof n.block, "blk.%zu", g->layers);
        snprintf(n.around, sizeof n.around, "blk.%zu.nextn.", g->layers);
        n.norm = "shared_head_norm";
    }
    return n;
}

/* What is around the draft block. A file that has no contraction for it means the trunk's. */
static void mtp(const struct deepseek4 *g, struct vv_weights *w, struct deepseek4_weights *b,
                const struct names *names) {
    const char *p = names->around;
    char name[NAME_BYTES];
    if (vv_weights_has(w, "%seh_proj", p)) {
        b->mtp.join = vv_weights_matrix(w, 2 * g->width, g->width, 1, "%seh_proj", p);
    } else {
        b->mtp.e = vv_weights_matrix(w, g->width, g->width, 1, "%se_proj", p);
        b->mtp.h = vv_weights_matrix(w, g->width, g->width, 1, "%sh_proj", p);
    }
    b->mtp.embedding_norm = vv_weights_vector(w, g->width, 1, "%senorm", p);
    b->mtp.hidden_norm = vv_weights_vector(w, g->width, 1, "%shnorm", p);
    b->mtp.head = b->head;
    if (vv_weights_has(w, "%shc_head_fn", p)) {
        snprintf(name, sizeof name, "%shc_head", p);
        b->mtp.head.hc = hyper(g, w, name, true);
    }
    b->mtp.head.norm = vv_weights_vector(w, g->width, 1, "%s%s", p, names->norm);
}

static const float *ones(const struct deepseek4 *g, struct vv_weights *w) {
    float *values = malloc(g->head_width * sizeof *values);
    const float *at = NULL;
    if (!values) {
        vv_weights_fail(w, VV_ERROR_MEMORY, "no memory for a constant of the model");
        return NULL;
    }
    for (size_t i = 0; i < g->head_width; i++) {
        values[i] = 1.0f;
    }
    at = vv_weights_constant(w, values, g->head_width * sizeof *values);
    free(values);
    return at;
}

void *deepseek4_bind(const void *geometry, struct vv_weights *w) {
    const struct deepseek4 *g = geometry;
    size_t all = g->layers + g->mtp_layers, turns = g->rotated / 2 * sizeof *g->turn;
    char name[32];
    struct names names = draft_names(g, w);
    struct deepseek4_weights *b = calloc(1, sizeof *b);
    if (!b || !(b->layers = calloc(all, sizeof *b->layers))) {
        free(b);
        return NULL;
    }
    b->embedding = vv_weights_matrix(w, g->width, g->vocabulary, 1, "token_embd");
    for (size_t i = 0; i < all; i++) {
        snprintf(name, sizeof name, "blk.%zu", i);
        b->layers[i] = layer(g, w, i, i < g->layers ? name : names.block);
    }
    b->head = trunk_head(g, w);
    b->output = vv_weights_matrix(w, g->width, g->vocabulary, 1, "output");
    b->turn = vv_weights_constant(w, g->turn, turns);
    b->turn_stretched = vv_weights_constant(w, g->turn_stretched, turns);
    b->ones = ones(g, w);
    if (g->mtp_layers > 0) {
        mtp(g, w, b, &names);
    }
    return b;
}

void deepseek4_unbind(void *bound) {
    struct deepseek4_weights *b = bound;
    if (b) {
        free(b->layers);
        free(b);
    }
}

/* ---- state ---- */

/* A compressor reads the tokens of its block, and of the one before where they overlap: by
 * position, so that no state but theirs moves, and a draft that is rejected leaves nothing behind.
 */
static struct vv_state_part pool(size_t ratio, size_t width) {
    size_t candidates = ratio == DEEPSEEK4_CSA ? 2 * ratio : ratio;
    return vv_ring_part(VV_TYPE_F32, 2 * channels(ratio, width), candidates - 1);
}

/* One walk declares the parts and numbers them, so that the two can't part. */
static size_t walk(const struct deepseek4 *g, const struct vv_state_options *options,
                   struct vv_parts *d, struct deepseek4_state *map) {
    for (size_t i = 0; i < g->layers; i++) {
        uint32_t ratio = g->ratio[i];
        map->layer[i].newest = vv_declare(
            d, vv_ring_part(options->kv_type, g->head_width, g->span - 1), "blk.%zu.newest", i);
        if (ratio > 0) {
            map->layer[i].pool = vv_declare(d, pool(ratio, g->head_width), "blk.%zu.pool", i);
            map->layer[i].pooled = vv_declare(
                d, vv_rows_part(options->kv_type, g->head_width, ratio), "blk.%zu.pooled", i);
        }
        if (ratio == DEEPSEEK4_CSA) {
            map->layer[i].index =
                vv_declare(d, pool(ratio, g->index_width), "blk.%zu.index_pool", i);
            map->layer[i].indexed =
                vv_declare(d,
                           vv_rows_part(options->rounded_cache ? VV_TYPE_MXFP4 : VV_TYPE_F32,
                                        g->index_width, ratio),
                           "blk.%zu.index_pooled", i);
        }
    }
    if (options->mtp && g->mtp_layers > 0) {
        map->layer[g->layers].newest = vv_declare(
            d, vv_lagging_part(vv_ring_part(options->kv_type, g->head_width, g->span - 1), true),
            "mtp.newest");
        map->wide = vv_declare(d, vv_ring_part(VV_TYPE_F32, g->streams * g->width, 1), "mtp.wide");
    }
    return d->count;
}

struct deepseek4_state *deepseek4_state_map(const struct deepseek4 *g) {
    size_t layers = g->layers + g->mtp_layers;
    struct deepseek4_state *map = calloc(1, sizeof *map + layers * sizeof map->layer[0]);
    struct vv_parts none = {0};
    if (map) {
        walk(g, &(struct vv_state_options){.kv_type = VV_TYPE_F32, .mtp = true}, &none, map);
    }
    return map;
}

size_t deepseek4_state(const void *geometry, const struct vv_state_options *options,
                       struct vv_state_part *parts) {
    struct deepseek4_state *map = deepseek4_state_map(geometry);
    struct vv_parts d = {parts, 0};
    size_t count = map ? walk(geometry, options, &d, map) : 0;
    free(map);
    return count;
}

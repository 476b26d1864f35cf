/* Metadata of a `deepseek4` file: read, range-checked, held against each other. */
#include "base/rotary.h"
#include "model/deepseek4.h"
#include "op/cache_round/contract.h"
#include "op/sinkhorn/contract.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SQRT_SOFTPLUS = 4, SPAN_MAX = 1 << 20, FP4_BLOCK = 32 };

static void widths(struct vv_metadata *m, struct deepseek4 *g) {
    g->mtp_layers = vv_number_or(m, "nextn_predict_layers", 0, 1, 0);
    g->layers = vv_number(m, "block_count", 1 + g->mtp_layers, VV_LAYERS_MAX) - g->mtp_layers;
    g->width = vv_number(m, "embedding_length", 1, VV_COUNT_MAX);
    g->context = vv_number(m, "context_length", 1, INT32_MAX);
    g->streams = vv_number(m, "hyper_connection.count", 2, VV_STREAMS_MAX);
    g->rounds = vv_number(m, "hyper_connection.sinkhorn_iterations", 1, 1000);
    g->hc_floor = (float)vv_real(m, "hyper_connection.epsilon");
    g->eps = (float)vv_real(m, "attention.layer_norm_rms_epsilon");
}

static void attention(struct vv_metadata *m, struct deepseek4 *g) {
    g->heads = vv_number(m, "attention.head_count", 1, VV_COUNT_MAX);
    vv_number(m, "attention.head_count_kv", 1, 1);
    g->head_width = vv_number(m, "attention.key_length", 1, VV_COUNT_MAX);
    g->rotated = vv_number(m, "rope.dimension_count", 2, VV_COUNT_MAX);
    g->query_rank = vv_number(m, "attention.q_lora_rank", 1, VV_COUNT_MAX);
    g->group_rank = vv_number(m, "attention.output_lora_rank", 1, VV_COUNT_MAX);
    g->groups = vv_number(m, "attention.output_group_count", 1, VV_COUNT_MAX);
    g->span = vv_number(m, "attention.sliding_window", 1, SPAN_MAX);
    if (vv_number_or(m, "attention.value_length", 1, VV_COUNT_MAX, g->head_width) !=
        g->head_width) {
        vv_refuse_key(m, "attention.value_length",
                      "must be equal to attention.key_length: a row is key and value");
    }
    if (g->heads % g->groups != 0) {
        vv_refuse_key(m, "attention.output_group_count", "doesn't divide attention.head_count");
    }
    if (g->rotated % 2 != 0 || g->rotated > g->head_width) {
        vv_refuse_key(m, "rope.dimension_count", "must be even and fit in a head");
    }
}

/* Layer kinds, and the numbers of those that select. */
static void kinds(struct vv_metadata *m, struct deepseek4 *g) {
    size_t all = g->layers + g->mtp_layers;
    uint64_t *ratio = calloc(all, sizeof *ratio);
    g->ratio = calloc(all, sizeof *g->ratio);
    if (!ratio || !g->ratio) {
        m->code = vv_fail_memory(m->error, all * sizeof *ratio, "the list of layers");
    } else {
        vv_numbers(m, "attention.compress_ratios", all, ratio);
        for (size_t i = 0; m->code == VV_OK && i < all; i++) {
            bool known = ratio[i] == DEEPSEEK4_CSA || ratio[i] == DEEPSEEK4_HCA;
            if (ratio[i] != 0 && (!known || i >= g->layers)) {
                vv_refuse_key(m, "attention.compress_ratios",
                              i < g->layers ? "has an element that is not 0, 4 or 128"
                                            : "must have a 0 for the draft block");
            }
            g->ratio[i] = (uint32_t)ratio[i];
        }
    }
    free(ratio);
    g->index_heads = vv_number(m, "attention.indexer.head_count", 1, VV_COUNT_MAX);
    g->index_width = vv_number(m, "attention.indexer.key_length", 1, VV_COUNT_MAX);
    g->keep = vv_number(m, "attention.indexer.top_k", 1, VV_COUNT_MAX);
    if (g->index_width < FP4_BLOCK || g->index_width > VV_FP4_WIDTH_MAX ||
        (g->index_width & (g->index_width - 1)) != 0) {
        vv_refuse_key(m, "attention.indexer.key_length", "must be a power of two from 32 to 512");
    }
    if (g->rotated > g->index_width) {
        vv_refuse_key(m, "attention.indexer.key_length", "is less than rope.dimension_count");
    }
}

/* A limit for each layer: an array, or one number for all. */
static float *limits(struct vv_metadata *m, const struct deepseek4 *g, const char *key) {
    size_t all = g->layers + g->mtp_layers;
    char name[64];
    snprintf(name, sizeof name, "deepseek4.%s", key);
    const struct vv_gguf_entry *entry = vv_gguf_find(m->file, name);
    bool array = entry && entry->type == VV_GGUF_ARRAY;
    float *limit = m->code == VV_OK ? calloc(all, sizeof *limit) : NULL;
    if (m->code == VV_OK && !limit) {
        m->code = vv_fail_memory(m->error, all * sizeof *limit, "the experts' limits");
    }
    if (m->code == VV_OK && array && entry->count < all) {
        vv_refuse_key(m, key, "has fewer elements than there are layers");
    }
    for (size_t i = 0; m->code == VV_OK && i < all; i++) {
        m->code = array ? vv_gguf_entry_f32(m->file, entry, i, &limit[i], m->error)
                        : vv_gguf_get_f32(m->file, name, &limit[i], m->error);
        if (m->code == VV_OK && !(limit[i] > 0)) {
            vv_refuse_key(m, key, "must be above 0 in every layer");
        }
    }
    return limit;
}

static void experts(struct vv_metadata *m, struct deepseek4 *g) {
    size_t experts = vv_number(m, "expert_count", 1, VV_COUNT_MAX);
    size_t width = vv_number(m, "expert_feed_forward_length", 1, VV_COUNT_MAX);
    g->moe = (struct vv_moe_sizes){
        .width = g->width,
        .experts = experts,
        .used = vv_number(m, "expert_used_count", 1, VV_COUNT_MAX),
        .expert_width = width,
        .shared_width = vv_number(m, "expert_shared_count", 1, 64) * width,
        .weight_first = true,
    };
    g->hashed = vv_number_or(m, "hash_layer_count", 0, g->layers, 0);
    g->expert_scale = (float)vv_real(m, "expert_weights_scale");
    if (g->moe.used > experts) {
        vv_refuse_key(m, "expert_used_count", "is more than expert_count");
    }
    vv_number_or(m, "expert_gating_func", SQRT_SOFTPLUS, SQRT_SOFTPLUS, SQRT_SOFTPLUS);
    vv_number_or(m, "expert_group_count", 0, 1, 0);
    bool normed = true;
    if (m->code == VV_OK && vv_has_key(m, "expert_weights_norm")) {
        m->code = vv_gguf_get_bool(m->file, "deepseek4.expert_weights_norm", &normed, m->error);
    }
    if (!normed) {
        vv_refuse_key(m, "expert_weights_norm", "is false, which no released model has");
    }
    g->limit = limits(m, g, "swiglu_clamp_exp");
    g->shared_limit = limits(
        m, g, vv_has_key(m, "swiglu_clamp_shexp") ? "swiglu_clamp_shexp" : "swiglu_clamp_exp");
}

static bool scaled(struct vv_metadata *m) {
    struct vv_string type = {0};
    if (m->code == VV_OK && vv_has_key(m, "rope.scaling.type")) {
        m->code = vv_gguf_get_string(m->file, "deepseek4.rope.scaling.type", &type, m->error);
    }
    bool yarn = type.length == 4 && memcmp(type.at, "yarn", 4) == 0;
    if (type.length > 0 && !yarn && !(type.length == 4 && memcmp(type.at, "none", 4) == 0)) {
        vv_refuse_key(m, "rope.scaling.type", "is neither \"yarn\" nor \"none\"");
    }
    return yarn;
}

/* Layers with pooled rows have another base, and may be stretched. */
static void rotation(struct vv_metadata *m, struct deepseek4 *g) {
    double base = vv_real(m, "rope.freq_base");
    double stretched = vv_real(m, "attention.compress_rope_freq_base");
    if (base < 1 || stretched < 1) {
        vv_refuse_key(m, base < 1 ? "rope.freq_base" : "attention.compress_rope_freq_base",
                      "must be 1 or more");
    }
    g->turn = vv_read_turns(m, base, g->rotated);
    g->turn_stretched = vv_read_turns(m, stretched, g->rotated);
    if (scaled(m)) {
        struct vv_yarn yarn = {
            .factor = vv_real(m, "rope.scaling.factor"),
            .original = (double)vv_number(m, "rope.scaling.original_context_length", 1, INT32_MAX),
            .fast = vv_has_key(m, "rope.scaling.yarn_beta_fast")
                        ? vv_real(m, "rope.scaling.yarn_beta_fast")
                        : 32,
            .slow = vv_has_key(m, "rope.scaling.yarn_beta_slow")
                        ? vv_real(m, "rope.scaling.yarn_beta_slow")
                        : 1,
        };
        if (yarn.factor < 1) {
            vv_refuse_key(m, "rope.scaling.factor", "must be 1 or more");
        }
        if (m->code == VV_OK) {
            vv_rotary_stretch(&yarn, stretched, (unsigned)g->rotated, g->turn_stretched);
        }
    }
}

int deepseek4_open(const struct vv_gguf *file, void **geometry, struct vv_error *error) {
    struct deepseek4 *g = calloc(1, sizeof *g);
    if (!g) {
        return vv_fail_memory(error, sizeof *g, "the model's geometry");
    }
    struct vv_metadata m = {file, "deepseek4", error, VV_OK};
    widths(&m, g);
    attention(&m, g);
    if (m.code == VV_OK) {
        kinds(&m, g);
    }
    experts(&m, g);
    rotation(&m, g);
    g->vocabulary = vv_read_vocabulary(&m);
    vv_read_stop(&m, "tokenizer.ggml.eos_token_id", g->vocabulary, &g->stops);
    vv_read_stop(&m, "tokenizer.ggml.eot_token_id", g->vocabulary, &g->stops);
    /* A turn that begins is one that the model was not to write. */
    vv_read_stop_text(&m, "<\xef\xbd\x9cUser\xef\xbd\x9c>", g->vocabulary, &g->stops);
    vv_read_stop_text(&m,
                      "<\xef\xbd\x9c"
                      "Assistant\xef\xbd\x9c>",
                      g->vocabulary, &g->stops);
    if (m.code != VV_OK) {
        deepseek4_close(g);
        return m.code;
    }
    *geometry = g;
    return VV_OK;
}

void deepseek4_close(void *geometry) {
    struct deepseek4 *g = geometry;
    if (g) {
        free(g->turn);
        free(g->turn_stretched);
        free(g->ratio);
        free(g->limit);
        free(g->shared_limit);
        free(g);
    }
}

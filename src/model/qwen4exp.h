/* Qwen3.8-Flash-Next (GGUF architecture `qwen4exp`): its numbers, its weights. For qwen4exp*.c. */
#pragma once
#include "model/metadata.h"
#include "model/model.h"
#include "model/moe.h"

enum { QWEN4EXP_NGRAM_MAX = 8, QWEN4EXP_HEADS_MAX = 64 };

/* All from metadata; names as in the specification. */
struct qwen4exp {
    size_t layers, mtp_layers; /* trunk, draft block */
    size_t width, streams, rank, vocabulary, context;
    float eps;
    size_t attention_every; /* layer i attends if (i + 1) mod this is 0, unless `recurrent` says */
    bool *recurrent;        /* [layers + mtp_layers] */

    size_t heads, kv_heads, head_width;            /* attention */
    size_t rotated;                                /* dims */
    uint64_t *turn;                                /* [rotated / 2] */
    size_t index_heads, index_width, index_tokens; /* budget */
    uint32_t *ratio;                               /* [layers + mtp_layers] block size; 0: dense */

    size_t key_heads, value_heads, key_width, value_width, kernel; /* gated delta net */

    size_t experts, experts_used, expert_width, shared_width;

    size_t ple_layer, ngram, ngram_heads_per, ngram_heads, ngram_width, ple_kernel;
    int32_t separator;
    uint64_t multiplier[QWEN4EXP_NGRAM_MAX];
    uint64_t head_vocabulary[QWEN4EXP_HEADS_MAX], head_offset[QWEN4EXP_HEADS_MAX];
    size_t ngram_rows; /* of the table, from the tensor */

    struct vv_stops stops;
};

int qwen4exp_open(const struct vv_gguf *file, void **geometry, struct vv_error *error);
void qwen4exp_close(void *geometry);

struct hyper {
    const float *norm;                    /* [streams][width] */
    struct vv_weight *down, *up, *inject; /* inject NULL: a contraction before the head */
};

struct attention {
    struct vv_weight *q, *k, *v, *output, *index_q, *index_k;
    const float *q_norm, *k_norm, *index_q_norm, *index_k_norm;
};

struct delta_net {
    struct vv_weight *qkv, *gate, *alpha, *beta, *output;
    const float *conv, *a, *dt_bias, *norm;
};

struct moe {
    struct vv_moe_weights experts;
    struct vv_weight *shared_router;
};
struct vv_moe_sizes qwen4exp_moe_sizes(const struct qwen4exp *g);

struct ple {
    struct vv_weight *table, *key, *value;
    const float *norm_key, *norm_query, *norm_conv, *conv;
    const uint64_t *multiplier, *vocabulary, *offset;
};

struct qwen4exp_layer {
    struct hyper attention_hc, ffn_hc;
    bool recurrent;
    struct attention attention;
    struct delta_net delta_net;
    struct moe moe;
};

struct qwen4exp_weights {
    struct vv_weight *embedding, *output;
    struct hyper head;
    struct ple ple;
    const uint64_t *turn;
    struct qwen4exp_layer *layers; /* [layers + mtp_layers] */
    struct {
        struct vv_weight *join, *embedding, *output; /* eh_proj; own tables or the trunk's */
        const float *embedding_norm, *hidden_norm;
        struct hyper head;
    } mtp;
};

void *qwen4exp_bind(const void *geometry, struct vv_weights *weights);
void qwen4exp_unbind(void *bound);

/* Where each part of the state stands in the list that qwen4exp_state declares. */
struct qwen4exp_state {
    size_t ids, ple_conv, wide;
    struct {
        size_t k, v, index_raw, index_pooled; /* attention */
        size_t delta, conv, gates;            /* gated delta net */
    } layer[];                                /* [layers + mtp_layers] */
};
struct qwen4exp_state *qwen4exp_state_map(const struct qwen4exp *g);
size_t qwen4exp_state(const void *geometry, const struct vv_state_options *options,
                      struct vv_state_part *parts);

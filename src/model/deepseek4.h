/* DeepSeek V4 Flash (GGUF architecture `deepseek4`): its numbers, its weights. For deepseek4*.c. */
#pragma once
#include "model/metadata.h"
#include "model/model.h"
#include "model/moe.h"

enum {
    DEEPSEEK4_CSA = 4,   /* tokens a pooled row of a layer whose blocks overlap and are selected */
    DEEPSEEK4_HCA = 128, /* of a layer that attends all of them */
};

/* All from metadata. */
struct deepseek4 {
    size_t layers, mtp_layers; /* trunk, draft block */
    size_t width, streams, vocabulary, context;
    size_t rounds;  /* of Sinkhorn's balancing */
    float eps;      /* inside roots */
    float hc_floor; /* beside sums of hyper-connections */

    size_t heads, head_width;
    size_t rotated; /* the last ones of a head */
    size_t query_rank, groups, group_rank;
    size_t span;                     /* rows that every layer attends, its own included */
    uint64_t *turn, *turn_stretched; /* [rotated / 2] without pooled rows; with them */
    uint32_t *ratio;                 /* [layers + mtp_layers] 0, DEEPSEEK4_CSA, DEEPSEEK4_HCA */
    size_t index_heads, index_width, keep;

    struct vv_moe_sizes moe;
    float expert_scale;
    size_t hashed;               /* layers whose experts a table chooses */
    float *limit, *shared_limit; /* [layers + mtp_layers] */

    struct vv_stops stops;
};

int deepseek4_open(const struct vv_gguf *file, void **geometry, struct vv_error *error);
void deepseek4_close(void *geometry);

struct deepseek4_hyper {
    struct vv_weight *mix; /* [2 · streams + streams²][streams · width]; of a head [streams][…] */
    const float *base, *scale;
};

struct deepseek4_compressor {
    struct vv_weight *k, *gate;
    const float *ape, *norm;
};

struct deepseek4_attention {
    struct vv_weight *q_a, *q_b, *kv, *output_a, *output_b;
    const float *q_norm, *kv_norm, *sink;
    struct deepseek4_compressor pooled, index; /* ratio > 0; ratio 4 */
    struct vv_weight *index_q, *index_weight;
};

struct deepseek4_layer {
    struct deepseek4_hyper attention_hc, ffn_hc;
    const float *attention_norm, *ffn_norm;
    struct deepseek4_attention attention;
    struct vv_moe_weights moe;
    const float *bias;    /* one of the two */
    const int32_t *table; /* [vocabulary][used] */
    bool hashed;
};

struct deepseek4_head {
    struct deepseek4_hyper hc;
    const float *norm;
};

struct deepseek4_weights {
    struct vv_weight *embedding, *output;
    struct deepseek4_head head;
    const uint64_t *turn, *turn_stretched;
    const float *ones;              /* [head_width] */
    struct deepseek4_layer *layers; /* [layers + mtp_layers] */
    struct {
        struct vv_weight *join;  /* [width][2 · width]: e_proj and h_proj side by side; or NULL */
        struct vv_weight *e, *h; /* them apart */
        const float *embedding_norm, *hidden_norm;
        struct deepseek4_head head;
    } mtp;
};

void *deepseek4_bind(const void *geometry, struct vv_weights *weights);
void deepseek4_unbind(void *bound);

/* Where each part of the state stands in the list that deepseek4_state declares. */
struct deepseek4_state {
    size_t wide;
    struct {
        size_t newest;         /* rows by position */
        size_t pool, pooled;   /* what pooling reads of earlier rows; what it made */
        size_t index, indexed; /* the same of index keys */
    } layer[];                 /* [layers + mtp_layers] */
};
struct deepseek4_state *deepseek4_state_map(const struct deepseek4 *g);
size_t deepseek4_state(const void *geometry, const struct vv_state_options *options,
                       struct vv_state_part *parts);

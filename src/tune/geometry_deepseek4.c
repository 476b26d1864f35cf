/* DeepSeek V4 Flash as it was published (the preview of spring 2026, which has a draft block). */
#include "tune/geometry_internal.h"

#include <string.h>

enum {
    LAYERS = 43,
    HASHED = 3,
    WIDTH = 4096,
    STREAMS = 4,
    WIDE = STREAMS * WIDTH,
    MIXES = STREAMS * (2 + STREAMS),
    VOCABULARY = 129280,
    HEADS = 64,
    HEAD = 512,
    QUERY_RANK = 1024,
    GROUPS = 8,
    GROUP_RANK = 1024,
    CSA = 4, /* ratios of pooled rows */
    HCA = 128,
    INDEX_HEADS = 64,
    INDEX = 128,
    EXPERTS = 256,
    USED = 6,
    HIDDEN = 2048,
};

/* ---- types ---- */

enum role {
    FLOAT,    /* norms and other vectors, routers, what mixes streams */
    INTEGERS, /* the table of experts by token */
    EMBEDDING,
    HEAD_OUT,
    MIXER, /* attention */
    SHARED,
    INDEXER,
    EXPERT_IN,
    EXPERT_OUT,
    ROLES
};

#define MIX(name, embedding, dense, in, out)                                                       \
    {                                                                                              \
        name, {                                                                                    \
            VV_TYPE_F32, VV_TYPE_I32, VV_TYPE_##embedding, VV_TYPE_##dense, VV_TYPE_##dense,       \
                VV_TYPE_Q8_0, VV_TYPE_BF16, VV_TYPE_##in, VV_TYPE_##out                            \
        }                                                                                          \
    }
static const struct mix {
    const char *name;
    int type[ROLES];
} mixes[] = {
    MIX("q2", F16, Q8_0, IQ2_XXS, Q2_K),    MIX("q3", Q6_K, Q6_K, IQ3_S, IQ4_XS),
    MIX("q4", F16, Q8_0, Q4_K, Q4_K),       MIX("q8", Q8_0, Q8_0, Q8_0, Q8_0),
    MIX("mxfp4", BF16, Q8_0, MXFP4, MXFP4),
};

static const struct mix *mix_of(const char *types, struct vv_error *error) {
    for (size_t i = 0; i < sizeof mixes / sizeof *mixes; i++) {
        if (strcmp(mixes[i].name, types) == 0) {
            return &mixes[i];
        }
    }
    vv_fail(error, VV_ERROR_INVALID,
            "no mix of types is called \"%s\"; there are q2, q3, q4, q8 and mxfp4", types);
    return NULL;
}

static int type_of(const void *mix, int role, int layer) {
    (void)layer;
    return ((const struct mix *)mix)->type[role];
}

/* ---- tensors ---- */

static const struct vv_geometry_tensor of_model[] = {
    {"token_embd.weight", EMBEDDING, {WIDTH, VOCABULARY}},
    {"output.weight", HEAD_OUT, {WIDTH, VOCABULARY}},
    {"output_norm.weight", FLOAT, {WIDTH}},
    {"output_hc_fn.weight", FLOAT, {WIDE, STREAMS}},
    {"output_hc_base.weight", FLOAT, {STREAMS}},
    {"output_hc_scale.weight", FLOAT, {1}},
    {0},
};
static const struct vv_geometry_tensor of_layer[] = {
    {"hc_attn_fn.weight", FLOAT, {WIDE, MIXES}},
    {"hc_attn_base.weight", FLOAT, {MIXES}},
    {"hc_attn_scale.weight", FLOAT, {3}},
    {"attn_norm.weight", FLOAT, {WIDTH}},
    {"attn_q_a.weight", MIXER, {WIDTH, QUERY_RANK}},
    {"attn_q_a_norm.weight", FLOAT, {QUERY_RANK}},
    {"attn_q_b.weight", MIXER, {QUERY_RANK, HEADS *HEAD}},
    {"attn_kv.weight", MIXER, {WIDTH, HEAD}},
    {"attn_kv_a_norm.weight", FLOAT, {HEAD}},
    {"attn_sinks.weight", FLOAT, {HEADS}},
    {"attn_output_a.weight", MIXER, {HEADS / GROUPS * HEAD, GROUPS *GROUP_RANK}},
    {"attn_output_b.weight", MIXER, {GROUPS * GROUP_RANK, WIDTH}},
    {"hc_ffn_fn.weight", FLOAT, {WIDE, MIXES}},
    {"hc_ffn_base.weight", FLOAT, {MIXES}},
    {"hc_ffn_scale.weight", FLOAT, {3}},
    {"ffn_norm.weight", FLOAT, {WIDTH}},
    {"ffn_gate_inp.weight", FLOAT, {WIDTH, EXPERTS}},
    {"ffn_gate_exps.weight", EXPERT_IN, {WIDTH, HIDDEN, EXPERTS}},
    {"ffn_up_exps.weight", EXPERT_IN, {WIDTH, HIDDEN, EXPERTS}},
    {"ffn_down_exps.weight", EXPERT_OUT, {HIDDEN, WIDTH, EXPERTS}},
    {"ffn_gate_shexp.weight", SHARED, {WIDTH, HIDDEN}},
    {"ffn_up_shexp.weight", SHARED, {WIDTH, HIDDEN}},
    {"ffn_down_shexp.weight", SHARED, {HIDDEN, WIDTH}},
    {0},
};
static const struct vv_geometry_tensor of_hashed[] = {
    {"ffn_gate_tid2eid.weight", INTEGERS, {USED, VOCABULARY}}, {0}};
static const struct vv_geometry_tensor of_routed[] = {{"exp_probs_b.bias", FLOAT, {EXPERTS}}, {0}};
static const struct vv_geometry_tensor of_csa[] = {
    {"attn_compressor_kv.weight", INDEXER, {WIDTH, 2 * HEAD}},
    {"attn_compressor_gate.weight", INDEXER, {WIDTH, 2 * HEAD}},
    {"attn_compressor_ape.weight", FLOAT, {2 * HEAD, CSA}},
    {"attn_compressor_norm.weight", FLOAT, {HEAD}},
    {"indexer.attn_q_b.weight", MIXER, {QUERY_RANK, INDEX_HEADS *INDEX}},
    {"indexer.proj.weight", INDEXER, {WIDTH, INDEX_HEADS}},
    {"indexer_compressor_kv.weight", INDEXER, {WIDTH, 2 * INDEX}},
    {"indexer_compressor_gate.weight", INDEXER, {WIDTH, 2 * INDEX}},
    {"indexer_compressor_ape.weight", FLOAT, {2 * INDEX, CSA}},
    {"indexer_compressor_norm.weight", FLOAT, {INDEX}},
    {0},
};
static const struct vv_geometry_tensor of_hca[] = {
    {"attn_compressor_kv.weight", INDEXER, {WIDTH, HEAD}},
    {"attn_compressor_gate.weight", INDEXER, {WIDTH, HEAD}},
    {"attn_compressor_ape.weight", FLOAT, {HEAD, HCA}},
    {"attn_compressor_norm.weight", FLOAT, {HEAD}},
    {0},
};
static const struct vv_geometry_tensor of_drafts[] = {
    {"nextn.e_proj.weight", MIXER, {WIDTH, WIDTH}},
    {"nextn.h_proj.weight", MIXER, {WIDTH, WIDTH}},
    {"nextn.enorm.weight", FLOAT, {WIDTH}},
    {"nextn.hnorm.weight", FLOAT, {WIDTH}},
    {"nextn.shared_head_norm.weight", FLOAT, {WIDTH}},
    {"nextn.hc_head_fn.weight", FLOAT, {WIDE, STREAMS}},
    {"nextn.hc_head_base.weight", FLOAT, {STREAMS}},
    {"nextn.hc_head_scale.weight", FLOAT, {1}},
    {0},
};

/* The first two and the draft block, behind all layers, have the window alone. */
static uint32_t ratio_of(int layer) {
    return layer < 2 || layer == LAYERS ? 0 : layer % 2 == 0 ? CSA : HCA;
}

static int add_tensors(struct vv_gguf_writer *w, const struct mix *mix, bool drafts,
                       struct vv_error *error) {
    static const struct vv_geometry_tensor none[] = {{0}};
    int code = vv_geometry_tensors(w, of_model, -1, type_of, mix, error);
    for (int i = 0; i < LAYERS + drafts; i++) {
        uint32_t ratio = ratio_of(i);
        const struct vv_geometry_tensor *lists[] = {of_layer, i < HASHED ? of_hashed : of_routed,
                                                    ratio == CSA   ? of_csa
                                                    : ratio == HCA ? of_hca
                                                                   : none,
                                                    i == LAYERS ? of_drafts : none};
        for (size_t k = 0; code == VV_OK && k < sizeof lists / sizeof *lists; k++) {
            code = vv_geometry_tensors(w, lists[k], i, type_of, mix, error);
        }
    }
    return code;
}

/* ---- metadata ---- */

static const struct vv_geometry_number numbers[] = {
    {"context_length", 1048576},
    {"embedding_length", WIDTH},
    {"hyper_connection.count", STREAMS},
    {"hyper_connection.sinkhorn_iterations", 20},
    {"attention.head_count", HEADS},
    {"attention.head_count_kv", 1},
    {"attention.key_length", HEAD},
    {"attention.value_length", HEAD},
    {"attention.q_lora_rank", QUERY_RANK},
    {"attention.output_lora_rank", GROUP_RANK},
    {"attention.output_group_count", GROUPS},
    {"attention.sliding_window", 128},
    {"attention.indexer.head_count", INDEX_HEADS},
    {"attention.indexer.key_length", INDEX},
    {"attention.indexer.top_k", 512},
    {"rope.dimension_count", 64},
    {"rope.scaling.original_context_length", 65536},
    {"expert_count", EXPERTS},
    {"expert_used_count", USED},
    {"expert_feed_forward_length", HIDDEN},
    {"expert_shared_count", 1},
    {"expert_gating_func", 4},
    {"hash_layer_count", HASHED},
    {0},
};
static const struct {
    const char *key;
    float value;
} reals[] = {
    {"deepseek4.attention.layer_norm_rms_epsilon", 1e-6f},
    {"deepseek4.hyper_connection.epsilon", 1e-6f},
    {"deepseek4.attention.compress_rope_freq_base", 160000},
    {"deepseek4.rope.freq_base", 10000},
    {"deepseek4.rope.scaling.factor", 16},
    {"deepseek4.rope.scaling.yarn_beta_fast", 32},
    {"deepseek4.rope.scaling.yarn_beta_slow", 1},
    {"deepseek4.expert_weights_scale", 1.5f},
};

static int add_arrays(struct vv_gguf_writer *w, bool drafts, struct vv_error *error) {
    uint32_t ratio[LAYERS + 1];
    float limit[LAYERS + 1];
    for (int i = 0; i <= LAYERS; i++) {
        ratio[i] = ratio_of(i);
        limit[i] = 10;
    }
    int code = vv_gguf_writer_array(w, "deepseek4.attention.compress_ratios", VV_GGUF_U32, ratio,
                                    LAYERS + drafts, error);
    return code == VV_OK ? vv_gguf_writer_array(w, "deepseek4.swiglu_clamp_exp", VV_GGUF_F32, limit,
                                                LAYERS + drafts, error)
                         : code;
}

static int add_keys(struct vv_gguf_writer *w, const char *types, bool drafts,
                    struct vv_error *error) {
    int code = vv_geometry_head(w, "deepseek4", "DeepSeek V4 Flash", types, LAYERS, drafts, error);
    code = code == VV_OK ? vv_geometry_numbers(w, "deepseek4", numbers, error) : code;
    for (size_t i = 0; code == VV_OK && i < sizeof reals / sizeof *reals; i++) {
        code = vv_gguf_writer_f32(w, reals[i].key, reals[i].value, error);
    }
    code = code == VV_OK ? vv_gguf_writer_string(w, "deepseek4.rope.scaling.type",
                                                 (struct vv_string){"yarn", 4}, error)
                         : code;
    return code == VV_OK ? add_arrays(w, drafts, error) : code;
}

static int add_all(struct vv_gguf_writer *w, const char *types, bool drafts,
                   struct vv_error *error) {
    const struct mix *mix = mix_of(types, error);
    int code = mix ? add_keys(w, types, drafts, error) : error->code;
    return code == VV_OK ? add_tensors(w, mix, drafts, error) : code;
}

int vv_geometry_deepseek4(struct vv_gguf_writer *w, const char *types, struct vv_error *error) {
    return add_all(w, types, false, error);
}

int vv_geometry_deepseek4_mtp(struct vv_gguf_writer *w, const char *types, struct vv_error *error) {
    return add_all(w, types, true, error);
}

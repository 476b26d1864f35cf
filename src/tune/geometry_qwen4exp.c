/* Qwen3.8-Flash-Next as it was published: docs/spec/qwen4exp.md, sections 1 to 3. */
#include "tune/geometry_internal.h"

#include <string.h>

enum {
    LAYERS = 48,
    ATTEND_EVERY = 4, /* each fourth layer attends */
    NGRAM_LAYER = 1,
    WIDTH = 2560,
    STREAMS = 4,
    WIDE = STREAMS * WIDTH,
    RANK = 320,
    VOCABULARY = 248320,
    HEADS = 24,
    KV_HEADS = 2,
    HEAD = 256,
    INDEX_HEADS = 4,
    INDEX = 128,
    KEY_HEADS = 16,
    VALUE_HEADS = 48,
    STATE = 128,
    INNER = VALUE_HEADS * STATE,
    CHANNELS = 2 * KEY_HEADS * STATE + INNER,
    KERNEL = 4,
    EXPERTS = 512,
    USED = 10,
    HIDDEN = 640,
    NGRAM_HEADS = 16,
    NGRAM_WIDTH = 160,
    TABLE_ROWS = 320001536,
};

/* ---- types ---- */

enum role {
    FLOAT, /* norms and other vectors */
    EMBEDDING,
    HEAD_OUT,
    MIXER, /* attention and gated delta net */
    DENSE, /* hyper-connections, shared expert, n-gram layer */
    TABLE,
    EXPERT_IN,
    EXPERT_OUT,
    DELICATE, /* routers and other small matrices that mixes leave alone */
    INDEXER,
    ROLES
};

static const struct mix {
    const char *name;
    int type[ROLES];
    int better_in, better_out; /* in some layers */
} mixes[] = {
    {"q3",
     {VV_TYPE_F32, VV_TYPE_Q6_K, VV_TYPE_Q6_K, VV_TYPE_Q6_K, VV_TYPE_Q8_0, VV_TYPE_IQ4_NL,
      VV_TYPE_IQ3_S, VV_TYPE_IQ4_NL, VV_TYPE_F32, VV_TYPE_BF16},
     VV_TYPE_IQ4_XS,
     VV_TYPE_Q8_0},
    {"q4",
     {VV_TYPE_F32, VV_TYPE_Q8_0, VV_TYPE_Q8_0, VV_TYPE_Q8_0, VV_TYPE_Q8_0, VV_TYPE_IQ4_NL,
      VV_TYPE_Q4_K, VV_TYPE_Q5_1, VV_TYPE_F32, VV_TYPE_BF16},
     VV_TYPE_Q5_K,
     VV_TYPE_Q8_0},
    {"q8",
     {VV_TYPE_F32, VV_TYPE_Q8_0, VV_TYPE_Q8_0, VV_TYPE_Q8_0, VV_TYPE_Q8_0, VV_TYPE_Q8_0,
      VV_TYPE_Q8_0, VV_TYPE_Q8_0, VV_TYPE_F32, VV_TYPE_BF16},
     VV_TYPE_Q8_0,
     VV_TYPE_Q8_0},
};

static const struct mix *mix_of(const char *types, struct vv_error *error) {
    for (size_t i = 0; i < sizeof mixes / sizeof *mixes; i++) {
        if (strcmp(mixes[i].name, types) == 0) {
            return &mixes[i];
        }
    }
    vv_fail(error, VV_ERROR_INVALID, "no mix of types is called \"%s\"; there are q3, q4 and q8",
            types);
    return NULL;
}

/* Mixes of this kind give a few layers more bits. */
static int type_of(const void *of, int role, int layer) {
    const struct mix *mix = of;
    bool last = layer + 2 >= LAYERS;
    if (role == EXPERT_IN && layer == 2) {
        return mix->better_in;
    }
    if (role == EXPERT_OUT && (layer == 2 || layer == 4 || layer == 30 || last)) {
        return mix->better_out;
    }
    return mix->type[role];
}

/* ---- tensors ---- */

static const struct vv_geometry_tensor of_model[] = {
    {"token_embd.weight", EMBEDDING, {WIDTH, VOCABULARY}},
    {"output.weight", HEAD_OUT, {WIDTH, VOCABULARY}},
    {"output_hc_norm.weight", FLOAT, {WIDE}},
    {"output_hc_down.weight", DENSE, {WIDE, RANK}},
    {"output_hc_up.weight", DENSE, {RANK, WIDE}},
    {"per_layer_token_embd.weight", TABLE, {NGRAM_WIDTH, TABLE_ROWS}},
    {0},
};
static const struct vv_geometry_tensor of_ngram_layer[] = {
    {"ple_key.weight", DENSE, {NGRAM_HEADS * NGRAM_WIDTH, WIDE}},
    {"ple_value.weight", DENSE, {NGRAM_HEADS * NGRAM_WIDTH, WIDTH}},
    {"ple_norm_key.weight", FLOAT, {WIDE}},
    {"ple_norm_query.weight", FLOAT, {WIDE}},
    {"ple_norm_conv.weight", FLOAT, {WIDE}},
    {"ple_conv1d.weight", FLOAT, {KERNEL, WIDE}},
    {0},
};
static const struct vv_geometry_tensor of_attention[] = {
    {"attn_q.weight", MIXER, {WIDTH, 2 * HEADS *HEAD}},
    {"attn_k.weight", MIXER, {WIDTH, KV_HEADS *HEAD}},
    {"attn_v.weight", MIXER, {WIDTH, KV_HEADS *HEAD}},
    {"attn_output.weight", MIXER, {HEADS * HEAD, WIDTH}},
    {"attn_q_norm.weight", FLOAT, {HEAD}},
    {"attn_k_norm.weight", FLOAT, {HEAD}},
    {"indexer.q_proj.weight", INDEXER, {WIDTH, INDEX_HEADS *INDEX}},
    {"indexer.k_proj.weight", INDEXER, {WIDTH, INDEX}},
    {"indexer.q_norm.weight", FLOAT, {INDEX}},
    {"indexer.k_norm.weight", FLOAT, {INDEX}},
    {0},
};
static const struct vv_geometry_tensor of_delta_net[] = {
    {"attn_qkv.weight", MIXER, {WIDTH, CHANNELS}},
    {"attn_gate.weight", MIXER, {WIDTH, INNER}},
    {"ssm_conv1d.weight", FLOAT, {KERNEL, CHANNELS}},
    {"ssm_alpha.weight", DELICATE, {WIDTH, VALUE_HEADS}},
    {"ssm_beta.weight", DELICATE, {WIDTH, VALUE_HEADS}},
    {"ssm_a", FLOAT, {VALUE_HEADS}},
    {"ssm_dt.bias", FLOAT, {VALUE_HEADS}},
    {"ssm_norm.weight", FLOAT, {STATE}},
    {"ssm_out.weight", MIXER, {INNER, WIDTH}},
    {0},
};
static const struct vv_geometry_tensor of_layer[] = {
    {"hc_attn_norm.weight", FLOAT, {WIDE}},
    {"hc_attn_down.weight", DENSE, {WIDE, RANK}},
    {"hc_attn_up.weight", DENSE, {RANK, WIDE}},
    {"hc_attn_inject.weight", DELICATE, {WIDE, STREAMS}},
    {"hc_ffn_norm.weight", FLOAT, {WIDE}},
    {"hc_ffn_down.weight", DENSE, {WIDE, RANK}},
    {"hc_ffn_up.weight", DENSE, {RANK, WIDE}},
    {"hc_ffn_inject.weight", DELICATE, {WIDE, STREAMS}},
    {"ffn_gate_inp.weight", DELICATE, {WIDTH, EXPERTS}},
    {"ffn_gate_exps.weight", EXPERT_IN, {WIDTH, HIDDEN, EXPERTS}},
    {"ffn_up_exps.weight", EXPERT_IN, {WIDTH, HIDDEN, EXPERTS}},
    {"ffn_down_exps.weight", EXPERT_OUT, {HIDDEN, WIDTH, EXPERTS}},
    {"ffn_gate_inp_shexp.weight", FLOAT, {WIDTH}},
    {"ffn_gate_shexp.weight", DENSE, {WIDTH, HIDDEN}},
    {"ffn_up_shexp.weight", DENSE, {WIDTH, HIDDEN}},
    {"ffn_down_shexp.weight", DENSE, {HIDDEN, WIDTH}},
    {0},
};

static const struct vv_geometry_tensor of_drafts[] = {
    {"nextn.eh_proj.weight", DENSE, {2 * WIDTH, WIDTH}},
    {"nextn.enorm.weight", FLOAT, {WIDTH}},
    {"nextn.hnorm.weight", FLOAT, {WIDE}},
    {"nextn.hc_head_norm.weight", FLOAT, {WIDE}},
    {"nextn.hc_head_down.weight", DENSE, {WIDE, RANK}},
    {"nextn.hc_head_up.weight", DENSE, {RANK, WIDE}},
    {0},
};

/* The draft block, behind all layers, does. */
static bool attends(int layer) {
    return (layer + 1) % ATTEND_EVERY == 0 || layer == LAYERS;
}

static int add_tensors(struct vv_gguf_writer *w, const struct mix *mix, bool drafts,
                       struct vv_error *error) {
    int code = vv_geometry_tensors(w, of_model, -1, type_of, mix, error);
    for (int i = 0; code == VV_OK && i < LAYERS + drafts; i++) {
        if (i == NGRAM_LAYER) {
            code = vv_geometry_tensors(w, of_ngram_layer, i, type_of, mix, error);
        }
        const struct vv_geometry_tensor *mixer = attends(i) ? of_attention : of_delta_net;
        code = code == VV_OK ? vv_geometry_tensors(w, mixer, i, type_of, mix, error) : code;
        code = code == VV_OK ? vv_geometry_tensors(w, of_layer, i, type_of, mix, error) : code;
    }
    return code == VV_OK && drafts ? vv_geometry_tensors(w, of_drafts, LAYERS, type_of, mix, error)
                                   : code;
}

/* ---- metadata ---- */

static const struct vv_geometry_number numbers[] = {
    {"context_length", 262144},
    {"embedding_length", WIDTH},
    {"hyper_connection.count", STREAMS},
    {"hyper_connection.low_rank", RANK},
    {"full_attention_interval", ATTEND_EVERY},
    {"attention.head_count", HEADS},
    {"attention.head_count_kv", KV_HEADS},
    {"attention.key_length", HEAD},
    {"attention.value_length", HEAD},
    {"rope.dimension_count", 64},
    {"attention.indexer.head_count", INDEX_HEADS},
    {"attention.indexer.key_length", INDEX},
    {"attention.indexer.top_k", 2048},
    {"ssm.group_count", KEY_HEADS},
    {"ssm.time_step_rank", VALUE_HEADS},
    {"ssm.state_size", STATE},
    {"ssm.inner_size", INNER},
    {"ssm.conv_kernel", KERNEL},
    {"expert_count", EXPERTS},
    {"expert_used_count", USED},
    {"expert_feed_forward_length", HIDDEN},
    {"expert_shared_feed_forward_length", HIDDEN},
    {"ple.ngram_size", 3},
    {"ple.heads_per_ngram", NGRAM_HEADS / 2},
    {"ple.conv_kernel", KERNEL},
    {"ple.eos_token_id", 248044},
    {"embedding_length_per_layer_input", NGRAM_WIDTH},
    {0},
};

/* Rows that each head of the n-gram table has: the primes from 20,000,000 on. */
static const uint64_t head_rows[NGRAM_HEADS] = {
    20000003, 20000023, 20000033, 20000047, 20000059, 20000063, 20000069, 20000077,
    20000081, 20000093, 20000107, 20000147, 20000153, 20000159, 20000161, 20000171};
static const uint64_t multipliers[] = {23703573157769, 20109073645365, 8052911324071};

static int add_arrays(struct vv_gguf_writer *w, bool drafts, struct vv_error *error) {
    static const uint32_t ngram_layer = NGRAM_LAYER;
    uint32_t ratio[LAYERS + 1] = {0};
    uint64_t offset[NGRAM_HEADS] = {0};
    for (int i = 0; i <= LAYERS; i++) {
        ratio[i] = attends(i) ? 4 : 0;
    }
    for (unsigned k = 1; k < NGRAM_HEADS; k++) {
        offset[k] = offset[k - 1] + head_rows[k - 1];
    }
    const struct {
        const char *key;
        int type;
        const void *values;
        uint64_t count;
    } arrays[] = {
        {"qwen4exp.attention.compress_ratios", VV_GGUF_U32, ratio, LAYERS + drafts},
        {"qwen4exp.ple.layers", VV_GGUF_U32, &ngram_layer, 1},
        {"qwen4exp.ple.layer_multipliers", VV_GGUF_U64, multipliers, 3},
        {"qwen4exp.ple.head_offsets", VV_GGUF_U64, offset, NGRAM_HEADS},
        {"qwen4exp.ple.head_vocab_sizes", VV_GGUF_U64, head_rows, NGRAM_HEADS},
    };
    int code = VV_OK;
    for (size_t i = 0; code == VV_OK && i < sizeof arrays / sizeof *arrays; i++) {
        code = vv_gguf_writer_array(w, arrays[i].key, arrays[i].type, arrays[i].values,
                                    arrays[i].count, error);
    }
    return code;
}

static int add_keys(struct vv_gguf_writer *w, const char *types, bool drafts,
                    struct vv_error *error) {
    int code = vv_geometry_head(w, "qwen4exp", "Qwen3.8-Flash-Next", types, LAYERS, drafts, error);
    code = code == VV_OK ? vv_geometry_numbers(w, "qwen4exp", numbers, error) : code;
    code = code == VV_OK
               ? vv_gguf_writer_f32(w, "qwen4exp.attention.layer_norm_rms_epsilon", 1e-6f, error)
               : code;
    code = code == VV_OK ? vv_gguf_writer_f32(w, "qwen4exp.rope.freq_base", 1e7f, error) : code;
    return code == VV_OK ? add_arrays(w, drafts, error) : code;
}

static int add_all(struct vv_gguf_writer *w, const char *types, bool drafts,
                   struct vv_error *error) {
    const struct mix *mix = mix_of(types, error);
    int code = mix ? add_keys(w, types, drafts, error) : error->code;
    return code == VV_OK ? add_tensors(w, mix, drafts, error) : code;
}

int vv_geometry_qwen4exp(struct vv_gguf_writer *w, const char *types, struct vv_error *error) {
    return add_all(w, types, false, error);
}

int vv_geometry_qwen4exp_mtp(struct vv_gguf_writer *w, const char *types, struct vv_error *error) {
    return add_all(w, types, true, error);
}

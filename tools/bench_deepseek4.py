"""What a file of DeepSeek V4 Flash (architecture deepseek4) has, for tools/bench_model.py."""
import sys

import numpy as np

WIDTH, STREAMS = 4096, 4
WIDE, MIXES = WIDTH * STREAMS, STREAMS * (2 + STREAMS)
HEADS, HEAD_DIM, QUERY_RANK = 64, 512, 1024
GROUPS, GROUP_RANK = 8, 1024
INDEX_HEADS, INDEX_DIM = 64, 128
EXPERTS, USED, HIDDEN, HASHED = 256, 6, 2048, 3
CSA, HCA = 4, 128  # tokens to a pooled row
RELEASED_VOCABULARY = 129280

DELICATE = {"float": "F32", "indexer": "BF16"}
PRESETS = {
    "q2": dict(DELICATE, embed="F16", head="Q8_0", attn="Q8_0", shared="Q8_0",
               expert_in="IQ2_XXS", expert_out="Q2_K"),
    "q3": dict(DELICATE, embed="Q6_K", head="Q6_K", attn="Q6_K", shared="Q8_0",
               expert_in="IQ3_S", expert_out="IQ4_XS"),
    "q4": dict(DELICATE, embed="F16", head="Q8_0", attn="Q8_0", shared="Q8_0",
               expert_in="Q4_K", expert_out="Q4_K"),
    "q8": dict(DELICATE, embed="Q8_0", head="Q8_0", attn="Q8_0", shared="Q8_0",
               expert_in="Q8_0", expert_out="Q8_0"),
    "mxfp4": dict(DELICATE, embed="BF16", head="Q8_0", attn="Q8_0", shared="Q8_0",
                  expert_in="MXFP4", expert_out="MXFP4"),
}
PRESETS["bf16"] = {role: "BF16" for role in PRESETS["q8"]} | DELICATE

USER, ASSISTANT = "<\uff5cUser\uff5c>", "<\uff5cAssistant\uff5c>"
TEMPLATE = ("{{ bos_token }}{% for x in messages %}{% if x.role == 'user' %}" + USER +
            "{{ x.content }}{% elif x.role == 'assistant' %}" + ASSISTANT +
            "</think>{{ x.content }}{{ eos_token }}{% else %}{{ x.content }}{% endif %}{% endfor %}"
            "{% if add_generation_prompt %}" + ASSISTANT + "</think>{% endif %}")


def vocabulary(size):
    """What add_vocabulary takes: the special tokens by id, and where begin, end and padding are."""
    at = size - 477
    special = {0: "<\uff5cbegin\u2581of\u2581sentence\uff5c>",
               1: "<\uff5cend\u2581of\u2581sentence\uff5c>", 2: "<\uff5c\u2581pad\u2581\uff5c>",
               at: USER, at + 1: ASSISTANT, at + 2: "<think>", at + 3: "</think>"}
    return dict(pre="joyai-llm", special=special, begin=0, end=1, padding=2, add_begin=True,
                template=TEMPLATE)


def ratios(layers, drafts):
    return [0 if i < 2 else CSA if i % 2 == 0 else HCA for i in range(layers)] + [0] * drafts


def add_keys(c, o):
    def u32(name, value):
        c.key("u32", "deepseek4." + name, value)

    def f32(name, value):
        c.key("f32", "deepseek4." + name, value)
    u32("block_count", o.layers + o.mtp)
    u32("context_length", 1048576)
    u32("embedding_length", WIDTH)
    u32("vocab_size", o.vocab)
    u32("attention.head_count", HEADS)
    u32("attention.head_count_kv", 1)
    u32("attention.key_length", HEAD_DIM)
    u32("attention.value_length", HEAD_DIM)
    f32("attention.layer_norm_rms_epsilon", 1e-6)
    u32("attention.q_lora_rank", QUERY_RANK)
    u32("attention.output_lora_rank", GROUP_RANK)
    u32("attention.output_group_count", GROUPS)
    u32("attention.sliding_window", 128)
    c.key("i32[]", "deepseek4.attention.compress_ratios", ratios(o.layers, o.mtp))
    f32("attention.compress_rope_freq_base", 160000.0)
    u32("attention.indexer.head_count", INDEX_HEADS)
    u32("attention.indexer.key_length", INDEX_DIM)
    u32("attention.indexer.top_k", 512)
    u32("rope.dimension_count", 64)
    f32("rope.freq_base", 10000.0)
    c.key("str", "deepseek4.rope.scaling.type", "yarn")
    f32("rope.scaling.factor", 16.0)
    u32("rope.scaling.original_context_length", 65536)
    f32("rope.scaling.yarn_beta_fast", 32.0)
    f32("rope.scaling.yarn_beta_slow", 1.0)
    u32("expert_count", o.experts)
    u32("expert_used_count", USED)
    u32("expert_feed_forward_length", HIDDEN)
    u32("expert_shared_count", 1)
    f32("expert_weights_scale", 1.5)
    c.key("bool", "deepseek4.expert_weights_norm", True)
    u32("expert_gating_func", 4)
    u32("hash_layer_count", min(HASHED, o.layers))
    u32("hyper_connection.count", STREAMS)
    u32("hyper_connection.sinkhorn_iterations", 20)
    f32("hyper_connection.epsilon", 1e-6)
    c.key("f32[]", "deepseek4.swiglu_clamp_exp", [10.0] * (o.layers + o.mtp))
    if o.mtp:
        u32("nextn_predict_layers", 1)


def add_hyper_connection(c, layer, name, mixes, scales):
    c.matrix(name + "_fn", (WIDE, mixes), "float", layer)
    c.vector(name + "_base", (mixes,), 0.0, 0.5)
    c.vector(name + "_scale", (scales,), 0.5, 0.1)


def add_compressor(c, layer, name, ratio, width):
    channels = 2 * width if ratio == CSA else width
    c.matrix(name + "_kv", (WIDTH, channels), "indexer", layer)
    c.matrix(name + "_gate", (WIDTH, channels), "indexer", layer)
    c.vector(name + "_ape", (channels, ratio), 0.0, 0.5)
    c.norm(name + "_norm", width)


def add_attention(c, at, layer, ratio):
    c.norm(at + "attn_norm", WIDTH)
    c.matrix(at + "attn_q_a", (WIDTH, QUERY_RANK), "attn", layer)
    c.norm(at + "attn_q_a_norm", QUERY_RANK)
    c.matrix(at + "attn_q_b", (QUERY_RANK, HEADS * HEAD_DIM), "attn", layer)
    c.matrix(at + "attn_kv", (WIDTH, HEAD_DIM), "attn", layer)
    c.norm(at + "attn_kv_a_norm", HEAD_DIM)
    c.vector(at + "attn_sinks", (HEADS,), 0.0, 1.0)
    c.matrix(at + "attn_output_a", (HEADS * HEAD_DIM // GROUPS, GROUP_RANK * GROUPS), "attn", layer)
    c.matrix(at + "attn_output_b", (GROUP_RANK * GROUPS, WIDTH), "attn", layer)
    if ratio:
        add_compressor(c, layer, at + "attn_compressor", ratio, HEAD_DIM)
    if ratio == CSA:
        c.matrix(at + "indexer.attn_q_b", (QUERY_RANK, INDEX_HEADS * INDEX_DIM), "attn", layer)
        c.matrix(at + "indexer.proj", (WIDTH, INDEX_HEADS), "indexer", layer)
        add_compressor(c, layer, at + "indexer_compressor", ratio, INDEX_DIM)


def experts_by_token(experts, tokens):
    """Six different ones a token: a random start, then steps that together stay below a turn."""
    def make(draw):
        steps = draw.integers(1, experts // USED + 1, (tokens, USED - 1))
        start = draw.integers(0, experts, (tokens, 1))
        return (start + np.cumsum(np.c_[np.zeros((tokens, 1), np.int64), steps], 1)) % experts
    return make


def add_experts(c, at, layer, o):
    c.norm(at + "ffn_norm", WIDTH)
    c.matrix(at + "ffn_gate_inp", (WIDTH, o.experts), "float", layer)
    if layer < min(HASHED, o.layers):
        c.values(at + "ffn_gate_tid2eid.weight", (USED, o.vocab),
                 experts_by_token(o.experts, o.vocab), "I32", 1 / o.vocab)
    else:
        c.values(at + "exp_probs_b.bias", (o.experts,),
                 lambda draw: draw.normal(0.0, 0.1, o.experts).astype(np.float32))
    share = USED / o.experts
    c.matrix(at + "ffn_gate_exps", (WIDTH, HIDDEN, o.experts), "expert_in", layer, share)
    c.matrix(at + "ffn_up_exps", (WIDTH, HIDDEN, o.experts), "expert_in", layer, share)
    c.matrix(at + "ffn_down_exps", (HIDDEN, WIDTH, o.experts), "expert_out", layer, share)
    c.matrix(at + "ffn_gate_shexp", (WIDTH, HIDDEN), "shared", layer)
    c.matrix(at + "ffn_up_shexp", (WIDTH, HIDDEN), "shared", layer)
    c.matrix(at + "ffn_down_shexp", (HIDDEN, WIDTH), "shared", layer)


def add_draft_block(c, at, layer):
    c.matrix(at + "nextn.eh_proj", (2 * WIDTH, WIDTH), "attn", layer)
    for part in ("enorm", "hnorm", "shared_head_norm"):
        c.norm(f"{at}nextn.{part}", WIDTH)


def deepseek4(c, o):
    if o.experts < USED or o.vocab < 1024:
        sys.exit(f"a deepseek4 has {USED} experts and 1024 tokens at least")
    if o.layers < 3:
        print("no layer has pooled rows: llama.cpp does not run such a file", file=sys.stderr)
    add_keys(c, o)
    c.matrix("token_embd", (WIDTH, o.vocab), "embed", active=1 / o.vocab)
    c.matrix("output", (WIDTH, o.vocab), "head")
    c.norm("output_norm", WIDTH)
    add_hyper_connection(c, -1, "output_hc", STREAMS, 1)
    for layer, ratio in enumerate(ratios(o.layers, o.mtp)):
        at = f"blk.{layer}."
        for part in ("attn", "ffn"):
            add_hyper_connection(c, layer, f"{at}hc_{part}", MIXES, 3)
        add_attention(c, at, layer, ratio)
        add_experts(c, at, layer, o)
        if layer == o.layers:
            add_draft_block(c, at, layer)

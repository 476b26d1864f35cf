#!/usr/bin/env python3
"""Oracle for Qwen3.8-Flash-Next (`qwen4_exp` in transformers, `qwen4exp` in GGUF).

Needs `pip install torch transformers gguf`. It builds a small model with random weights, writes it as GGUF
(docs/qwen4exp.md), and writes the reference's own tensors ("golden") as a second GGUF used as a plain container.

    qwen4exp.py make   CONFIG.json MODEL.gguf GOLDEN.gguf    # new model + golden
    qwen4exp.py golden CONFIG.json MODEL.gguf GOLDEN.gguf    # golden of an existing (e.g. quantised) file

The reference is transformers' Qwen4ExpForCausalLM, eval, no cache, eager attention, on float32 weights, evaluated in
float64 and stored as float32: its float32 evaluation has more rounding noise than a good engine, and is run too, to
measure that noise. The code is transformers' own except that `topk` is made deterministic (higher first, lower index on
ties). The MTP block, which transformers does not have, is put together here from transformers' modules after section 5
of the specification.
Config: see `configs/`. Every field of "config" goes to Qwen4ExpTextConfig as it is.
"""
import argparse
import contextlib
import json
import math
import zlib

import gguf
import numpy as np
import torch
from torch import nn
from transformers.models.qwen4_exp import modeling_qwen4_exp as hf
from transformers.models.qwen4_exp.configuration_qwen4_exp import Qwen4ExpTextConfig

import bpe

ARCH = "qwen4exp"


def _add_q2_0():
    """gguf-py 0.19 does not know type 42; its reader needs the enum member and the block size."""
    if 42 not in gguf.GGMLQuantizationType._value2member_map_:
        m = int.__new__(gguf.GGMLQuantizationType, 42)
        m._name_, m._value_ = "Q2_0", 42
        gguf.GGMLQuantizationType._member_map_["Q2_0"] = gguf.GGMLQuantizationType._value2member_map_[42] = m
        gguf.GGML_QUANT_SIZES[m] = (64, 18)


_add_q2_0()


def dequantize(data, qtype):
    """gguf-py's dequantiser, plus Q2_0 after section 10.3 of the specification."""
    if qtype != 42:
        return gguf.quants.dequantize(data, qtype)
    b = np.ascontiguousarray(data).reshape(-1, 18)
    d = b[:, :2].copy().view(np.float16).astype(np.float32)
    q = (b[:, 2:, None] >> np.array([0, 2, 4, 6], np.uint8)) & 3
    return ((q.reshape(-1, 64).astype(np.float32) - 1) * d).reshape(*data.shape[:-1], -1)


# ---------------------------------------------------------------- configuration

class Spec:
    """One JSON config: the HF config, the vocabulary, the sequences."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as f:
            j = json.load(f)
        self.json, self.seed, self.mtp, self.name = j, j["seed"], j.get("mtp", False), j["name"]
        self.tokens, self.types, self.merges, self.special = bpe.vocabulary(j["merges"], j["config"]["vocab_size"])
        self.eos = self.special["<|endoftext|>"]
        c = dict(j["config"], eos_token_id=self.eos, pad_token_id=None, bos_token_id=None, hidden_act="silu",
                 output_gate_type="sigmoid", indexer_kv_heads=1, rms_norm_eps=1e-6, tie_word_embeddings=False,
                 norm_topk_prob=True, attention_bias=False, split_ngram_parts=1)
        c["layer_types"] = ["linear_attention" if (i + 1) % j["full_attention_interval"] else "indexed_attention"
                            for i in range(c["num_hidden_layers"])]
        self.hf = Qwen4ExpTextConfig(**c)
        self.hf._attn_implementation = "eager"
        self.hf._experts_implementation = "eager"
        self.mtp_ratio = j.get("mtp_compress_ratio", 0)       # older converters write 0 (dense), newer the trunk's

    def sequences(self):
        """[(name, ids)] from the "sequences" entries; ids depend on the seed only."""
        n_plain = 256 + len(self.merges)
        out = []
        for i, s in enumerate(self.json["sequences"]):
            rng = np.random.default_rng([self.seed, 77, i])
            n, kind = s["len"], s["kind"]
            if kind == "random":
                ids = rng.integers(0, n_plain, n)
            elif kind == "separators":      # E first, in the middle, twice in a row, two apart, last
                ids = rng.integers(0, n_plain, n)
                ids[[0, 5, 6, 9, 11, n - 1]] = self.eos
                ids[[14, 20]] = self.special["<|im_end|>"], self.special["<|im_start|>"]
            elif kind == "repeat":          # a a a ... a b a b ...
                a, b = rng.choice(n_plain, 2, replace=False)
                ids = np.full(n, a)
                ids[2 * n // 3::2] = b
            else:
                raise ValueError(f"sequence kind {kind!r} is not one of random, separators, repeat")
            out.append((s["name"], ids.astype(np.int32)))
        return out


# ---------------------------------------------------------------- model

class Mtp(nn.Module):
    """The draft head of section 5: row j maps (H_j, id_{j+1}) to logits of id_{j+2}."""

    def __init__(self, spec):
        super().__init__()
        c = Qwen4ExpTextConfig(**{**spec.hf.to_dict(), "num_hidden_layers": spec.hf.num_hidden_layers + 1,
                                  "layer_types": spec.hf.layer_types + ["indexed_attention"]})
        c._attn_implementation, c._experts_implementation = "eager", "eager"
        n, r = c.hidden_size, c.hc_count
        self.enorm = hf.Qwen4ExpTextRMSNorm(n, eps=c.rms_norm_eps)
        self.hnorm = hf.Qwen4ExpTextRMSNorm(n * r, eps=c.rms_norm_eps)
        self.fc_embedding = nn.Linear(n, n, bias=False)
        self.fc_hidden = nn.Linear(n, n, bias=False)
        self.layer = hf.Qwen4ExpTextDecoderLayer(c, c.num_hidden_layers - 1)
        self.mixer = hf.Qwen4ExpTextGatedResidual(c, use_combine=False)
        self.r, self.n, self.dense = r, n, spec.mtp_ratio == 0

    def forward(self, model, wide, next_ids, grouped=False, dense=None, gaps=None):
        """wide [T][r*n], next_ids [T] -> (G [T][r*n], logits [T][V]).

        grouped: llama.cpp's per-stream hnorm. dense: attend to everything (None: as the file's compress ratio says).
        """
        dense = self.dense if dense is None else dense
        t = wide.shape[0]
        self.hnorm.group_size = self.n if grouped else None
        e = self.fc_embedding(self.enorm(model.model.embed_tokens(next_ids)))
        h = self.fc_hidden(self.hnorm(wide).view(t, self.r, self.n))
        x = (h + e[:, None, :]).reshape(1, t, self.r * self.n)
        pos = torch.arange(t).view(1, 1, -1).expand(3, 1, -1)
        mask = torch.full((t, t), torch.finfo(x.dtype).min, dtype=x.dtype).triu(1)[None, None]
        if gaps is not None:
            gaps.row = self.layer.self_attn.indexer.compress_ratio - 2
        hook = self.layer.self_attn.indexer.register_forward_hook(
            lambda m, i, o: torch.ones_like(o) if dense else o)
        try:
            g = self.layer(x, position_embeddings=model.model.rotary_emb(x, pos), attention_mask=mask)
        finally:
            hook.remove()
        return g[0], model.lm_head(self.mixer(g)[0])


def build(spec):
    torch.manual_seed(0)
    model = hf.Qwen4ExpForCausalLM(spec.hf).float().eval()
    mtp = Mtp(spec).float().eval() if spec.mtp else None
    return model, mtp


def randomise(spec, model, mtp):
    """Weights of a scale at which every formula matters: norms away from 1, gates unsaturated, routers uneven."""
    c = spec.hf

    def value(name, shape):
        rng = np.random.default_rng([spec.seed, zlib.crc32(name.encode())])
        leaf = name.rsplit(".", 2)[-2] if name.endswith(".weight") else name.rsplit(".", 1)[-1]
        normal = lambda std, mean=0.0: rng.normal(mean, std, shape)
        if leaf == "A_log":                                   # decay rates from slow to fast
            return rng.uniform(math.log(0.02), math.log(2.0), shape)
        if leaf == "dt_bias":
            return normal(0.8, -0.5)
        if leaf in ("q_norm", "k_norm"):                      # sharp enough for attention to select
            return rng.uniform(0.1, 1.0, shape)
        if leaf == "norm":                                    # GDN output norm: one-centred in HF
            return rng.uniform(0.5, 1.8, shape)
        if "norm" in leaf:                                    # zero-centred in HF
            return rng.uniform(-0.5, 0.7, shape)
        if leaf == "conv1d":
            return normal(0.5) if ".ple." in name else normal(0.6)
        if leaf in ("embed_tokens", "ngram_embedding"):
            return normal(1.0)
        fan_in = shape[-1]
        gain = {"input_mix_weight_down": 1.3 * c.hc_count, "block_inject_weight": 1.0 * c.hc_count,
                "input_mix_weight_up": 2.5, "gate_up_proj": 1.8, "down_proj": 3.0, "out_proj": 3.0, "o_proj": 4.0,
                "gate": 2.5, "shared_expert_gate": 2.0, "lm_head": 6.0, "in_proj_a": 1.5, "in_proj_b": 2.0,
                "in_proj_qkv": 1.5, "in_proj_z": 2.0, "index_qk_proj": 1.5}.get(leaf, 1.3)
        return normal(gain / math.sqrt(fan_in))

    with torch.no_grad():
        for prefix, mod in (("", model), ("mtp.", mtp)):
            for name, p in (mod.named_parameters() if mod is not None else ()):
                p.copy_(torch.from_numpy(np.asarray(value(prefix + name, tuple(p.shape)), dtype=np.float32)))


# ---------------------------------------------------------------- GGUF tensors <-> HF parameters

def tensor_map(spec, model, mtp):
    """{gguf name: (to_gguf, from_gguf)}; to_gguf() gives a tensor, from_gguf(tensor) writes the HF parameter."""
    c = spec.hf
    nk, nv, d = c.linear_num_key_heads, c.linear_num_value_heads, c.linear_value_head_dim
    qk = 2 * nk * c.linear_key_head_dim
    head = torch.tensor([(j % nk) * (nv // nk) + j // nk for j in range(nv)])     # GGUF value head j -> HF head
    unit = (head[:, None] * d + torch.arange(d)).flatten()
    out = {}

    def put(name, p, to=lambda w: w, back=lambda w: w):
        def load(w):
            w = back(w)
            p.data.copy_(w.reshape(p.shape))
        out[name] = (lambda: to(p.data), load)

    def part(name, p, sl):                                    # a slice of p along its second-last or first axis
        out[name] = (lambda: p.data[sl], lambda w: p.data[sl].copy_(w))

    def undo(perm):
        inv = torch.empty_like(perm)
        inv[perm] = torch.arange(len(perm))
        return inv

    plus = dict(to=lambda w: w + 1.0, back=lambda w: w - 1.0)
    squeeze = dict(to=lambda w: w.squeeze(1))

    def perm_rows(p):
        return dict(to=lambda w: w[p], back=lambda w: w[undo(p)])

    def hyper(prefix, m):
        put(prefix + "norm.weight", m.hc_norm.weight, **plus)
        put(prefix + "down.weight", m.input_mix_weight_down.weight)
        put(prefix + "up.weight", m.input_mix_weight_up.weight)
        if m.block_inject_weight is not None:
            put(prefix + "inject.weight", m.block_inject_weight.weight)

    def layer(i, m):
        b = f"blk.{i}."
        hyper(b + "hc_attn_", m.attn_hyper_connection)
        hyper(b + "hc_ffn_", m.mlp_hyper_connection)
        f = c.moe_intermediate_size
        put(b + "ffn_gate_inp.weight", m.mlp.gate.weight)
        part(b + "ffn_gate_exps.weight", m.mlp.experts.gate_up_proj, (slice(None), slice(0, f)))
        part(b + "ffn_up_exps.weight", m.mlp.experts.gate_up_proj, (slice(None), slice(f, None)))
        put(b + "ffn_down_exps.weight", m.mlp.experts.down_proj)
        put(b + "ffn_gate_inp_shexp.weight", m.mlp.shared_expert_gate.weight, to=lambda w: w[0])
        for s in ("gate", "up", "down"):
            put(f"{b}ffn_{s}_shexp.weight", getattr(m.mlp.shared_expert, s + "_proj").weight)
        if m.layer_type == "linear_attention":
            a = m.linear_attn
            rows = torch.cat([torch.arange(qk), qk + unit])
            put(b + "attn_qkv.weight", a.in_proj_qkv.weight, **perm_rows(rows))
            put(b + "attn_gate.weight", a.in_proj_z.weight, **perm_rows(unit))
            put(b + "ssm_conv1d.weight", a.conv1d.weight, to=lambda w: w.squeeze(1)[rows],
                back=lambda w: w[undo(rows)])
            put(b + "ssm_alpha.weight", a.in_proj_a.weight, **perm_rows(head))
            put(b + "ssm_beta.weight", a.in_proj_b.weight, **perm_rows(head))
            put(b + "ssm_a", a.A_log, to=lambda w: -w[head].exp(), back=lambda w: (-w[undo(head)]).log())
            put(b + "ssm_dt.bias", a.dt_bias, **perm_rows(head))
            put(b + "ssm_norm.weight", a.norm.weight)
            put(b + "ssm_out.weight", a.out_proj.weight, to=lambda w: w[:, unit], back=lambda w: w[:, undo(unit)])
        else:
            a = m.self_attn
            for g, h in (("q", "q"), ("k", "k"), ("v", "v"), ("output", "o")):
                put(f"{b}attn_{g}.weight", getattr(a, h + "_proj").weight)
            put(b + "attn_q_norm.weight", a.q_norm.weight, **plus)
            put(b + "attn_k_norm.weight", a.k_norm.weight, **plus)
            cut = c.indexer_n_heads * c.indexer_head_dim
            part(b + "indexer.q_proj.weight", a.indexer.index_qk_proj.weight, (slice(0, cut),))
            part(b + "indexer.k_proj.weight", a.indexer.index_qk_proj.weight, (slice(cut, None),))
            put(b + "indexer.q_norm.weight", a.indexer.q_layernorm.weight, **plus)
            put(b + "indexer.k_norm.weight", a.indexer.k_layernorm.weight, **plus)
        if m.ple is not None:
            put(b + "ple_key.weight", m.ple.key_proj.weight)
            put(b + "ple_value.weight", m.ple.value_proj.weight)
            for s in ("key", "query", "conv"):
                put(f"{b}ple_norm_{s}.weight", getattr(m.ple, "norm_" + s).weight, **plus)
            put(b + "ple_conv1d.weight", m.ple.conv1d.weight, **squeeze)
            put("per_layer_token_embd.weight", m.ple.ple_embedding.ngram_embedding.weight)

    put("token_embd.weight", model.model.embed_tokens.weight)
    put("output.weight", model.lm_head.weight)
    hyper("output_hc_", model.model.hyper_connection_mixer)
    for i, m in enumerate(model.model.layers):
        layer(i, m)
    if mtp is not None:
        i = c.num_hidden_layers
        layer(i, mtp.layer)
        b, n = f"blk.{i}.nextn.", c.hidden_size

        def load_eh(w):
            mtp.fc_embedding.weight.data.copy_(w[:, :n])
            mtp.fc_hidden.weight.data.copy_(w[:, n:])
        out[b + "eh_proj.weight"] = (lambda: torch.cat([mtp.fc_embedding.weight.data, mtp.fc_hidden.weight.data], 1),
                                     load_eh)
        put(b + "enorm.weight", mtp.enorm.weight, **plus)
        put(b + "hnorm.weight", mtp.hnorm.weight, **plus)
        hyper(b + "hc_head_", mtp.mixer)
    return out


def metadata(spec, model):
    """[(key, value, type, element type of arrays)] of section 2."""
    T, c = gguf.GGUFValueType, spec.hf
    n_nextn = 1 if spec.mtp else 0
    rope = c.rope_parameters
    ple = next(m.ple for m in model.model.layers if m.ple is not None)
    e = ple.ple_embedding
    u = lambda k, v: (f"{ARCH}.{k}", int(v), T.UINT32, None)
    fl = lambda k, v: (f"{ARCH}.{k}", float(v), T.FLOAT32, None)
    arr = lambda k, v, t: (f"{ARCH}.{k}", [int(x) for x in v], T.ARRAY, t)
    kv = [
        ("general.name", f"varve test model {spec.name}", T.STRING, None),
        u("block_count", c.num_hidden_layers + n_nextn),
        u("context_length", c.max_position_embeddings), u("embedding_length", c.hidden_size),
        u("attention.head_count", c.num_attention_heads), u("attention.head_count_kv", c.num_key_value_heads),
        u("attention.key_length", c.head_dim), u("attention.value_length", c.head_dim),
        fl("attention.layer_norm_rms_epsilon", c.rms_norm_eps),
        fl("rope.freq_base", rope["rope_theta"]),
        u("rope.dimension_count", int(c.head_dim * rope["partial_rotary_factor"])),
        arr("rope.dimension_sections", [*rope["mrope_section"], 0], T.INT32),
        u("expert_count", c.num_experts), u("expert_used_count", c.num_experts_per_tok),
        u("expert_feed_forward_length", c.moe_intermediate_size),
        u("expert_shared_feed_forward_length", c.shared_expert_intermediate_size),
        u("ssm.conv_kernel", c.linear_conv_kernel_dim), u("ssm.state_size", c.linear_key_head_dim),
        u("ssm.group_count", c.linear_num_key_heads), u("ssm.time_step_rank", c.linear_num_value_heads),
        u("ssm.inner_size", c.linear_num_value_heads * c.linear_value_head_dim),
        u("full_attention_interval", spec.json["full_attention_interval"]),
        u("hyper_connection.count", c.hc_count), u("hyper_connection.low_rank", c.hc_lowrank),
        u("attention.indexer.head_count", c.indexer_n_heads),
        u("attention.indexer.key_length", c.indexer_head_dim), u("attention.indexer.top_k", c.indexer_budget),
        arr("attention.compress_ratios", [c.indexer_compress_ratio if t == "indexed_attention" else 0
                                          for t in c.layer_types] + [spec.mtp_ratio] * n_nextn, T.INT32),
        arr("ple.layers", [c.ple_layer_ids[0] - 1], T.INT32),
        u("ple.ngram_size", c.ngram_size), u("ple.heads_per_ngram", c.heads_per_ngram),
        u("ple.conv_kernel", c.ple_conv_kernel_size), u("ple.eos_token_id", spec.eos),
        u("ple.image_token_id", spec.special["<|image_pad|>"]),
        u("embedding_length_per_layer_input", c.ple_embed_dim // e.ngram_heads),
        arr("ple.layer_multipliers", e.layer_multipliers.tolist(), T.UINT64),
        arr("ple.head_offsets", e.head_offsets, T.UINT64),
        arr("ple.head_vocab_sizes", e.head_vocab_sizes, T.UINT64),
        ("tokenizer.ggml.model", "gpt2", T.STRING, None), ("tokenizer.ggml.pre", "qwen35", T.STRING, None),
        ("tokenizer.ggml.tokens", spec.tokens, T.ARRAY, T.STRING),
        ("tokenizer.ggml.token_type", spec.types, T.ARRAY, T.INT32),
        ("tokenizer.ggml.merges", spec.merges, T.ARRAY, T.STRING),
        ("tokenizer.ggml.eos_token_id", spec.special["<|im_end|>"], T.UINT32, None),
        ("tokenizer.ggml.bos_token_id", spec.eos, T.UINT32, None),
        ("tokenizer.ggml.padding_token_id", spec.eos, T.UINT32, None),
        ("tokenizer.ggml.add_bos_token", False, T.BOOL, None),
        ("tokenizer.chat_template", bpe.CHAT_TEMPLATE, T.STRING, None),
        ("general.sampling.temp", 1.0, T.FLOAT32, None), ("general.sampling.top_p", 0.95, T.FLOAT32, None),
        ("general.sampling.top_k", 20, T.INT32, None),
    ]
    if n_nextn:
        kv.append(u("nextn_predict_layers", n_nextn))
    return kv


def write_model(spec, model, mtp, path):
    Q = gguf.GGMLQuantizationType
    w = gguf.GGUFWriter(path, ARCH)
    for key, val, t, sub in metadata(spec, model):
        w.add_key_value(key, val, t, sub)
    w.add_file_type(1 if spec.json.get("file_type") == "F16" else 0)
    for name, (to, _) in tensor_map(spec, model, mtp).items():
        a = to().contiguous().numpy()
        t = tensor_type(spec, name, a.shape)
        if t == "BF16":
            w.add_tensor(name, gguf.quants.quantize(a, Q.BF16), raw_dtype=Q.BF16)
        else:
            w.add_tensor(name, a.astype(np.float16) if t == "F16" else a)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def tensor_type(spec, name, shape):
    """F32, F16 or BF16. 1-D tensors, routers, injections, convolutions and decay projections stay F32, as published."""
    if any(p in name for p in spec.json.get("bf16", ())) and len(shape) > 1:
        return "BF16"
    keep = len(shape) < 2 or any(p in name for p in ("ffn_gate_inp", "_inject", "conv1d", "ssm_alpha", "ssm_beta"))
    return "F32" if keep else spec.json.get("file_type", "F32")


def round_weights(spec, model, mtp):
    """Round the parameters so that the file holds them exactly."""
    for name, (to, back) in tensor_map(spec, model, mtp).items():
        a = to()
        t = tensor_type(spec, name, a.shape)
        if t != "F32":
            back(a.to(torch.float16 if t == "F16" else torch.bfloat16).float())


def load_model(spec, path):
    """Build the HF model from a GGUF file, quantised tensors dequantised."""
    model, mtp = build(spec)
    tensors = {t.name: t for t in gguf.GGUFReader(path).tensors}
    want = tensor_map(spec, model, mtp)
    if set(want) != set(tensors):
        raise ValueError(f"tensor names differ from the config: {sorted(set(want) ^ set(tensors))[:6]}")
    for name, (_, back) in want.items():
        t = tensors[name]
        a = dequantize(t.data, t.tensor_type).reshape(tuple(int(x) for x in reversed(t.shape)))
        back(torch.from_numpy(np.array(a, dtype=np.float32)))
    return model, mtp


# ---------------------------------------------------------------- golden

@contextlib.contextmanager
def double_precision(*models):
    """Run the reference in float64: it names float32 in its casts, so those names mean float64 for a while."""
    old = torch.float32, torch.float, torch.Tensor.float
    for m in models:
        if m is not None:
            m.double()
    torch.float32 = torch.float = torch.float64
    torch.Tensor.float = torch.Tensor.double
    try:
        yield
    finally:
        torch.float32, torch.float, torch.Tensor.float = old
        for m in models:
            if m is not None:
                m.float()


class Gaps:
    """Smallest relative distance between the last chosen and the first rejected score, and exact ties there."""

    def __init__(self):
        self.router, self.indexer, self.ties, self.row, self.tie_rows = math.inf, math.inf, 0, 0, set()

    def see(self, values, k, dim):
        if values.ndim == 1:                                  # the indexer asks once per query with a complete block
            self.row += 1
        if values.shape[dim] <= k:
            return
        last, first = values.select(dim, k - 1), values.select(dim, k)
        gap = ((last - first) / last.abs().clamp_min(1e-12))
        if values.ndim == 1:
            if last == first:
                self.ties += 1
                self.tie_rows.add(self.row)
            else:
                self.indexer = min(self.indexer, gap.min().item())
        else:
            self.router = min(self.router, gap.min().item())


@contextlib.contextmanager
def stable_topk(gaps):
    """torch's topk leaves ties open. Ours: higher first, lower index on ties."""
    old_f, old_m = torch.topk, torch.Tensor.topk

    def topk(x, k, dim=-1, largest=True, sorted=True):
        v, i = torch.sort(x, dim=dim, descending=largest, stable=True)
        gaps.see(v, k, dim)
        return torch.return_types.topk((v.narrow(dim, 0, k), i.narrow(dim, 0, k)))
    torch.topk, torch.Tensor.topk = topk, topk
    try:
        yield
    finally:
        torch.topk, torch.Tensor.topk = old_f, old_m


def run(model, ids, gaps=None):
    """One full forward. Returns (logits [T][V], {name: tensor [T][...]} of everything recorded)."""
    rec, hooks, gaps = {}, [], gaps or Gaps()

    def on(mod, fn):
        hooks.append(mod.register_forward_hook(fn))

    def keep(name, pick=lambda i, o: o):
        def fn(m, i, o):
            x = pick(i, o)
            rec[name] = x.reshape(len(ids), -1)
        return fn

    def first_row(m, i):                                      # the row before the first topk call
        gaps.row = m.compress_ratio - 2

    first = lambda i, o: o[0] if isinstance(o, tuple) else o
    for n, m in enumerate(model.model.layers):
        on(m, keep(f"hidden.{n}", first))
        if m.ple is not None:
            on(m.ple, keep("ple"))
            on(m.ple.ple_embedding.ngram_embedding, keep("ngram_rows", lambda i, o: i[0].int()))
        if m.layer_type == "linear_attention":
            on(m.linear_attn, keep(f"gdn.{n}", first))
        else:
            on(m.self_attn, keep(f"attn.{n}", first))
            on(m.self_attn.indexer, keep(f"selected.{n}", lambda i, o: o[0, 0].to(torch.int8)))
            hooks.append(m.self_attn.indexer.register_forward_pre_hook(first_row))
        on(m.mlp, keep(f"moe.{n}"))

        def router(m, i, o, n=n):
            rec[f"router_probs.{n}"] = torch.softmax(o[0].float(), -1)
            rec[f"expert_weights.{n}"] = o[1]
            rec[f"experts.{n}"] = o[2].int()
        on(m.mlp.gate, router)
    on(model.model.hyper_connection_mixer, keep("mix"))
    with torch.no_grad(), stable_topk(gaps):
        logits = model(torch.from_numpy(ids.astype(np.int64))[None], use_cache=False).logits[0]
    for h in hooks:
        h.remove()
    return logits, rec


def chain(model, mtp, wide, ids, t, steps):
    """Greedy draft chain after position t (its next token is ids[t+1]): (draft ids [steps], logits [steps][V])."""
    rows, nxt = wide[:t + 1], list(ids[1:t + 2])
    drafts, logits = [], []
    for _ in range(steps):
        g, lg = mtp(model, rows, torch.tensor(nxt, dtype=torch.long))
        drafts.append(int(lg[-1].argmax()))
        logits.append(lg[-1])
        rows, nxt = torch.cat([rows, g[-1:]]), nxt + [drafts[-1]]
    return np.array(drafts, np.int32), torch.stack(logits).numpy()


def inner_rows(n, every, whole):
    """Rows whose inner tensors are kept: all of a sequence of at most `whole` tokens, a sample of a longer one."""
    if n <= whole:
        return np.arange(n, dtype=np.int32)
    return np.array(sorted({*range(4), *range(0, n, every), *range(n - 8, n)}), np.int32)


def store(w, name, x):
    x = x.detach().numpy() if isinstance(x, torch.Tensor) else x
    w.add_tensor(name, np.ascontiguousarray(x.astype(np.float32) if x.dtype.kind == "f" else x))


def write_golden(spec, model, mtp, path):
    """Write the container; returns what should be known about it as a dict."""
    j = spec.json.get("golden", {})
    inner, every, whole = j.get("inner", True), j.get("every", 16), j.get("whole", 64)
    w = gguf.GGUFWriter(path, "golden")
    gaps, n, std, noise, mtp_gap = Gaps(), 0, [], {}, 1.0
    for name, ids in spec.sequences():
        p, t = f"s{n}.", len(ids)
        single, single_rec = run(model, ids)
        gaps.tie_rows = set()
        with double_precision(model, mtp):
            logits, rec = run(model, ids, gaps)
            for k in rec:                                     # the float32 run must have taken the same decisions
                if k.startswith("experts") and not torch.equal(rec[k].sort().values, single_rec[k].sort().values):
                    raise ValueError(f"{name}: {k} differs between float32 and float64: take another seed")
                if k.startswith("selected") and not torch.equal(rec[k], single_rec[k]):
                    raise ValueError(f"{name}: {k} differs between float32 and float64: take another seed")
            d = (single.double() - logits).abs()
            noise[name] = d.max().item(), (d.square().mean().sqrt() / logits.std()).item()
            std.append(logits.std().item() if t > 1 else logits[0].std().item())
            lrows = np.arange(t, dtype=np.int32)
            if j.get("last_logits") and t > 64:               # only the last rows of a long sequence
                lrows = lrows[-j["last_logits"]:]
            w.add_string(f"golden.seq.{n}.name", name)
            w.add_float32(f"golden.seq.{n}.noise_max", noise[name][0])
            store(w, p + "tokens", ids)
            if gaps.tie_rows:
                store(w, p + "tie_rows", np.array(sorted(gaps.tie_rows), np.int32))
            store(w, p + "ngram_rows", rec.pop("ngram_rows"))
            store(w, p + "logit_rows", lrows)
            store(w, p + "logits", logits[lrows])
            if inner:
                rows = inner_rows(t, every, whole)
                store(w, p + "inner_rows", rows)
                for k, v in rec.items():
                    store(w, p + k, v[rows])
            if mtp is not None and t > 1:
                wide, nxt = rec[f"hidden.{spec.hf.num_hidden_layers - 1}"][:-1], torch.from_numpy(ids[1:]).long()
                mgaps = Gaps()
                with torch.no_grad(), stable_topk(mgaps):
                    g, lg = mtp(model, wide, nxt, gaps=mgaps)
                    if mgaps.tie_rows:
                        store(w, p + "mtp.tie_rows", np.array(sorted(mgaps.tie_rows), np.int32))
                    mtp_gap = min(mtp_gap, mgaps.router, 1.0 if mtp.dense else mgaps.indexer)
                    mrows = inner_rows(t - 1, every, whole)
                    store(w, p + "mtp.rows", mrows)
                    store(w, p + "mtp.logits", lg[mrows])
                    store(w, p + "mtp.hidden", g[mrows])
                    store(w, p + "mtp.logits_grouped", mtp(model, wide, nxt, grouped=True)[1][mrows])
                    store(w, p + ("mtp.logits_qsa" if mtp.dense else "mtp.logits_dense"),
                          mtp(model, wide, nxt, dense=not mtp.dense)[1][mrows])
                    if t >= 7:
                        drafts, cl = chain(model, mtp, torch.cat([wide, wide[-1:]]), ids, t - 3, 3)
                        store(w, p + "mtp.chain_tokens", drafts)
                        store(w, p + "mtp.chain_logits", cl)
        n += 1
    info = {"logit_std": float(np.mean(std)), "router_gap": min(gaps.router, 1.0), "indexer_gap": min(gaps.indexer, 1.0),
            "indexer_ties": gaps.ties, "mtp_gap": mtp_gap, "noise": noise}
    w.add_string("golden.model", spec.name)
    w.add_string("golden.reference", "transformers Qwen4ExpForCausalLM in float64 on the float32 weights of the file")
    w.add_uint32("golden.sequence_count", n)
    w.add_uint32("golden.layer_count", spec.hf.num_hidden_layers)
    w.add_uint32("golden.indexer_ties", gaps.ties)
    for k in ("logit_std", "router_gap", "indexer_gap", "mtp_gap"):
        w.add_float32("golden." + k, info[k])
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    return info


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("command", choices=["make", "golden"])
    ap.add_argument("config")
    ap.add_argument("model")
    ap.add_argument("golden")
    a = ap.parse_args()
    torch.set_num_threads(2)
    spec = Spec(a.config)
    if a.command == "make":
        model, mtp = build(spec)
        randomise(spec, model, mtp)
        round_weights(spec, model, mtp)
        write_model(spec, model, mtp, a.model)
    model, mtp = load_model(spec, a.model)                    # always from the file: what is measured is what is read
    print(json.dumps(write_golden(spec, model, mtp, a.golden)))


if __name__ == "__main__":
    main()

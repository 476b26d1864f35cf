#!/usr/bin/env python3
"""Writes a GGUF file with the shapes, types and bytes of a published model and random weights.

    python3 tools/bench_model.py q4.gguf                         4 layers, 512 experts, 7.5 GB
    python3 tools/bench_model.py q3.gguf --types q3 --layers 8 --mtp
    python3 tools/bench_model.py q2.gguf --arch deepseek4 --types q2     4 layers, 8.3 GB
    python3 tools/bench_model.py --plan - --types q8 --vocab released    only the sizes

For measuring speed on layers as wide as the real ones. Weights have the deviation 1/sqrt(width), so
activations stay near 1; what such a model writes is noise. Its router spreads tokens over the
experts more evenly than a trained one, so a window of several rows touches more of them.

The same arguments give the same bytes. Needs numpy and gguf (docs/bench.md).
"""
import argparse
import math
import os
import re
import struct
import sys
import time
import zlib

import numpy as np

import bench_blocks as blocks
import bench_deepseek4

# ---- types: what each role of a matrix has; a pair is for even and odd layers ----

DELICATE = {"inject": "F32", "router": "F32", "small": "F32", "indexer": "BF16"}
QWEN4EXP = {
    "q4": dict(DELICATE, embed="Q8_0", head="Q8_0", attn="Q8_0", hc="Q8_0", shared="Q8_0",
               ple="Q8_0", table="IQ4_NL", expert_in="Q4_K", expert_out="Q5_1"),
    "q4km": dict(DELICATE, embed="Q4_K", head="Q6_K", attn="Q5_K", hc="Q8_0", shared="Q8_0",
                 ple="Q8_0", table="Q5_0", expert_in="Q4_K", expert_out=("Q8_0", "Q5_0")),
    "q3": dict(DELICATE, embed="Q6_K", head="Q6_K", attn="Q6_K", hc="Q8_0", shared="Q8_0",
               ple="Q8_0", table="IQ4_NL", expert_in="IQ3_S", expert_out="IQ4_NL"),
    "q2": dict(DELICATE, embed="Q4_0", head="Q6_K", attn=("Q4_K", "Q5_K"), hc="Q8_0",
               shared="Q5_K", ple="Q4_K", router="BF16", table="IQ4_NL", expert_in="Q2_0",
               expert_out="Q2_0"),
    "q8": dict(DELICATE, embed="Q8_0", head="Q8_0", attn="Q8_0", hc="Q8_0", shared="Q8_0",
               ple="Q8_0", table="Q8_0", expert_in="Q8_0", expert_out="Q8_0"),
}
QWEN4EXP["bf16"] = {role: "BF16" for role in QWEN4EXP["q8"]} | DELICATE
PRESETS = {"qwen4exp": QWEN4EXP, "deepseek4": bench_deepseek4.PRESETS}
# Layers that mixes of this kind give more bits; negative ones count from the end of 8 or more.
BETTER = {
    ("qwen4exp", "q4", "expert_in"): ({2}, "Q5_K"),
    ("qwen4exp", "q4", "expert_out"): ({2, 4, 30, -2, -1}, "Q8_0"),
    ("qwen4exp", "q3", "expert_in"): ({2}, "IQ4_XS"),
    ("qwen4exp", "q3", "expert_out"): ({2, 4, 30, -2, -1}, "Q8_0"),
}
# general.file_type
FILE_TYPE = {"q4": 15, "q4km": 15, "q3": 27, "q2": 10, "q8": 7, "bf16": 32, "mxfp4": 38}


def type_of(o, role, layer):
    some, better = BETTER.get((o.arch, o.types, role), ((), None))
    if layer >= 0 and (layer in some or o.layers >= 8 and layer - o.layers in some):
        return better
    kind = PRESETS[o.arch][o.types][role]
    return kind if isinstance(kind, str) else kind[layer % 2]


# ---- a file's contents ----

class Tensor:
    def __init__(self, name, ne, kind, values=None, active=1.0):
        self.name, self.ne, self.kind, self.values = name, ne, kind, values
        self.active = active  # share of it that is read for a token
        self.bytes = blocks.row_bytes(kind, ne[0]) * math.prod(ne[1:])

    def pieces(self, seed):
        bits = np.random.SFC64([seed, zlib.crc32(self.name.encode())])
        if self.values:
            yield blocks.encode_plain(self.kind, self.values(np.random.Generator(bits)).reshape(-1))
        else:
            count = math.prod(self.ne) // blocks.FORMATS[self.kind][1]
            yield from blocks.random_weights(self.kind, bits, count, 1 / math.sqrt(self.ne[0]))


class Contents:
    """Metadata and tensors of the file."""

    def __init__(self, options):
        self.keys, self.tensors, self.options = [], [], options

    def key(self, kind, name, value):
        self.keys.append((name, kind, value))

    def matrix(self, name, ne, role, layer=-1, active=1.0):
        name += ".weight"
        o = self.options
        kind = blocks.fitting(type_of(o, role, layer), ne[0])
        for pattern, other in o.override:
            if re.search(pattern, name):
                kind = blocks.fitting(other, ne[0])
        self.tensors.append(Tensor(name, ne, kind, active=active))

    def values(self, name, ne, make, kind="F32", active=1.0):
        self.tensors.append(Tensor(name, ne, kind, make, active))

    def vector(self, name, ne, mean, deviation):
        count = math.prod(ne)
        self.values(name + ".weight", ne,
                    lambda draw: draw.normal(mean, deviation, count).astype(np.float32))

    def norm(self, name, width):
        self.vector(name, (width,), 1.0, 0.1)


# ---- the container ----

SCALARS = {"u32": (4, "I"), "i32": (5, "i"), "f32": (6, "f"), "bool": (7, "?"), "str": (8, None),
           "u64": (10, "Q")}
ALIGNMENT = 32


def string_bytes(text):
    return struct.pack("<Q", len(text.encode())) + text.encode()


def key_bytes(name, kind, value):
    code, form = SCALARS[kind.removesuffix("[]")]
    items = value if kind.endswith("[]") else [value]
    if form:
        body = struct.pack(f"<{len(items)}{form}", *items)
    else:
        body = b"".join(map(string_bytes, items))
    if kind.endswith("[]"):
        return string_bytes(name) + struct.pack("<IIQ", 9, code, len(items)) + body
    return string_bytes(name) + struct.pack("<I", code) + body


def header_bytes(contents):
    out = bytearray(b"GGUF" + struct.pack("<IQQ", 3, len(contents.tensors), len(contents.keys)))
    for name, kind, value in contents.keys:
        out += key_bytes(name, kind, value)
    at = 0
    for t in contents.tensors:
        out += string_bytes(t.name) + struct.pack(f"<I{len(t.ne)}Q", len(t.ne), *t.ne)
        out += struct.pack("<IQ", blocks.FORMATS[t.kind][0], at)
        at += t.bytes + -t.bytes % ALIGNMENT
    return out + bytes(-len(out) % ALIGNMENT), at


def write(contents, path, seed):
    header, data = header_bytes(contents)
    total, began, shown = len(header) + data, time.monotonic(), 0.0
    with open(path + ".partial", "wb") as file:
        file.write(header)
        for t in contents.tensors:
            for piece in t.pieces(seed):
                file.write(np.ascontiguousarray(piece).data)
            file.write(bytes(-t.bytes % ALIGNMENT))
            if sys.stderr.isatty() and time.monotonic() > shown + 0.5:
                shown = time.monotonic()
                print(f"\r{file.tell() / total:4.0%} written", end="\r", file=sys.stderr)
        if file.tell() != total:
            raise RuntimeError(f"{file.tell()} bytes were written and {total} planned")
    os.replace(path + ".partial", path)
    print(f"{path}: {total / 1e9:.3f} GB in {time.monotonic() - began:.0f} s")


# ---- the vocabulary: byte pairs that can spell any text ----

LETTERS = "\u0120abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
NORMAL, CONTROL, UNUSED = 1, 3, 5


def byte_letters():
    """The printable character that stands for each byte in such vocabularies."""
    plain = {*range(33, 127), *range(161, 173), *range(174, 256)}
    others = iter(range(256, 512))
    return [chr(byte if byte in plain else next(others)) for byte in range(256)]


def joined_letters():
    """The parts of words of two letters, then of three, none of which has a blank inside."""
    pairs = [(a, b) for a in LETTERS for b in LETTERS[1:]]
    yield from pairs
    yield from ((a + b, c) for a, b in pairs for c in LETTERS[1:])


def vocabulary(size, special):
    """Texts, types and merges; `special` has texts by id, the others are bytes, then words."""
    texts, types, merges = [], [], []
    letters, words = iter(byte_letters()), joined_letters()
    for i in range(size):
        letter = None if i in special else next(letters, None)
        word = None if i in special or letter else next(words, None)
        if word:
            merges.append(" ".join(word))
        texts.append(special.get(i) or letter or "".join(word or ()) or f"[unused{i}]")
        types.append(CONTROL if i in special else NORMAL if letter or word else UNUSED)
    return texts, types, merges


TEMPLATE = ("{% for x in messages %}<|im_start|>{{ x.role }}\n{{ x.content }}<|im_end|>\n"
            "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}")


def qwen_vocabulary(end):
    special = {end: "<|endoftext|>", end + 1: "<|im_start|>", end + 2: "<|im_end|>",
               end + 12: "<|image_pad|>"}
    return dict(pre="qwen35", special=special, begin=end, end=end + 2, padding=end,
                add_begin=False, template=TEMPLATE)


def add_vocabulary(c, size, v):
    texts, types, merges = vocabulary(size, v["special"])
    c.key("str", "tokenizer.ggml.model", "gpt2")
    c.key("str", "tokenizer.ggml.pre", v["pre"])
    c.key("str[]", "tokenizer.ggml.tokens", texts)
    c.key("i32[]", "tokenizer.ggml.token_type", types)
    c.key("str[]", "tokenizer.ggml.merges", merges)
    c.key("u32", "tokenizer.ggml.bos_token_id", v["begin"])
    c.key("u32", "tokenizer.ggml.eos_token_id", v["end"])
    c.key("u32", "tokenizer.ggml.padding_token_id", v["padding"])
    c.key("bool", "tokenizer.ggml.add_bos_token", v["add_begin"])
    c.key("str", "tokenizer.chat_template", v["template"])


def add_name(c, o):
    c.key("str", "general.architecture", o.arch)
    c.key("str", "general.name", f"synthetic {o.arch} {o.types} {o.layers} layers")
    c.key("u32", "general.quantization_version", 2)
    c.key("u32", "general.file_type", FILE_TYPE[o.types])


# ---- qwen4exp: Qwen3.8-Flash-Next (docs/spec/qwen4exp.md) ----

WIDTH, STREAMS, RANK = 2560, 4, 320
WIDE = WIDTH * STREAMS
HEADS, KV_HEADS, HEAD_DIM = 24, 2, 256
KEY_HEADS, VALUE_HEADS, STATE_DIM, KERNEL = 16, 48, 128, 4
INDEX_HEADS, INDEX_DIM = 4, 128
EXPERTS, USED, HIDDEN = 512, 10, 640
NGRAM_HEADS, NGRAM_WIDTH = 16, 160
CHANNELS = (2 * KEY_HEADS + VALUE_HEADS) * STATE_DIM
RELEASED_VOCABULARY, RELEASED_END = 248320, 248044


def last_primes(below, count):
    sieve = np.ones(below, bool)
    sieve[:2] = False
    for i in range(2, math.isqrt(below) + 1):
        if sieve[i]:
            sieve[i * i::i] = False
    return [int(p) for p in np.flatnonzero(sieve)[-count:]]


def add_keys(c, o, attention, end):
    def u32(name, value):
        c.key("u32", "qwen4exp." + name, value)
    u32("block_count", len(attention))
    u32("context_length", 262144)
    u32("embedding_length", WIDTH)
    u32("hyper_connection.count", STREAMS)
    u32("hyper_connection.low_rank", RANK)
    u32("full_attention_interval", o.interval)
    c.key("f32", "qwen4exp.attention.layer_norm_rms_epsilon", 1e-6)
    u32("attention.head_count", HEADS)
    u32("attention.head_count_kv", KV_HEADS)
    u32("attention.key_length", HEAD_DIM)
    u32("attention.value_length", HEAD_DIM)
    c.key("f32", "qwen4exp.rope.freq_base", 1e7)
    u32("rope.dimension_count", 64)
    c.key("i32[]", "qwen4exp.rope.dimension_sections", [11, 11, 10, 0])
    u32("attention.indexer.head_count", INDEX_HEADS)
    u32("attention.indexer.key_length", INDEX_DIM)
    u32("attention.indexer.top_k", 2048)
    c.key("i32[]", "qwen4exp.attention.compress_ratios",
          [4 if is_one and i < o.layers else 0 for i, is_one in enumerate(attention)])
    u32("ssm.group_count", KEY_HEADS)
    u32("ssm.time_step_rank", VALUE_HEADS)
    u32("ssm.state_size", STATE_DIM)
    u32("ssm.inner_size", VALUE_HEADS * STATE_DIM)
    u32("ssm.conv_kernel", KERNEL)
    u32("expert_count", o.experts)
    u32("expert_used_count", USED)
    u32("expert_feed_forward_length", HIDDEN)
    u32("expert_shared_feed_forward_length", HIDDEN)
    add_ngram_keys(c, o, end, u32)
    if o.mtp:
        u32("nextn_predict_layers", 1)


def add_ngram_keys(c, o, end, u32):
    rows = last_primes(o.ngram_rows // NGRAM_HEADS + 1, NGRAM_HEADS)
    c.key("i32[]", "qwen4exp.ple.layers", [1])
    u32("ple.ngram_size", 3)
    u32("ple.heads_per_ngram", NGRAM_HEADS // 2)
    u32("ple.conv_kernel", KERNEL)
    u32("ple.eos_token_id", end)
    u32("ple.image_token_id", end + 12)
    u32("embedding_length_per_layer_input", NGRAM_WIDTH)
    c.key("u64[]", "qwen4exp.ple.layer_multipliers",
          [23703573157769, 20109073645365, 8052911324071])
    c.key("u64[]", "qwen4exp.ple.head_offsets", [sum(rows[:i]) for i in range(len(rows))])
    c.key("u64[]", "qwen4exp.ple.head_vocab_sizes", rows)


def add_hyper_connection(c, layer, name):
    c.norm(name + "_norm", WIDE)
    c.matrix(name + "_down", (WIDE, RANK), "hc", layer)
    c.matrix(name + "_up", (RANK, WIDE), "hc", layer)


def add_ngram_layer(c, at, layer):
    c.matrix(at + "ple_key", (WIDTH, WIDE), "ple", layer)
    c.matrix(at + "ple_value", (WIDTH, WIDTH), "ple", layer)
    for part in ("key", "query", "conv"):
        c.norm(f"{at}ple_norm_{part}", WIDE)
    c.vector(at + "ple_conv1d", (KERNEL, WIDE), 0.0, 0.5)


def add_attention(c, at, layer):
    for name, rows in (("q", HEADS * HEAD_DIM * 2), ("k", KV_HEADS * HEAD_DIM),
                       ("v", KV_HEADS * HEAD_DIM)):
        c.matrix(f"{at}attn_{name}", (WIDTH, rows), "attn", layer)
    c.matrix(at + "attn_output", (HEADS * HEAD_DIM, WIDTH), "attn", layer)
    c.norm(at + "attn_q_norm", HEAD_DIM)
    c.norm(at + "attn_k_norm", HEAD_DIM)
    c.matrix(at + "indexer.q_proj", (WIDTH, INDEX_HEADS * INDEX_DIM), "indexer", layer)
    c.matrix(at + "indexer.k_proj", (WIDTH, INDEX_DIM), "indexer", layer)
    c.norm(at + "indexer.q_norm", INDEX_DIM)
    c.norm(at + "indexer.k_norm", INDEX_DIM)


def time_steps(draw):
    """Biases whose softplus lies between 1e-3 and 0.1: memories of ten to a thousand tokens."""
    steps = np.exp(draw.uniform(math.log(1e-3), math.log(0.1), VALUE_HEADS))
    return np.log(np.expm1(steps))


def add_delta_net(c, at, layer):
    inner = VALUE_HEADS * STATE_DIM
    c.matrix(at + "attn_qkv", (WIDTH, CHANNELS), "attn", layer)
    c.matrix(at + "attn_gate", (WIDTH, inner), "attn", layer)
    c.vector(at + "ssm_conv1d", (KERNEL, CHANNELS), 0.0, 0.5)
    c.matrix(at + "ssm_alpha", (WIDTH, VALUE_HEADS), "small", layer)
    c.matrix(at + "ssm_beta", (WIDTH, VALUE_HEADS), "small", layer)
    c.values(at + "ssm_a", (VALUE_HEADS,),
             lambda draw: -draw.uniform(1, 16, VALUE_HEADS).astype(np.float32))
    c.values(at + "ssm_dt.bias", (VALUE_HEADS,), time_steps)
    c.norm(at + "ssm_norm", STATE_DIM)
    c.matrix(at + "ssm_out", (inner, WIDTH), "attn", layer)


def add_experts(c, at, layer, experts):
    c.matrix(at + "ffn_gate_inp", (WIDTH, experts), "router", layer)
    share = USED / experts
    c.matrix(at + "ffn_gate_exps", (WIDTH, HIDDEN, experts), "expert_in", layer, share)
    c.matrix(at + "ffn_up_exps", (WIDTH, HIDDEN, experts), "expert_in", layer, share)
    c.matrix(at + "ffn_down_exps", (HIDDEN, WIDTH, experts), "expert_out", layer, share)
    c.vector(at + "ffn_gate_inp_shexp", (WIDTH,), 0.0, 1 / math.sqrt(WIDTH))
    c.matrix(at + "ffn_gate_shexp", (WIDTH, HIDDEN), "shared", layer)
    c.matrix(at + "ffn_up_shexp", (WIDTH, HIDDEN), "shared", layer)
    c.matrix(at + "ffn_down_shexp", (HIDDEN, WIDTH), "shared", layer)


def add_draft_block(c, at, layer):
    c.matrix(at + "nextn.eh_proj", (2 * WIDTH, WIDTH), "attn", layer)
    c.norm(at + "nextn.enorm", WIDTH)
    c.norm(at + "nextn.hnorm", WIDE)
    add_hyper_connection(c, layer, at + "nextn.hc_head")
    for t in c.tensors:
        if t.name.startswith(at):
            t.active = 0.0  # decoding without drafts doesn't read it


def add_layer(c, o, layer, is_attention):
    at = f"blk.{layer}."
    if layer == 1:
        add_ngram_layer(c, at, layer)
    for part in ("attn", "ffn"):
        add_hyper_connection(c, layer, f"{at}hc_{part}")
        c.matrix(f"{at}hc_{part}_inject", (WIDE, STREAMS), "inject", layer)
    (add_attention if is_attention else add_delta_net)(c, at, layer)
    add_experts(c, at, layer, o.experts)
    if layer == o.layers:
        add_draft_block(c, at, layer)


def qwen4exp(c, o):
    attention = [(i + 1) % o.interval == 0 for i in range(o.layers)] + [True] * o.mtp
    if o.layers < 2 or o.experts < USED or o.interval < 3 or o.vocab < 1024:
        sys.exit(f"a qwen4exp has 2 layers, {USED} experts, 1024 tokens and an interval of 3 at "
                 "least: layer 1 carries the n-gram table, which no attention layer does")
    if not any(attention[:o.layers]):
        print("no layer of the trunk attends: llama.cpp ends with an error on such a file",
              file=sys.stderr)
    end = RELEASED_END if o.vocab == RELEASED_VOCABULARY else o.vocab - 16
    add_name(c, o)
    add_keys(c, o, attention, end)
    add_vocabulary(c, o.vocab, qwen_vocabulary(end))
    c.matrix("token_embd", (WIDTH, o.vocab), "embed", active=1 / o.vocab)
    c.matrix("output", (WIDTH, o.vocab), "head")
    add_hyper_connection(c, -1, "output_hc")
    c.matrix("per_layer_token_embd", (NGRAM_WIDTH, o.ngram_rows), "table",
             active=NGRAM_HEADS / o.ngram_rows)
    for layer, is_attention in enumerate(attention):
        add_layer(c, o, layer, is_attention)


def deepseek4(c, o):
    add_name(c, o)
    add_vocabulary(c, o.vocab, bench_deepseek4.vocabulary(o.vocab))
    bench_deepseek4.deepseek4(c, o)


# ---- the command ----

FAMILIES = {"qwen4exp": (qwen4exp, EXPERTS, RELEASED_VOCABULARY),
            "deepseek4": (deepseek4, bench_deepseek4.EXPERTS, bench_deepseek4.RELEASED_VOCABULARY)}


def print_plan(tensors):
    groups = {}
    for t in tensors:
        name = re.sub(r"\.(weight|bias)$", "", re.sub(r"^blk\.\d+\.", "blk.*.", t.name))
        groups.setdefault((name, t.kind), []).append(t)
    for (name, kind), members in sorted(groups.items(), key=lambda g: -sum(t.bytes for t in g[1])):
        size, active = sum(t.bytes for t in members), sum(t.bytes * t.active for t in members)
        print(f"{size / 1e6:10.2f} MB, of them for a token {active / 1e6:8.3f} MB  "
              f"{len(members):3d} x {kind:7s} {name}")
    weights = sum(math.prod(t.ne) for t in tensors)
    size, active = sum(t.bytes for t in tensors), sum(t.bytes * t.active for t in tensors)
    print(f"{len(tensors)} tensors, {weights / 1e9:.3f} G weights, {size / 1e9:.3f} GB; a decoded "
          f"token reads {active / 1e6:.1f} MB")


def override(text):
    pattern, _, kind = text.rpartition("=")
    if not pattern or kind not in blocks.FORMATS:
        raise argparse.ArgumentTypeError(f"{text} is not PATTERN=TYPE with a type of "
                                         f"{', '.join(blocks.FORMATS)}")
    return re.compile(pattern), kind


def main():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("out", help="the file to write")
    p.add_argument("--arch", choices=FAMILIES, default="qwen4exp")
    p.add_argument("--layers", type=int, default=4,
                   help="of the trunk; the published models have 48 and 43")
    p.add_argument("--experts", type=int, help="the published models have 512 and 256")
    p.add_argument("--types", default="q4",
                   help=f"{', '.join(QWEN4EXP)}; deepseek4: {', '.join(bench_deepseek4.PRESETS)}")
    p.add_argument("--override", type=override, action="append", default=[],
                   metavar="PATTERN=TYPE", help="the type of matrices whose name it matches")
    p.add_argument("--vocab", default="32768", help="tokens, or released: 248320 and 129280")
    p.add_argument("--ngram-rows", type=int, default=2_000_000,
                   help="rows of the n-gram table; the published one has 320001536")
    p.add_argument("--interval", type=int, default=4, help="each n-th layer attends")
    p.add_argument("--mtp", action="store_true", help="with the draft block")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--plan", action="store_true", help="print the sizes and write nothing")
    p.add_argument("--check", action="store_true",
                   help="print the deviation of each type's values and write nothing")
    o = p.parse_args()
    if o.check:
        return 0 if blocks.check_deviations() else 1
    declare, experts, tokens = FAMILIES[o.arch]
    if o.types not in PRESETS[o.arch]:
        p.error(f"--types {o.types}: {o.arch} has {', '.join(PRESETS[o.arch])}")
    o.experts = o.experts or experts
    o.vocab = tokens if o.vocab == "released" else int(o.vocab)
    contents = Contents(o)
    declare(contents, o)
    print_plan(contents.tensors)
    if not o.plan:
        write(contents, o.out, o.seed)
    return 0


if __name__ == "__main__":
    sys.exit(main())

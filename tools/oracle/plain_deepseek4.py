"""DeepSeek V4 Flash (GGUF arch `deepseek4`) in plain numpy, written from its specification alone.

One forward over T tokens, every position at once, no cache. It is the second, independent reading of the
specification: slow, short, float64 by default. Names follow the specification's terms.

    python plain_deepseek4.py MODEL.gguf GOLDEN.gguf [--sim] [--f32] [--seqs len7,len64] [--inner] [--draft MTP.gguf]

prints, for each sequence in GOLDEN, the largest and the median (over positions) logit difference. --sim switches
the simulated FP8 rows and the Hadamard + FP4 indexer vectors on (spec 3.3.2, 3.3.3); --inner compares the inner
tensors too (and the MTP block, with --draft also under its own head). Comments give shapes: T tokens, J streams,
d width, H heads, n head width, r rotated dims, C compressed rows.
"""
import argparse
import numpy as np
import gguf


class Model:
    """Metadata by key, tensors by name (float arrays with ne0 last, so that y = x @ W.T)."""

    def __init__(self, path, dtype=np.float64):
        self.reader, self.dtype, self.cache = gguf.GGUFReader(path), dtype, {}
        self.draft = None                                      # Model of the separate MTP file, for its own head
        self.tensors = {t.name: t for t in self.reader.tensors}
        m = self.meta
        self.layers = m("block_count") - m("nextn_predict_layers", 0)
        self.d, self.H, self.n = m("embedding_length"), m("attention.head_count"), m("attention.key_length")
        self.r, self.window = m("rope.dimension_count"), m("attention.sliding_window")
        self.groups = m("attention.output_group_count")
        self.ratios = m("attention.compress_ratios")             # may have more entries than layers
        self.index_heads, self.index_dim = m("attention.indexer.head_count"), m("attention.indexer.key_length")
        self.top_k = m("attention.indexer.top_k")
        self.used, self.hash_layers = m("expert_used_count"), m("hash_layer_count")
        self.J, self.sinkhorn_iterations = m("hyper_connection.count"), m("hyper_connection.sinkhorn_iterations")
        self.rms_eps, self.hc_eps = m("attention.layer_norm_rms_epsilon"), m("hyper_connection.epsilon")

    def meta(self, key, default=None):
        field = self.reader.fields.get("deepseek4." + key)
        if field is None:
            if default is None:
                raise KeyError(key)
            return default
        return field.contents()

    def __call__(self, name):
        if name not in self.cache:
            t = self.tensors[name]
            if t.tensor_type == gguf.GGMLQuantizationType.I32:
                self.cache[name] = np.array(t.data)
            else:
                self.cache[name] = gguf.quants.dequantize(t.data, t.tensor_type).astype(self.dtype)
        return self.cache[name]

    def clamp(self, layer, shared):
        limit = self.meta("swiglu_clamp_exp")
        if shared:
            limit = self.meta("swiglu_clamp_shexp", limit)
        return limit[layer] if isinstance(limit, list) else limit


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def rms(x, eps):
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + eps)


# ---------------------------------------------------------------- 3.2 hyper-connections

def sinkhorn(M, iterations, eps):                              # (T, J, J): rows c = source, columns = destination
    C = np.exp(M - M.max(axis=-1, keepdims=True))
    C = C / C.sum(axis=-1, keepdims=True) + eps
    C = C / (C.sum(axis=-2, keepdims=True) + eps)
    for _ in range(iterations - 1):
        C = C / (C.sum(axis=-1, keepdims=True) + eps)
        C = C / (C.sum(axis=-2, keepdims=True) + eps)
    return C


def hc_pre(m, X, prefix):
    """Streams X (T, J, d) -> u (T, d), and what hc_post needs: post (T, J), C (T, J, J)."""
    T, J, _ = X.shape
    mix = rms(X.reshape(T, -1), m.rms_eps) @ m(prefix + "_fn.weight").T            # (T, 2J + J*J)
    s, b = m(prefix + "_scale.weight"), m(prefix + "_base.weight")
    pre = sigmoid(mix[:, :J] * s[0] + b[:J]) + m.hc_eps
    post = 2 * sigmoid(mix[:, J:2 * J] * s[1] + b[J:2 * J])
    M = (mix[:, 2 * J:] * s[2] + b[2 * J:]).reshape(T, J, J)
    C = sinkhorn(M, m.sinkhorn_iterations, m.hc_eps)
    return np.einsum("ti,tid->td", pre, X), post, C


def hc_post(X, y, post, C):
    return post[:, :, None] * y[:, None, :] + np.einsum("tjk,tjd->tkd", C, X)


# ---------------------------------------------------------------- 3.3.1 rotary embedding

def frequencies(m, ratio):                                     # (r/2,)
    i, r = np.arange(m.r // 2), m.r
    if ratio == 0:
        return (m.meta("rope.freq_base") ** (-2 * i / r)).astype(np.float32)
    base, N = m.meta("attention.compress_rope_freq_base"), m.meta("rope.scaling.original_context_length")
    factor = m.meta("rope.scaling.factor")

    def dim(beta):
        return r * np.log(N / (2 * np.pi * beta)) / (2 * np.log(base))

    lo = max(np.floor(dim(m.meta("rope.scaling.yarn_beta_fast"))), 0)
    hi = min(np.ceil(dim(m.meta("rope.scaling.yarn_beta_slow"))), r - 1)
    ramp = np.clip((i - lo) / max(hi - lo, 0.001), 0, 1)
    f = base ** (-2 * i / r)
    return (f * (1 - ramp) + f / factor * ramp).astype(np.float32)


def rope(x, pos, freq, inverse=False):
    """Rotate the last r dims of x (T, ..., n), neighbouring pairs, row t by position pos[t]."""
    theta = (pos.astype(np.float32)[:, None] * freq).astype(x.dtype)               # (T, r/2), product in fp32
    theta = theta.reshape(len(pos), *[1] * (x.ndim - 2), len(freq))
    cos, sin = np.cos(theta), -np.sin(theta) if inverse else np.sin(theta)
    y, first = x.copy(), x.shape[-1] - 2 * len(freq)
    x0, x1 = x[..., first::2], x[..., first + 1::2]
    y[..., first::2], y[..., first + 1::2] = x0 * cos - x1 * sin, x0 * sin + x1 * cos
    return y


# ---------------------------------------------------------------- 3.3.2, 3.3.3 simulated rounding

def minifloat(x, mantissa_bits, min_exponent):
    """Nearest value with that many mantissa bits, ties to even; subnormals below 2^min_exponent."""
    exponent = np.maximum(np.frexp(x)[1] - 1, min_exponent)
    step = np.ldexp(1.0, exponent - mantissa_bits)
    return np.rint(x / step) * step


def block_sim(x, block, largest, floor, mantissa_bits, min_exponent):
    blocks = x.reshape(*x.shape[:-1], x.shape[-1] // block, block)
    A = np.maximum(np.abs(blocks).max(axis=-1, keepdims=True), floor).astype(np.float32)
    fraction, e = np.frexp(A * np.float32(1 / largest))
    s = np.ldexp(1.0, np.where(fraction == 0.5, e - 1, e))
    y = s * minifloat(np.clip(blocks / s, -largest, largest), mantissa_bits, min_exponent)
    return y.reshape(x.shape).astype(x.dtype)


def fp8sim(x, r):                                              # all dims but the r rotated ones, blocks of 64
    return np.concatenate([block_sim(x[..., :-r], 64, 448, 1e-4, 3, -6), x[..., -r:]], axis=-1)


def fp4sim(x):                                                 # blocks of 32
    return block_sim(x, 32, 6, 6 * 2.0 ** -126, 1, 0)


def hadamard(x):                                               # natural order, orthonormal
    n, stride = x.shape[-1], 1
    while stride < n:
        y = x.reshape(*x.shape[:-1], n // (2 * stride), 2, stride)
        x = np.stack([y[..., 0, :] + y[..., 1, :], y[..., 0, :] - y[..., 1, :]], axis=-2).reshape(x.shape)
        stride *= 2
    return x * x.dtype.type(n ** -0.5)


# ---------------------------------------------------------------- 3.4 compressor

def compressor(m, a, prefix, hd, ratio, freq):
    """Pooled rows (C, hd) of a (T, d), C = T // ratio; normed and rotated, not yet rounded."""
    C = len(a) // ratio
    if C == 0:
        return np.zeros((0, hd), a.dtype)
    a = a[:C * ratio]                                          # tokens of an unfinished window give no row
    K = (a @ m(prefix + "_kv.weight").T).reshape(C, ratio, -1)                     # (C, ratio, W)
    G = (a @ m(prefix + "_gate.weight").T).reshape(C, ratio, -1) + m(prefix + "_ape.weight")
    if ratio == 4:                                             # half a of window c-1, half b of window c
        previous = lambda x, empty: np.concatenate([np.full_like(x[:1], empty), x[:-1]])[..., :hd]
        K = np.concatenate([previous(K, 0), K[..., hd:]], axis=1)                  # (C, 8, hd)
        G = np.concatenate([previous(G, -np.inf), G[..., hd:]], axis=1)
    p = np.exp(G - G.max(axis=1, keepdims=True))
    row = (p * K).sum(axis=1) / p.sum(axis=1)
    row = rms(row, m.rms_eps) * m(prefix + "_norm.weight")
    return rope(row, ratio * np.arange(C), freq)


# ---------------------------------------------------------------- 3.5 indexer

def indexer(m, a, qr, blk, ratio, freq, visible, sim, out):
    """Which compressed rows each token attends: bool (T, C)."""
    T, nh, hd = len(a), m.index_heads, m.index_dim
    k = compressor(m, a, blk + "indexer_compressor", hd, ratio, freq)              # (C, hd)
    qi = (qr @ m(blk + "indexer.attn_q_b.weight").T).reshape(T, nh, hd)
    qi = rope(qi, np.arange(T), freq)
    out["index_keys"] = k
    if sim:
        qi, k = fp4sim(hadamard(qi)), fp4sim(hadamard(k))
    w = (a @ m(blk + "indexer.proj.weight").T) * (hd ** -0.5 * nh ** -0.5)         # (T, nh)
    score = np.einsum("th,thc->tc", w, np.maximum(0, qi @ k.T))                    # (T, C)
    out["index_scores"] = score
    order = np.argsort(np.where(visible, -score, np.inf), axis=1, kind="stable")[:, :m.top_k]
    selected = np.zeros_like(visible)
    np.put_along_axis(selected, order, True, axis=1)
    return selected & visible


# ---------------------------------------------------------------- 3.3 attention

def attention(m, a, layer, sim, out):                          # a (T, d) -> (T, d)
    blk, ratio, T = f"blk.{layer}.", m.ratios[layer], len(a)
    freq, pos = frequencies(m, ratio), np.arange(T)
    qr = rms(a @ m(blk + "attn_q_a.weight").T, m.rms_eps) * m(blk + "attn_q_a_norm.weight")
    q = rms((qr @ m(blk + "attn_q_b.weight").T).reshape(T, m.H, m.n), m.rms_eps)
    q = rope(q, pos, freq)                                                         # (T, H, n)
    kv = rms(a @ m(blk + "attn_kv.weight").T, m.rms_eps) * m(blk + "attn_kv_a_norm.weight")
    rows = rope(kv, pos, freq)                                                     # (T, n) key and value
    seen = (pos[None, :] <= pos[:, None]) & (pos[None, :] > pos[:, None] - m.window)
    if ratio:
        comp = compressor(m, a, blk + "attn_compressor", m.n, ratio, freq)         # (C, n)
        visible = np.arange(len(comp))[None, :] < ((pos + 1) // ratio)[:, None]    # (T, C)
        if ratio == 4:
            visible = indexer(m, a, qr, blk, ratio, freq, visible, sim, out)
            out["selected"] = visible
        rows, seen = np.concatenate([rows, comp]), np.concatenate([seen, visible], axis=1)
    if sim:
        rows = fp8sim(rows, m.r)
    out["comp_rows"] = rows[T:]
    z = np.einsum("thn,sn->ths", q, rows) * m.n ** -0.5
    z = np.where(seen[:, None, :], z, -np.inf)
    sink = m(blk + "attn_sinks.weight")[None, :, None]
    top = np.maximum(z.max(axis=-1, keepdims=True), sink)
    p = np.exp(z - top)
    p /= p.sum(axis=-1, keepdims=True) + np.exp(sink - top)
    o = rope(np.einsum("ths,sn->thn", p, rows), pos, freq, inverse=True)           # (T, H, n)
    o = o.reshape(T, m.groups, -1)                                                 # heads of a group side by side
    A = m(blk + "attn_output_a.weight").reshape(m.groups, -1, o.shape[-1])         # (groups, rank, H/groups*n)
    return np.einsum("tgi,goi->tgo", o, A).reshape(T, -1) @ m(blk + "attn_output_b.weight").T


# ---------------------------------------------------------------- 3.6 mixture of experts

def expert(x, gate, up, down, limit, weight):                  # x (t, d), weight (t, 1) or 1
    g, u = np.minimum(x @ gate.T, limit), np.clip(x @ up.T, -limit, limit)
    return (g * sigmoid(g) * u * weight) @ down.T


def moe(m, x, tokens, layer, out):                             # x (T, d) -> (T, d)
    blk = f"blk.{layer}."
    s = np.sqrt(np.logaddexp(0, x @ m(blk + "ffn_gate_inp.weight").T))             # (T, experts)
    if layer < m.hash_layers:
        ids = m(blk + "ffn_gate_tid2eid.weight")[tokens]
    else:
        out["router_scores"] = s + m(blk + "exp_probs_b.bias")
        ids = np.argsort(-out["router_scores"], axis=1, kind="stable")[:, :m.used]
    ids = np.sort(ids, axis=1)                                                     # (T, used)
    w = np.take_along_axis(s, ids, axis=1)
    if m.meta("expert_weights_norm"):
        w = w / np.maximum(w.sum(axis=1, keepdims=True), 2.0 ** -14)
    w = w * m.meta("expert_weights_scale")
    out["router_ids"], out["router_weights"] = ids, w
    y = expert(x, m(blk + "ffn_gate_shexp.weight"), m(blk + "ffn_up_shexp.weight"),
               m(blk + "ffn_down_shexp.weight"), m.clamp(layer, True), 1)
    gate, up, down = (m(blk + f"ffn_{k}_exps.weight") for k in ("gate", "up", "down"))
    for e in np.unique(ids):
        t, slot = np.nonzero(ids == e)
        np.add.at(y, t, expert(x[t], gate[e], up[e], down[e], m.clamp(layer, False), w[t, slot][:, None]))
    return y


# ---------------------------------------------------------------- 3.1, 3.7, the whole

def block(m, X, tokens, layer, sim, out):                      # X (T, J, d) -> (T, J, d)
    blk = f"blk.{layer}."
    u, post, C = hc_pre(m, X, blk + "hc_attn")
    X = hc_post(X, attention(m, rms(u, m.rms_eps) * m(blk + "attn_norm.weight"), layer, sim, out), post, C)
    u, post, C = hc_pre(m, X, blk + "hc_ffn")
    X = hc_post(X, moe(m, rms(u, m.rms_eps) * m(blk + "ffn_norm.weight"), tokens, layer, out), post, C)
    out["streams"] = X
    return X


def head_contraction(m, X, fn, scale, base):                   # X (T, J, d) -> z (T, d)
    mix = rms(X.reshape(len(X), -1), m.rms_eps) @ fn.T                             # (T, J)
    return np.einsum("ti,tid->td", sigmoid(mix * scale[0] + base) + m.hc_eps, X)


def forward(m, tokens, sim=False):
    """Logits (T, vocabulary) and a dictionary of inner tensors."""
    X = np.repeat(m("token_embd.weight")[tokens][:, None, :], m.J, axis=1)         # (T, J, d)
    inner = {}
    for layer in range(m.layers):
        out = {}
        X = block(m, X, tokens, layer, sim, out)
        inner.update({f"l{layer}.{k}": v for k, v in out.items()})
    z = inner["hc_head"] = head_contraction(m, X, *(m(f"output_hc_{k}.weight") for k in ("fn", "scale", "base")))
    if m.meta("nextn_predict_layers", 0):
        inner.update(mtp(m, X[:-1], tokens[1:], sim))
    return (rms(z, m.rms_eps) * m("output_norm.weight")) @ m("output.weight").T, inner


# ---------------------------------------------------------------- 3.8 MTP block, mainline naming

def mtp(m, X, following, sim):
    """Draft logits from the trunk streams of position p and the token at p + 1 (T - 1 positions)."""
    blk, out = f"blk.{m.layers}.", {}
    e_proj, h_proj = np.split(m(blk + "nextn.eh_proj.weight"), 2, axis=1)
    E = (rms(m("token_embd.weight")[following], m.rms_eps) * m(blk + "nextn.enorm.weight")) @ e_proj.T
    Y = E[:, None, :] + (rms(X, m.rms_eps) * m(blk + "nextn.hnorm.weight")) @ h_proj.T
    Y = block(m, Y, following, m.layers, sim, out)
    result = {"mtp.streams": Y}
    for name, model, prefix in (("mtp.logits_trunk_head", m, "output_hc_"), ("mtp.logits", m.draft, "mtp.0.hc_head_")):
        if model:
            z = head_contraction(m, Y, *(model(f"{prefix}{k}.weight") for k in ("fn", "scale", "base")))
            result[name] = (rms(z, m.rms_eps) * m(blk + "nextn.shared_head_norm.weight")) @ m("output.weight").T
    return result


def compare_inner(golden, seq, inner):
    pos = golden.get(seq + ".pos", slice(None))
    for name, want in golden.items():
        key = name[len(seq) + 1:]
        if not name.startswith(seq + ".") or key in ("tokens", "logits", "pos"):
            continue
        if key.endswith(".topk"):
            got = inner[key.replace("topk", "selected")]
            wrong = sum(set(np.nonzero(g)[0]) != set(w[w >= 0]) for g, w in zip(got, want))
            print(f"    {key:20} tokens with another set: {wrong}")
        elif key.endswith(".router_ids"):
            print(f"    {key:20} tokens with other experts: {(inner[key] != want).any(axis=1).sum()}")
        elif key in inner:
            trunk = key.endswith("streams") or key == "hc_head"                    # stored for some positions only
            got = inner[key][pos] if trunk and not key.startswith("mtp") else inner[key]
            print(f"    {key:20} max {np.abs(got - want).max():.2e}  of std {want.std():.2e}")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("model")
    ap.add_argument("golden")
    ap.add_argument("--sim", action="store_true")
    ap.add_argument("--f32", action="store_true")
    ap.add_argument("--inner", action="store_true")
    ap.add_argument("--seqs", default="len1,len7,len64,len300,same150")
    ap.add_argument("--draft", help="MTP file `mtp.0.*`, for the block's own head")
    args = ap.parse_args()
    dtype = np.float32 if args.f32 else np.float64
    m = Model(args.model, dtype)
    m.draft = Model(args.draft, dtype) if args.draft else None
    golden = {t.name: np.array(t.data) for t in gguf.GGUFReader(args.golden).tensors}
    for seq in args.seqs.split(","):
        if seq + ".tokens" not in golden:
            continue
        logits, inner = forward(m, golden[seq + ".tokens"], args.sim)
        delta = np.abs(logits - golden[seq + ".logits"]).max(axis=1)
        print(f"{seq:8} max {delta.max():.2e} (position {delta.argmax()})  median {np.median(delta):.2e}")
        if args.inner:
            compare_inner(golden, seq, inner)


if __name__ == "__main__":
    main()

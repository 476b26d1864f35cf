#!/usr/bin/env python3
"""qwen4exp in plain numpy, written from docs/qwen4exp.md alone (section numbers below are its sections).

    plain_qwen4exp.py MODEL.gguf GOLDEN.gguf [--inner]

Computes every sequence of the golden file in float64, all positions at once, without caches, and prints how far the
logits (and the MTP head's) are from the golden ones, in units of the logits' standard deviation. --inner also compares
the inner tensors, in order of computation. Text positions only; a study text, not a fast one. Exit status 1 if anything
is off by more than 2e-4. Reads every type the gguf package reads (not Q2_0).

Shapes: T tokens, N hidden, R streams, E experts, H heads, D head width, V vocabulary. Weights are [out][in]."""
import sys

import numpy as np
import gguf

EPS = 1e-6


class Model:
    """Metadata as attributes-by-key, tensors as float64 arrays (GGUF ne reversed: [out][in])."""

    def __init__(self, path):
        file = gguf.GGUFReader(path)
        self.key = {k.removeprefix("qwen4exp."): f.contents() for k, f in file.fields.items() if k.startswith("qwen4exp.")}
        self.tensor = {t.name: gguf.quants.dequantize(t.data, t.tensor_type).astype(np.float64) for t in file.tensors}
        self.mtp_layers = self.key.get("nextn_predict_layers", 0)
        self.layers = self.key["block_count"] - self.mtp_layers
        self.N, self.R = self.key["embedding_length"], self.key["hyper_connection.count"]

    def __call__(self, name):
        return self.tensor[name if name in self.tensor else name + ".weight"]


# ---- 4.1 norms, activations -------------------------------------------------------------------------------------

def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def silu(x):
    return x * sigmoid(x)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def rms(x, w):                                                  # over the last axis
    return w * x / np.sqrt(np.mean(x * x, -1, keepdims=True) + EPS)


def grms(X, w):                                                 # X [T][R][N]; w R*N wide; one statistic per stream
    return rms(X, w.reshape(X.shape[-2:]))


def l2(x):
    return x / np.sqrt(np.sum(x * x, -1, keepdims=True) + EPS)


def rope(x, position, m):                                       # x [T][H][D], first `dims` rotated, pairs (i, i+dims/2)
    dims = m.key["rope.dimension_count"]
    half = dims // 2
    angle = position[:, None, None] * float(m.key["rope.freq_base"]) ** (-2 * np.arange(half) / dims)
    c, s, a, b = np.cos(angle), np.sin(angle), x[..., :half], x[..., half:dims]
    return np.concatenate([a * c - b * s, b * c + a * s, x[..., dims:]], -1)


def causal_conv(x, w, dilation=1):                              # x [T][C], w [C][K]; the last tap is the current token
    T, K = len(x), w.shape[1]
    y = np.zeros_like(x)
    for tap in range(K):
        back = dilation * (K - 1 - tap)
        if back < T:
            y[back:] += w[:, tap] * x[:T - back]
    return y


# ---- 4.3 hyper-connection ---------------------------------------------------------------------------------------

def hc_read(X, m, name, inject=True):                           # X [T][R][N] -> u [T][N], gamma [T][R]
    T, R, N = X.shape
    normed = grms(X, m(name + "_norm"))
    flat = normed.reshape(T, R * N)
    a = silu(flat @ m(name + "_down").T / R)                    # [T][rank]
    mix = sigmoid(a @ m(name + "_up").T).reshape(T, R, N)
    u = (mix * normed).mean(1)
    return (u, 2 * sigmoid(flat @ m(name + "_inject").T / R)) if inject else u


def hc_write(X, gamma, o):                                      # onto the un-normed streams
    return X + gamma[:, :, None] * o[:, None, :]


# ---- 4.5 PLE ----------------------------------------------------------------------------------------------------

def ple_rows(ids, m):                                           # -> table rows [T][heads]
    order, per = m.key["ple.ngram_size"], m.key["ple.heads_per_ngram"]
    E, M = m.key["ple.eos_token_id"], m.key["ple.layer_multipliers"]
    V, O = m.key["ple.head_vocab_sizes"], m.key["ple.head_offsets"]
    rows = []
    for p in range(len(ids)):
        h, cut, row = int(ids[p]) * M[0], False, []
        for s in range(1, order):                               # n-gram of s+1 ids
            cut = cut or p < s or ids[p - s] == E               # a separator hides itself and everything older
            h ^= (E if cut else int(ids[p - s])) * M[s]
            heads = range((s - 1) * per, s * per)
            row += [(h & (1 << 64) - 1) % V[k] + O[k] for k in heads]
        rows.append(row)
    return np.array(rows)


def ple(X, ids, m, layer):                                      # -> what is added to the streams, [T][R][N]
    T, R, N = X.shape
    b = f"blk.{layer}.ple_"
    e = m("per_layer_token_embd")[ple_rows(ids, m)].reshape(T, -1)
    K = grms((e @ m(b + "key").T).reshape(T, R, N), m(b + "norm_key"))
    v = e @ m(b + "value").T                                    # [T][N]
    Q = grms(X, m(b + "norm_query"))
    d = (K * Q).sum(-1) / np.sqrt(N)                            # [T][R]
    g = sigmoid(np.sign(d) * np.sqrt(np.maximum(np.abs(d), 1e-6)))
    P = g[:, :, None] * v[:, None, :]
    U = grms(P, m(b + "norm_conv")).reshape(T, R * N)
    y = silu(causal_conv(U, m(b + "conv1d"), dilation=m.key["ple.ngram_size"]))
    return P + y.reshape(T, R, N)


# ---- 4.6 Gated DeltaNet -----------------------------------------------------------------------------------------

def gdn(u, m, layer):                                           # u [T][N] -> o [T][N]
    b, T = f"blk.{layer}.", len(u)
    D, Hk, Hv = m.key["ssm.state_size"], m.key["ssm.group_count"], m.key["ssm.time_step_rank"]
    qkv = silu(causal_conv(u @ m(b + "attn_qkv").T, m(b + "ssm_conv1d")))
    q, k, v = np.split(qkv, [Hk * D, 2 * Hk * D], axis=1)
    q = l2(q.reshape(T, Hk, D)) / np.sqrt(D)
    k = l2(k.reshape(T, Hk, D))
    v = v.reshape(T, Hv, D)
    z = (u @ m(b + "attn_gate").T).reshape(T, Hv, D)
    beta = sigmoid(u @ m(b + "ssm_beta").T)                     # [T][Hv]
    g = m(b + "ssm_a") * np.logaddexp(0, u @ m(b + "ssm_alpha").T + m(b + "ssm_dt.bias"))
    head = np.arange(Hv) % Hk                                   # value head j reads key head j mod Hk
    q, k = q[:, head], k[:, head]                               # [T][Hv][D]
    S, y = np.zeros((Hv, D, D)), np.zeros((T, Hv, D))           # S [head][key][value]
    for t in range(T):
        S *= np.exp(g[t])[:, None, None]
        r = np.einsum("hkv,hk->hv", S, k[t])
        delta = beta[t][:, None] * (v[t] - r)
        S += k[t][:, :, None] * delta[:, None, :]
        y[t] = np.einsum("hkv,hk->hv", S, q[t])
    out = rms(y, m(b + "ssm_norm")) * sigmoid(z)
    return out.reshape(T, Hv * D) @ m(b + "ssm_out").T


# ---- 4.7 QSA ----------------------------------------------------------------------------------------------------

def indexer(u, m, layer, ratio):                                # u [T][N] -> selected [T][T] (bool)
    b, T = f"blk.{layer}.indexer.", len(u)
    D, H = m.key["attention.indexer.key_length"], m.key["attention.indexer.head_count"]
    position, blocks = np.arange(T), T // ratio
    raw = u @ m(b + "k_proj").T                                 # [T][D]
    query = rope(rms((u @ m(b + "q_proj").T).reshape(T, H, D), m(b + "q_norm")), position, m)
    pooled = raw[:blocks * ratio].reshape(blocks, ratio, D).mean(1)
    key = rope(rms(pooled, m(b + "k_norm"))[:, None], position[:blocks * ratio:ratio], m)[:, 0]
    score = np.maximum(np.einsum("thd,bd->thb", query, key), 0).sum(1) / np.sqrt(D)
    selected = np.zeros((T, T), bool)
    for p in range(T):
        complete = (p + 1) // ratio                             # higher score first, then lower block index
        best = np.argsort(-score[p, :complete], kind="stable")[:m.key["attention.indexer.top_k"] // ratio]
        for block in best:
            selected[p, block * ratio:(block + 1) * ratio] = True
        selected[p, complete * ratio:p + 1] = True              # the tail
    return selected


def qsa(u, m, layer, dense=None):                               # u [T][N] -> o [T][N], selected [T][T]
    b, T = f"blk.{layer}.", len(u)
    H, G, D = m.key["attention.head_count"], m.key["attention.head_count_kv"], m.key["attention.key_length"]
    position = np.arange(T)
    q, gate = np.split((u @ m(b + "attn_q").T).reshape(T, H, 2 * D), 2, axis=2)
    k = (u @ m(b + "attn_k").T).reshape(T, G, D)
    v = (u @ m(b + "attn_v").T).reshape(T, G, D)
    q = rope(rms(q, m(b + "attn_q_norm")), position, m)
    k = rope(rms(k, m(b + "attn_k_norm")), position, m)
    ratio = m.key["attention.compress_ratios"][layer]
    if dense is None:
        dense = ratio == 0
    ratio = ratio or max(m.key["attention.compress_ratios"])
    selected = np.tri(T, dtype=bool) if dense else indexer(u, m, layer, ratio)
    group = np.arange(H) // (H // G)                            # query head h reads KV head floor(h / (H/G))
    score = np.einsum("thd,shd->hts", q, k[:, group]) / np.sqrt(D)
    att = softmax(np.where(selected, score, -np.inf))
    y = np.einsum("hts,shd->thd", att, v[:, group]) * sigmoid(gate)
    return y.reshape(T, H * D) @ m(b + "attn_output").T, selected


# ---- 4.8 MoE ----------------------------------------------------------------------------------------------------

def moe(u, m, layer):                                           # -> o [T][N], probs [T][E], chosen [T][k], weights [T][k]
    b = f"blk.{layer}.ffn_"
    probs = softmax(u @ m(b + "gate_inp").T)
    chosen = np.argsort(-probs, axis=1, kind="stable")[:, :m.key["expert_used_count"]]
    weights = np.take_along_axis(probs, chosen, 1)
    weights = weights / weights.sum(1, keepdims=True)
    shared = (silu(u @ m(b + "gate_shexp").T) * (u @ m(b + "up_shexp").T)) @ m(b + "down_shexp").T
    o = sigmoid(u @ m(b + "gate_inp_shexp"))[:, None] * shared
    for expert in np.unique(chosen):                            # *_exps [E][out][in]
        t, slot = np.nonzero(chosen == expert)
        h = silu(u[t] @ m(b + "gate_exps")[expert].T) * (u[t] @ m(b + "up_exps")[expert].T)
        o[t] += weights[t, slot][:, None] * (h @ m(b + "down_exps")[expert].T)
    return o, probs, chosen, weights


# ---- 4.4 layer, trunk; 5 MTP ------------------------------------------------------------------------------------

def layer_step(X, m, layer, note, attends, dense=None):
    u, gamma = hc_read(X, m, f"blk.{layer}.hc_attn")
    if attends:
        o, note[f"selected.{layer}"] = qsa(u, m, layer, dense)
    else:
        o = gdn(u, m, layer)
    note[("attn" if attends else "gdn") + f".{layer}"] = o
    X = hc_write(X, gamma, o)
    u, gamma = hc_read(X, m, f"blk.{layer}.hc_ffn")
    o, *router = moe(u, m, layer)
    note[f"moe.{layer}"] = o
    note[f"router_probs.{layer}"], note[f"experts.{layer}"], note[f"expert_weights.{layer}"] = router
    return hc_write(X, gamma, o)


def trunk(ids, m):                                              # -> logits [T][V], X [T][R][N], inner tensors by name
    note = {}
    X = np.repeat(m("token_embd")[ids][:, None], m.R, axis=1)
    for layer in range(m.layers):
        if layer in m.key["ple.layers"]:
            note["ngram_rows"] = ple_rows(ids, m)
            note["ple"] = ple(X, ids, m, layer)
            X = X + note["ple"]
        attends = (layer + 1) % m.key["full_attention_interval"] == 0
        X = layer_step(X, m, layer, note, attends)
        note[f"hidden.{layer}"] = X
    note["mix"] = hc_read(X, m, "output_hc", inject=False)
    return note["mix"] @ m("output").T, X, note


def mtp(X, ids, m, dense=None, grouped=False):
    """Row j takes (X_j, ids_j), ids already shifted: the token at j+1. -> logits [T][V], G [T][R][N]"""
    layer, (T, R, N) = m.layers, X.shape
    b = f"blk.{layer}.nextn."
    e = rms(m("token_embd")[ids], m(b + "enorm"))
    h = grms(X, m(b + "hnorm")) if grouped else rms(X.reshape(T, R * N), m(b + "hnorm")).reshape(T, R, N)
    W_emb, W_hid = np.split(m(b + "eh_proj"), 2, axis=1)        # embedding columns first
    X = (e @ W_emb.T)[:, None] + h @ W_hid.T
    G = layer_step(X, m, layer, {}, True, dense)
    return hc_read(G, m, b + "hc_head", inject=False) @ m("output").T, G


def mtp_chain(X, ids, m, steps):                                # 5.3: greedy drafts; the first row takes X[-2], ids[-1]
    H, after, tokens, logits = X[:-1], ids[1:], [], []
    for _ in range(steps):
        out, G = mtp(H, after, m)
        tokens.append(int(out[-1].argmax()))
        logits.append(out[-1])
        H, after = np.concatenate([H, G[-1:]]), np.append(after, tokens[-1])
    return np.array(tokens), np.array(logits)


# ---- comparison with a golden file ------------------------------------------------------------------------------

def compare(model, golden, inner=False):
    m, file = Model(model), gguf.GGUFReader(golden)
    gold = {t.name: np.array(t.data) for t in file.tensors}
    worst = 0
    for K in range(file.fields["golden.sequence_count"].contents()):
        s, name = f"s{K}.", file.fields[f"golden.seq.{K}.name"].contents()
        ids = gold[s + "tokens"]
        logits, X, note = trunk(ids, m)
        want = gold[s + "logits"]
        std = want.std()

        def line(label, got, want):
            nonlocal worst
            d = np.abs(got - want) / std
            worst = max(worst, d.max())
            print(f"{name:10} T {len(ids):3}  {label:20} max {d.max():.1e}  rms {np.sqrt((d * d).mean()):.1e}  of std {std:.2f}")

        if inner:
            for key, got in note.items():
                if s + key in gold:
                    got = got if key == "ngram_rows" else got[gold[s + "inner_rows"]]
                    there = gold[s + key]
                    got = got.reshape(there.shape)
                    if there.dtype.kind == "f":
                        off = np.abs(got - there).max() / np.abs(there).max()
                        print(f"{name:10}   {key:18} max |difference| / max |golden| {off:.1e}")
                    else:
                        print(f"{name:10}   {key:18} {(got != there).sum()} of {there.size} integers differ")
                else:
                    print(f"{name:10}   {key:18} not in the golden file")
        line("logits", logits[gold[s + "logit_rows"]], want)
        if m.mtp_layers and s + "mtp.rows" in gold:
            rows = gold[s + "mtp.rows"]
            out, G = mtp(X[:-1], ids[1:], m)
            line("mtp.logits", out[rows], gold[s + "mtp.logits"])
            line("mtp.hidden", G[rows].reshape(len(rows), -1), gold[s + "mtp.hidden"])
            for label, way in (("mtp.logits_grouped", {"grouped": True}), ("mtp.logits_qsa", {"dense": False}), ("mtp.logits_dense", {"dense": True})):
                if s + label in gold:
                    line(label, mtp(X[:-1], ids[1:], m, **way)[0][rows], gold[s + label])
            if s + "mtp.chain_tokens" in gold:
                # the golden chain starts one token early: row T-3 takes (H_{T-3}, id_{T-2})
                tokens, out = mtp_chain(X[:-1], ids[:-1], m, len(gold[s + "mtp.chain_tokens"]))
                line("mtp.chain_logits", out, gold[s + "mtp.chain_logits"])
                print(f"{name:10} chain tokens {'equal' if (tokens == gold[s + 'mtp.chain_tokens']).all() else 'DIFFER'}")
    print(f"worst {worst:.1e}")
    return worst


if __name__ == "__main__":
    sys.exit(int(compare(sys.argv[1], sys.argv[2], "--inner" in sys.argv) > 2e-4))

#!/usr/bin/env python3
"""Bit-goldens of the arithmetic contract (docs/arithmetic.md), and the checks that they mean what they should.

    python arithmetic_goldens.py --quant DIR [--out DIR] [--check] [--bench]

The contract is computed in numpy: float32 operations one at a time, fma exact (below), integers in int64. --check compares every
result with float64 (relative errors), and with arithmetic_check.c (scalar C from raw blocks; AVX2, eight rows interleaved; K split
over threads), bit for bit. --bench times the AVX2 kernels against a plain read.
"""
import argparse, ctypes as C, json, os, subprocess, sys, tempfile
import numpy as np
import gguf
from quant_goldens import gguf_write

F, D, I = np.float32, np.float64, np.int64
HERE = os.path.dirname(os.path.abspath(__file__))


def fma(a, b, c):
    """a*b + c rounded once to float32. The product is exact in float64; the sum is rounded to odd there, then to float32."""
    a, b, c = np.broadcast_arrays(np.asarray(a, F), np.asarray(b, F), np.asarray(c, F))
    p, c = a.astype(D) * b.astype(D), c.astype(D)
    s = p + c
    v = s - p
    e = (p - (s - v)) + (c - v)                                   # two-sum: p + c = s + e exactly
    bits = s.view(I).copy() if s.ndim else np.array(s).view(I).copy()
    fix = np.isfinite(s) & (e != 0) & (bits & 1 == 0)
    toward = np.where((e > 0) == (s > 0), 1, -1)                  # away from or toward zero, by one unit in the last place
    bits = np.where(fix, bits + toward, bits)
    with np.errstate(over="ignore"): return bits.view(D).astype(F)


def f16(b): return np.ascontiguousarray(b).view("<f2")[..., 0].astype(F)


# --- activations ------------------------------------------------------------------------------------------------
def quantize_rows(x, unit=128):
    """x [rows][K] -> q [rows][K] (int8 range), scale [rows][ceil(K/unit)], sum16 [rows][K/16]. Coarse planes: unit 128; fine: 32."""
    x = np.asarray(x, F); K = x.shape[1]; b = np.pad(x, ((0, 0), (0, -K % unit))).reshape(len(x), -1, unit)
    amax = np.abs(b).max(2); assert np.isfinite(x).all() and (amax < F(2.0 ** 80)).all()
    live = amax >= F(2.0 ** -60); safe = np.where(live, amax, F(1))
    scale = np.where(live, safe / F(127), F(0)).astype(F); inv = np.where(live, F(127) / safe, F(0)).astype(F)
    q = np.rint((b * inv[..., None]).astype(F)).astype(I).reshape(len(x), -1)[:, :K]
    assert np.abs(q).max() <= 127
    return q, scale, q.reshape(len(x), -1, 16).sum(2)


# --- formats: raw bytes -> integers and float factors -------------------------------------------------------------
def table(name): return json.load(open(os.path.join(QUANT, "tables", name + ".json")))
def grid(name): return np.array([list(bytes.fromhex(r)) for r in table(name)["rows"]], np.uint8).view(np.int8).astype(I)
def words(b, t): return np.ascontiguousarray(b).view(t).astype(I)
def nibbles(qs, lo_first=True):   # [.., n] bytes -> [.., 2n]: low nibbles, then high
    return np.concatenate([qs & 15, qs >> 4], -1).astype(I)


def decompose(name, raw, K):
    """raw [rows][bytes] -> dict. kind 'super': integers w [rows][K] and sc [rows][K/16], float f [rows][K/128]; with an offset also fm
    [rows][K/128] and integers mins [rows][K/16]. kind 'block': w, floats f and m [rows][K/16], repeated over `unit` values."""
    r, values = len(raw), {"Q1_0": 128, "Q2_0": 64, "NVFP4": 64}.get(name)
    values = values or (32 if name in ("Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "IQ4_NL", "MXFP4") else 256)
    n = K // values; b = raw.reshape(r * n, -1)
    flat = lambda a: a.reshape(r, -1)
    rep = lambda a, k: np.repeat(a, k, 1)
    if name in ("Q4_0", "IQ4_NL", "Q8_0", "Q5_0", "MXFP4", "Q4_1", "Q5_1", "Q2_0"):
        m = None
        if name == "MXFP4":
            d = np.array([int(x, 16) for x in table("e8m0_half")["float32_bits"]], np.uint32).view(F)[b[:, 0]]
            w = np.array(table("kvalues_mxfp4")["values"])[nibbles(b[:, 1:])]
        else: d = f16(b[:, :2])
        if name == "Q4_0": w = nibbles(b[:, 2:]) - 8
        if name == "IQ4_NL": w = np.array(table("kvalues_iq4nl")["values"])[nibbles(b[:, 2:])]
        if name == "Q8_0": w = b[:, 2:].view(np.int8).astype(I)
        if name == "Q4_1": w, m = nibbles(b[:, 4:]), f16(b[:, 2:4])
        if name == "Q5_0": w = nibbles(b[:, 6:]) + 16 * np.unpackbits(b[:, 2:6], axis=1, bitorder="little").astype(I) - 16
        if name == "Q5_1": w, m = nibbles(b[:, 8:]) + 16 * np.unpackbits(b[:, 4:8], axis=1, bitorder="little").astype(I), f16(b[:, 2:4])
        if name == "Q2_0": w = ((b[:, 2:, None] >> np.array([0, 2, 4, 6], np.uint8)) & 3).reshape(len(b), 64).astype(I) - 1
        return dict(kind="block", unit=values, w=flat(w), f=rep(d.reshape(r, n), values // 16), m=None if m is None else rep(m.reshape(r, n), 2))
    if name == "NVFP4":
        u = np.array([int(x, 16) for x in table("ue4m3_half")["float32_bits"]], np.uint32).view(F)
        sc = np.where(b[:, :4] == 255, F(240), u[b[:, :4] & 127])   # 0xff is 480, both decoders of quant_goldens.py agree
        w = np.array(table("kvalues_mxfp4")["values"])[nibbles(b[:, 4:].reshape(-1, 4, 8))]
        return dict(kind="block", unit=16, w=flat(w), f=flat(sc), m=None)
    fm = mins = None; per16 = False; e = np.arange(256)
    if name == "Q1_0":
        w = np.unpackbits(b[:, 2:], axis=1, bitorder="little").astype(I) * 2 - 1
        return dict(kind="super", w=flat(w), sc=np.ones((r, K // 16), I), f=f16(b[:, :2]).reshape(r, n), fm=None)
    if name in ("Q4_K", "Q5_K"):
        d, dm, B = f16(b[:, :2]), f16(b[:, 2:4]), b[:, 4:16].astype(I)
        s = np.concatenate([B[:, :4] & 63, (B[:, 8:] & 15) | (B[:, :4] >> 6) << 4], 1)
        mm = np.concatenate([B[:, 4:8] & 63, (B[:, 8:] >> 4) | (B[:, 4:8] >> 6) << 4], 1)
        w = nibbles(b[:, (16 if name == "Q4_K" else 48):].reshape(-1, 4, 32)).reshape(-1, 256)
        if name == "Q5_K": w = w + 16 * ((b[:, 16:48][:, None, :] >> np.arange(8, dtype=np.uint8)[None, :, None]) & 1).reshape(-1, 256).astype(I)
        sc, fm, mins = rep(s, 2), dm, rep(mm, 2)
    elif name == "Q6_K":
        d = f16(b[:, 208:]); N, j, l = e // 128, e % 128 // 32, e % 32
        w = ((b[:, 64 * N + 32 * (j & 1) + l] >> (4 * (j // 2)).astype(np.uint8)) & 15).astype(I)
        w = w + 16 * ((b[:, 128 + 32 * N + l] >> (2 * j).astype(np.uint8)) & 3) - 32
        sc = b[:, 192:208].view(np.int8).astype(I)
    elif name == "Q3_K":
        d = f16(b[:, 108:]); N, j, l = e // 128, e % 128 // 32, e % 32
        w = ((b[:, 32 + 32 * N + l] >> (2 * j).astype(np.uint8)) & 3).astype(I) - np.where((b[:, l] >> (4 * N + j).astype(np.uint8)) & 1, 0, 4)
        B = b[:, 96:108].astype(I); s = np.arange(16)
        sc = (np.where(s < 8, B[:, s % 8] & 15, B[:, s % 8] >> 4) | ((B[:, 8 + (s & 3)] >> 2 * (s >> 2)) & 3) << 4) - 32
    elif name == "Q2_K":
        d, fm = f16(b[:, 80:82]), f16(b[:, 82:84]); N, j, l = e // 128, e % 128 // 32, e % 32
        w = ((b[:, 16 + 32 * N + l] >> (2 * j).astype(np.uint8)) & 3).astype(I)
        sc, mins, per16 = b[:, :16].astype(I) & 15, b[:, :16].astype(I) >> 4, True
    elif name == "IQ4_XS":
        d, sh, sl = f16(b[:, :2]), words(b[:, 2:4], "<u2"), b[:, 4:8].astype(I); k = np.arange(8)
        sc = rep(((sl[:, k // 2] >> 4 * (k & 1)) & 15 | ((sh >> 2 * k) & 3) << 4) - 32, 2)
        w = np.array(table("kvalues_iq4nl")["values"])[nibbles(b[:, 8:].reshape(-1, 8, 16))].reshape(-1, 256)
    elif name in ("TQ1_0", "TQ2_0"):
        sc = np.ones((len(b), 16), I)
        if name == "TQ2_0":
            d = f16(b[:, 64:]); w = ((b[:, :64].reshape(-1, 2, 1, 32) >> np.array([0, 2, 4, 6], np.uint8)[:, None]) & 3).reshape(-1, 256).astype(I) - 1
        else:
            d = f16(b[:, 52:]); p = np.array([1, 3, 9, 27, 81], np.uint8)
            t = lambda q, k: (((q[:, None, :] * p[:k, None]).astype(np.uint8).astype(I) * 3) >> 8).reshape(len(b), -1)
            w = np.concatenate([t(b[:, :32], 5), t(b[:, 32:48], 5), t(b[:, 48:52], 4)], 1) - 1
    else:
        S = (np.arange(256)[:, None] >> np.arange(8)) & 1; ks = np.array(table("ksigns")["values"])
        sign = lambda byte: 1 - 2 * S[byte]                       # sign byte -> 8 factors
        d = None if name == "IQ1_M" else f16(b[:, :2])
        if name == "IQ2_XXS":
            a = b[:, 2:].reshape(-1, 8, 8); u = words(a[..., 4:], "<u4")[..., 0]
            w = grid("iq2xxs_grid")[a[..., :4]] * sign(ks[(u[..., None] >> 7 * np.arange(4)) & 127])
            sc = rep(2 * (u >> 28) + 1, 2); d = d * F(0.125)
        elif name == "IQ2_XS":
            q = words(b[:, 2:66], "<u2"); w = grid("iq2xs_grid")[q & 511] * sign(ks[q >> 9])
            sc = 2 * nib(b[:, 66:]) + 1; d = d * F(0.125)
        elif name == "IQ2_S":
            i = np.arange(32); q = b[:, 2:34].astype(I) | ((b[:, 66 + i // 4].astype(I) >> 2 * (i % 4)) & 3) << 8
            w = grid("iq2s_grid")[q] * sign(b[:, 34:66]); sc = 2 * nib(b[:, 74:]) + 1; d = d * F(0.125)
        elif name == "IQ3_XXS":
            u = words(b[:, 66:], "<u4"); w = grid("iq3xxs_grid")[b[:, 2:66]].reshape(-1, 8, 4, 8)
            w = w * sign(ks[(u[..., None] >> 7 * np.arange(4)) & 127]); sc = rep(2 * (u >> 28) + 1, 2); d = d * F(0.25)
        elif name == "IQ3_S":
            i = np.arange(64); q = b[:, 2:66].astype(I) | ((b[:, 66 + i // 8].astype(I) >> (i % 8)) & 1) << 8
            w = grid("iq3s_grid")[q].reshape(-1, 32, 8) * sign(b[:, 74:106]); sc = rep(2 * nib(b[:, 106:]) + 1, 2)
        elif name == "IQ1_S":
            qh = words(b[:, 34:], "<u2"); q = b[:, 2:34].reshape(-1, 8, 4).astype(I) | ((qh[..., None] >> 3 * np.arange(4)) & 7) << 8
            w = 8 * grid("iq1s_grid")[q] + np.where(qh >> 15, -1, 1)[:, :, None, None]; sc = rep(2 * ((qh >> 12) & 7) + 1, 2); d = d * F(0.125)
        elif name == "IQ1_M":
            s = words(b[:, 48:], "<u2"); u = (s[:, 0] >> 12 | (s[:, 1] >> 8) & 0xF0 | (s[:, 2] >> 4) & 0xF00 | s[:, 3] & 0xF000)
            d = u.astype("<u2").view("<f2").astype(F) * F(0.125); h = nib(b[:, 32:48])
            w = 8 * grid("iq1s_grid")[b[:, :32].astype(I) | (h & 7) << 8] + np.where(h & 8, -1, 1)[..., None]
            k = np.arange(16); sc = 2 * ((s[:, k // 4] >> 3 * (k % 4)) & 7) + 1
        else: raise KeyError(name)
    f = rep(d.reshape(r, n), 2)
    return dict(kind="super", w=flat(w), sc=flat(sc), f=f, fm=None if fm is None else rep(fm.reshape(r, n), 2),
                mins=None if mins is None else flat(mins), per16=per16)


def nib(b): return np.stack([b & 15, b >> 4], -1).reshape(len(b), -1).astype(I)


def decoded(p):
    """Weights as float64, from the decomposition."""
    w = p["w"].astype(D); K = w.shape[1]; rep = lambda a, k: np.repeat(a.astype(D), k, 1)
    if p["kind"] == "block": return w * rep(p["f"], 16) + (0 if p["m"] is None else rep(p["m"], 16))
    return w * rep(p["sc"], 16) * rep(p["f"], 128) - (0 if p["fm"] is None else rep(p["fm"], 128) * rep(p["mins"], 16))


def segments(p, planes, form="contract"):
    """[x rows][w rows][ceil(K/128)] float32 in the contract's order, and the largest |integer| met. Other forms are misreadings."""
    q, dx, s16 = planes; w = p["w"]; R, K = w.shape; X = len(q); out = np.zeros((X, R, -(-K // 128)), F); top = 0
    assert dx.shape[1] == -(-K // (128 if p["kind"] == "super" else 32))
    dot16 = np.einsum("xki,rki->xrk", q.reshape(X, -1, 16), w.reshape(R, -1, 16))
    for s in range(out.shape[2]):
        g = range(8 * s, min(8 * s + 8, K // 16))
        if p["kind"] == "super":
            x = dx[:, s][:, None]
            i = sum(dot16[..., j] * p["sc"][:, j] for j in g); f = p["f"][:, s][None]; top = max(top, int(np.abs(i).max()))
            t = (f * x) * i.astype(F) if form != "order" else f * (x * i.astype(F))
            if p["fm"] is not None:
                i = sum(s16[:, j][:, None] * p["mins"][:, j] for j in g); top = max(top, int(np.abs(i).max())); fm = p["fm"][:, s][None] * x
                t = fma(-fm, i.astype(F), t) if form != "unfused" else t - fm * i.astype(F)
        else:
            n = min(p["unit"], 32) // 16; t = np.zeros((X, R), F)
            for j in g[::n]:
                i = sum(dot16[..., j + h] for h in range(n)); top = max(top, int(np.abs(i).max())); f = p["f"][:, j][None]; x = dx[:, j // 2][:, None]
                if form == "unfused": t = t + (f * x) * i.astype(F)
                elif form == "order": t = fma(f, x * i.astype(F), t)
                else: t = fma(f * x, i.astype(F), t)
                if p["m"] is not None: t = fma(p["m"][:, j][None] * x, sum(s16[:, j + h] for h in range(n)).astype(F)[:, None], t)
        out[..., s] = t
    return out, top


def planes_of(p, x): return quantize_rows(x, 128 if p["kind"] == "super" else 32)


def ascending(seg):
    total = np.zeros(seg.shape[:-1], F)
    for s in range(seg.shape[-1]): total = total + seg[..., s]
    return total


# --- float sums ---------------------------------------------------------------------------------------------------
def tree(lane):
    for a in (8, 4, 2, 1): lane = lane[..., :a] + lane[..., a:2 * a]
    return lane[..., 0]


def dot(a, b):
    """Float dot product over the last axis."""
    a, b = np.broadcast_arrays(np.asarray(a, F), np.asarray(b, F)); n = a.shape[-1]; pad = [(0, 0)] * (a.ndim - 1) + [(0, -n % 16)]
    a, b = np.pad(a, pad), np.pad(b, pad); total = np.zeros(a.shape[:-1], F)
    for s in range(0, n, 128):
        lane = np.zeros(a.shape[:-1] + (16,), F)
        for i in range(s, min(s + 128, a.shape[-1]), 16): lane = fma(a[..., i:i + 16], b[..., i:i + 16], lane)
        total = total + tree(lane)
    return total


# --- elementwise --------------------------------------------------------------------------------------------------
H = float.fromhex
def exp(x):
    x = np.asarray(x, F); y = np.clip(x, F(-104), F(88.8)).astype(F)
    n = fma(y, H("0x1.715476p+0"), H("0x1.8p+23")) - F(H("0x1.8p+23"))
    r = fma(n, -H("0x1.7f7d1cp-20"), fma(n, -H("0x1.62e4p-1"), y))
    q = np.full_like(r, H("0x1.6a23d0p-10"))
    for c in ("0x1.123a20p-7", "0x1.5558f2p-5", "0x1.555492p-3", "0x1.fffffcp-2"): q = fma(q, r, H(c))
    e = F(1) + fma(r * r, q, r); k = n.astype(I); k1 = k >> 1
    with np.errstate(over="ignore", under="ignore"): v = (e * np.exp2(k1.astype(D)).astype(F)) * np.exp2((k - k1).astype(D)).astype(F)
    return np.where(x > F(88.8), F(np.inf), np.where(x < F(-104), F(0), v)).astype(F)


def log1p_unit(t):
    t = np.asarray(t, F); s = t / (F(2) + t); w = s * s; p = np.full_like(t, H("0x1.f1aee2p-3"))
    for c in ("0x1.b6d6a4p-3", "0x1.250972p-2", "0x1.9996a8p-2", "0x1.555558p-1"): p = fma(p, w, H(c))
    return fma(s * w, p, s + s)


def log(x):
    """0 < x < inf."""
    x = np.asarray(x, F); tiny = x < F(2.0 ** -126); x = np.where(tiny, np.where(tiny, x, F(0)) * F(2.0 ** 24), x).astype(F); u = x.view(np.int32).astype(I)
    e = (u - 0x3f3504f3) >> 23; k = (e + np.where(tiny, -24, 0)).astype(F); t = (u - (e << 23)).astype(np.int32).view(F) - F(1)
    s = t / (F(2) + t); w = s * s; p = np.full_like(t, H("0x1.f1aee2p-3"))
    for c in ("0x1.b6d6a4p-3", "0x1.250972p-2", "0x1.9996a8p-2", "0x1.555558p-1"): p = fma(p, w, H(c))
    h = F(0.5) * (t * t); c = fma(-s, fma(w, p, h), h)
    return fma(k, H("0x1.62e4p-1"), t - fma(-k, H("0x1.7f7d1cp-20"), c))


def sincos_turn(turn):
    turn = np.asarray(turn, np.uint64); quad = (turn + np.uint64(1 << 61)) >> np.uint64(62); rest = (turn - (quad << np.uint64(62))).view(I)
    r = (rest >> 31).astype(F) * F(H("0x1.921fb6p-31")); w = r * r; s = np.full_like(r, H("0x1.6cd7d6p-19")); c = np.full_like(r, -H("0x1.242a76p-22"))
    for k in ("-0x1.a00f9cp-13", "0x1.111108p-7", "-0x1.555556p-3"): s = fma(s, w, H(k))
    for k in ("0x1.a0111ep-16", "-0x1.6c16b8p-10", "0x1.555556p-5", "-0x1p-1", "0x1p0"): c = fma(c, w, H(k))
    s = fma(r * w, s, r); q = quad.astype(I) & 3; a, b = np.where(q & 1, c, s), np.where(q & 1, s, c)
    return np.where(q & 2, -a, a).astype(F), np.where((q + 1) & 2, -b, b).astype(F)


def sigmoid(x): e = exp(-np.abs(np.asarray(x, F))); return (np.where(np.asarray(x, F) < 0, e, F(1)) / (F(1) + e)).astype(F)
def silu(x): return np.asarray(x, F) * sigmoid(x)
def softplus(x): x = np.asarray(x, F); return np.maximum(x, F(0)) + log1p_unit(exp(-np.abs(x)))


# --- attention, gated delta rule -------------------------------------------------------------------------------------
CHUNK = 64
def attend(q, k, v, scale, runs, sink=None):
    """One query row. runs: lists of (slot, key index), each in ascending slot; a run's keys with equal slot div 64 form a chunk."""
    m, l, o = F(-np.inf), F(0), np.zeros(v.shape[1], F)
    def merge(m, l, o, mc, lc, oc):
        new = max(m, mc); a, b = exp(m - new) if m > -np.inf else F(0), exp(mc - new)
        return new, fma(lc, b, l * a)[()], fma(oc, b, o * a)
    for run in runs:
        for c in sorted({s // CHUNK for s, _ in run}):
            slots, keys = zip(*[(s, i) for s, i in run if s // CHUNK == c])
            z = dot(q[None], k[list(keys)]) * F(scale); mc = z.max(); p = exp(z - mc)
            lane = np.zeros(16, F); full = np.zeros(CHUNK, F); full[[s % CHUNK for s in slots]] = p
            for i in range(0, CHUNK, 16): lane = lane + full[i:i + 16]
            oc = np.zeros(v.shape[1], F)
            for i, w in zip(keys, p): oc = fma(w, v[i], oc)
            m, l, o = merge(m, l, o, mc, tree(lane), oc)
    if sink is not None: m, l, o = merge(m, l, o, F(sink), F(1), np.zeros_like(o))
    return o * (F(1) / l)


def gdn(S, q, k, v, g, beta):
    """S [128 key][128 value]; one token."""
    S = S * exp(g); r = dot(S.T, k[None]); d = F(beta) * (v - r)
    S = fma(k[:, None], d[None], S); return S, dot(S.T, q[None])


def unit(x): return x * (F(1) / np.sqrt(dot(x, x) + F(1e-6)))[..., None]


# --- the files ------------------------------------------------------------------------------------------------------
NAMES = ("Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q2_0 Q1_0 Q2_K Q3_K Q4_K Q5_K Q6_K IQ1_S IQ1_M IQ2_XXS IQ2_XS IQ2_S IQ3_XXS IQ3_S "
         "IQ4_NL IQ4_XS TQ1_0 TQ2_0 MXFP4 NVFP4").split()


def read_container(path):
    """Tensors of one of our own containers as raw bytes (gguf-py refuses type 42), and the array of row kinds."""
    import struct
    b = open(path, "rb").read(); at = 8; nt, nk = struct.unpack_from("<QQ", b, at); at = 24; kinds = []; align = 32
    def s(at): n, = struct.unpack_from("<Q", b, at); return b[at + 8:at + 8 + n].decode(), at + 8 + n
    for _ in range(nk):
        key, at = s(at); t, = struct.unpack_from("<I", b, at); at += 4
        if t == 8: _, at = s(at)
        elif t == 9:
            n, = struct.unpack_from("<Q", b, at + 4); at += 12
            for _ in range(n): x, at = s(at); kinds.append(x)
        else: at += 1 if t == 7 else 4
    out = {}
    for _ in range(nt):
        name, at = s(at); nd, = struct.unpack_from("<I", b, at); ne = struct.unpack_from("<%dQ" % nd, b, at + 4); at += 4 + 8 * nd
        t, off = struct.unpack_from("<IQ", b, at); at += 12; out[name] = (ne, off)
    base = -(-at // align) * align; offs = sorted(o for _, o in out.values()) + [len(b) - base]
    return {n: (ne, b[base + o:base + offs[offs.index(o) + 1]]) for n, (ne, o) in out.items()}, kinds


def matrix(name, rng):
    """8 rows x 512 from the golden blocks: 4 gaussian, 2 random, 2 of edges; and float64 of the golden decoded values."""
    t, kinds = read_container(os.path.join(QUANT, name.lower() + ".gguf")); ne, raw = t["blocks"]; rows = ne[1]
    values = np.frombuffer(t["values"][1], F, rows * 256).reshape(rows, 256)
    per = json.load(open(os.path.join(QUANT, "report.json")))["types"][name]; size = 256 // per["block_values"] * per["block_bytes"]
    raw = np.frombuffer(raw, np.uint8, rows * size).reshape(rows, size)
    edges = [i for i, k in enumerate(kinds) if k.startswith("edge") and "random" not in k and np.isfinite(values[i]).all() and np.abs(values[i]).max() < 1e30]
    full = [i for i in edges if "0xff" in kinds[i]]; pick = [0, 5, 10, 15, 16, 20, 25, 31, 33, 40, 50, 60]
    rest = [i for i in edges if i not in full]; pick += (full * 2)[:2] + list(rng.choice(rest, 2, replace=False))
    if len(pick) < 16: pick += list(rng.choice(rest, 16 - len(pick)))
    return raw[pick].reshape(8, -1).copy(), values[pick].reshape(8, 512), [kinds[i] for i in pick]


def activations(rng):
    x = rng.standard_normal((3, 512)).astype(F)
    x[1] = (x[1] * np.exp2(rng.uniform(-12, 8, 512))).astype(F); x[1, 64:96] = 0; x[1, 128:256] *= F(2.0 ** -50); x[1, 256] = 1000
    x[2] = np.where(rng.random(512) < 0.5, F(-0.75), F(0.75)); x[2, :128] = 0.75          # every q is +-127
    return x


def main():
    global QUANT
    a = argparse.ArgumentParser(); a.add_argument("--out"); a.add_argument("--quant", required=True, help="what quant_goldens.py made, its tables in DIR/tables")
    a.add_argument("--check", action="store_true"); a.add_argument("--bench", action="store_true"); a = a.parse_args(); QUANT = a.quant
    rng = np.random.default_rng(20261129); report = {}
    lib = build() if a.check or a.bench else None
    if a.bench and not a.out: return bench(lib)
    tensors = {}
    def put(file, name, arr):
        arr = np.ascontiguousarray(arr); kind = {np.dtype(F): 0, np.dtype(np.int8): 24, np.dtype(np.uint8): 24, np.dtype(np.int16): 25, np.dtype(np.int32): 26, np.dtype(I): 27, np.dtype(np.float16): 1}[arr.dtype]
        tensors.setdefault(file, []).append((name, list(arr.shape[::-1]), kind, arr.tobytes()))
    # quantize_rows
    x = rng.standard_normal((16, 256)).astype(F)
    x[1] *= F(1e-17); x[2] *= F(1e23); x[3] = (x[3] * np.exp2(rng.uniform(-40, 40, 256))).astype(F); low, high = F(2.0 ** -60), np.nextafter(F(2.0 ** 80), F(0))
    x[4, :128] = 0; x[4, 128:] = -0.0; x[5, :128] = F(1e-45); x[5, 128:] = np.nextafter(low, F(0)); x[6, :128] = low; x[6, 128:] = high * np.sign(x[6, 128:])
    x[7] = 0; x[7, 100] = -5; x[7, 255] = 1e-3; x[8] = np.tile(np.r_[127, np.arange(127) + F(0.5)], 2); x[9] = -x[8]                    # halves: ties to even
    x[10] = x[10] * F(127); x[11] = (x[11] * F(127)).astype(np.float16); x[12] = np.nextafter(F(127), F(200)) * np.sign(x[12]); x[13] = F(1) / F(3)
    x[14] = np.exp2(rng.uniform(-75, -55, 256)).astype(F); x[15] = rng.choice([1, -1], 256) * F(1e-39); x[15, 7] = 1
    def planes(file, x):
        put(file, "x", x)
        for prefix, unit in (("", 128), ("fine.", 32)):
            pl = quantize_rows(x, unit)
            for n, v in (("q", pl[0].astype(np.int8)), ("scale", pl[1]), ("sum16", pl[2].astype(np.int16))): put(file, prefix + n, v)
    planes("quantize_rows", x); x = x[:, :160]; pl = quantize_rows(x); fine = quantize_rows(x, 32)
    for n, v in (("ragged.q", pl[0].astype(np.int8)), ("ragged.scale", pl[1]), ("ragged.fine.scale", fine[1])): put("quantize_rows", n, v)
    # formats
    x = activations(rng); planes("quant_dot", x)
    for name in NAMES:
        raw, values, kinds = matrix(name, rng); p = decompose(name, raw, 512); W = decoded(p)
        d = np.abs(W - values.astype(D)) / (np.abs(values).max(1, keepdims=True).astype(D) + 1e-300)
        own = (np.sign(W[4]) * rng.uniform(0.9, 1, 512)).astype(F)      # a fourth row, aligned with weight row 4: large dots, so that roundings show
        put("quant_dot", name.lower() + ".x", own); xs = np.concatenate([x, own[None]]); pl = planes_of(p, xs); xq = pl[0].astype(D) * np.repeat(pl[1].astype(D), 512 // pl[1].shape[1], 1)
        seg, top = segments(p, pl); y = ascending(seg)
        mag = np.abs(xq) @ np.abs(W).T + 1e-300; e1 = np.abs(y.astype(D) - xq @ W.T) / mag
        ex = np.abs(y[:2, :4].astype(D) - x[:2].astype(D) @ W[:4].T) / (np.abs(x[:2].astype(D)) @ np.abs(W[:4].T) + 1e-300)
        other = {f: int((ascending(segments(p, pl, f)[0]).view(np.uint32) != y.view(np.uint32)).sum()) for f in ("order", "unfused")}
        assert other["order"] or name in ("MXFP4", "NVFP4"), (name, other)
        report[name] = dict(decode=float(d.max()), float_order=float(e1.max()), int8_noise=float(ex.max()), largest_integer=top, bits_differ_if=other)
        assert top < 2 ** 27 and e1.max() < 3e-7 and d.max() < 1e-7, (name, report[name])
        put("quant_dot", name.lower() + ".blocks", raw); put("quant_dot", name.lower() + ".segments", seg); put("quant_dot", name.lower() + ".y", y)
        print(f"{name:8} decode {d.max():.1e}  float order {e1.max():.1e}  int8 noise {ex.max():.1e}  largest integer {top}  misread: {other} of {y.size}", flush=True)
        if lib and name in FORMATS: compare(lib, name, raw, pl, y, 512)
    # ragged K: 32-blocks only
    raw, values, kinds = matrix("Q8_0", rng); rag = []
    for K in (32, 64, 96, 160, 320):
        p = decompose("Q8_0", raw[:, :K // 32 * 34], K); rag.append(ascending(segments(p, planes_of(p, x[:, :K]))[0]))
    put("quant_dot", "ragged.blocks", raw); put("quant_dot", "ragged.widths", np.array((32, 64, 96, 160, 320), np.int32)); put("quant_dot", "ragged.y", np.stack(rag))
    # noise of the activation scale's length, for the record
    z = rng.standard_normal((64, 2560)).astype(F); u = rng.standard_normal((2560, 64))
    for n in (32, 128, 256):
        zq, sc, _ = quantize_rows(z, n); e = (zq * np.repeat(sc.astype(D), n, 1) - z) @ u; report["noise_%d" % n] = float(e.std() / (z @ u).std()); print("activation noise, a scale per", n, report["noise_%d" % n])
    # floats
    w = rng.standard_normal(10240).astype(F); x = (rng.standard_normal(10240) * np.exp2(rng.uniform(-6, 6, 10240))).astype(F); x[777] = F(1e-41)
    h = w.astype(np.float16); u = w.view(np.uint32); bf = ((u + 0x7FFF + ((u >> 16) & 1)) >> 16).astype(np.uint16)
    widths = list(range(1, 301)) + [320, 640, 2560, 6144, 10240]
    put("float_dot", "x", x); put("float_dot", "w_f32", w); put("float_dot", "w_f16", h)
    tensors["float_dot"].append(("w_bf16", [10240], 30, bf.tobytes())); put("float_dot", "widths", np.array(widths, np.int32)); worst = 0
    for n, v in (("f32", w), ("f16", h.astype(F)), ("bf16", (bf.astype(np.uint32) << 16).view(F))):
        y = np.array([dot(x[:k], v[:k]) for k in widths], F); put("float_dot", "y_" + n, y)
        if lib: c = np.zeros_like(y); lib.dots(ptr(v.copy()), ptr(x), ptr(np.array(widths, np.int32)), len(widths), ptr(c)); assert (c.view(np.uint32) == y.view(np.uint32)).all(); print("  float dot", n, "== AVX2")
        worst = max(worst, max(abs(float(y[i]) - float(x[:k].astype(D) @ v[:k].astype(D))) / float(np.abs(x[:k].astype(D)) @ np.abs(v[:k].astype(D))) for i, k in enumerate(widths)))
    report["float_dot"] = worst; print("float dot, relative to the sum of magnitudes", worst)
    # elementwise
    x = np.concatenate([np.linspace(-110, 95, 1001), rng.uniform(-20, 20, 600), rng.standard_normal(200) * 2.0 ** rng.uniform(-60, 0, 200),
        [0.0, -0.0, 1e-45, -1e-45, 1e-39, 88.72283, 88.722839, 88.72284, 88.8, 88.80001, -87.33654, -87.336548, -103.97207, -103.97209, -104, -104.00001, 20, 20.000002, 1e30, -1e30, 3.4e38, -3.4e38,
         np.inf, -np.inf, 0.34657359, -0.34657359, 0.34657362, 17.3, 16.6, -16.6, 1, -1, 0.5, -0.5, np.log(2), -np.log(2)]]).astype(F)
    put("elementwise", "x", x)
    for i, f in enumerate((exp, sigmoid, silu, softplus)):
        with np.errstate(invalid="ignore", over="ignore"):
            y = f(x); z = x.astype(D); t = (np.exp(z), np.where(z < 0, np.exp(z) / (1 + np.exp(z)), 1 / (1 + np.exp(-z))), 0, np.maximum(z, 0) + np.log1p(np.exp(-np.abs(z))))
            t = t[i] if i != 2 else z * t[1]
            ok = np.isfinite(t) & (np.abs(t) > 1.2e-38) & (np.abs(t) < 3.4e38) & (np.abs(z) < 87); e = (np.abs(y - t) / np.abs(t))[ok].max()
        put("elementwise", f.__name__, y); report[f.__name__] = float(e); print(f"{f.__name__} relative {e:.2e}")
        if lib:
            c = np.zeros_like(x); lib.map_function(i, x.ctypes.data_as(C.c_void_p), c.ctypes.data_as(C.c_void_p), C.c_int64(len(x)))
            bad = (c.view(np.uint32) != y.view(np.uint32)) & ~(np.isnan(c) & np.isnan(y)); assert not bad.any(), (f.__name__, x[bad][:5], c[bad][:5], y[bad][:5])
    x = np.concatenate([np.exp2(rng.uniform(-149, 128, 500)), rng.uniform(0.5, 2, 300), [1e-45, 1, 2.0 ** -126, 3.4028235e38, 0.70710677, 0.7071068, 1.4142135, 1.4142137, np.nextafter(F(1), F(0)), np.nextafter(F(1), F(2))]]).astype(F); x = x[x > 0]
    y = log(x); report["log"] = float((np.abs(y - np.log(x.astype(D))) / np.maximum(np.abs(np.log(x.astype(D))), 1e-30)).max()); put("elementwise", "log.x", x); put("elementwise", "log", y); print("log relative", report["log"])
    turn = np.r_[rng.integers(0, 2 ** 64, 960, dtype=np.uint64), np.arange(64, dtype=np.uint64) << np.uint64(58)]; sc = sincos_turn(turn); t = 2 * np.pi * (turn.astype(D) / 2.0 ** 64)
    put("elementwise", "turn", turn.view(I)); put("elementwise", "sin", sc[0]); put("elementwise", "cos", sc[1]); report["sincos"] = float(max(np.abs(sc[0] - np.sin(t)).max(), np.abs(sc[1] - np.cos(t)).max())); print("sin, cos absolute", report["sincos"])
    if lib:
        c = np.zeros_like(x); lib.map_function(5, ptr(x), ptr(c), C.c_int64(len(x))); assert (c.view(np.uint32) == y.view(np.uint32)).all()
        a_, b_ = np.zeros(1024, F), np.zeros(1024, F); lib.map_turn(ptr(turn), ptr(a_), ptr(b_), C.c_int64(1024)); assert (a_.view(np.uint32) == sc[0].view(np.uint32)).all() and (b_.view(np.uint32) == sc[1].view(np.uint32)).all()
    # attention
    k, v, qs = (rng.standard_normal((n, 64)).astype(F) for n in (700, 700, 4)); qs *= F(2); cases = []; out = []; worst = 0
    chosen = np.sort(rng.choice(700, 150, replace=False))
    spec = [("dense %d" % n, [[(i, i) for i in range(n)]], None) for n in (1, 3, 15, 63, 64, 65, 128, 200, 700)]
    spec += [("list of 150", [list(enumerate(chosen))], None), ("window 450..577", [[(i, i) for i in range(450, 578)]], None),
             ("window 450..577, then compressed rows 600..632 as slots 0..32, sink 1.5", [[(i, i) for i in range(450, 578)], [(i, 600 + i) for i in range(33)]], 1.5),
             ("dense 3, sink 40", [[(i, i) for i in range(3)]], 40.0), ("dense 65, sink -40", [[(i, i) for i in range(65)]], -40.0)]
    for name, runs, sink in spec:
        for r in range(4):
            y = attend(qs[r], k, v, 0.125, runs, sink); idx = [i for run in runs for _, i in run]; z = k[idx].astype(D) @ qs[r].astype(D) * 0.125
            m = max(z.max(), -np.inf if sink is None else sink); p = np.exp(z - m); t = p @ v[idx].astype(D) / (p.sum() + (0 if sink is None else np.exp(sink - m)))
            worst = max(worst, np.abs(y - t).max() / (np.abs(t).max() + 1e-30)); out.append(y)
            if lib and name.startswith("dense"):
                c = np.zeros(64, F); lib.attend_dense(ptr(qs[r]), ptr(k), ptr(v), len(idx), 64, C.c_float(0.125), int(sink is not None), C.c_float(sink or 0), ptr(c)); assert (c.view(np.uint32) == y.view(np.uint32)).all(), name
        cases.append(name)
    for n, t in (("q", qs), ("k", k), ("v", v), ("y", np.array(out, F).reshape(-1, 4, 64)), ("list", chosen.astype(np.int32))): put("attention", n, t)
    report["attention"] = float(worst); print("attention relative", worst)
    # gated delta rule
    S = (rng.standard_normal((128, 128)) * 0.1).astype(F); q, k = unit(rng.standard_normal((8, 128)).astype(F)), unit(rng.standard_normal((8, 128)).astype(F))
    q = q * F(1 / np.sqrt(128)); v = rng.standard_normal((8, 128)).astype(F); g = -np.exp2(rng.uniform(-8, 2, 8)).astype(F); g[3] = 0; g[5] = -100; beta = rng.random(8).astype(F); beta[6] = 0
    put("gated_delta", "state", S); S0 = S.copy(); T = S.astype(D); worst = 0; ys = []
    for t in range(8):
        S, y = gdn(S, q[t], k[t], v[t], g[t], beta[t]); ys.append(y)
        T = T * np.exp(D(g[t])); d = D(beta[t]) * (v[t] - T.T @ k[t].astype(D)); T = T + np.outer(k[t].astype(D), d); z = T.T @ q[t].astype(D)
        worst = max(worst, (np.abs(y - z) / (np.abs(T).T @ np.abs(q[t].astype(D)))).max())
        if t in (0, 7): put("gated_delta", "state_after_%d" % (t + 1), S)
    for n, t in (("q", q), ("k", k), ("v", v), ("g", g), ("beta", beta), ("y", np.array(ys, F))): put("gated_delta", n, t)
    if lib:
        c = np.zeros((8, 128), F); lib.gated_delta(ptr(S0), ptr(q), ptr(k), ptr(v), ptr(g), ptr(beta), 8, ptr(c))
        assert (c.view(np.uint32) == np.array(ys, F).view(np.uint32)).all() and (S0.view(np.uint32) == S.view(np.uint32)).all(); print("  attention, gated delta rule == C (chunks last to first; columns in SIMD lanes)")
    report["gated_delta"] = float(worst); print("gated delta relative", worst)
    if a.out:
        os.makedirs(a.out, exist_ok=True); total = 0
        for f, t in tensors.items():
            kv = {"general.architecture": "golden", "general.alignment": 32}
            if f == "attention": kv["golden.cases"] = cases
            total += gguf_write(os.path.join(a.out, f + ".gguf"), kv, t); gguf.GGUFReader(os.path.join(a.out, f + ".gguf"))
        json.dump(report, open(os.path.join(a.out, "report.json"), "w"), indent=1); print(total, "bytes")
    if lib: big_compare(lib, rng)
    if a.bench: bench(lib)


# --- the second implementation ----------------------------------------------------------------------------------------
FORMATS = ("Q8_0", "Q4_K", "Q6_K", "IQ4_XS")
def build():
    d = tempfile.mkdtemp(); so = os.path.join(d, "check.so")
    subprocess.check_call([os.environ.get("CC", "cc"), "-std=c17", os.environ.get("OPT", "-O3"), "-ffp-contract=off", "-mavx2", "-mfma", "-mf16c", "-fPIC", "-shared",
                           os.path.join(HERE, "arithmetic_check.c"), "-o", so, "-lm", "-lpthread"])
    lib = C.CDLL(so); lib.run.restype = C.c_double; lib.packed_size.restype = C.c_int64; return lib


def ptr(a): return a.ctypes.data_as(C.c_void_p)
def prepared(planes):
    q, s, s16 = planes; return [np.ascontiguousarray(v) for v in (q.astype(np.int8), s, s16.astype(np.int16), s16.reshape(len(q), -1, 2).sum(2).astype(np.int16))]


def compare(lib, name, raw, planes, y, K):
    """y [x rows][rows] against scalar C, K split over 1..5 threads, and AVX2 (windows 1, 2, 4, 8; 1 and 2 threads)."""
    f = FORMATS.index(name); rows = len(raw); pl = prepared(planes); n = C.c_int64(rows); same = lambda a, b: (a.view(np.uint32) == b.view(np.uint32)).all()
    for i in range(len(pl[0])):
        q, s = ptr(pl[0][i]), ptr(pl[1][i])
        out = np.full(rows, np.nan, F); lib.gemv_reference(f, ptr(raw), n, K, q, s, ptr(out)); assert same(out, y[i]), (name, "scalar")
        for t in range(1, 6):
            out[:] = np.nan; lib.gemv_split(f, ptr(raw), n, K, q, s, ptr(out), t); assert same(out, y[i]), (name, "split", t)
    packed = np.zeros(lib.packed_size(f, n, K), np.uint8); lib.pack(f, ptr(raw), n, K, ptr(packed))
    for w in (1, 2, 4, 8):
        for t in (1, 2):
            i = np.arange(w) % len(pl[0]); out = np.full((w, rows), np.nan, F); z = [v[i].copy() for v in pl]
            lib.run(0, f, ptr(packed), n, K, w, *map(ptr, z), ptr(out), t); assert same(out, y[i]), (name, "avx2", w, t)
    print(f"  {name}: {rows} x {K} numpy == scalar C == K split over 1..5 threads == AVX2 interleaved, windows 1 2 4 8", flush=True)


def random_matrix(name, rows, K, rng):
    size = {"Q8_0": 272, "Q4_K": 144, "Q6_K": 210, "IQ4_XS": 136}[name]; off = {"Q8_0": range(0, 272, 34), "Q4_K": (0, 2), "Q6_K": (208,), "IQ4_XS": (0,)}[name]
    b = rng.integers(0, 256, (rows * K // 256, size), dtype=np.uint8)
    for o in off: b[:, o:o + 2] = (np.exp2(rng.uniform(-14, 0, len(b))) * rng.choice([1, -1], len(b))).astype("<f2").view(np.uint8).reshape(-1, 2)
    return b.reshape(rows, -1)


def big_compare(lib, rng):
    for name in FORMATS:
        for K in (256, 2560, 10240):
            raw = random_matrix(name, 16, K, rng); x = (rng.standard_normal((3, K)) * np.exp2(rng.uniform(-4, 4, (3, K)))).astype(F); x[2] = np.sign(x[2]); p = decompose(name, raw, K); pl = planes_of(p, x)
            compare(lib, name, raw, pl, ascending(segments(p, pl)[0]), K)


def bench(lib):
    import time
    rng = np.random.default_rng(1); K = 2560
    for name in FORMATS:
        f = FORMATS.index(name); rows = 65536 if name in ("Q4_K", "IQ4_XS") else 40960; n = C.c_int64(rows)
        tile = random_matrix(name, 4096, K, rng); packed = np.zeros(lib.packed_size(f, n, K), np.uint8); part = np.zeros(lib.packed_size(f, C.c_int64(4096), K), np.uint8)
        lib.pack(f, ptr(tile), C.c_int64(4096), K, ptr(part))
        packed.reshape(rows // 4096, -1)[:] = part
        x = rng.standard_normal((8, K)).astype(F); pl = prepared(quantize_rows(x, 32 if name == "Q8_0" else 128)); out = np.zeros((8, rows), F); t = {}
        for r in range(15):
            for w in (0, 1, 2, 4, 8): t.setdefault(w, []).append(lib.run(int(w == 0), f, ptr(packed), n, K, max(w, 1), *map(ptr, pl), ptr(out), 2))
        gb = packed.nbytes / 1e9
        print(f"{name:7} {packed.nbytes / 2**20:.0f} MiB  read {gb / min(t[0]):.1f} GB/s (median {gb / np.median(t[0]):.1f})  " +
              "  ".join(f"{w} rows {gb / min(t[w]):.1f} GB/s = {min(t[0]) / min(t[w]):.2f} of read (median {np.median(t[0]) / np.median(t[w]):.2f})" for w in (1, 2, 4, 8)), flush=True)


if __name__ == "__main__": main()

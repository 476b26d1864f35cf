#!/usr/bin/env python3
"""Golden draws of src/sample, to the bit: sampling_draws.py OUT.json

Follows the definition in src/sample/sample.h with a full sort, Python's integers and numpy's float32, one operation at a time; exp is
arithmetic_goldens.exp, the arithmetic contract's. Each case holds settings, vocabulary, history, bias (null: minus infinity) and positions; the
result: how many tokens are kept, the best sixteen with the bits of their probabilities, and the token drawn at each position. The logits
are not stored: logit i is ((i * 2654435761 mod 2^32) div 2^8 * 2^-24 - shift) * scale in float32.
"""
import json
import sys

import numpy as np

from arithmetic_goldens import exp

F = np.float32
ONE = 2 ** 40


def logits_of(vocabulary, shift, scale):
    h = (np.arange(vocabulary, dtype=np.uint64) * np.uint64(2654435761) % np.uint64(2 ** 32)) >> np.uint64(8)
    return (h.astype(F) * F(2.0 ** -24) - F(shift)) * F(scale)


def philox(seed, position):
    """64 bits: Philox 4x32-10 (Salmon et al., SC 2011), key = seed, counter = position, low halves first."""
    c, k = [position & 0xffffffff, position >> 32, 0, 0], [seed & 0xffffffff, seed >> 32]
    for _ in range(10):
        p, q = 0xd2511f53 * c[0], 0xcd9e8d57 * c[2]
        c = [(q >> 32) ^ c[1] ^ k[0], q & 0xffffffff, (p >> 32) ^ c[3] ^ k[1], p & 0xffffffff]
        k = [(k[0] + 0x9e3779b9) & 0xffffffff, (k[1] + 0xbb67ae85) & 0xffffffff]
    return c[1] << 32 | c[0]


def scores(z, case):
    z = z.copy()
    for token, value in case["bias"]:
        z[token] = F(-np.inf) if value is None or z[token] == -np.inf else z[token] + F(value)
    s = case["settings"]
    repetition, presence, frequency = (F(s.get(k + "_penalty", d)) for k, d in (("repetition", 1), ("presence", 0), ("frequency", 0)))
    last, history = s.get("penalty_last_n", -1), case["history"]
    window = history if last < 0 else history[len(history) - min(last, len(history)):]
    for token in set(window):
        z[token] = z[token] / repetition if z[token] > 0 else z[token] * repetition
        z[token] = z[token] - (F(window.count(token)) * frequency + presence)
    return z


def weights(z, temperature):
    e = np.where(z == z[0], F(1), exp((z - z[0]) / F(temperature)))
    return [int(float(x) * ONE) for x in e]


def result(case):
    s = case["settings"]
    z = scores(logits_of(case["vocabulary"], case["shift"], case["scale"]), case)
    rank = np.lexsort((np.arange(len(z)), -z))
    rank = rank[z[rank] > -np.inf]
    if s.get("top_k", 0):
        rank = rank[:s["top_k"]]
    temperature, last = s.get("temperature", 1.0), case["order"] == "temperature_last"
    w = weights(z[rank], 1.0 if last else temperature)
    if s.get("top_p", 1.0) < 1:
        least, total, kept = float(F(s["top_p"])) * float(sum(w)), 0, 0
        while kept == 0 or total < least:
            total, kept = total + w[kept], kept + 1
        rank, w = rank[:kept], w[:kept]
    keep = [x >= int(float(F(s.get("min_p", 0.0))) * ONE) for x in w]
    rank = rank[keep]
    w = weights(z[rank], temperature)
    total = sum(w)
    tokens = []
    for position in case["positions"]:
        x, i = philox(case["seed"], position) * total >> 64, 0
        while x >= w[i]:
            x, i = x - w[i], i + 1
        tokens.append(int(rank[i]))
    best = [(int(t), int((F(x) / F(total)).view(np.uint32))) for t, x in zip(rank[:16], w)]
    return {"kept": len(rank), "best": [t for t, _ in best], "probability_bits": [b for _, b in best], "tokens": tokens}


def main():
    positions = [*range(40), 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 40 + 7, 2 ** 62 + 1]
    history = [(i * i * 7 + 3) % 300 for i in range(200)]
    bias = [[5, 2.5], [17, None], [5, -0.75], [299, 8.0]]
    cases = []

    def add(vocabulary, shift, scale, seed, order="temperature_first", history=(), bias=(), **settings):
        case = {"vocabulary": vocabulary, "shift": shift, "scale": scale, "seed": seed, "order": order, "history": list(history),
                "bias": list(bias), "settings": settings, "positions": positions}
        cases.append(case | result(case))

    add(300, 0.5, 20.0, 1)
    add(300, 0.5, 20.0, 2 ** 62 + 12345, history=history, bias=bias, repetition_penalty=1.1, presence_penalty=0.3, frequency_penalty=0.07)
    add(5000, 0.9, 12.0, 7, temperature=0.7)
    add(5000, 0.9, 12.0, 7, temperature=1.9, top_p=0.93)
    add(248320, 0.8, 25.0, 99, temperature=1.0, top_k=20, top_p=0.95)
    add(248320, 0.8, 25.0, 99, temperature=1.3, min_p=0.02, top_p=0.9)
    for order in ("temperature_first", "temperature_last"):
        add(4096, 0.6, 30.0, 2 ** 33 + 5, order, history, bias, temperature=1.7, top_k=500, top_p=0.9, min_p=0.01, penalty_last_n=64,
            repetition_penalty=1.3, frequency_penalty=0.2)
    with open(sys.argv[1], "w", encoding="utf-8") as f:
        f.write("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]\n")
    print(len(cases), "cases", [c["kept"] for c in cases])


if __name__ == "__main__":
    main()

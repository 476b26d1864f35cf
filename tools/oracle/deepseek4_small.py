#!/usr/bin/env python3
"""Makes tests/data/deepseek4: a model of a few hundred kB and what plain_deepseek4.py (float64) gives for it.

    deepseek4_small.py CONFIG.json OUT_DIR      -> NAME.gguf, NAME.golden.gguf, NAME.sim.golden.gguf

Needs numpy and gguf alone. Matrices are stored as float16; the reference reads the file, so both sides have the same
weights. A seed is refused whose choices hang on less than MARGIN: with floats another expert or row could be chosen."""
import json
import sys

import gguf
import numpy as np

import deepseek4
import plain_deepseek4

SEQUENCES = {False: ["len7", "len134"], True: ["len70"]}
MARGIN = 2e-4


def store(path, config, tensors):
    halves = {name: (gguf.GGMLQuantizationType.F16, x.astype(np.float16)) for name, x in tensors.items()
              if x.dtype == np.float32 and x.ndim > 1}
    w = gguf.GGUFWriter(path, "deepseek4")
    deepseek4.add_metadata(w, config)
    for name, x in tensors.items():
        if "nextn.hc_head" not in name:  # as files of one piece have it: the trunk's head serves
            w.add_tensor(name, halves[name][1] if name in halves else x)
    deepseek4.finish(w)


def gaps(model, inner):
    """The least distances between the last chosen and the first rejected, of experts and of rows."""
    experts, rows = np.inf, np.inf
    for layer in range(model.layers):
        if layer >= model.hash_layers:
            score = np.sort(inner[f"l{layer}.router_scores"], axis=1)[:, ::-1]
            experts = min(experts, (score[:, model.used - 1] - score[:, model.used]).min())
        key = f"l{layer}.index_scores"
        for t, score in enumerate(inner[key] if key in inner else []):
            seen = np.sort(score[:(t + 1) // 4])[::-1]
            if len(seen) > model.top_k:
                gap = (seen[model.top_k - 1] - seen[model.top_k]) / np.abs(seen).mean()
                rows = min(rows, gap if gap > 0 else np.inf)  # 0: no head wants either, in floats neither
    return experts, rows


def goldens(path, config, model, sim):
    out = {}
    for name, ids in deepseek4.sequences(config["seed"], config["vocab_size"], SEQUENCES[sim]).items():
        logits, inner = plain_deepseek4.forward(model, ids, sim)
        experts, rows = gaps(model, inner)
        print(f"{path}: {name}: logit deviation {logits.std():.2f}, gap of experts {experts:.1e}, of rows {rows:.1e}")
        if min(experts, rows) < MARGIN:
            sys.exit("another seed is needed")
        out[name + ".tokens"] = ids
        out[name + ".logits"] = logits.astype(np.float32)
        if len(ids) < 100 and not sim:
            out.update({f"{name}.{k}": v.astype(np.float32) for k, v in inner.items()
                        if k.endswith(("streams", "comp_rows", "logits_trunk_head")) and v.size})
        if not sim:
            out.update({f"{name}.{k}": inner[k].astype(np.int32) for k in inner if k.endswith("router_ids")})
    deepseek4.write_golden(path, out, {"reference": "plain_deepseek4.py, float64", "model": config["name"],
                                       "seed": config["seed"]})


def main(config_path, folder):
    config = json.load(open(config_path))
    stem = f"{folder}/{config['name']}"
    store(stem + ".gguf", config, deepseek4.random_tensors(config))
    model = plain_deepseek4.Model(stem + ".gguf")
    goldens(stem + ".golden.gguf", config, model, False)
    goldens(stem + ".sim.golden.gguf", config, model, True)


if __name__ == "__main__":
    main(*sys.argv[1:])

#!/usr/bin/env python3
"""Encodes a model in every format and lets gguf-py decode the blocks: the same bits are wanted.

    python3 tools/check_encoders.py build/release/varve MODEL.gguf

Needs numpy and gguf. Run by hand; MODEL should have rows of 256 values or more, in F16 or F32.
"""
import os
import subprocess
import sys
import tempfile

import numpy as np
from gguf import GGMLQuantizationType, GGUFReader, dequantize

TYPES = ("F32 F16 BF16 Q8_0 Q4_0 Q4_1 Q5_0 Q5_1 Q2_K Q3_K Q4_K Q5_K Q6_K IQ4_NL IQ4_XS "
         "MXFP4").split()


def quantize(varve, model, kind, out):
    subprocess.run([varve, "quantize", "-m", model, "-t", kind, "-o", out, "--json"], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def ours(varve, path, name, npy):
    subprocess.run([varve, "inspect", "-m", path, "--tensor", name, "--out", npy], check=True)
    return np.load(npy).reshape(-1)


def check(varve, model, kind, folder):
    """Tensors and values compared, and names of those that differ."""
    path, npy = os.path.join(folder, "encoded.gguf"), os.path.join(folder, "values.npy")
    quantize(varve, model, kind, path)
    wanted, tensors, values, differ = GGMLQuantizationType[kind], 0, 0, []
    for tensor in GGUFReader(path).tensors:
        if tensor.tensor_type == wanted:
            theirs = dequantize(tensor.data, wanted).astype(np.float32).reshape(-1)
            mine = ours(varve, path, tensor.name, npy)
            tensors, values = tensors + 1, values + mine.size
            if mine.tobytes() != theirs.tobytes():
                differ.append(tensor.name)
    return tensors, values, differ


def main():
    varve, model = sys.argv[1:]
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for kind in TYPES:
            tensors, values, differ = check(varve, model, kind, folder)
            failed += bool(differ) or tensors == 0
            print(f"{kind:8} {tensors:4} tensors {values:9} values  "
                  + (f"differ: {' '.join(differ)}" if differ else "equal" if tensors else "none"))
    print(f"check_encoders: {len(TYPES) - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())

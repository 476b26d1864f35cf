#!/usr/bin/env python3
"""Copies the first query rows of the index scorer's goldens into the tree, for the unit tests.

    python3 tools/scorer_excerpt.py FIXTURES/deepseek4/scorer.golden.gguf tests/data/deepseek4/scorer.golden.gguf

Tensors whose last dimension counts rows are cut there; the case `c` is kept whole.
"""
import os
import sys

from quant_excerpt import Reader, write

BYTES = {0: 4, 26: 4, 28: 8}  # F32, I32, F64
ROWS = {"a": 1, "b": 2, "c": 2}
PER_ROW = ("q", "w", "vis", "s64", "s64_half", "s32_mul", "s32_fma", "topk")


def main():
    source, target = sys.argv[1:]
    os.makedirs(os.path.dirname(target), exist_ok=True)
    reader = Reader(source)
    tensors = []
    for name, (ne, kind, place) in reader.container()[1].items():
        case, what = name.split(".")
        if what in PER_ROW:
            ne = ne[:-1] + [ROWS[case]]
        size = BYTES[kind]
        for n in ne:
            size *= n
        tensors.append((name, ne, kind, reader.bytes[place:place + size]))
    write(target, tensors)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Copies the vocabulary of a GGUF file into one without tensors, for tests: vocabulary_only.py FROM TO"""
import struct
import sys

SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
STRING, ARRAY = 8, 9


def number(data, at, form):
    return struct.unpack_from("<" + form, data, at)[0]


def value_end(data, at, kind):
    if kind == STRING:
        return at + 8 + number(data, at, "Q")
    if kind != ARRAY:
        return at + SIZES[kind]
    element, count = number(data, at, "I"), number(data, at + 4, "Q")
    at += 12
    for _ in range(count):
        at = value_end(data, at, element)
    return at


def main():
    data = open(sys.argv[1], "rb").read()
    assert data[:4] == b"GGUF" and number(data, 4, "I") in (2, 3)
    at, kept = 24, []
    for _ in range(number(data, 16, "Q")):
        begin, length = at, number(data, at, "Q")
        key = data[at + 8:at + 8 + length].decode()
        at = value_end(data, at + 12 + length, number(data, at + 8 + length, "I"))
        if key == "general.architecture" or key.startswith("tokenizer."):
            kept.append(data[begin:at])
    with open(sys.argv[2], "wb") as out:
        out.write(b"GGUF" + struct.pack("<IQQ", 3, 0, len(kept)) + b"".join(kept))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Copies a few telling rows of the decoding goldens into the tree, for the unit tests.

    python3 tools/quant_excerpt.py FIXTURES/quant tests/data/quant

A file of the goldens is a GGUF container: `blocks`, `values` (rows of 256), and a key with the kind
of each row. Kept are an ordinary row of either size, a row of random bits, and edges.
"""
import os
import struct
import sys

SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "B", 10: "Q", 11: "q", 12: "d"}
EDGES = ("all", "payload 0xff", "scale 65504", "smallest denormal", "scale -0,", "scale 1, second scale -1",
         "scale doubles", "codes", "zeros", "infinities", "negative", "every scale byte")


class Reader:
    def __init__(self, path):
        with open(path, "rb") as f:
            self.bytes = f.read()
        self.at = 8

    def number(self, kind):
        value, = struct.unpack_from("<" + kind, self.bytes, self.at)
        self.at += struct.calcsize("<" + kind)
        return value

    def string(self):
        length = self.number("Q")
        self.at += length
        return self.bytes[self.at - length:self.at].decode()

    def value(self, kind):
        if kind == 8:
            return self.string()
        if kind == 9:
            kind, count = self.number("I"), self.number("Q")
            return [self.value(kind) for _ in range(count)]
        return self.number(SCALARS[kind])

    def container(self):
        """Keys, and for each tensor its dimensions, type and place in the file."""
        tensors, keys = self.number("Q"), self.number("Q")
        pairs = {}
        for _ in range(keys):
            key = self.string()
            pairs[key] = self.value(self.number("I"))
        found = {}
        for _ in range(tensors):
            name, dims = self.string(), self.number("I")
            found[name] = [[self.number("Q") for _ in range(dims)], self.number("I"), self.number("Q")]
        start = -(-self.at // 32) * 32
        for tensor in found.values():
            tensor[2] += start
        return pairs, found


def wanted(kinds):
    """Row numbers: for each kind the first, for those that run through all scale bytes the last too."""
    rows = [0, 16, kinds.index(next(k for k in kinds if k.startswith("random bits")))]
    for edge in EDGES:
        of_kind = [i for i, kind in enumerate(kinds) if kind.startswith("edge: " + edge)]
        rows += of_kind[:1] + (of_kind[-1:] if edge == "every scale byte" else [])
    return sorted(set(rows))


def write(path, tensors):
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), 0)
    body = b""
    for name, ne, kind, data in tensors:
        head += struct.pack("<Q", len(name)) + name.encode() + struct.pack("<I", len(ne))
        head += struct.pack("<%dQ" % len(ne), *ne) + struct.pack("<IQ", kind, len(body))
        body += data + bytes(-len(data) % 32)
    with open(path, "wb") as f:
        f.write(head + bytes(-len(head) % 32) + body)


def main():
    source, target = sys.argv[1:]
    os.makedirs(target, exist_ok=True)
    for file in sorted(f for f in os.listdir(source) if f.endswith(".gguf")):
        reader = Reader(os.path.join(source, file))
        keys, found = reader.container()
        rows = wanted(keys["varve.quant.rows"])
        bytes_a_row = 256 // keys["varve.quant.block_values"] * keys["varve.quant.block_bytes"]
        tensors = []
        for name, size in (("blocks", bytes_a_row), ("values", 1024)):
            ne, kind, place = found[name]
            data = b"".join(reader.bytes[place + r * size:place + (r + 1) * size] for r in rows)
            tensors.append((name, [ne[0], len(rows)], kind, data))
        write(os.path.join(target, file), tensors)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Writes the seeds of fuzz/gguf_fuzz.c: gguf_seeds.py fuzz/corpus/gguf

Tiny files that together have everything the reader knows: both versions, every value and tensor type, arrays, both
kinds of Q2_0, split sets (several files in one input, with the fuzz target's mark between them), and some that are
refused. A test opens them all; the names of the refused ones begin with "bad_".
"""
import pathlib
import struct
import sys

MARK = b"\n--next file--\n"
VALUES = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
STRING, ARRAY = 8, 9
F32, Q2_0 = 0, 42
TENSORS = {  # id: values and bytes a block
    0: (1, 4), 1: (1, 2), 2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34), 9: (32, 36), 10: (256, 84),
    11: (256, 110), 12: (256, 144), 13: (256, 176), 14: (256, 210), 15: (256, 292), 16: (256, 66), 17: (256, 74),
    18: (256, 98), 19: (256, 50), 20: (32, 18), 21: (256, 110), 22: (256, 82), 23: (256, 136), 24: (1, 1), 25: (1, 2),
    26: (1, 4), 27: (1, 8), 28: (1, 8), 29: (256, 56), 30: (1, 2), 34: (256, 54), 35: (256, 66), 39: (32, 17),
    40: (64, 36), 41: (128, 18), 42: (64, 18)}


def string(text):
    return struct.pack("<Q", len(text)) + text


def value(kind, v):
    return string(v) if kind == STRING else struct.pack("<" + VALUES[kind], v)


def one(key, kind, v):
    return string(key) + struct.pack("<I", kind) + value(kind, v)


def array(key, kind, vs):
    return string(key) + struct.pack("<IIQ", ARRAY, kind, len(vs)) + b"".join(value(kind, v) for v in vs)


def pad(data, alignment):
    return data + bytes(-len(data) % alignment)


def file(entries=(), tensors=(), alignment=32, version=3, end=b""):
    """tensors: (name, shape, type id, bytes of data)"""
    head, data = b"", b""
    for name, shape, kind, size in tensors:
        data = pad(data, alignment)
        head += string(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, len(data))
        data += bytes(i & 255 for i in range(size))
    head = struct.pack("<4sIQQ", b"GGUF", version, len(tensors), len(entries)) + b"".join(entries) + head
    return pad(head, alignment) + data + end


def split(number, count, tensors, total):
    entries = [one(b"split.no", 2, number), one(b"split.count", 2, count), one(b"split.tensors.count", 5, total)]
    return file(([one(b"general.name", STRING, b"split")] if number == 0 else []) + entries, tensors)


def seeds():
    small = [(b"a", (8,), F32, 32), (b"b", (4, 2), F32, 32)]
    meta = [one(b"general.architecture", STRING, b"test"), one(b"test.block_count", 4, 2)]
    yield "version_2", file(meta, small, version=2)
    yield "version_3", file(meta, small)
    yield "nothing", file()
    yield "values", file([one(f"v{k}".encode(), k, 1) for k in VALUES] + [one(b"text", STRING, b"a\0b\xff")])
    yield "extremes", file([one(b"u64", 10, 2**64 - 1), one(b"i64", 11, -2**63), one(b"nan", 6, float("nan")),
                            one(b"inf", 12, float("inf")), one(b"i8", 1, -128), one(b"large", 12, 1e300)])
    yield "arrays", file([array(f"a{k}".encode(), k, [0, 1, 1]) for k in VALUES] +
                         [array(b"words", STRING, [b"one", b"", b"t\0o"]), array(b"none", STRING, []), array(b"zero", 4, [])])
    yield "shapes", file(tensors=[(b"s%d" % n, (3, 2, 2, 1)[:n], 24, (1, 3, 6, 12, 12)[n]) for n in range(5)])
    yield "types", file(tensors=[(b"t%d" % k, (v,), k, size) for k, (v, size) in TENSORS.items()])
    yield "alignment_8", file([one(b"general.alignment", 4, 8)], small, 8)
    yield "alignment_64", file([one(b"general.alignment", 4, 64)], small, 64)
    yield "q2_0_64", file(tensors=[(b"a", (1024, 4), Q2_0, 64 * 18), (b"b", (64,), Q2_0, 18)])
    yield "q2_0_128", file(tensors=[(b"a", (1024, 4), Q2_0, 32 * 34), (b"b", (128,), Q2_0, 34)])
    yield "unpadded_end", file(meta, [(b"a", (3,), F32, 12)], end=b"\0")
    parts = [split(0, 3, small, 3), split(1, 3, [], 3), split(2, 3, [(b"c", (2,), F32, 8)], 3)]
    yield "split", MARK.join(parts)
    yield "split_unsorted", MARK.join([parts[2], parts[0], parts[1]])
    yield "split_q2_0_128", MARK.join([split(0, 2, [(b"a", (4096,), Q2_0, 32 * 34)], 2),
                                       split(1, 2, [(b"b", (128,), Q2_0, 34)], 2)])
    yield "bad_split_alone", parts[0]
    yield "bad_split_twice", MARK.join([parts[0], parts[0], parts[2]])
    yield "bad_version_1", file(version=1)
    yield "bad_big_endian", file(version=3 << 24)
    yield "bad_ggml", b"tjgg" + bytes(60)
    yield "bad_overlap", file(tensors=[(b"a", (16,), F32, 32), (b"b", (8,), F32, 32)])
    yield "bad_cut", file(meta, small)[:-1]
    yield "bad_twice", file([one(b"k", 4, 1), one(b"k", 4, 2)])
    yield "bad_wrap", file(tensors=[(b"a", (2**63, 2), 24, 32)])


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in seeds():
        (folder / name).write_bytes(data)


if __name__ == "__main__":
    main()

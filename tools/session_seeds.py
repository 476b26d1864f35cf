#!/usr/bin/env python3
"""Writes the seeds of fuzz/session_fuzz.c: session files by the description in docs/sessions.md, of
the state that the fuzzer declares. Checksums are left to the fuzzer. Needs the command zstd."""
import pathlib
import struct
import subprocess
import sys

CONTEXT_PAGE = 4
TOKENS, NOTE, PAGE, MARK, END = range(5)


def entries_grown(length):
    return max(length - 1, 0), length // 3  # of k, which lags one token; of pooled


def grown_bytes(begin, end):
    (k0, p0), (k1, p1) = entries_grown(begin), entries_grown(end)
    return (k1 - k0) * 6 + (p1 - p0) * 4


def moving_bytes(length):
    return (16 if length else 0) + 4 * min(length, 2)


def planes(data):
    quarter = len(data) // 4
    return b"".join(data[i:4 * quarter:4] for i in range(4)) + data[4 * quarter:]


def block(kind, position, data, packed=False):
    stored = data
    if packed:
        stored = subprocess.run(["zstd", "-1", "-c"], input=planes(data), capture_output=True,
                                check=True).stdout
    return struct.pack("<IIQQQQ", kind, packed, position, len(data), len(stored), 0) + stored


def file(tokens, marks, note=b"", packed=False, version=1, origin=(0,) * 8 + (4,)):
    data = lambda n: bytes(i // 7 % 5 for i in range(n))
    out = b"varve.s\n" + struct.pack("<II", version, 96) + struct.pack("<QQQIIIIII", *origin)
    out += struct.pack("<QQII", tokens, len(note), len(marks), 0) + bytes(8)
    out += block(TOKENS, 0, data(4 * tokens), packed and tokens > 8) + block(NOTE, 0, note)
    for begin in range(0, tokens, CONTEXT_PAGE):
        end = min(begin + CONTEXT_PAGE, tokens)
        out += block(PAGE, end, data(grown_bytes(begin, end)))
    for mark in marks:
        out += block(MARK, mark, data(moving_bytes(mark)))
    return out + block(END, len(out), b"")


seeds = {
    "empty": file(0, []),
    "short": file(3, [3], b"a note"),
    "pages": file(17, [4, 9, 17]),
    "packed": file(40, [1, 40], packed=True),
    "bad_version": file(3, [3], version=2),
    "bad_weights": file(3, [3], origin=(0, 1, 0, 0, 0, 0, 0, 0, 4)),
    "bad_half": file(3, [3], origin=(0, 0, 0, 1, 0, 0, 0, 0, 4)),
    "bad_long": file(41, [41]),
    "bad_marks": file(9, [9, 5]),
    "bad_no_end": file(9, [5]),
    "bad_cut": file(17, [17])[:-41],
    "bad_more": file(17, [17]) + b"\0",
}
folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "fuzz/corpus/session")
folder.mkdir(parents=True, exist_ok=True)
for name, content in seeds.items():
    (folder / name).write_bytes(content)

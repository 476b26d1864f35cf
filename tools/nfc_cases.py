#!/usr/bin/env python3
"""Writes tests/data/text/nfc.txt: texts and their normalisation form C, by unicodedata2 16.0.0.

A line is TEXT;NFC, code points in hexadecimal. It holds what decomposes or joins in every way: sequences of random
characters that NFC touches, from a fixed seed, and some by hand.
"""
import os
import random

import unicodedata2 as unicode

HAND = ["e\u0301", "\u00e9", "A\u030a", "\u212b", "\u0344", "\u0958", "\ufb1d", "\u2adc", "e\u0301\u0327", "e\u0327\u0301",
        "\u1100\u1161\u11a8", "\uac00\u11a8", "\uac01\u11a8", "\u1100\u1161\u1161", "\u0fb2\u0f71\u0f80", "\U0001d15e", "\uf900",
        "\u2000", "\u1fef", "q\u0307\u0323", "\u0b47\u0b3e", "\u09c7\u09be", "\u1025\u102e", "\u3046\u3099", "\U00011099\U000110ba",
        "\u0301", "\u0301a", "a\u0315\u0300\u05ae\u0062", "\U000113c2\U000113c2", "\U00016121\U0001611f"]


def main():
    if unicode.unidata_version != "16.0.0":
        raise SystemExit("install unicodedata2==16.0.0")
    scalars = [chr(c) for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]
    touched = [c for c in scalars if unicode.combining(c) or unicode.normalize("NFD", c) != c]
    touched = [c for c in touched if not "\uac00" <= c <= "\ud7a3"]
    parts = [p for c in touched for p in unicode.normalize("NFD", c)]
    hangul = [chr(c) for c in (0xAC00, 0xAC01, 0xAC1C, 0xD788, 0xD7A3, 0x1100, 0x1112, 0x1161, 0x1175, 0x11A7, 0x11A8, 0x11C2)]
    random.seed(16)
    texts = HAND + ["".join(random.choice(random.choice([touched, parts, parts, hangul, "aA"])) for _ in range(random.randrange(2, 8)))
                    for _ in range(600)]
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "data", "text", "nfc.txt")
    with open(path, "w", encoding="ascii") as out:
        for text in texts:
            out.write(";".join(" ".join(f"{ord(c):04X}" for c in t) for t in (text, unicode.normalize("NFC", text))) + "\n")


if __name__ == "__main__":
    main()

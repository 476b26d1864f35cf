#!/usr/bin/env python3
"""Writes the constant tables of the block formats, src/quant/tables.h and tables.c, from tools/data.

    python3 tools/quant_tables.py          run from the top of the tree; the results are committed
"""
import json
import os

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")
# file in tools/data, C type, name in C, what it is
TABLES = (
    ("kvalues_iq4nl", "int8_t", "vv_iq4nl_values", "IQ4_NL, IQ4_XS: value of a four-bit code"),
    ("kvalues_mxfp4", "int8_t", "vv_e2m1_doubled", "MXFP4, NVFP4: twice the value of an E2M1 code (-0 is 0)"),
    ("ksigns", "uint8_t", "vv_iq_signs", "seven bits of signs to eight: an even number of ones"),
    ("iq2xxs_grid", "int8_t", "vv_iq2xxs_grid", "IQ2_XXS"),
    ("iq2xs_grid", "int8_t", "vv_iq2xs_grid", "IQ2_XS"),
    ("iq2s_grid", "int8_t", "vv_iq2s_grid", "IQ2_S"),
    ("iq3xxs_grid", "int8_t", "vv_iq3xxs_grid", "IQ3_XXS"),
    ("iq3s_grid", "int8_t", "vv_iq3s_grid", "IQ3_S"),
    ("iq1s_grid", "int8_t", "vv_iq1s_grid", "IQ1_S, IQ1_M"),
)


def read(name):
    """A list of numbers, or of rows of numbers."""
    with open(os.path.join(DATA, name + ".json")) as f:
        table = json.load(f)
    if "values" in table:
        return table["values"]
    return [[b - 256 if b > 127 else b for b in bytes.fromhex(row)] for row in table["rows"]]


def initializer(values):
    if isinstance(values[0], list):
        items = ["{" + ", ".join(map(str, row)) + "}" for row in values]
    else:
        items = list(map(str, values))
    lines, line = [], "   "
    for item in items:
        if len(line) + len(item) + 2 > 100:
            lines.append(line)
            line = "   "
        line += " " + item + ","
    return "\n".join(lines + [line])


def main():
    note = "Made by tools/quant_tables.py from tools/data; don't edit."
    head = ["/* Constant tables of the block formats. " + note, " */", "#pragma once", "#include <stdint.h>", ""]
    body = ["/* " + note + " */", "#ifndef VV_TABLES_INLINE",
            '#include "quant/tables.h"', "#endif", "", "#ifndef VV_TABLE",
            "#define VV_TABLE const", "#endif", "", "/* clang-format off */"]
    for file, kind, name, what in TABLES:
        values = read(file)
        size = "[%d]" % len(values)
        if isinstance(values[0], list):
            size += "[%d]" % len(values[0])
        head += ["/* " + what + ". */", "extern const %s %s%s;" % (kind, name, size)]
        body.append("VV_TABLE %s %s%s = {\n%s\n};" % (kind, name, size, initializer(values)))
    for path, text in (("tables.h", head), ("tables.c", body)):
        with open(os.path.join(os.path.dirname(DATA), "..", "src", "quant", path), "w") as f:
            f.write("\n".join(text) + "\n")


if __name__ == "__main__":
    main()

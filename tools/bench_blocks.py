"""Random weights in GGUF's block formats: every block valid, a tensor's mean zero, its deviation
as asked for. For tools/bench_model.py; needs numpy, and gguf's decoder to measure deviations."""
import math

import numpy as np

# name: GGUF's number of the type, values of a block, bytes of a block
FORMATS = {
    "F32": (0, 1, 4), "F16": (1, 1, 2), "BF16": (30, 1, 2), "I32": (26, 1, 4),
    "Q4_0": (2, 32, 18), "Q5_0": (6, 32, 22), "Q5_1": (7, 32, 24), "Q8_0": (8, 32, 34),
    "Q2_K": (10, 256, 84), "Q3_K": (11, 256, 110), "Q4_K": (12, 256, 144), "Q5_K": (13, 256, 176),
    "Q6_K": (14, 256, 210), "IQ2_XXS": (16, 256, 66), "IQ2_XS": (17, 256, 74),
    "IQ3_XXS": (18, 256, 98), "IQ1_S": (19, 256, 50), "IQ4_NL": (20, 32, 18),
    "IQ3_S": (21, 256, 110), "IQ2_S": (22, 256, 82), "IQ4_XS": (23, 256, 136),
    "MXFP4": (39, 32, 17), "Q2_0": (42, 64, 18),
}
# Where the half-precision scale lies in a block that has one and no offset.
SCALE = {"Q4_0": 0, "Q5_0": 0, "Q8_0": 0, "Q3_K": 108, "Q6_K": 208, "IQ2_XXS": 0, "IQ2_XS": 0,
         "IQ2_S": 0, "IQ3_XXS": 0, "IQ3_S": 0, "IQ1_S": 0, "IQ4_NL": 0, "IQ4_XS": 0, "Q2_0": 0}
# Codes of these have a mean that is not zero: the scale's sign is drawn, which centres the tensor.
SIGNED = {"Q4_0", "Q5_0", "IQ4_NL", "Q2_0"}
# What stands in for a type whose blocks don't fill the rows.
STAND_IN = {"Q4_K": "Q5_0", "Q5_K": "Q5_1", "Q6_K": "Q8_0", "Q2_K": "Q4_0", "Q3_K": "Q4_0"}
# Root mean square of the codes 0 1 2 3 4 6 8 12 (twice an FP4 value).
FP4_RMS = math.sqrt(34.25)
# Deviation of a 16-bit integer drawn evenly.
INT16_DEVIATION = 18918.6


def row_bytes(kind, width):
    _, values, size = FORMATS[kind]
    if width % values:
        raise ValueError(f"{kind}: rows of {width} values are no whole blocks of {values}")
    return width // values * size


def fitting(kind, width):
    """`kind`, or what a quantiser would put in its place for rows of this width."""
    if width % FORMATS[kind][1] == 0:
        return kind
    other = STAND_IN.get(kind, "IQ4_NL" if kind.startswith("IQ") else "Q8_0")
    return other if width % FORMATS[other][1] == 0 else "BF16"


def raw_bytes(bits, count):
    return bits.random_raw((count + 7) // 8).view(np.uint8)[:count]


def half_scales(bits, count, mean, signed):
    """Scales from 0.75 to 1.25 of the mean; with `signed` half of them negative."""
    drawn = raw_bytes(bits, 2 * count).view(np.uint16)
    scale = (0.75 + (drawn & 0x7fff) * np.float32(0.5 / 0x7fff)) * np.float32(mean)
    return (np.where(drawn & 0x8000, -scale, scale) if signed else scale).astype("<f2")


def put_half(blocks, at, values):
    blocks[:, at:at + 2] = values.astype("<f2", copy=False).view(np.uint8).reshape(-1, 2)


def put_scale_and_offset(blocks, at, bits, mean, offset):
    """A scale, and beside it the offset: `offset` times the scale, which centres the codes."""
    scale = half_scales(bits, len(blocks), mean, False)
    put_half(blocks, at, scale)
    put_half(blocks, at + 2, scale.astype(np.float32) * offset)


def random_blocks(kind, bits, count, mean):
    """[count][bytes of a block]; `mean` is that of the scales, for MXFP4 the deviation itself."""
    size = FORMATS[kind][2]
    blocks = raw_bytes(bits, count * size).reshape(count, size)
    if kind in SCALE:
        put_half(blocks, SCALE[kind], half_scales(bits, count, mean, kind in SIGNED))
    elif kind == "Q5_1":
        put_scale_and_offset(blocks, 0, bits, mean, -15.5)
    elif kind in ("Q4_K", "Q5_K"):  # sub-blocks have their minimum's factor equal to their scale
        put_scale_and_offset(blocks, 0, bits, mean, 7.5 if kind == "Q4_K" else 15.5)
        blocks[:, 8:12] = blocks[:, 4:8]
        blocks[:, 12:16] = (blocks[:, 12:16] & 15) * 17
    elif kind == "Q2_K":
        blocks[:, 0:16] = (blocks[:, 0:16] & 15) * 17
        put_scale_and_offset(blocks, 80, bits, mean, 1.5)
    elif kind == "MXFP4":  # scales are powers of two: two neighbours in the share that gives it
        exponent = math.log2(mean / FP4_RMS)
        low = math.floor(exponent)
        share = (4 ** (exponent - low) - 1) / 3
        blocks[:, 0] = 128 + low + (blocks[:, 0] < round(256 * share))
    else:
        raise ValueError(f"no random blocks are known for {kind}")
    return blocks


def encode_plain(kind, values):
    """The bytes of numbers in a type without blocks."""
    if kind == "BF16":
        word = np.ascontiguousarray(values, "<f4").view(np.uint32)
        return ((word + 0x8000) >> 16).astype("<u2").view(np.uint8)
    form = {"F32": "<f4", "F16": "<f2", "I32": "<i4"}[kind]
    return np.ascontiguousarray(values, form).view(np.uint8)


def random_plain(kind, bits, count, deviation):
    drawn = raw_bytes(bits, 2 * count).view(np.int16).astype(np.float32)
    return encode_plain(kind, drawn * np.float32(deviation / INT16_DEVIATION))


def decoded(kind, mean, count):
    blocks = random_blocks(kind, np.random.SFC64(7), count, mean)
    if kind == "Q2_0":  # codes 0 to 3 are -1 to 2; gguf does not know the type
        codes = blocks[:, 2:, None] >> np.array([0, 2, 4, 6], np.uint8) & 3
        scale = np.ascontiguousarray(blocks[:, :2]).view("<f2").astype(np.float32)
        return (codes.reshape(count, 64).astype(np.float32) - 1) * scale
    import gguf
    return gguf.quants.dequantize(blocks, gguf.GGMLQuantizationType[kind])


deviations = {"MXFP4": 1.0}


def unit_deviation(kind):
    """Deviation of values whose scales have mean 1; measured once."""
    if kind not in deviations:
        square = np.square(decoded(kind, 1.0, 4096), dtype=np.float64)
        deviations[kind] = float(np.sqrt(np.mean(square)))
    return deviations[kind]


def random_weights(kind, bits, count, deviation):
    """`count` whole blocks (values, where there are no blocks) as bytes, piece by piece."""
    _, values, size = FORMATS[kind]
    mean = deviation if values == 1 else deviation / unit_deviation(kind)
    while count:
        piece = min(count, (16 << 20) // size)
        make = random_plain if values == 1 else random_blocks
        yield make(kind, bits, piece, mean)
        count -= piece


def check_deviations():
    """Prints mean and deviation of each type where 0.02 was asked for; True if all are near."""
    fine = True
    for kind, (_, values, _) in FORMATS.items():
        if values > 1:
            x = decoded(kind, 0.02 / unit_deviation(kind), 16384).astype(np.float64)
            deviation, mean = math.sqrt(np.mean(x * x)), x.mean()
            near = abs(deviation / 0.02 - 1) < 0.03 and abs(mean) < 0.001
            fine = fine and near
            print(f"{kind:8s} deviation {deviation:.5f}, mean {mean:+.5f}{'' if near else ': off'}")
    return fine

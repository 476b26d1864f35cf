/* MXFP4, 32 values: u8 e; u8 qs[16]. Nibbles as in Q4_0, E2M1 codes; value 2^(e - 128) * twice the
 * code's value. */
#pragma once
#include "quant/bits.h"
#include "quant/tables.h"

VV_INLINE void vv_unpack_mxfp4(const uint8_t *block, size_t part, struct vv_segment *out) {
    vv_bytes16 n = vv_load_bytes(block + 1);
    uint32_t e = block[0]; /* 2^-128 and 2^-127 are denormal */
    out->step_d[part] = vv_from_bits(e < 2 ? 0x00200000u << e : (e - 1) << 23);
    vv_look_up(vv_e2m1_doubled, n & 15, &out->group[2 * part]);
    vv_look_up(vv_e2m1_doubled, n >> 4, &out->group[2 * part + 1]);
}

/* IQ4_XS, 256 values: f16 d; u16 sh; u8 sl[4]; u8 qs[128]. Group k of 32 values: 16 bytes of qs as
 * in IQ4_NL; sub-scale: low four bits a nibble of sl, high two at bit 2k of sh, minus 32. */
#pragma once
#include "quant/bits.h"
#include "quant/tables.h"

VV_INLINE void vv_unpack_iq4_xs(const uint8_t *block, size_t part, struct vv_segment *out) {
    const uint8_t *sl = block + 4 + 2 * part, *qs = block + 8 + 64 * part;
    int sh = vv_load16(block + 2) >> 8 * part;
    out->d = vv_load_half(block);
    for (int k = 0; k < 4; k++) {
        int low = sl[k / 2] >> 4 * (k % 2) & 15, high = sh >> 2 * k & 3;
        out->scale[2 * k] = out->scale[2 * k + 1] = (int16_t)((low | high << 4) - 32);
    }
    for (int k = 0; k < 4; k++) {
        vv_bytes16 n = vv_load_bytes(qs + 16 * k);
        vv_look_up(vv_iq4nl_values, n & 15, &out->group[2 * k]);
        vv_look_up(vv_iq4nl_values, n >> 4, &out->group[2 * k + 1]);
    }
}

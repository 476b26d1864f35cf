/*
 * NVFP4, 64 values: u8 d[4]; u8 qs[32]. Step s of 16 values has bytes 8s..8s+7 of qs: low nibbles
 * are values 0..7, high ones 8..15, E2M1 codes. Value UE4M3(d[s]) / 2 * twice the code's value; the
 * tensor's separate scale is applied to results.
 */
#pragma once
#include "quant/bits.h"
#include "quant/tables.h"

/* Half of UE4M3. 0x7f, a NaN in the format, is 0; from 0x80 the low seven bits count, but 0xff is
 * 480. No encoder writes these. */
VV_INLINE float vv_half_ue4m3(uint32_t byte) {
    uint32_t low = byte & 127;
    float normal = vv_from_bits((low << 20) + (119u << 23));
    float denormal = (float)low * 0x1p-10f;
    return byte == 255 ? 240.0f : low == 127 ? 0.0f : low < 8 ? denormal : normal;
}

VV_INLINE void vv_unpack_nvfp4(const uint8_t *block, size_t part, struct vv_segment *out) {
    typedef uint64_t pair __attribute__((vector_size(16)));
    for (size_t s = 0; s < 4; s++) {
        uint64_t qs;
        memcpy(&qs, block + 4 + 8 * s, sizeof qs);
        pair n = {qs, qs >> 4};
        out->step_d[4 * part + s] = vv_half_ue4m3(block[s]);
        vv_look_up(vv_e2m1_doubled, (vv_bytes16)n & 15, &out->group[4 * part + s]);
    }
}

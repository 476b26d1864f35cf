/*
 * IQ2_XXS for threads that take whole segments. Its grid has three magnitudes, so four values with
 * their signs are a selector among six bytes: eight values cost two words of tables, one for
 * magnitudes and one for signs, and two permutations. A block keeps the tables in its shared
 * memory, made out of the format's own before the kernel in front is done.
 */
#pragma once
#include "op/cuda/group.cuh"

namespace vv_products {

struct selector_tables {
    uint32_t magnitude[256]; /* by entries of the grid: 0, 1, 2 in each nibble */
    uint32_t sign[128];      /* by seven signs: 4 in the nibble of a value below 0 */
};
static VV_DEVICE selector_tables &selectors() {
    __shared__ selector_tables tables;
    return tables;
}

/* 8, 25, 43 in four bytes to 0, 1, 2 in four nibbles. */
static VV_DEVICE uint32_t selector_of(uint32_t bytes) {
    uint32_t code = bytes >> 4 & 0x03030303u;
    code = (code | code >> 4) & 0x00ff00ffu;
    return (code | code >> 8) & 0xffffu;
}
/* Bit i to bit 2 of nibble i. */
static VV_DEVICE uint32_t selector_of_signs(uint32_t bits) {
    bits = (bits | bits << 12) & 0x000f000fu;
    bits = (bits | bits << 6) & 0x03030303u;
    return ((bits | bits << 3) & 0x11111111u) << 2;
}

/* By all threads of a block. */
static VV_DEVICE void prepare_selectors() {
    selector_tables &tables = selectors();
    VV_UNROLL_BY(1)
    for (unsigned i = threadIdx.x; i < 256; i += blockDim.x) {
        uint2 grid = vv_codes::grid8(vv_on_gpu::table_iq2xxs[i]);
        tables.magnitude[i] = selector_of(grid.x) | selector_of(grid.y) << 16;
        if (i < 128) {
            tables.sign[i] = selector_of_signs(vv_on_gpu::table_signs[i]);
        }
    }
}

/* What such threads decode by. */
template <int TYPE> struct codes_at_hand : vv_codes::of<TYPE> {};

template <> struct codes_at_hand<VV_TYPE_IQ2_XXS> {
    VV_CODES void unpack(const uint8_t *q, const uint8_t *h, int k, vv_group &g) {
        constexpr uint32_t above = 0x002b1908u, below = 0x00d5e7f8u; /* 8, 25, 43; -8, … */
        const selector_tables &tables = selectors();
        uint2 at = vv_codes::load8(q + 8 * k);
        vv_codes::same_scale((int)(2 * (at.y >> 28) + 1), g);
        VV_UNROLL
        for (int i = 0; i < 4; i++) {
            uint32_t selector =
                tables.magnitude[at.x >> 8 * i & 255] | tables.sign[at.y >> 7 * i & 127];
            g.w[2 * i] = (int)vv_select_bytes(above, below, selector);
            g.w[2 * i + 1] = (int)vv_select_bytes(above, below, selector >> 16);
        }
        g.d = vv_codes::half_at(h) * 0.125f;
    }
};

} // namespace vv_products

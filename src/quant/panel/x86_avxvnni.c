/* Products of panels with the dot-product instruction on 256 bits (processors without AVX-512). */
#include "quant/panel/x86_ymm.h"

#define BLOCK_ANY(k) BLOCK(ANY, k)
#define BLOCK_16_ANY(k) BLOCK_16(ANY, k)
#define BLOCK_OFFSET_ANY(k) BLOCK_OFFSET(ANY, k)
#define SUPER_4_OFFSET_ANY(k) SUPER_4_OFFSET(ANY, k)
#define SUPER_8_ANY(k) SUPER_8(ANY, k)
#define SUPER_8_OFFSET_ANY(k) SUPER_8_OFFSET(ANY, k)
DOTS(block, BLOCK_ANY)
DOTS(block_16, BLOCK_16_ANY)
DOTS(block_offset, BLOCK_OFFSET_ANY)
DOTS(super_4_offset, SUPER_4_OFFSET_ANY)
DOTS(super_8, SUPER_8_ANY)
DOTS(super_8_offset, SUPER_8_OFFSET_ANY)

const struct vv_panel_kernel vv_panel_kernel_avxvnni = {
    .fill = vv_panel_fill_avx2,
    .dots = VV_PANEL_TABLE,
    .rows_dot = vv_rows_dot_avx2,
    .floats = vv_float_products_avx2,
};

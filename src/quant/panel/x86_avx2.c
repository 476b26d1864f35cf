/* Products of panels on AVX2, and unpacking for all kernels on vectors of 256 bits. */
#include "quant/panel/fill.h"
#include "quant/panel/x86_ymm.h"

vv_panel_fill *vv_panel_fill_avx2(int type) {
    return fill_of(type);
}

/* Pairs of products that may be added in 16 bits: 254 · largest · deep <= 32767. */
#define BLOCK_SIGNED(k) BLOCK(SIGNED, k)
#define BLOCK_31(k) BLOCK(4, k)
#define BLOCK_16_31(k) BLOCK_16(4, k)
#define BLOCK_OFFSET_31(k) BLOCK_OFFSET(4, k)
#define SUPER_4_OFFSET_31(k) SUPER_4_OFFSET(4, k)
#define SUPER_8_SIGNED(k) SUPER_8(SIGNED, k)
#define SUPER_8_63(k) SUPER_8(2, k)
#define SUPER_8_OFFSET_31(k) SUPER_8_OFFSET(4, k)
DOTS(block_signed, BLOCK_SIGNED)
DOTS(block_31, BLOCK_31)
DOTS(block_16, BLOCK_16_31)
DOTS(block_offset, BLOCK_OFFSET_31)
DOTS(super_4_offset, SUPER_4_OFFSET_31)
DOTS(super_8_signed, SUPER_8_SIGNED)
DOTS(super_8_63, SUPER_8_63)
DOTS(super_8_offset, SUPER_8_OFFSET_31)

static void block(const struct vv_panel *p, const struct vv_panel_format *f, size_t values,
                  const struct vv_panel_row *x, size_t n, float (*total)[VV_PANEL_ROWS]) {
    (f->largest <= 31 ? block_31 : block_signed)(p, f, values, x, n, total);
}

static void super_8(const struct vv_panel *p, const struct vv_panel_format *f, size_t values,
                    const struct vv_panel_row *x, size_t n, float (*total)[VV_PANEL_ROWS]) {
    (f->largest <= 63 ? super_8_63 : super_8_signed)(p, f, values, x, n, total);
}

const struct vv_panel_kernel vv_panel_kernel_avx2 = {
    .fill = vv_panel_fill_avx2,
    .dots = VV_PANEL_TABLE,
    .rows_dot = vv_rows_dot_avx2,
};

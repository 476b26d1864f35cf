#include "op/buffers.h"
#include "op/quantize_rows/contract.h"
#include "quant/format.h"

unsigned vv_planes_needed(const struct vv_planes *planes, int type) {
    enum vv_arithmetic arithmetic = vv_format(type)->arithmetic;
    if (planes->float_only || arithmetic == VV_ARITHMETIC_FLOAT) {
        return VV_PLANES_X;
    }
    return arithmetic == VV_ARITHMETIC_SUPER ? VV_PLANES_COARSE : VV_PLANES_FINE;
}

static size_t add(struct vv_buffer *out, size_t n, const void *at, size_t bytes, bool written) {
    if (out) {
        out[n] = written ? vv_writes(at, bytes) : vv_reads(at, bytes);
    }
    return n + 1;
}

size_t vv_planes_buffers(const struct vv_planes *planes, unsigned sets, size_t rows, bool written,
                         struct vv_buffer *out) {
    const struct vv_planes *p = planes;
    size_t n = 0, values = rows * p->width, sums = rows * (p->width / VV_SUM_UNIT);
    size_t coarse = rows * vv_plane_scales(p->width, VV_COARSE_UNIT);
    size_t fine = rows * vv_plane_scales(p->width, VV_FINE_UNIT);
    if (sets & VV_PLANES_X) {
        n = add(out, n, p->x, values * sizeof *p->x, written);
    }
    if (sets & VV_PLANES_COARSE) {
        n = add(out, n, p->coarse_q, values * sizeof *p->coarse_q, written);
        n = add(out, n, p->coarse_scale, coarse * sizeof *p->coarse_scale, written);
        n = add(out, n, p->coarse_sum16, sums * sizeof *p->coarse_sum16, written);
        if (p->coarse_panel) {
            n = add(out, n, p->coarse_panel, coarse * sizeof *p->coarse_panel, written);
        }
    }
    if (sets & VV_PLANES_FINE) {
        n = add(out, n, p->fine_q, values * sizeof *p->fine_q, written);
        n = add(out, n, p->fine_scale, fine * sizeof *p->fine_scale, written);
        n = add(out, n, p->fine_sum16, sums * sizeof *p->fine_sum16, written);
        if (p->fine_panel) {
            n = add(out, n, p->fine_panel, coarse * sizeof *p->fine_panel, written);
        }
    }
    return n;
}

#include "op/quantize_rows/check_planes.h"

#include <math.h>

struct vv_planes vv_check_planes(struct vv_check *check, const float *x, size_t rows, size_t width,
                                 unsigned sets) {
    return vv_check_planes_as(check, x, rows, width, sets, vv_check_below(check, 2) == 0);
}

struct vv_planes vv_check_planes_as(struct vv_check *check, const float *x, size_t rows,
                                    size_t width, unsigned sets, bool panels) {
    struct vv_planes p = {.width = width, .x = x};
    size_t panel = rows * vv_plane_scales(width, VV_COARSE_UNIT) * sizeof(struct vv_panel_row);
    if (sets & VV_PLANES_COARSE) {
        p.coarse_q = vv_check_memory(check, rows * width);
        p.coarse_scale = vv_check_floats(check, rows * vv_plane_scales(width, VV_COARSE_UNIT));
        p.coarse_sum16 = vv_check_memory(check, rows * width / VV_SUM_UNIT * sizeof(int16_t));
        p.coarse_panel = panels ? vv_check_memory(check, panel) : NULL;
    }
    if (sets & VV_PLANES_FINE) {
        p.fine_q = vv_check_memory(check, rows * width);
        p.fine_scale = vv_check_floats(check, rows * vv_plane_scales(width, VV_FINE_UNIT));
        p.fine_sum16 = vv_check_memory(check, rows * width / VV_SUM_UNIT * sizeof(int16_t));
        p.fine_panel = panels ? vv_check_memory(check, panel) : NULL;
    }
    int32_t count = (int32_t)rows;
    struct vv_quantize_rows args = {p, {&count, 1}};
    int error = vv_quantize_rows.variants->run(&args, 0, vv_quantize_rows.units(&args));
    vv_check_true(check, error == VV_OK, "activations of a case are out of range");
    return p;
}

void vv_check_spoil_row(const struct vv_planes *planes, size_t rows, size_t row) {
    size_t units = planes->width / VV_FINE_UNIT;
    for (size_t u = 0; u < units; u++) {
        planes->fine_scale[row * units + u] = INFINITY;
        if (planes->fine_panel) {
            planes->fine_panel[u / 4 * rows + row].scale[u % 4] = INFINITY;
        }
    }
}

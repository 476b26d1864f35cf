#include "base/dot.h"
#include "base/isa.h"
#include "op/rms_norm/contract.h"
#include "op/rms_norm/internal.h"

enum { BLOCK = 64 };

/* Goes through a block of its own: y may be x, and a loop from one to the other would then take the
 * compiler's slow path for arrays that overlap. */
static void scale(const float *x, float inv, const float *weight, float *y, size_t width) {
    for (size_t at = 0; at < width; at += BLOCK) {
        size_t n = width - at < BLOCK ? width - at : BLOCK;
        float scaled[BLOCK];
        for (size_t i = 0; i < n; i++) {
            scaled[i] = x[at + i] * inv;
        }
        for (size_t i = 0; i < n; i++) {
            y[at + i] = scaled[i] * weight[at + i];
        }
    }
}

int VV_ISA(vv_rms_norm_portable)(const void *args, size_t begin, size_t end) {
    const struct vv_rms_norm *a = args;
    for (size_t unit = begin; unit < end; unit++) {
        size_t row = unit / a->groups, group = unit % a->groups;
        const float *x = a->x + row * a->x_row + group * a->x_group;
        float *y = a->y + row * a->y_row + group * a->y_group;
        float sum = vv_dot(x, x, a->width);
        if (!isfinite(sum)) {
            return VV_ERROR_NOT_FINITE;
        }
        float inv = 1.0f / sqrtf(sum / (float)a->width + a->eps);
        scale(x, inv, a->weight + group * a->weight_group, y, a->width);
    }
    return VV_OK;
}

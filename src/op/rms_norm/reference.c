#include "op/plain.h"
#include "op/rms_norm/contract.h"
#include "op/rms_norm/internal.h"

int vv_rms_norm_reference(const void *args, size_t begin, size_t end) {
    const struct vv_rms_norm *a = args;
    for (size_t unit = begin; unit < end; unit++) {
        size_t row = unit / a->groups, group = unit % a->groups;
        const float *x = a->x + row * a->x_row + group * a->x_group;
        const float *weight = a->weight + group * a->weight_group;
        float *y = a->y + row * a->y_row + group * a->y_group;
        float sum = vv_plain_dot(x, x, a->width);
        if (!isfinite(sum)) {
            return VV_ERROR_NOT_FINITE;
        }
        float inv = 1.0f / sqrtf(sum / (float)a->width + a->eps);
        for (size_t i = 0; i < a->width; i++) {
            y[i] = (x[i] * inv) * weight[i];
        }
    }
    return VV_OK;
}

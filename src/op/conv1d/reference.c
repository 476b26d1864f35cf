#include "base/math.h"
#include "op/conv1d/internal.h"

int vv_conv1d_reference(const void *args, size_t begin, size_t end) {
    const struct vv_conv1d *a = args;
    for (size_t row = begin; row < end; row++) {
        for (size_t c = 0; c < a->channels; c++) {
            float acc = 0.0f;
            for (size_t m = 0; m < a->kernel; m++) {
                const float *x = vv_conv1d_input(a, row, a->dilation * (a->kernel - 1 - m));
                acc = fmaf(a->weight[c * a->kernel + m], x ? x[c] : 0.0f, acc);
            }
            size_t at = row * a->channels + c;
            a->onto[at] += a->p[at] + vv_silu(acc);
        }
    }
    return VV_OK;
}

#include "base/math.h"
#include "op/rope/contract.h"
#include "op/rope/internal.h"

int vv_rope_reference(const void *args, size_t begin, size_t end) {
    const struct vv_rope *a = args;
    size_t half = a->dims / 2;
    for (size_t unit = begin; unit < end; unit++) {
        size_t row = unit / a->heads, head = unit % a->heads;
        float *x = a->x + row * a->row_stride + head * a->head_stride;
        for (size_t i = 0; i < half; i++) {
            float xi = x[i], xj = x[i + half], s, c;
            vv_sincos_turn((uint64_t)a->window->position[row] * a->turn[i], &s, &c);
            x[i] = fmaf(xi, c, -(xj * s));
            x[i + half] = fmaf(xj, c, xi * s);
        }
    }
    return VV_OK;
}

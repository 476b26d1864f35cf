#include "base/math.h"
#include "op/rope_pairs/internal.h"

int vv_rope_pairs_reference(const void *args, size_t begin, size_t end) {
    const struct vv_rope_pairs *a = args;
    for (size_t unit = begin; unit < end; unit++) {
        size_t row = unit / a->heads, head = unit % a->heads;
        float *x = a->x + row * a->row_stride + head * a->head_stride;
        for (size_t i = 0; i < a->dims / 2; i++) {
            float even = x[2 * i], odd = x[2 * i + 1], s, c;
            vv_sincos_turn((uint64_t)a->window->position[row] * a->turn[i], &s, &c);
            s = a->back ? -s : s;
            x[2 * i] = fmaf(even, c, -(odd * s));
            x[2 * i + 1] = fmaf(odd, c, even * s);
        }
    }
    return VV_OK;
}

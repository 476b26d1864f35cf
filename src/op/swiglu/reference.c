/* The formula of contract.h, step by step. */
#include "base/math.h"
#include "op/swiglu/internal.h"

int vv_swiglu_reference(const void *args, size_t begin, size_t end) {
    const struct vv_swiglu *a = args;
    size_t n = vv_rows(a->rows) * a->width;
    for (size_t i = begin * VV_SWIGLU_UNIT; i < end * VV_SWIGLU_UNIT && i < n; i++) {
        float gate = a->gate[i], up = a->up[i];
        if (a->limit > 0.0f) {
            gate = gate > a->limit ? a->limit : gate;
            up = up > a->limit ? a->limit : up < -a->limit ? -a->limit : up;
        }
        float e = vv_exp(-fabsf(gate));
        float sigmoid = (gate < 0.0f ? e : 1.0f) / (1.0f + e);
        float silu = gate * sigmoid;
        a->h[i] = silu * up;
    }
    return VV_OK;
}

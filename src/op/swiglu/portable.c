/* A loop of constant length, without a question whether h is gate, that compilers can vectorise. */
#include "base/isa.h"
#include "base/math.h"
#include "op/swiglu/internal.h"

#include <string.h>

int VV_ISA(vv_swiglu_portable)(const void *args, size_t begin, size_t end) {
    const struct vv_swiglu *a = args;
    size_t n = vv_rows(a->rows) * a->width;
    float limit = vv_limit(a->limit);
    for (size_t u = begin; u < end; u++) {
        size_t at = u * VV_SWIGLU_UNIT, rest = n - at < VV_SWIGLU_UNIT ? n - at : VV_SWIGLU_UNIT;
        float gate[VV_SWIGLU_UNIT] = {0}, up[VV_SWIGLU_UNIT] = {0}, h[VV_SWIGLU_UNIT];
        memcpy(gate, a->gate + at, rest * sizeof *gate);
        memcpy(up, a->up + at, rest * sizeof *up);
        for (size_t i = 0; i < VV_SWIGLU_UNIT; i++) {
            h[i] = vv_gated(gate[i], up[i], limit);
        }
        memcpy(a->h + at, h, rest * sizeof *h);
    }
    return VV_OK;
}

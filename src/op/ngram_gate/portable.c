#include "base/dot.h"
#include "base/isa.h"
#include "op/ngram_gate/contract.h"
#include "op/ngram_gate/internal.h"

static float gate_of(float dot, size_t width) {
    float d = dot / sqrtf((float)width), size = fabsf(d);
    float root = sqrtf(size > 1e-6f ? size : 1e-6f);
    return vv_sigmoid(d == 0.0f ? 0.0f : copysignf(root, d));
}

int VV_ISA(vv_ngram_gate_portable)(const void *args, size_t begin, size_t end) {
    const struct vv_ngram_gate *a = args;
    for (size_t stream = begin; stream < end; stream++) {
        const float *v = a->v + stream / a->streams * a->width;
        float *p = a->p + stream * a->width;
        float dot = vv_dot(a->k + stream * a->width, a->q + stream * a->width, a->width);
        if (!isfinite(dot)) {
            return VV_ERROR_NOT_FINITE;
        }
        float gate = gate_of(dot, a->width);
        for (size_t i = 0; i < a->width; i++) {
            p[i] = gate * v[i];
        }
    }
    return VV_OK;
}

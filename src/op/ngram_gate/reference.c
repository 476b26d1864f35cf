#include "op/ngram_gate/contract.h"
#include "op/ngram_gate/internal.h"
#include "op/plain.h"

static float signed_root(float d) {
    float root = sqrtf(fabsf(d) > 1e-6f ? fabsf(d) : 1e-6f);
    return d > 0.0f ? root : d < 0.0f ? -root : 0.0f;
}

int vv_ngram_gate_reference(const void *args, size_t begin, size_t end) {
    const struct vv_ngram_gate *a = args;
    for (size_t stream = begin; stream < end; stream++) {
        size_t row = stream / a->streams, at = stream * a->width;
        float dot = vv_plain_dot(a->k + at, a->q + at, a->width);
        if (!isfinite(dot)) {
            return VV_ERROR_NOT_FINITE;
        }
        float gate = vv_sigmoid(signed_root(dot / sqrtf((float)a->width)));
        for (size_t i = 0; i < a->width; i++) {
            a->p[at + i] = gate * a->v[row * a->width + i];
        }
    }
    return VV_OK;
}

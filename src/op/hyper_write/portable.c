#include "base/isa.h"
#include "op/hyper_write/contract.h"
#include "op/hyper_write/internal.h"

#include <math.h>

int VV_ISA(vv_hyper_write_portable)(const void *args, size_t begin, size_t end) {
    const struct vv_hyper_write *a = args;
    for (size_t stream = begin * a->streams; stream < end * a->streams; stream++) {
        const float *o = a->o + stream / a->streams * a->width;
        float *x = a->x + stream * a->width, gamma = a->gamma[stream];
        for (size_t i = 0; i < a->width; i++) {
            x[i] = fmaf(gamma, o[i], x[i]);
        }
    }
    return VV_OK;
}

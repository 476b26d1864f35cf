#include "op/hyper_write/contract.h"
#include "op/hyper_write/internal.h"

#include <math.h>

int vv_hyper_write_reference(const void *args, size_t begin, size_t end) {
    const struct vv_hyper_write *a = args;
    for (size_t row = begin; row < end; row++) {
        for (size_t s = 0; s < a->streams; s++) {
            for (size_t i = 0; i < a->width; i++) {
                float *x = a->x + (row * a->streams + s) * a->width + i;
                *x = fmaf(a->gamma[row * a->streams + s], a->o[row * a->width + i], *x);
            }
        }
    }
    return VV_OK;
}

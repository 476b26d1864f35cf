#include "base/isa.h"
#include "base/math.h"
#include "op/conv1d/internal.h"

enum { BLOCK = 256 };

/* Channels [at, at + n) of a row. */
static void convolve(const struct vv_conv1d *a, size_t row, size_t at, size_t n) {
    float acc[BLOCK] = {0};
    for (size_t m = 0; m < a->kernel; m++) {
        const float *x = vv_conv1d_input(a, row, a->dilation * (a->kernel - 1 - m));
        const float *weight = a->weight + at * a->kernel + m;
        for (size_t c = 0; x && c < n; c++) {
            acc[c] = fmaf(weight[c * a->kernel], x[at + c], acc[c]);
        }
    }
    const float *p = a->p + row * a->channels + at;
    float *onto = a->onto + row * a->channels + at;
    for (size_t c = 0; c < n; c++) {
        acc[c] = vv_silu(acc[c]);
    }
    for (size_t c = 0; c < n; c++) {
        onto[c] += p[c] + acc[c];
    }
}

int VV_ISA(vv_conv1d_portable)(const void *args, size_t begin, size_t end) {
    const struct vv_conv1d *a = args;
    for (size_t row = begin; row < end; row++) {
        for (size_t at = 0; at < a->channels; at += BLOCK) {
            convolve(a, row, at, a->channels - at < BLOCK ? a->channels - at : BLOCK);
        }
    }
    return VV_OK;
}

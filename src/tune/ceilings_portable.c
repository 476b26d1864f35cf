/* Plain C, which compilers turn into what every CPU of the architecture has. */
#include "tune/ceilings_loops.h"

#include <math.h>
#include <string.h>

enum { LANES = 64, WORDS = 8 };

static uint64_t read_loop(const void *from, size_t bytes) {
    const uint64_t *at = from;
    uint64_t sum[WORDS] = {0}, all = 0;
    for (size_t i = 0; i + WORDS <= bytes / sizeof *at; i += WORDS) {
        for (size_t k = 0; k < WORDS; k++) {
            sum[k] += at[i + k];
        }
    }
    for (size_t k = 0; k < WORDS; k++) {
        all += sum[k];
    }
    return all;
}

/* The factor is read again each turn, as a kernel reads its weights. */
static uint64_t int8_loop(size_t turns) {
    int32_t sum[LANES] = {0};
    volatile int8_t factor = 3;
    int8_t x[LANES];
    memset(x, 5, sizeof x);
    for (size_t t = 0; t < turns; t++) {
        int8_t y = factor;
        for (size_t k = 0; k < LANES; k++) {
            sum[k] += x[k] * y;
        }
    }
    return (uint64_t)(uint32_t)sum[0] + (uint32_t)sum[LANES - 1];
}

static uint64_t f32_loop(size_t turns) {
    float sum[LANES] = {0};
    volatile float factor = 0.5f;
    for (size_t t = 0; t < turns; t++) {
        float y = factor;
        for (size_t k = 0; k < LANES; k++) {
#if defined(__FP_FAST_FMAF)
            sum[k] = fmaf(sum[k], y, 1.0f);
#else
            sum[k] = sum[k] * y + 1.0f;
#endif
        }
    }
    return (uint64_t)(sum[0] + sum[LANES - 1]);
}

const struct vv_loops vv_portable_loops = {0, read_loop, int8_loop, f32_loop, 2 * LANES, 2 * LANES};

/* Whether all of many floats are finite, in a form that compilers turn into vectors. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline bool vv_all_finite(const float *x, size_t n) {
    uint32_t worst = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, x + i, sizeof bits);
        bits &= UINT32_C(0x7f800000);
        worst = bits > worst ? bits : worst;
    }
    return worst < UINT32_C(0x7f800000);
}

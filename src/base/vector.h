/*
 * A vector of floats as wide as the instruction set that a portable.c is built for, for the loops
 * that must not depend on what a compiler sees in them. Operators work element by element; what
 * they lack is below. Host only.
 */
#pragma once
#include <math.h>
#include <string.h>

#if defined(__AVX512F__) || (defined(__AVX2__) && defined(__FMA__))
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
enum { VV_WIDTH = 16 };
#elif defined(__AVX2__) && defined(__FMA__)
enum { VV_WIDTH = 8 };
#else
enum { VV_WIDTH = 4 };
#endif

typedef float vv_vector __attribute__((vector_size(VV_WIDTH * sizeof(float))));

static inline __attribute__((always_inline)) vv_vector vv_load(const float *from) {
    vv_vector x;
    memcpy(&x, from, sizeof x);
    return x;
}

static inline __attribute__((always_inline)) void vv_store(float *to, vv_vector x) {
    memcpy(to, &x, sizeof x);
}

static inline __attribute__((always_inline)) vv_vector vv_splat(float x) {
#if defined(__AVX512F__)
    return _mm512_set1_ps(x);
#elif defined(__AVX2__) && defined(__FMA__)
    return _mm256_set1_ps(x);
#else
    return (vv_vector){x, x, x, x};
#endif
}

/* a · b + c, rounded once. */
static inline __attribute__((always_inline)) vv_vector vv_fma(vv_vector a, vv_vector b,
                                                              vv_vector c) {
#if defined(__AVX512F__)
    return _mm512_fmadd_ps(a, b, c);
#elif defined(__AVX2__) && defined(__FMA__)
    return _mm256_fmadd_ps(a, b, c);
#else
    for (int i = 0; i < VV_WIDTH; i++) {
        c[i] = fmaf(a[i], b[i], c[i]);
    }
    return c;
#endif
}

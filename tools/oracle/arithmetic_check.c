/*
 * The arithmetic contract (docs/arithmetic.md) in C: the elementwise functions, the quantised dot product of four formats straight
 * from raw blocks, and the same with eight rows interleaved, one row a lane, in AVX2. arithmetic_goldens.py builds this as a
 * shared library, compares it bit for bit with its own numpy implementation, and times it.
 *
 *   cc -O3 -ffp-contract=off -mavx2 -mfma -mf16c -fPIC -shared arithmetic_check.c -lm -lpthread
 */
#define _GNU_SOURCE
#include <immintrin.h>
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- elementwise functions: the proposed base/math.h ----------------------------------------------------------------- */

static float as_float(uint32_t u) { float f; memcpy(&f, &u, 4); return f; }

/* e^x for any x: n = round(x / ln 2), r = x - n ln 2 in two steps (the first is exact), a polynomial, then two exact scalings. */
float vv_exp(float x) {
    if (x != x) return x;
    if (x > 88.8f) return INFINITY;
    if (x < -104.0f) return 0.0f;
    float z = fmaf(x, 0x1.715476p+0f, 0x1.8p+23f);
    float n = z - 0x1.8p+23f;
    float r = fmaf(n, -0x1.62e4p-1f, x);
    r = fmaf(n, -0x1.7f7d1cp-20f, r);
    float q = 0x1.6a23d0p-10f;
    q = fmaf(q, r, 0x1.123a20p-7f);
    q = fmaf(q, r, 0x1.5558f2p-5f);
    q = fmaf(q, r, 0x1.555492p-3f);
    q = fmaf(q, r, 0x1.fffffcp-2f);
    float e = 1.0f + fmaf(r * r, q, r);
    int32_t k = (int32_t)n, k1 = (k + 256) / 2 - 128, k2 = k - k1; /* k1 = floor(k / 2) */
    return e * as_float((uint32_t)(k1 + 127) << 23) * as_float((uint32_t)(k2 + 127) << 23);
}

/* ln(1 + t) for 0 <= t <= 1: 2 atanh(s), s = t / (2 + t). */
float vv_log1p_unit(float t) {
    float s = t / (2.0f + t), w = s * s;
    float p = 0x1.f1aee2p-3f;
    p = fmaf(p, w, 0x1.b6d6a4p-3f);
    p = fmaf(p, w, 0x1.250972p-2f);
    p = fmaf(p, w, 0x1.9996a8p-2f);
    p = fmaf(p, w, 0x1.555558p-1f);
    return fmaf(s * w, p, s + s);
}

/* ln x for 0 < x: x = m 2^k with m in [sqrt 1/2, sqrt 2), the same series, k ln 2 in two steps. */
float vv_log(float x) {
    if (!(x > 0.0f) || x == INFINITY) return x == 0.0f ? -INFINITY : x > 0.0f ? x : NAN;
    int32_t k = 0, u;
    if (x < 0x1p-126f) x *= 0x1p+24f, k = -24;
    memcpy(&u, &x, 4);
    int32_t e = (u - 0x3f3504f3) >> 23; /* floor(log2(x / sqrt 1/2)) */
    k += e;
    float t = as_float((uint32_t)(u - e * (1 << 23))) - 1.0f, s = t / (2.0f + t), w = s * s;
    float p = 0x1.f1aee2p-3f;
    p = fmaf(p, w, 0x1.b6d6a4p-3f);
    p = fmaf(p, w, 0x1.250972p-2f);
    p = fmaf(p, w, 0x1.9996a8p-2f);
    p = fmaf(p, w, 0x1.555558p-1f);
    float hfsq = 0.5f * (t * t); /* ln(1+t) = t - (hfsq - s (hfsq + w p)): the small correction is added to an exact t */
    float c = fmaf(-s, fmaf(w, p, hfsq), hfsq), n = (float)k;
    return fmaf(n, 0x1.62e4p-1f, t - fmaf(-n, 0x1.7f7d1cp-20f, c));
}

/* sin and cos of `turn` / 2^64 of a full turn. No range reduction is left: the quadrant and the rest are integers. */
void vv_sincos_turn(uint64_t turn, float *sine, float *cosine) {
    uint32_t quadrant = (uint32_t)((turn + (1ull << 61)) >> 62) & 3;
    int64_t rest = (int64_t)(turn - ((uint64_t)quadrant << 62)); /* [-2^61, 2^61) */
    float r = (float)(int32_t)(rest >> 31) * 0x1.921fb6p-31f;    /* 2 pi / 2^33 */
    float w = r * r;
    float s = 0x1.6cd7d6p-19f;
    s = fmaf(s, w, -0x1.a00f9cp-13f);
    s = fmaf(s, w, 0x1.111108p-7f);
    s = fmaf(s, w, -0x1.555556p-3f);
    s = fmaf(r * w, s, r);
    float c = -0x1.242a76p-22f;
    c = fmaf(c, w, 0x1.a0111ep-16f);
    c = fmaf(c, w, -0x1.6c16b8p-10f);
    c = fmaf(c, w, 0x1.555556p-5f);
    c = fmaf(c, w, -0.5f);
    c = fmaf(c, w, 1.0f);
    float a = quadrant & 1 ? c : s, b = quadrant & 1 ? s : c;
    *sine = quadrant & 2 ? -a : a;
    *cosine = (quadrant + 1) & 2 ? -b : b;
}

void map_turn(const uint64_t *turn, float *s, float *c, int64_t n) { for (int64_t i = 0; i < n; i++) vv_sincos_turn(turn[i], s + i, c + i); }

float vv_sigmoid(float x) {
    float e = vv_exp(-fabsf(x));
    return (x < 0.0f ? e : 1.0f) / (1.0f + e);
}

float vv_silu(float x) { return x * vv_sigmoid(x); }

float vv_softplus(float x) { return fmaxf(x, 0.0f) + vv_log1p_unit(vv_exp(-fabsf(x))); }

void map_function(int which, const float *x, float *y, int64_t n) {
    float (*f[])(float) = {vv_exp, vv_sigmoid, vv_silu, vv_softplus, vv_log1p_unit, vv_log};
    for (int64_t i = 0; i < n; i++) y[i] = f[which](x[i]);
}

static double truth(int which, double x) {
    switch (which) {
    case 0: return exp(x);
    case 1: return x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x));
    case 2: return x * (x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x)));
    case 3: return (x > 0 ? x : 0) + log1p(exp(-fabs(x)));
    case 4: return log1p(x);
    default: return log(x);
    }
}

/* Largest error in ulp of the true value over every `stride`-th float whose bits lie in [from, to); also where. */
double max_ulp(int which, uint32_t from, uint32_t to, uint32_t stride, float *at, int64_t *wrong) {
    double worst = 0;
    float (*f[])(float) = {vv_exp, vv_sigmoid, vv_silu, vv_softplus, vv_log1p_unit, vv_log};
    for (uint64_t u = from; u < to; u += stride) {
        float x = as_float((uint32_t)u);
        double t = truth(which, x), y = f[which](x), a = fabs(t);
        if (a > 3.4028234663852886e38) { if (!isinf(y) && y < 3.40282e38) (*wrong)++; continue; }
        int e;
        frexp(a, &e);
        double ulp = ldexp(1, (e < -125 ? -125 : e) - 24);
        double err = fabs(y - t) / ulp;
        if ((float)t != (float)y) (*wrong)++;
        if (err > worst) worst = err, *at = x;
    }
    return worst;
}

/* ---- quantised dot product, one row, from raw blocks ----------------------------------------------------------------- */

enum { Q8_0, Q4_K, Q6_K, IQ4_XS, FORMATS };
static const int row_bytes_of_256[FORMATS] = {272, 144, 210, 136};
static const int8_t iq4[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

struct planes {           /* one row of activations */
    const int8_t *q;      /* [K] */
    const float *scale;   /* [K/128], for Q8_0 (fine planes) [K/32] */
    const int16_t *sum16; /* [K/16] sums of q; sum32 of pairs of them */
    const int16_t *sum32; /* [K/32] */
};

static float half(const uint8_t *p) { return _cvtsh_ss((uint16_t)(p[0] | p[1] << 8)); }

static void k4(const uint8_t *b, int k, int *scale, int *min) {
    if (k < 4) *scale = b[k] & 63, *min = b[k + 4] & 63;
    else *scale = (b[k + 4] & 15) | (b[k - 4] >> 6) << 4, *min = (b[k + 4] >> 4) | (b[k] >> 6) << 4;
}

/* Segment `s` (128 values) of a row. */
static float segment(int format, const uint8_t *row, struct planes x, int s) {
    const uint8_t *b = row + (size_t)(s / 2) * (size_t)row_bytes_of_256[format];
    float dx = x.scale[s], t = 0; /* dx of a super-block format */
    int32_t I = 0, J = 0;
    for (int k = 0; k < 4; k++) {
        const int8_t *q = x.q + s * 128 + k * 32;
        int g = (s & 1) * 4 + k, dot = 0; /* block g of the eight in 256 values */
        switch (format) {
        case Q8_0:
            for (int i = 0; i < 32; i++) dot += (int8_t)b[34 * g + 2 + i] * q[i];
            t = fmaf(half(b + 34 * g) * x.scale[s * 4 + k], (float)dot, t);
            break;
        case Q4_K: {
            int scale, min, sum = 0;
            k4(b + 4, g, &scale, &min);
            for (int i = 0; i < 32; i++) dot += (b[16 + 32 * (g / 2) + i] >> 4 * (g & 1) & 15) * q[i], sum += q[i];
            I += scale * dot, J += min * sum;
            break;
        }
        case Q6_K: {
            int n = g / 4, j = g % 4;
            for (int i = 0; i < 32; i++) {
                int low = b[64 * n + 32 * (j & 1) + i] >> 4 * (j / 2) & 15, high = b[128 + 32 * n + i] >> 2 * j & 3;
                I += (int8_t)b[192 + 8 * n + 2 * j + i / 16] * (low + 16 * high - 32) * q[i];
            }
            break;
        }
        case IQ4_XS: {
            int scale = (b[4 + g / 2] >> 4 * (g & 1) & 15) | ((b[2] | b[3] << 8) >> 2 * g & 3) << 4;
            for (int i = 0; i < 32; i++) dot += iq4[b[8 + 16 * g + i % 16] >> 4 * (i / 16) & 15] * q[i];
            I += (scale - 32) * dot;
            break;
        }
        }
    }
    switch (format) {
    case Q4_K: return fmaf(-(half(b + 2) * dx), (float)J, (half(b) * dx) * (float)I);
    case Q6_K: return (half(b + 208) * dx) * (float)I;
    case IQ4_XS: return (half(b) * dx) * (float)I;
    default: return t;
    }
}

void gemv_reference(int format, const uint8_t *w, int64_t rows, int K, const int8_t *q, const float *scale, float *y) {
    struct planes x = {q, scale, NULL, NULL};
    for (int64_t r = 0; r < rows; r++) {
        float sum = 0;
        for (int s = 0; s < K / 128; s++) sum += segment(format, w + r * (K / 256) * row_bytes_of_256[format], x, s);
        y[r] = sum;
    }
}

/* K split over threads: each takes every `step`-th segment, in descending order; then the segments are added in ascending order. */
struct split { int format, K, first, step; const uint8_t *w; int64_t rows; struct planes x; float *parts; };

static void *split_run(void *p) {
    struct split *a = p;
    int n = a->K / 128;
    for (int64_t r = 0; r < a->rows; r++)
        for (int s = n - 1; s >= 0; s--)
            if (s % a->step == a->first)
                a->parts[r * n + s] = segment(a->format, a->w + r * (a->K / 256) * row_bytes_of_256[a->format], a->x, s);
    return NULL;
}

void gemv_split(int format, const uint8_t *w, int64_t rows, int K, const int8_t *q, const float *scale, float *y, int threads) {
    int n = K / 128;
    float *parts = malloc((size_t)rows * (size_t)n * sizeof *parts);
    pthread_t id[16];
    struct split a[16];
    for (int t = 0; t < threads; t++) {
        a[t] = (struct split){format, K, t, threads, w, rows, {q, scale, NULL, NULL}, parts};
        pthread_create(&id[t], NULL, split_run, &a[t]);
    }
    for (int t = 0; t < threads; t++) pthread_join(id[t], NULL);
    for (int64_t r = 0; r < rows; r++) {
        float sum = 0;
        for (int s = 0; s < n; s++) sum += parts[r * n + s];
        y[r] = sum;
    }
    free(parts);
}

/* ---- eight rows interleaved, one row a 32-bit lane ------------------------------------------------------------------- */
/*
 * Packed: for each group of 8 rows and each 256 values of K, in order (sizes equal to the original's but for Q6_K's padding):
 *   Q8_0   per 32 values: 8 f16 d; then 8 vectors of 32 bytes: 4 values of each row
 *   Q4_K   8 f16 d, 8 f16 dmin; 8 blocks x 8 bytes scale; 8 blocks x 8 bytes min; then per 32 values 4 vectors: low nibbles are
 *          steps 0..3 (values 4j..4j+3), high nibbles steps 4..7                                          (1152 + 32 bytes)
 *   Q6_K   8 f16 d; 16 x 8 bytes scale; per 32 values: 4 vectors of low nibbles as above, 2 vectors of 2-bit highs (steps 0..3 in
 *          the first, bit pair 2j; steps 4..7 in the second)
 *   IQ4_XS 8 f16 d; 8 blocks x 8 bytes scale - 32; per 32 values 4 vectors of nibbles
 */
static const int packed_bytes_of_256[FORMATS] = {8 * (16 + 256), 16 + 16 + 64 + 64 + 8 * 128, 16 + 128 + 8 * 192, 16 + 64 + 8 * 128};

int64_t packed_size(int format, int64_t rows, int K) { return rows / 8 * (K / 256) * packed_bytes_of_256[format]; }

void pack(int format, const uint8_t *w, int64_t rows, int K, uint8_t *out) {
    int n = K / 256, rb = row_bytes_of_256[format];
    for (int64_t g = 0; g < rows / 8; g++)
        for (int c = 0; c < n; c++, out += packed_bytes_of_256[format]) {
            memset(out, 0, (size_t)packed_bytes_of_256[format]);
            for (int r = 0; r < 8; r++) {
                const uint8_t *b = w + ((g * 8 + r) * n + c) * rb;
                for (int k = 0; k < 8; k++) {
                    uint8_t v[32], hi[32] = {0};
                    if (format == Q8_0) {
                        uint8_t *o = out + k * 272;
                        memcpy(o + 2 * r, b + 34 * k, 2);
                        for (int i = 0; i < 32; i++) o[16 + 32 * (i / 4) + 4 * r + i % 4] = b[34 * k + 2 + i];
                        continue;
                    }
                    int head = format == Q4_K ? 160 : format == Q6_K ? 144 : 80, step = format == Q6_K ? 192 : 128;
                    if (format == Q4_K) {
                        int scale, min;
                        memcpy(out + 2 * r, b, 2), memcpy(out + 16 + 2 * r, b + 2, 2);
                        k4(b + 4, k, &scale, &min);
                        out[32 + 8 * k + r] = (uint8_t)scale, out[96 + 8 * k + r] = (uint8_t)min;
                        for (int i = 0; i < 32; i++) v[i] = b[16 + 32 * (k / 2) + i] >> 4 * (k & 1) & 15;
                    } else if (format == Q6_K) {
                        int h = k / 4, j = k % 4;
                        memcpy(out + 2 * r, b + 208, 2);
                        for (int i = 0; i < 2; i++) out[16 + 8 * (2 * k + i) + r] = b[192 + 8 * h + 2 * j + i];
                        for (int i = 0; i < 32; i++)
                            v[i] = b[64 * h + 32 * (j & 1) + i] >> 4 * (j / 2) & 15, hi[i] = b[128 + 32 * h + i] >> 2 * j & 3;
                    } else {
                        memcpy(out + 2 * r, b, 2);
                        out[16 + 8 * k + r] = (uint8_t)(((b[4 + k / 2] >> 4 * (k & 1) & 15) | ((b[2] | b[3] << 8) >> 2 * k & 3) << 4) - 32);
                        for (int i = 0; i < 32; i++) v[i] = b[8 + 16 * k + i % 16] >> 4 * (i / 16) & 15;
                    }
                    uint8_t *o = out + head + k * step;
                    for (int i = 0; i < 32; i++) {
                        int j = i / 4;
                        o[32 * (j % 4) + 4 * r + i % 4] |= (uint8_t)(v[i] << 4 * (j / 4));
                        if (format == Q6_K) o[128 + 32 * (j / 4) + 4 * r + i % 4] |= (uint8_t)(hi[i] << 2 * (j % 4));
                    }
                }
            }
        }
}

static inline __m256 halves(const uint8_t *p) { return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p)); }
static inline __m256i load(const uint8_t *p) { return _mm256_loadu_si256((const __m256i *)p); }
static inline __m256i four(const int8_t *q) { int32_t v; memcpy(&v, q, 4); return _mm256_set1_epi32(v); }
static inline __m256i two(const int16_t *q) { int32_t v; memcpy(&v, q, 4); return _mm256_set1_epi32(v); }
static inline __m256i widen(const uint8_t *p) { return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)p)); }
/* A signed byte a row, as two equal 16-bit values a lane: the multiplier of madd, so an integer sub-scale costs nothing. */
static inline __m256i twice16(const uint8_t *p) {
    __m256i v = _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)p));
    return _mm256_or_si256(_mm256_slli_epi32(v, 16), _mm256_and_si256(v, _mm256_set1_epi32(0xffff)));
}

/* W rows of activations against one group of eight rows of weights. `format` is a constant wherever this is called. */
#define ROWS(W) \
static inline __attribute__((always_inline)) void group_##W(int format, const uint8_t *p, int K, const struct planes *x, int64_t stride, float *y) { \
    const __m256i m4 = _mm256_set1_epi8(15), m2 = _mm256_set1_epi8(3), one = _mm256_set1_epi16(1); \
    const __m256i table = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)iq4)); \
    __m256 total[W]; \
    for (int a = 0; a < W; a++) total[a] = _mm256_setzero_ps(); \
    for (int c = 0; c < K / 256; c++, p += packed_bytes_of_256[format]) { \
        for (int s = 0; s < 2; s++) { \
            __m256 t[W]; \
            __m256i I[W], J[W]; \
            for (int a = 0; a < W; a++) t[a] = _mm256_setzero_ps(), I[a] = J[a] = _mm256_setzero_si256(); \
            for (int k = s * 4; k < s * 4 + 4; k++) { \
                int at = c * 256 + k * 32; \
                __m256i v[8]; \
                if (format == Q8_0) { \
                    const uint8_t *o = p + k * 272; \
                    __m256i mag[8]; \
                    for (int j = 0; j < 8; j++) v[j] = load(o + 16 + 32 * j), mag[j] = _mm256_abs_epi8(v[j]); \
                    __m256 dw = halves(o); \
                    for (int a = 0; a < W; a++) { \
                        __m256i acc = _mm256_setzero_si256(); \
                        for (int j = 0; j < 8; j++) acc = _mm256_add_epi32(acc, _mm256_madd_epi16(_mm256_maddubs_epi16(mag[j], _mm256_sign_epi8(four(x[a].q + at + 4 * j), v[j])), one)); \
                        t[a] = _mm256_fmadd_ps(_mm256_mul_ps(dw, _mm256_set1_ps(x[a].scale[8 * c + k])), _mm256_cvtepi32_ps(acc), t[a]); \
                    } \
                    continue; \
                } \
                const uint8_t *o = p + (format == Q4_K ? 160 : format == Q6_K ? 144 : 80) + k * (format == Q6_K ? 192 : 128); \
                for (int j = 0; j < 4; j++) { \
                    __m256i b = load(o + 32 * j); \
                    v[j] = _mm256_and_si256(b, m4), v[j + 4] = _mm256_and_si256(_mm256_srli_epi16(b, 4), m4); \
                } \
                if (format == Q4_K) { \
                    __m256i sc = twice16(p + 32 + 8 * k); \
                    for (int a = 0; a < W; a++) { \
                        __m256i acc = _mm256_setzero_si256(); \
                        for (int j = 0; j < 8; j++) acc = _mm256_add_epi16(acc, _mm256_maddubs_epi16(v[j], four(x[a].q + at + 4 * j))); \
                        I[a] = _mm256_add_epi32(I[a], _mm256_madd_epi16(acc, sc)); \
                    } \
                    if (k & 1) { \
                        __m256i min = _mm256_or_si256(widen(p + 96 + 8 * (k - 1)), _mm256_slli_epi32(widen(p + 96 + 8 * k), 16)); \
                        for (int a = 0; a < W; a++) J[a] = _mm256_add_epi32(J[a], _mm256_madd_epi16(min, two(x[a].sum32 + at / 32 - 1))); \
                    } \
                } else if (format == Q6_K) { \
                    for (int j = 0; j < 8; j++) { \
                        __m256i h = _mm256_and_si256(_mm256_srli_epi16(load(o + 128 + 32 * (j / 4)), 2 * (j % 4)), m2); \
                        v[j] = _mm256_or_si256(v[j], _mm256_slli_epi16(h, 4)); \
                    } \
                    __m256i s0 = twice16(p + 16 + 16 * k), s1 = twice16(p + 24 + 16 * k); \
                    __m256i both = _mm256_blend_epi16(s0, s1, 0xAA); \
                    for (int a = 0; a < W; a++) { \
                        for (int j = 0; j < 8; j += 2) { \
                            __m256i h = _mm256_add_epi16(_mm256_maddubs_epi16(v[j], four(x[a].q + at + 4 * j)), _mm256_maddubs_epi16(v[j + 1], four(x[a].q + at + 4 * j + 4))); \
                            I[a] = _mm256_add_epi32(I[a], _mm256_madd_epi16(h, j < 4 ? s0 : s1)); \
                        } \
                        J[a] = _mm256_add_epi32(J[a], _mm256_madd_epi16(both, two(x[a].sum16 + at / 16))); \
                    } \
                } else { \
                    __m256i mag[8], sc = twice16(p + 16 + 8 * k); \
                    for (int j = 0; j < 8; j++) v[j] = _mm256_shuffle_epi8(table, v[j]), mag[j] = _mm256_abs_epi8(v[j]); \
                    for (int a = 0; a < W; a++) \
                        for (int j = 0; j < 8; j++) I[a] = _mm256_add_epi32(I[a], _mm256_madd_epi16(_mm256_maddubs_epi16(mag[j], _mm256_sign_epi8(four(x[a].q + at + 4 * j), v[j])), sc)); \
                } \
            } \
            for (int a = 0; a < W; a++) { \
                __m256 seg = t[a]; \
                if (format != Q8_0) { \
                    __m256 dx = _mm256_set1_ps(x[a].scale[2 * c + s]); \
                    if (format == Q6_K) I[a] = _mm256_sub_epi32(I[a], _mm256_slli_epi32(J[a], 5)); \
                    seg = _mm256_mul_ps(_mm256_mul_ps(halves(p), dx), _mm256_cvtepi32_ps(I[a])); \
                    if (format == Q4_K) seg = _mm256_fnmadd_ps(_mm256_mul_ps(halves(p + 16), dx), _mm256_cvtepi32_ps(J[a]), seg); \
                } \
                total[a] = _mm256_add_ps(total[a], seg); \
            } \
        } \
    } \
    for (int a = 0; a < W; a++) _mm256_storeu_ps(y + a * stride, total[a]); \
}
ROWS(1) ROWS(2) ROWS(4) ROWS(8)

/* Rows [first, last) (multiples of 8) against `window` rows of activations, K values each. */
static void gemv_range(int format, const uint8_t *w, int64_t first, int64_t last, int64_t rows, int K, int window, const struct planes *x, float *y) {
    int64_t step = (int64_t)(K / 256) * packed_bytes_of_256[format];
#define LOOP(W, F) for (int64_t r = first; r < last; r += 8) group_##W(F, w + r / 8 * step, K, x, rows, y + r)
#define PICK(F) switch (window) { case 1: LOOP(1, F); break; case 2: LOOP(2, F); break; case 4: LOOP(4, F); break; default: LOOP(8, F); }
    switch (format) {
    case Q8_0: PICK(Q8_0); break;
    case Q4_K: PICK(Q4_K); break;
    case Q6_K: PICK(Q6_K); break;
    default: PICK(IQ4_XS);
    }
}

/* ---- float dot, attention, gated delta rule: other structures than the oracle's ----------------------------------------- */

/* Two vectors hold the 16 lanes. */
float dot_avx2(const float *a, const float *b, int64_t n) {
    float sum = 0;
    for (int64_t at = 0; at < n; at += 128) {
        float pa[128] = {0}, pb[128] = {0};
        int64_t m = n - at < 128 ? n - at : 128;
        memcpy(pa, a + at, (size_t)m * 4), memcpy(pb, b + at, (size_t)m * 4);
        __m256 low = _mm256_setzero_ps(), high = low;
        for (int i = 0; i < 128; i += 16) {
            low = _mm256_fmadd_ps(_mm256_loadu_ps(pa + i), _mm256_loadu_ps(pb + i), low);
            high = _mm256_fmadd_ps(_mm256_loadu_ps(pa + i + 8), _mm256_loadu_ps(pb + i + 8), high);
        }
        __m256 by8 = _mm256_add_ps(low, high);
        __m128 by4 = _mm_add_ps(_mm256_castps256_ps128(by8), _mm256_extractf128_ps(by8, 1));
        __m128 by2 = _mm_add_ps(by4, _mm_movehl_ps(by4, by4));
        sum += _mm_cvtss_f32(_mm_add_ss(by2, _mm_shuffle_ps(by2, by2, 1)));
    }
    return sum;
}

void dots(const float *a, const float *b, const int32_t *widths, int n, float *y) { for (int i = 0; i < n; i++) y[i] = dot_avx2(a, b, widths[i]); }

/* Dense attention over n keys: the chunks are computed last to first, then merged. */
void attend_dense(const float *q, const float *k, const float *v, int n, int width, float scale, int has_sink, float sink, float *y) {
    int chunks = (n + 63) / 64;
    float *mc = malloc(sizeof(float) * (size_t)chunks), *lc = malloc(sizeof(float) * (size_t)chunks), *oc = calloc((size_t)(chunks * width), sizeof(float));
    for (int c = chunks - 1; c >= 0; c--) {
        float p[64] = {0}, lane[16] = {0};
        int first = c * 64, count = n - first < 64 ? n - first : 64;
        for (int j = 0; j < count; j++) p[j] = dot_avx2(k + (first + j) * width, q, width) * scale;
        mc[c] = p[count - 1];
        for (int j = 0; j < count; j++) mc[c] = p[j] > mc[c] ? p[j] : mc[c];
        for (int j = 0; j < count; j++) p[j] = vv_exp(p[j] - mc[c]), lane[j % 16] += p[j];
        for (int h = 8; h; h /= 2) for (int l = 0; l < h; l++) lane[l] += lane[l + h];
        lc[c] = lane[0];
        for (int d = 0; d < width; d++) for (int j = 0; j < count; j++) oc[c * width + d] = fmaf(p[j], v[(first + j) * width + d], oc[c * width + d]);
    }
    float m = -INFINITY, l = 0;
    for (int d = 0; d < width; d++) y[d] = 0;
    for (int c = 0; c <= chunks; c++) {
        if (c == chunks && !has_sink) break;
        float x = c < chunks ? mc[c] : sink, top = x > m ? x : m, a = vv_exp(m - top), b = vv_exp(x - top);
        l = fmaf(c < chunks ? lc[c] : 1.0f, b, l * a), m = top;
        for (int d = 0; d < width; d++) y[d] = fmaf(c < chunks ? oc[c * width + d] : 0.0f, b, y[d] * a);
    }
    float inv = 1.0f / l;
    for (int d = 0; d < width; d++) y[d] *= inv;
    free(mc), free(lc), free(oc);
}

/* Eight value columns in the SIMD lanes; the tree over the contract's 16 lanes is walked depth first, five accumulators at most. */
static __m256 columns(const float *S, const float *k, int lane, int apart) {
    if (apart < 16) {
        __m256 a = columns(S, k, lane, apart * 2);
        return _mm256_add_ps(a, columns(S, k, lane + apart, apart * 2));
    }
    __m256 acc = _mm256_setzero_ps();
    for (int i = lane; i < 128; i += 16) acc = _mm256_fmadd_ps(_mm256_loadu_ps(S + i * 128), _mm256_set1_ps(k[i]), acc);
    return acc;
}

void gated_delta(float *S, const float *q, const float *k, const float *v, const float *g, const float *beta, int tokens, float *y) {
    for (int t = 0; t < tokens; t++, q += 128, k += 128, v += 128, y += 128) {
        __m256 decay = _mm256_set1_ps(vv_exp(g[t]));
        for (int c = 120; c >= 0; c -= 8) {
            for (int i = 0; i < 128; i++) _mm256_storeu_ps(S + i * 128 + c, _mm256_mul_ps(_mm256_loadu_ps(S + i * 128 + c), decay));
            __m256 r = columns(S + c, k, 0, 1);
            __m256 d = _mm256_mul_ps(_mm256_set1_ps(beta[t]), _mm256_sub_ps(_mm256_loadu_ps(v + c), r));
            for (int i = 0; i < 128; i++) _mm256_storeu_ps(S + i * 128 + c, _mm256_fmadd_ps(_mm256_set1_ps(k[i]), d, _mm256_loadu_ps(S + i * 128 + c)));
            _mm256_storeu_ps(y + c, columns(S + c, q, 0, 1));
        }
    }
}

/* ---- threads and timing ----------------------------------------------------------------------------------------------- */

struct job { int format, K, window, kind; const uint8_t *w; int64_t first, last, rows, bytes; const struct planes *x; float *y; uint64_t sink; };

static void *job_run(void *p) {
    struct job *j = p;
    if (j->kind == 0) {
        gemv_range(j->format, j->w, j->first, j->last, j->rows, j->K, j->window, j->x, j->y);
    } else {
        __m256i a = _mm256_setzero_si256(), b = a, c = a, d = a;
        for (int64_t i = 0; i + 128 <= j->bytes; i += 128) {
            a = _mm256_add_epi64(a, load(j->w + i)), b = _mm256_add_epi64(b, load(j->w + i + 32));
            c = _mm256_add_epi64(c, load(j->w + i + 64)), d = _mm256_add_epi64(d, load(j->w + i + 96));
        }
        a = _mm256_add_epi64(_mm256_add_epi64(a, b), _mm256_add_epi64(c, d));
        j->sink = (uint64_t)_mm256_extract_epi64(a, 0);
    }
    return NULL;
}

static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec; }

/* kind 0: gemv over packed weights; 1: plain read of the same bytes. Seconds of one pass with `threads` threads. */
double run(int kind, int format, const uint8_t *w, int64_t rows, int K, int window, const int8_t *q, const float *scale, const int16_t *sum16, const int16_t *sum32, float *y, int threads) {
    struct planes x[8];
    for (int a = 0; a < window; a++) x[a] = (struct planes){q + a * K, scale + a * (K / (format == Q8_0 ? 32 : 128)), sum16 + a * (K / 16), sum32 + a * (K / 32)};
    struct job j[16];
    pthread_t id[16];
    int64_t bytes = packed_size(format, rows, K);
    double start = now();
    for (int t = 0; t < threads; t++) {
        int64_t f = rows / 8 * t / threads * 8, l = rows / 8 * (t + 1) / threads * 8;
        j[t] = (struct job){format, K, window, kind, kind ? w + bytes / threads * t : w, f, l, rows, bytes / threads, x, y, 0};
        if (t) pthread_create(&id[t], NULL, job_run, &j[t]);
    }
    job_run(&j[0]);
    for (int t = 1; t < threads; t++) pthread_join(id[t], NULL);
    return now() - start;
}

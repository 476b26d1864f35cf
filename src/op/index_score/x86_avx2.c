/* Pairs of products in 16 bits: 16 values of at most 24 · 12, and the bias, stay below 2^15. */
#define BIAS 12
#include "op/index_score/lane_keys.h"

typedef __m256i sums;

/* The bias goes to one of a key's two halves. */
static inline sums begin(vv_lanes c) {
    return (__m256i)(c & 0xffff);
}

static inline sums multiply(sums s, vv_keys keys, int32_t q) {
    return _mm256_add_epi16(s, _mm256_maddubs_epi16(_mm256_set1_epi32(q), (__m256i)keys));
}

static inline vv_vector finish(sums s) {
    return _mm256_cvtepi32_ps(_mm256_madd_epi16(s, _mm256_set1_epi16(1)));
}

#include "op/index_score/lanes.h"

int vv_index_score_integer_avx2(const void *args, size_t begin_unit, size_t end_unit) {
    struct tile t;
    t.count = 0;
    return vv_index_units(args, begin_unit, end_unit, score_unit, &t);
}

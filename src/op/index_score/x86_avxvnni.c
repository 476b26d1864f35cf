#define BIAS 12
#include "op/index_score/lane_keys.h"

typedef __m256i sums;

static inline sums begin(vv_lanes c) {
    return (__m256i)c;
}

static inline sums multiply(sums s, vv_keys keys, int32_t q) {
    return _mm256_dpbusd_avx_epi32(s, _mm256_set1_epi32(q), (__m256i)keys);
}

static inline vv_vector finish(sums s) {
    return _mm256_cvtepi32_ps(s);
}

#include "op/index_score/lanes.h"

int vv_index_score_integer_avxvnni(const void *args, size_t begin_unit, size_t end_unit) {
    struct tile t;
    t.count = 0;
    return vv_index_units(args, begin_unit, end_unit, score_unit, &t);
}

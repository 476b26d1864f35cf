/* What lanes.h asks for, on 512-bit registers with VNNI. */
#define BIAS 12
#include "op/index_score/lane_keys.h"

typedef __m512i sums;

static inline sums begin(vv_lanes c) {
    return (__m512i)c;
}

static inline sums multiply(sums s, vv_keys keys, int32_t q) {
    return _mm512_dpbusd_epi32(s, _mm512_set1_epi32(q), (__m512i)keys);
}

static inline vv_vector finish(sums s) {
    return _mm512_cvtepi32_ps(s);
}

#include "op/index_score/lanes.h"

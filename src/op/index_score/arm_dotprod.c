#define BIAS 0
#include "op/index_score/lane_keys.h"
#include <arm_neon.h>

typedef int32x4_t sums;

static inline sums begin(vv_lanes c) {
    return (int32x4_t)c;
}

static inline sums multiply(sums s, vv_keys keys, int32_t q) {
    return vdotq_s32(s, (int8x16_t)keys, vreinterpretq_s8_s32(vdupq_n_s32(q)));
}

static inline vv_vector finish(sums s) {
    return (vv_vector)vcvtq_f32_s32(s);
}

#include "op/index_score/lanes.h"

int vv_index_score_integer_dotprod(const void *args, size_t begin_unit, size_t end_unit) {
    struct tile t;
    t.count = 0;
    return vv_index_units(args, begin_unit, end_unit, score_unit, &t);
}

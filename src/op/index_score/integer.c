/* The integer arithmetic in plain C, for machines without byte products. */
#define BIAS 0
#include "op/index_score/lane_keys.h"

typedef vv_lanes sums;

static inline sums begin(vv_lanes c) {
    return c;
}

static inline sums multiply(sums s, vv_keys keys, int32_t q) {
    for (int l = 0; l < VV_WIDTH; l++) {
        for (int i = 0; i < 4; i++) {
            s[l] += (int8_t)keys[4 * l + i] * (int8_t)(q >> 8 * i);
        }
    }
    return s;
}

static inline vv_vector finish(sums s) {
    return __builtin_convertvector(s, vv_vector);
}

#include "op/index_score/lanes.h"

int vv_index_score_integer_portable(const void *args, size_t begin_unit, size_t end_unit) {
    struct tile t;
    t.count = 0;
    return vv_index_units(args, begin_unit, end_unit, score_unit, &t);
}

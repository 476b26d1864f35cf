/* A matrix instruction multiplies eight values of two heads and of two keys. */
#define BIAS 0
#define PAIRS
#include "op/index_score/lane_keys.h"
#include <arm_neon.h>

typedef int32x4_t sums;

static inline sums begin(vv_lanes c) {
    return (int32x4_t)c;
}

/* s[0]: the first head's with keys 0 and 1, then the second one's; s[1]: with keys 2 and 3. */
static inline void multiply_pair(sums *s /* [2] */, const vv_keys *keys /* [2] */,
                                 const uint8_t *const *q /* [2][8] */) {
    int8x16_t heads = vreinterpretq_s8_u8(vcombine_u8(vld1_u8(q[0]), vld1_u8(q[1])));
    uint32x4_t low = (uint32x4_t)keys[0], high = (uint32x4_t)keys[1];
    s[0] = vmmlaq_s32(s[0], heads, vreinterpretq_s8_u32(vzip1q_u32(low, high)));
    s[1] = vmmlaq_s32(s[1], heads, vreinterpretq_s8_u32(vzip2q_u32(low, high)));
}

static inline void part_pair(sums *s /* [2] */) {
    int64x2_t a = vreinterpretq_s64_s32(s[0]), b = vreinterpretq_s64_s32(s[1]);
    s[0] = vreinterpretq_s32_s64(vzip1q_s64(a, b));
    s[1] = vreinterpretq_s32_s64(vzip2q_s64(a, b));
}

static inline vv_vector finish(sums s) {
    return (vv_vector)vcvtq_f32_s32(s);
}

#include "op/index_score/lanes.h"

int vv_index_score_integer_i8mm(const void *args, size_t begin_unit, size_t end_unit) {
    struct tile t;
    t.count = 0;
    return vv_index_units(args, begin_unit, end_unit, score_unit, &t);
}

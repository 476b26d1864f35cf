/* What oracles in double precision need, and states filled entry by entry. */
#pragma once
#include "base/half.h"
#include "gguf/types.h"
#include "op/check_support.h"

/* Integers as floats, for vv_check_misreading. */
static inline float *vv_check_as_floats(struct vv_check *check, const int32_t *from, size_t n) {
    float *to = vv_check_floats(check, n);
    for (size_t i = 0; i < n; i++) {
        to[i] = (float)from[i];
    }
    return to;
}

static inline double vv_check_sigmoid(double x) {
    return 1 / (1 + exp(-x));
}

static inline double vv_check_silu(double x) {
    return x * vv_check_sigmoid(x);
}

/* A part of a state (vv_check_state), F32 or F16, that is NaN all over, so that an entry which
 * should not be read is seen. */
static inline struct vv_state_view vv_check_empty_state(struct vv_check *check, int type,
                                                        size_t width, size_t entries, size_t slots,
                                                        bool ring) {
    size_t bytes = type == VV_TYPE_F16 ? 2 : 4;
    struct vv_state_view v = vv_check_state(check, type, bytes, width, entries, slots, ring);
    memset(v.base, 0xff, v.bytes);
    return v;
}

/* Fills an entry with normal values. */
static inline void vv_check_entry(struct vv_check *check, const struct vv_state_view *v,
                                  size_t slot, int64_t index) {
    void *at = vv_state_at(v, (int32_t)slot, index);
    for (size_t i = 0; i < v->width; i++) {
        float x = vv_check_normal(check);
        if (v->type == VV_TYPE_F16) {
            ((uint16_t *)at)[i] = vv_to_f16(x);
        } else {
            ((float *)at)[i] = x;
        }
    }
}

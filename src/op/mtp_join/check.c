/* A copy has no other formula than where each value comes from. */
#include "op/check_support.h"
#include "op/mtp_join/contract.h"
#include "op/mtp_join/internal.h"

/* Where element `i` of stream `s` of `row` comes from, element by element. */
static float want(const struct vv_mtp_join *a, size_t row, size_t s, size_t i) {
    return i < a->width ? a->e[row * a->width + i]
                        : a->h[(row * a->streams + s) * a->width + i - a->width];
}

static void one(struct vv_check *check, int32_t rows, size_t streams, size_t width) {
    size_t n = (size_t)rows * streams, wide = 2 * width;
    struct vv_mtp_join a = {.e = vv_check_adversarial(check, (size_t)rows * width),
                            .h = vv_check_adversarial(check, n * width),
                            .y = vv_check_floats(check, n * wide),
                            .rows = {&rows, 1},
                            .streams = streams,
                            .width = width};
    vv_check_variants(check, &vv_mtp_join, &a, "%d x %zu x %zu", rows, streams, width);
    bool equal = true;
    for (size_t i = 0; i < n * wide; i++) {
        float expected = want(&a, i / wide / streams, i / wide % streams, i % wide);
        equal = equal && memcmp(&a.y[i], &expected, sizeof expected) == 0;
    }
    vv_check_true(check, equal, "%d x %zu x %zu: values from elsewhere", rows, streams, width);
    vv_check_reset(check);
}

void vv_mtp_join_check(struct vv_check *check) {
    static const size_t widths[] = {1, 2, 7, 16, 33, 2560};
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        for (int32_t rows = 1; rows <= 8; rows += vv_check_quick(check) ? 3 : 1) {
            one(check, rows, 1 + vv_check_below(check, 4), widths[i]);
        }
    }
    one(check, 33, 4, 5);
    one(check, 130, 3, 3);
}

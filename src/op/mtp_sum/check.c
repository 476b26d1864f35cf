/* One sum a value: what is added to which stream, bit for bit, and the misreadings of it. */
#include "op/check_support.h"
#include "op/mtp_sum/contract.h"
#include "op/mtp_sum/internal.h"

enum reading { RIGHT, FIRST_STREAM, BY_STREAM, FIRST_ROW, MEAN, READINGS };
static const char *const reading_name[READINGS] = {"right", "the first stream alone",
                                                   "the stream's number for the row",
                                                   "the first row for all", "half of the sum"};

static float value(const struct vv_mtp_sum *a, const float *x, size_t i, enum reading how) {
    size_t stream = i / a->width, row = stream / a->streams, s = stream % a->streams;
    size_t from = how == BY_STREAM ? s % vv_rows(a->rows) : how == FIRST_ROW ? 0 : row;
    float e = how == FIRST_STREAM && s > 0 ? 0.0f : a->e[from * a->width + i % a->width];
    return how == MEAN ? 0.5f * (x[i] + e) : x[i] + e;
}

static void one(struct vv_check *check, int32_t rows, size_t streams, size_t width) {
    size_t n = (size_t)rows * streams * width;
    float *x = vv_check_normals(check, n), *before = vv_check_floats(check, n);
    float *other = vv_check_floats(check, n);
    struct vv_mtp_sum a = {.e = vv_check_normals(check, (size_t)rows * width),
                           .x = x,
                           .rows = {&rows, 1},
                           .streams = streams,
                           .width = width};
    memcpy(before, x, n * sizeof *x);
    vv_check_variants(check, &vv_mtp_sum, &a, "%d x %zu x %zu", rows, streams, width);
    for (int how = RIGHT; how < (rows > 1 && streams > 1 ? READINGS : FIRST_STREAM); how++) {
        for (size_t i = 0; i < n; i++) {
            other[i] = value(&a, before, i, (enum reading)how);
        }
        if (how == RIGHT) {
            vv_check_true(check, memcmp(x, other, n * sizeof *x) == 0, "%d x %zu x %zu: other sums",
                          rows, streams, width);
        } else {
            vv_check_misreading(check, reading_name[how], x, other, n, 1e-3);
        }
    }
    vv_check_reset(check);
}

void vv_mtp_sum_check(struct vv_check *check) {
    static const size_t widths[] = {1, 2, 7, 16, 33, 4096};
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        for (int32_t rows = 1; rows <= 8; rows += vv_check_quick(check) ? 3 : 1) {
            one(check, rows, 1 + vv_check_below(check, 4), widths[i]);
        }
    }
    one(check, 33, 4, 5);
}

/* A copy has no other formula than where each row comes from. */
#include "op/check_support.h"
#include "op/gather_rows/contract.h"
#include "op/gather_rows/internal.h"

static struct vv_gather_rows make(struct vv_check *check, const int32_t *rows,
                                  const int32_t *from_rows, size_t row_bytes, int32_t *index) {
    uint8_t *from = vv_check_memory(check, (size_t)*from_rows * row_bytes);
    for (size_t i = 0; i < (size_t)*from_rows * row_bytes; i++) {
        from[i] = (uint8_t)vv_check_random(check);
    }
    return (struct vv_gather_rows){.from = from,
                                   .to = vv_check_memory(check, (size_t)*rows * row_bytes),
                                   .row_bytes = row_bytes,
                                   .index = index,
                                   .rows = {rows, 1},
                                   .from_rows = {from_rows, 1}};
}

/* Indices out of order, some twice, the last row of `from` among them; or none. */
static void one(struct vv_check *check, int32_t rows, size_t row_bytes, bool indexed) {
    int32_t from_rows = rows + (int32_t)vv_check_below(check, 5);
    int32_t *index = vv_check_memory(check, (size_t)rows * sizeof *index);
    for (int32_t r = 0; r < rows; r++) {
        index[r] =
            r == rows / 2 ? from_rows - 1 : (int32_t)vv_check_below(check, (size_t)from_rows);
    }
    struct vv_gather_rows a = make(check, &rows, &from_rows, row_bytes, indexed ? index : NULL);
    vv_check_variants(check, &vv_gather_rows, &a, "%d rows of %zu bytes", rows, row_bytes);
    const uint8_t *from = a.from, *to = a.to;
    bool equal = true;
    for (size_t i = 0; i < (size_t)rows * row_bytes; i++) {
        size_t row = i / row_bytes, source = indexed ? (size_t)index[row] : row;
        equal = equal && to[i] == from[source * row_bytes + i % row_bytes];
    }
    vv_check_true(check, equal, "%d rows of %zu bytes: from elsewhere", rows, row_bytes);
    vv_check_reset(check);
}

static void refusals(struct vv_check *check) {
    const int32_t rows = 3, from_rows = 4, bad[] = {-1, 4, INT32_MIN, INT32_MAX};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int32_t *index = vv_check_memory(check, 3 * sizeof *index);
        index[0] = 3, index[1] = 0, index[2] = bad[i];
        struct vv_gather_rows a = make(check, &rows, &from_rows, 12, index);
        vv_check_refuses(check, &vv_gather_rows, &a, VV_ERROR_INVALID, "row %d of 4", bad[i]);
        vv_check_reset(check);
    }
    struct vv_gather_rows a = make(check, &from_rows, &rows, 12, NULL);
    vv_check_refuses(check, &vv_gather_rows, &a, VV_ERROR_INVALID, "4 rows of 3");
    vv_check_reset(check);
}

void vv_gather_rows_check(struct vv_check *check) {
    static const size_t bytes[] = {1, 4, 7, 32, 100, 40960};
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
        for (int32_t rows = 0; rows <= 8; rows += vv_check_quick(check) && rows > 0 ? 3 : 1) {
            one(check, rows, bytes[i], true);
            one(check, rows, bytes[i], false);
        }
    }
    one(check, 33, 20, true);
    one(check, 130, 20, true);
    refusals(check);
}

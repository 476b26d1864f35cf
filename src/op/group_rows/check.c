/* Equal to what route_group makes of rows that list every group, and to no other numbering. */
#include "op/check_oracle.h"
#include "op/group_rows/contract.h"
#include "op/group_rows/internal.h"
#include "op/route/contract.h"

static void one(struct vv_check *check, int32_t rows, size_t groups) {
    size_t pairs = (size_t)rows * groups, many = (1 + groups) * sizeof(int32_t);
    int32_t *expert = vv_check_memory(check, pairs * sizeof *expert);
    for (size_t i = 0; i < pairs; i++) {
        expert[i] = (int32_t)(i % groups);
    }
    struct vv_route_group want = {.expert = expert,
                                  .rows = {&rows, 1},
                                  .experts = groups,
                                  .used = groups,
                                  .active = vv_check_memory(check, many),
                                  .begin = vv_check_memory(check, many),
                                  .pair = vv_check_memory(check, pairs * sizeof *expert)};
    struct vv_group_rows a = {.rows = {&rows, 1},
                              .groups = groups,
                              .active = vv_check_memory(check, many),
                              .begin = vv_check_memory(check, many),
                              .pair = vv_check_memory(check, pairs * sizeof *expert)};
    vv_check_variants(check, &vv_group_rows, &a, "%d rows, %zu groups", rows, groups);
    vv_check_true(check,
                  vv_route_group.variants->run(&want, 0, 1) == VV_OK &&
                      memcmp(want.active, a.active, many) == 0 &&
                      memcmp(want.begin, a.begin, many) == 0 &&
                      memcmp(want.pair, a.pair, pairs * sizeof *expert) == 0,
                  "%d rows, %zu groups: not route_group's", rows, groups);
    int32_t *other = vv_check_memory(check, pairs * sizeof *other);
    const float *right = vv_check_as_floats(check, a.pair, pairs);
    for (int how = 0; rows > 1 && groups > 1 && how < 2; how++) {
        for (size_t i = 0; i < pairs; i++) { /* rows one behind another, or of the group */
            other[i] = (int32_t)(how == 0 ? i : i % (size_t)rows);
        }
        vv_check_misreading(check, how == 0 ? "pairs by row" : "rows for pairs", right,
                            vv_check_as_floats(check, other, pairs), pairs, 1e-3);
    }
    vv_check_reset(check);
}

void vv_group_rows_check(struct vv_check *check) {
    static const size_t groups[] = {1, 2, 3, 8, 16};
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
        for (int32_t rows = 1; rows <= 8; rows++) {
            one(check, rows, groups[g]);
        }
        one(check, 130, groups[g]);
    }
}

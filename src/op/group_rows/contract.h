/*
 * group_rows: every row of the window takes part in every one of `groups` groups: what route_group
 * would make of rows that use experts 0 .. groups - 1. With it, expert_down is a product whose
 * matrix has a block for each group and nothing elsewhere (spec of deepseek4, 3.3.5). There is one
 * unit.
 */
#pragma once
#include "registry/operation.h"
#include "registry/window.h"

struct vv_group_rows {
    struct vv_rows rows;
    size_t groups;
    int32_t *active; /* [1 + groups]: how many, then 0 .. groups - 1 */
    int32_t *begin;  /* [groups + 1]: group g has the pairs begin[g] .. begin[g + 1] - 1 */
    int32_t *pair;   /* [rows · groups]: row · groups + g, ascending within a group */
};

extern const struct vv_operation vv_group_rows;

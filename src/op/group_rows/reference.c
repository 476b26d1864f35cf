#include "op/group_rows/contract.h"
#include "op/group_rows/internal.h"

int vv_group_rows_reference(const void *args, size_t begin, size_t end) {
    const struct vv_group_rows *a = args;
    size_t rows = vv_rows(a->rows);
    if (begin == end) {
        return VV_OK;
    }
    a->active[0] = (int32_t)a->groups;
    for (size_t g = 0; g < a->groups; g++) {
        a->active[1 + g] = (int32_t)g;
        a->begin[g] = (int32_t)(g * rows);
        for (size_t r = 0; r < rows; r++) {
            a->pair[g * rows + r] = (int32_t)(r * a->groups + g);
        }
    }
    a->begin[a->groups] = (int32_t)(a->groups * rows);
    return VV_OK;
}

#include "op/gather_rows/contract.h"
#include "op/gather_rows/internal.h"

#include <string.h>

int vv_gather_rows_reference(const void *args, size_t begin, size_t end) {
    const struct vv_gather_rows *a = args;
    const uint8_t *from = a->from;
    uint8_t *to = a->to;
    for (size_t row = begin; row < end; row++) {
        size_t source = a->index ? (size_t)a->index[row] : row; /* below 0: beyond any row */
        if (source >= vv_rows(a->from_rows)) {
            return VV_ERROR_INVALID;
        }
        memcpy(to + row * a->row_bytes, from + source * a->row_bytes, a->row_bytes);
    }
    return VV_OK;
}

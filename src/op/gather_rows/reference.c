#include "op/gather_rows/contract.h"
#include "op/gather_rows/internal.h"

#include <string.h>

int vv_gather_rows_reference(const void *args, size_t begin, size_t end) {
    const struct vv_gather_rows *a = args;
    const uint8_t *from = a->from;
    uint8_t *to = a->to;
    for (size_t row = begin; row < end; row++) {
        int64_t source = a->index ? a->index[row] : (int64_t)row;
        if (source < 0 || (size_t)source >= vv_rows(a->from_rows)) {
            return VV_ERROR_INVALID;
        }
        memcpy(to + row * a->row_bytes, from + (size_t)source * a->row_bytes, a->row_bytes);
    }
    return VV_OK;
}

#include "base/half.h"
#include "op/round_half/contract.h"
#include "op/round_half/internal.h"

int vv_round_half_reference(const void *args, size_t begin, size_t end) {
    const struct vv_round_half *a = args;
    bool finite = true;
    for (size_t i = begin * a->width; i < end * a->width; i++) {
        a->x[i] = vv_from_f16(vv_to_f16(a->x[i]));
        finite = finite && isfinite(a->x[i]);
    }
    return finite ? VV_OK : VV_ERROR_NOT_FINITE;
}

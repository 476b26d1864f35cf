#include "op/hyper_read/internal.h"

void vv_hyper_read_check(struct vv_check *check) {
    vv_hyper_norm_check(check);
    vv_hyper_product_check(check);
}

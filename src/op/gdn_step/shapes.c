/* Gated DeltaNet layers of released models. */
#include "op/gdn_step/internal.h"

const struct vv_gdn_step_shape vv_gdn_step_shapes[] = {
    {16, 48, 128, 128, 4, 36}, /* Qwen3.8-Flash-Next */
    {0},
};

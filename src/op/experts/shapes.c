/* Mixtures of released models. */
#include "op/experts/internal.h"

const struct vv_experts_shape vv_experts_shapes[] = {
    {512, 10, 2560, 640, 48}, /* Qwen3.8-Flash-Next */
    {256, 10, 2560, 640, 48}, /* its pruned release */
    {0},
};

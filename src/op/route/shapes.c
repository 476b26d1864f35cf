/* Routers of released models. */
#include "op/route/internal.h"

const struct vv_route_shape vv_route_shapes[] = {
    {512, 10, 48}, /* Qwen3.8-Flash-Next */
    {256, 10, 48}, /* its pruned release */
    {0},
};

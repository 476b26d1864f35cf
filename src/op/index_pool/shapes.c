/* Indexers of released models. */
#include "op/index_pool/internal.h"

const struct vv_index_pool_shape vv_index_pool_shapes[] = {
    {4, 128, 64, 12}, /* Qwen3.8-Flash-Next; every fourth token completes a block */
    {0},
};

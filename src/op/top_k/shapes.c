/* Block selections of released models. */
#include "op/top_k/internal.h"

const struct vv_top_k_shape vv_top_k_shapes[] = {
    {65536, 512, 12}, /* Qwen3.8-Flash-Next: 262,144 tokens in blocks of 4, budget 2048 tokens */
    {0},
};

/* Attention of released models. */
#include "op/attend/internal.h"

const struct vv_attend_shape vv_attend_shapes[] = {
    {24, 2, 256, 2051, 12}, /* Qwen3.8-Flash-Next: 512 blocks of 4 and a tail of 3 */
    {0},
};

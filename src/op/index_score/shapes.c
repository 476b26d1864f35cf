/* Indexers of released models. */
#include "op/index_score/internal.h"

const struct vv_index_score_shape vv_index_score_shapes[] = {
    {65536, 4, 128, 12}, /* Qwen3.8-Flash-Next: 262,144 tokens in blocks of 4 */
    {0},
};

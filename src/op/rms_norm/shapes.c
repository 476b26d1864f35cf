/* {groups, width, calls a token} of released models. */
#include <stddef.h>

extern const size_t vv_rms_norm_shapes[][3];
const size_t vv_rms_norm_shapes[][3] = {
    {24, 256, 12}, /* query heads of the 12 sparse-attention layers, Qwen3.8-Flash-Next */
    {2, 256, 12},  /* their key heads */
    {4, 128, 12},  /* their index queries */
    {4, 2560, 3},  /* keys, queries and convolution input of the n-gram embedding */
    {1, 2560, 1},  /* the draft head's embedding */
    {1, 10240, 1}, /* and its hidden state: one statistic over all streams */
};

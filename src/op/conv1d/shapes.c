/* {channels, kernel, dilation, calls a token} of released models. */
#include <stddef.h>

extern const size_t vv_conv1d_shapes[][4];
const size_t vv_conv1d_shapes[][4] = {
    {10240, 4, 3, 1}, /* the n-gram layer of Qwen3.8-Flash-Next */
};

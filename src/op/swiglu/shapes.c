/* {width, calls a token} of released models. */
#include <stddef.h>

extern const size_t vv_swiglu_shapes[][2];
const size_t vv_swiglu_shapes[][2] = {
    {640, 48}, /* the shared expert, Qwen3.8-Flash-Next */
};

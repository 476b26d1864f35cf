/* {type, inputs, outputs, calls a token} of a released model with mixed formats. */
#include "gguf/types.h"
#include <stddef.h>

extern const size_t vv_gemv_shapes[][4];
const size_t vv_gemv_shapes[][4] = {
    {VV_TYPE_Q8_0, 10240, 320, 97},  /* hyper_down of each half layer, Qwen3.8-Flash-Next */
    {VV_TYPE_Q8_0, 320, 10240, 97},  /* hyper_up */
    {VV_TYPE_Q5_K, 2560, 10240, 36}, /* projection of a gated delta net */
    {VV_TYPE_Q6_K, 6144, 2560, 48},  /* a mixer's output */
    {VV_TYPE_F32, 2560, 768, 48},    /* the router */
    {VV_TYPE_Q6_K, 2560, 248320, 1}, /* the output matrix */
};

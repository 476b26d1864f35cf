/* {type, width, streams, calls a token} of released models. */
#include "gguf/types.h"
#include <stddef.h>

extern const size_t vv_embed_shapes[][4];
const size_t vv_embed_shapes[][4] = {
    {VV_TYPE_Q4_K, 2560, 4, 1}, /* Qwen3.8-Flash-Next, UD-IQ1_S */
    {VV_TYPE_Q6_K, 2560, 4, 1}, /* the same, UD-IQ3_XXS */
};

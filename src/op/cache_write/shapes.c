/* {elements of an entry, calls a token} of released models. */
#include <stddef.h>

extern const size_t vv_cache_write_shapes[][2];
const size_t vv_cache_write_shapes[][2] = {
    {512, 24}, /* keys, and values, of the 12 sparse-attention layers, Qwen3.8-Flash-Next */
    {128, 12}, /* their raw index keys */
    {10240,
     37},     /* convolution inputs of the 36 gated-delta-net layers and of the n-gram embedding */
    {96, 36}, /* decay and write gates of 48 value heads */
    {1, 1},   /* token ids */
};

/* {heads, width of a head, rotated dims, calls a token} of released models. */
#include <stddef.h>

extern const size_t vv_rope_shapes[][4];
const size_t vv_rope_shapes[][4] = {
    {24, 256, 64, 12}, /* query heads of the 12 sparse-attention layers, Qwen3.8-Flash-Next */
    {2, 256, 64, 12},  /* their key heads */
    {4, 128, 64, 12},  /* their index queries */
};

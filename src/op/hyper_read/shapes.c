/* {streams, width, rank, calls a token} of released models; the norm ignores the rank. */
#include <stddef.h>

extern const size_t vv_hyper_read_shapes[][4];
const size_t vv_hyper_read_shapes[][4] = {
    {4, 2560, 320, 97}, /* Qwen3.8-Flash-Next: two reads a layer and one before the output */
};

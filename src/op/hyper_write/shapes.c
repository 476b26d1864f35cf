/* {streams, width, calls a token} of released models. */
#include <stddef.h>

extern const size_t vv_hyper_write_shapes[][3];
const size_t vv_hyper_write_shapes[][3] = {
    {4, 2560, 1}, /* after the last layer of Qwen3.8-Flash-Next; a hyper_norm follows the others */
};

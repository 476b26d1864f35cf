/* {streams, width, calls a draft} of released models. */
#include <stddef.h>

extern const size_t vv_mtp_join_shapes[][3];
const size_t vv_mtp_join_shapes[][3] = {
    {4, 2560, 1}, /* Qwen3.8-Flash-Next */
};

/* {bytes of a row, calls a window} of released models. */
#include <stddef.h>

extern const size_t vv_gather_rows_shapes[][2];
const size_t vv_gather_rows_shapes[][2] = {
    {40960, 2}, /* Qwen3.8-Flash-Next: all streams of the rows whose logits are wanted */
};

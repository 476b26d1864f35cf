/* {streams, width, calls a token} of released models. */
#include <stddef.h>

extern const size_t vv_ngram_gate_shapes[][3];
const size_t vv_ngram_gate_shapes[][3] = {
    {4, 2560, 1}, /* the one n-gram layer of Qwen3.8-Flash-Next */
};

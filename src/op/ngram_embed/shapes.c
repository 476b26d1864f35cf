/* {order, heads an order, width of a row, calls a token} of released models. */
#include <stddef.h>

extern const size_t vv_ngram_embed_shapes[][4];
const size_t vv_ngram_embed_shapes[][4] = {
    {3, 8, 160, 1}, /* Qwen3.8-Flash-Next: 320,001,536 rows, most often IQ4_NL */
};

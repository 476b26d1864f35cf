/* {width, coarse, fine, calls a token} of released models. */
#include <stddef.h>

extern const size_t vv_quantize_rows_shapes[][4];
const size_t vv_quantize_rows_shapes[][4] = {
    {2560, 1, 1,
     96}, /* input of a mixer or of experts, Qwen3.8-Flash-Next: one for each half layer */
    {10240, 0, 1, 97}, /* normed streams before hyper_read */
    {320, 0, 1, 97},   /* its low-rank middle */
    {6144, 1, 0, 48},  /* output of a mixer's heads */
    {640, 0, 1, 432},  /* hidden values of an expert: eight used and a shared one */
};

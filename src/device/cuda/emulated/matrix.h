/* What a warp does together with its matrix unit: each lane brings and takes its fragment. */
#pragma once
#include "block.h"

namespace vv_emulated {

extern const meeting mma_s8_k16, mma_s8_k32, mma_u8_s8_k32, mma_f16_k8, mma_f16_k16, mma_bf16_k8,
    mma_bf16_k16, load_matrices, load_matrices_transposed;

/* d = a·b + d; `a_words` words of A and half as many of B a lane. */
void multiply(const meeting &what, void *d, const unsigned *a, const unsigned *b, unsigned a_words);
/* `count` matrices of 8 rows of 16 bytes; lane 8·i + r names row r of matrix i. */
void load(const meeting &what, unsigned *to, const void *row, unsigned count);

} // namespace vv_emulated

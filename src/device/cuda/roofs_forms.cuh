/* The forms in which integers of a product can be put together, and numbers to multiply. */
#pragma once
#include "device/cuda/intrinsics.cuh"
#include "device/cuda/runtime.cuh"

namespace vv_roofs {

/*
 * BLOCKS       a product for each 32 values, made a float by a subtraction; its scales; fma
 * BLOCK_FLOATS the same by halves, whose sums are floats: exact below 2^24
 * STEPS        products of 16 values, each with scales and an fma
 * STEP_FLOATS  the same by halves
 * SCALED       a product for each 32 values, times a sub-scale, added as integers
 * FLOATS       sub-scale times code as halves: a sum for each 64 values
 * SPLIT        sub-scale times code as two signed bytes: two products, in one integer
 * FOLDED       sub-scale times code as one
 */
enum form { BLOCKS, BLOCK_FLOATS, STEPS, STEP_FLOATS, SCALED, FLOATS, SPLIT, FOLDED };

/* Random ones, of which the compiler doesn't know that no two are equal. */
static VV_DEVICE unsigned word(const unsigned *from, int i) {
    return (from[i] + (unsigned)i) * 0x9e3779b9u ^ (threadIdx.x + 1) * 0x85ebca6bu;
}
static VV_DEVICE float small(unsigned bits) {
    return vv_from_bits((bits & 0x007fffffu) | 0x3a000000u);
}

} // namespace vv_roofs

/*
 * CUDA's keywords. Sources write `static __constant__`: the word alone says nothing of linkage
 * here. Shared memory is static, as blocks run one after another, but for kernels that have
 * dynamic shared memory alone; its constructors don't run on a GPU.
 */
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory> /* before __noinline__ becomes a macro, as the library's headers use the word */
#include <tuple>
#include <type_traits>
#include <utility>

#define __global__
#define __device__
#define __host__
#define __constant__
#define __managed__
#define __grid_constant__
#define __shared__ static
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))

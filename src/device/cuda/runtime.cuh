/*
 * What every CUDA source begins with: the runtime, and the engine's headers that are plain C, which
 * are included between VV_C_BEGIN and VV_C_END.
 */
#pragma once
#include "device/cuda/intrinsics.cuh"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <new>

/* Before a loop whose turns belong side by side: all of a constant number; n of any. */
#ifdef __CUDACC__
#define VV_UNROLL _Pragma("unroll")
#define VV_PRAGMA(text) _Pragma(#text)
#define VV_UNROLL_BY(n) VV_PRAGMA(unroll n)
#else
#define VV_UNROLL
#define VV_UNROLL_BY(n)
#endif

#define VV_C_BEGIN extern "C" {
#define VV_C_END }

VV_C_BEGIN
#include "base/math.h"
#include "device/device.h"
#include "device/features.h"
#include "device/launch.h"
#include "gguf/types.h"
#include "memory/state.h"
VV_C_END

/* Opens the GPU (device.cu); measures what it can do (rates.cu, roofs.cu). */
int vv_cuda_open(vv_device **device, vv_error *error);
int vv_cuda_rates(vv_device *device, vv_device_rates *rates, vv_error *error);
int vv_cuda_roofs(vv_device *device, vv_device_roof *roofs, vv_error *error);
int vv_cuda_multiply_bf16(vv_device *device, size_t inputs, size_t outputs, size_t rows,
                          double *seconds, vv_error *error);

/* round_fp8: a warp a block of values. round_fp4: a block a vector, which it keeps in shared
 * memory.
 */
#include "op/cuda/kernel.cuh"
VV_C_BEGIN
#include "op/cache_round/round.h"
VV_C_END

namespace {

enum { WARPS = 4, THREADS = 32 * WARPS };

__device__ uint32_t magnitude(float x) {
    return vv_bits(x) & 0x7fffffffu;
}

__device__ uint32_t peak_of(uint32_t mine) {
    return __reduce_max_sync(0xffffffffu, mine);
}

__global__ void __launch_bounds__(THREADS) round_fp8(struct vv_round_fp8 a, vv_trouble trouble) {
    vv_follow();
    size_t row = blockIdx.x, block = (size_t)blockIdx.y * WARPS + threadIdx.x / 32;
    size_t first = block * VV_FP8_BLOCK + threadIdx.x % 32, second = first + 32;
    if (block * VV_FP8_BLOCK >= a.width || !vv_completes(a.window, row, a.ratio)) {
        return;
    }
    float *x = a.x + row * a.stride;
    float low = first < a.width ? x[first] : 0.0f, high = second < a.width ? x[second] : 0.0f;
    uint32_t own = magnitude(low), other = magnitude(high);
    uint32_t peak = peak_of(own > other ? own : other), field = vv_e4m3_field(peak);
    if (vv_round_refuses(peak)) {
        vv_report(trouble, VV_ERROR_NOT_FINITE);
        return;
    }
    if (first < a.width) {
        x[first] = vv_e4m3_round(low, field);
    }
    if (second < a.width) {
        x[second] = vv_e4m3_round(high, field);
    }
}

int launch_fp8(const void *args, const vv_launch *on) {
    auto a = *static_cast<const struct vv_round_fp8 *>(args);
    dim3 grid((unsigned)vv_rows(a.rows), vv_blocks(a.width, (size_t)VV_FP8_BLOCK * WARPS));
    a.window = vv_on_device_as(on, a.window);
    return vv_start_early(round_fp8, grid, THREADS, 0, on->stream, a, vv_trouble_of(on));
}

__device__ void hadamard(float *x, unsigned width, float unit) {
    for (unsigned stride = 1; stride < width; stride *= 2) {
        for (unsigned p = threadIdx.x; p < width / 2; p += THREADS) {
            unsigned i = p / stride * 2 * stride + p % stride;
            float left = x[i], right = x[i + stride];
            x[i] = left + right;
            x[i + stride] = left - right;
        }
        __syncthreads();
    }
    for (unsigned i = threadIdx.x; i < width; i += THREADS) {
        x[i] *= unit;
    }
    __syncthreads();
}

__global__ void __launch_bounds__(THREADS)
    round_fp4(struct vv_round_fp4 a, float unit, vv_trouble trouble) {
    vv_follow();
    __shared__ float x[VV_FP4_WIDTH_MAX];
    size_t row = blockIdx.x, head = blockIdx.y;
    unsigned width = (unsigned)a.width, lane = threadIdx.x % 32;
    if (!vv_completes(a.window, row, a.ratio)) {
        return;
    }
    for (unsigned i = threadIdx.x; i < width; i += THREADS) {
        x[i] = a.x[row * a.stride + head * width + i];
    }
    __syncthreads();
    hadamard(x, width, unit);
    uint8_t *y = vv_fp4_row(&a, row, head);
    for (unsigned b = threadIdx.x / 32; b < width / VV_FP4_BLOCK; b += WARPS) {
        float value = x[b * VV_FP4_BLOCK + lane];
        uint32_t peak = peak_of(magnitude(value)), field = vv_e2m1_field(peak);
        if (vv_round_refuses(peak)) {
            vv_report(trouble, VV_ERROR_NOT_FINITE);
            return;
        }
        uint32_t code = vv_e2m1_code(value, field);
        code |= __shfl_xor_sync(0xffffffffu, code, 16) << 4;
        if (lane < 16) {
            y[b * VV_FP4_BYTES + 1 + lane] = (uint8_t)code;
        }
        if (lane == 0) {
            y[b * VV_FP4_BYTES] = (uint8_t)field;
        }
    }
}

int launch_fp4(const void *args, const vv_launch *on) {
    auto a = *static_cast<const struct vv_round_fp4 *>(args);
    float unit = (float)(1 / sqrt((double)a.width));
    a.window = vv_on_device_as(on, a.window);
    return vv_start_early(round_fp4, dim3((unsigned)vv_rows(a.rows), (unsigned)a.heads), THREADS, 0,
                          on->stream, a, unit, vv_trouble_of(on));
}

const vv_variant fp8_variants[] = {
    {"round_fp8/cuda", VV_CUDA_ANY, true, nullptr, nullptr, nullptr, launch_fp8, nullptr},
    {},
};

const vv_variant fp4_variants[] = {
    {"round_fp4/cuda", VV_CUDA_ANY, true, nullptr, nullptr, nullptr, launch_fp4, nullptr},
    {},
};

} // namespace

extern const vv_more_variants vv_cuda_folder_cache_round[] = {
    {"round_fp8", fp8_variants}, {"round_fp4", fp4_variants}, {}};

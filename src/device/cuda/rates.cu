/*
 * What the GPU can do at most: kernels that only read, only copy, only multiply 8-bit integers by
 * its matrix units, only fma. The best of a few runs each.
 */
#include "device/cuda/runtime.cuh"

namespace {

#ifdef VV_CUDA_EMULATED
enum { RUNS = 1, TURNS = 16 };
const size_t memory_bytes = (size_t)1 << 20;
#else
enum { RUNS = 5, TURNS = 4096 };
const size_t memory_bytes = (size_t)2 << 30;
#endif
enum { THREADS = 256, BLOCKS_EACH = 8, CHAINS = 8 };

__global__ void __launch_bounds__(THREADS) read_all(const uint4 *from, size_t n, unsigned *sink) {
    unsigned sum = 0;
    size_t step = (size_t)gridDim.x * THREADS;
    for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < n; i += 4 * step) {
        VV_UNROLL
        for (int k = 0; k < 4; k++) {
            size_t at = i + (size_t)k * step;
            uint4 v = from[at < n ? at : i];
            sum += v.x ^ v.y ^ v.z ^ v.w;
        }
    }
    if (sum == 0x12345678u) { /* as good as never: what is read has to be of use */
        *sink = sum;
    }
}

__global__ void __launch_bounds__(THREADS) copy_all(const uint4 *from, uint4 *to, size_t n) {
    size_t step = (size_t)gridDim.x * THREADS;
    for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < n; i += step) {
        to[i] = from[i];
    }
}

/* Chains of matrix products side by side, each waiting for itself alone. */
__global__ void __launch_bounds__(THREADS) multiply(int turns, int *sink) {
    int d[CHAINS][4] = {};
    unsigned a[4] = {threadIdx.x, 1, 2, 3}, b[2] = {threadIdx.x, 5};
    for (int t = 0; t < turns; t++) {
        VV_UNROLL
        for (int c = 0; c < CHAINS; c++) {
            vv_mma_m16n8k32_s8(d[c], a, b);
        }
    }
    int sum = 0;
    for (int c = 0; c < CHAINS; c++) {
        sum += d[c][0] + d[c][1] + d[c][2] + d[c][3];
    }
    if (sum == 0x12345678) {
        *sink = sum;
    }
}

__global__ void __launch_bounds__(THREADS) multiply_floats(int turns, float *sink) {
    float x[CHAINS], y = 1.0f + (float)threadIdx.x * 0x1p-20f;
    for (int c = 0; c < CHAINS; c++) {
        x[c] = (float)c;
    }
    VV_UNROLL_BY(16) /* or its own counting takes a quarter of the time */
    for (int t = 0; t < turns; t++) {
        VV_UNROLL
        for (int c = 0; c < CHAINS; c++) {
            x[c] = fmaf(x[c], y, 1.0f);
        }
    }
    float sum = 0.0f;
    for (int c = 0; c < CHAINS; c++) {
        sum += x[c];
    }
    if (sum == 12345.0f) {
        *sink = sum;
    }
}

/* Runs `start` some times and gives the least seconds. */
template <typename START>
int best(vv_device *device, START start, double *seconds, vv_error *error) {
    const vv_launcher *l = device->launcher;
    *seconds = 1e30;
    for (int run = 0; run < RUNS; run++) {
        vv_launch launch = {};
        uint64_t status;
        int code = l->begin(device, false, &launch, error);
        code = code == VV_OK ? l->mark(device, 0, error) : code;
        if (code == VV_OK && start(launch.stream) != cudaSuccess) {
            code = vv_fail(error, VV_ERROR_DEVICE, "the GPU refuses to be measured");
        }
        code = code == VV_OK ? l->mark(device, 1, error) : code;
        int ended = l->end(device, nullptr, error);
        code = code == VV_OK ? ended : code;
        ended = l->wait(device, &status, error);
        code = code == VV_OK ? ended : code;
        if (code != VV_OK) {
            return code;
        }
        double took = l->seconds(device, 0, 1);
        *seconds = took < *seconds ? took : *seconds;
    }
    return VV_OK;
}

int measure(vv_device *device, uint8_t *memory, size_t bytes, vv_device_rates *rates,
            vv_error *error) {
    unsigned blocks = device->processors * BLOCKS_EACH;
    auto at = reinterpret_cast<uint4 *>(memory);
    size_t n = bytes / sizeof(uint4), half = n / 2;
    double read = 0, copy = 0, int8 = 0, f32 = 0;
    int code = best(
        device,
        [&](void *s) {
            return vv_start(read_all, blocks, THREADS, 0, s, static_cast<const uint4 *>(at), n,
                            reinterpret_cast<unsigned *>(memory));
        },
        &read, error);
    code = code == VV_OK ? best(
                               device,
                               [&](void *s) {
                                   return vv_start(copy_all, blocks, THREADS, 0, s,
                                                   static_cast<const uint4 *>(at), at + half, half);
                               },
                               &copy, error)
                         : code;
    code = code == VV_OK ? best(
                               device,
                               [&](void *s) {
                                   return vv_start(multiply, blocks, THREADS, 0, s, (int)TURNS,
                                                   reinterpret_cast<int *>(memory));
                               },
                               &int8, error)
                         : code;
    code = code == VV_OK ? best(
                               device,
                               [&](void *s) {
                                   return vv_start(multiply_floats, blocks, THREADS, 0, s,
                                                   (int)TURNS, reinterpret_cast<float *>(memory));
                               },
                               &f32, error)
                         : code;
    double threads = (double)blocks * (double)THREADS, turns = (double)(TURNS * CHAINS);
    rates->read = (double)bytes / read;
    rates->copy = (double)(2 * half * sizeof(uint4)) / copy;
    rates->int8 = threads / 32 * turns * (2.0 * 16 * 8 * 32) / int8;
    rates->f32 = threads * turns * 2.0 / f32;
    return code;
}

} // namespace

int vv_cuda_rates(vv_device *device, vv_device_rates *rates, vv_error *error) {
    auto memory = static_cast<uint8_t *>(device->calls->allocate(device, memory_bytes));
    if (!memory) {
        return vv_fail_memory(error, memory_bytes, "the measurement of the GPU's memory");
    }
    int code = measure(device, memory, memory_bytes, rates, error);
    device->calls->release(device, memory);
    return code;
}

/* Failures of memory at every call, and errors that are told. */
#include "test.h"
#ifdef VV_CUDA_EMULATED
#include "device/cuda/emulated/control.h"
#include <cstring>

static __global__ void nothing() {
}

/* Each of these calls fails when it is its turn, and only then. */
static int failures_of(uint64_t countdown) {
    void *device = nullptr, *pinned = nullptr, *managed = nullptr;
    cudaStream_t stream = nullptr;
    cudaEvent_t event = nullptr;
    vv_emulated_fail(countdown);
    int failures = cudaMalloc(&device, 100) == cudaErrorMemoryAllocation;
    failures += cudaMallocHost(&pinned, 100) == cudaErrorMemoryAllocation;
    failures += cudaMallocManaged(&managed, 100) == cudaErrorMemoryAllocation;
    failures += cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess;
    failures += cudaEventCreate(&event) != cudaSuccess;
    vv_emulated_fail(0);
    SUCCEEDS(cudaFree(device));
    SUCCEEDS(cudaFreeHost(pinned));
    SUCCEEDS(cudaFree(managed));
    if (stream) {
        SUCCEEDS(cudaStreamDestroy(stream));
    }
    if (event) {
        SUCCEEDS(cudaEventDestroy(event));
    }
    return failures;
}

void test_memory() {
    EXPECT(failures_of(0) == 0 && failures_of(6) == 0);
    for (uint64_t i = 1; i <= 5; i++) {
        EXPECT(failures_of(i) == 1);
    }
    EXPECT(cudaGetLastError() == cudaErrorMemoryAllocation && cudaGetLastError() == cudaSuccess);

    size_t free_bytes, total, then;
    SUCCEEDS(cudaMemGetInfo(&free_bytes, &total));
    void *at;
    EXPECT(free_bytes == total && cudaMalloc(&at, total + 1) == cudaErrorMemoryAllocation);
    SUCCEEDS(cudaMalloc(&at, 1000));
    SUCCEEDS(cudaMemGetInfo(&then, &total));
    EXPECT(then == free_bytes - 1000 && reinterpret_cast<uintptr_t>(at) % 256 == 0);
    int on_host[300];
    EXPECT(cudaMemcpy(at, on_host, 1001, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
    EXPECT(cudaMemcpy(on_host, at, 4, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
    EXPECT(cudaFreeHost(at) == cudaErrorInvalidValue);
    SUCCEEDS(cudaFree(at));
    EXPECT(cudaFree(at) == cudaErrorInvalidValue);

    SUCCEEDS(vv_start(nothing, 0, 1, 0, nullptr)); /* no blocks: nothing is launched */
    EXPECT(vv_start(nothing, 1, 1025, 0, nullptr) == cudaErrorInvalidConfiguration);
    EXPECT(vv_start(nothing, dim3(1, 65536), 1, 0, nullptr) == cudaErrorInvalidConfiguration);
    EXPECT(vv_start(nothing, 1, 1, 228 << 10, nullptr) == cudaErrorInvalidValue);
    SUCCEEDS(vv_start(nothing, 1, 1, 227 << 10, nullptr));
    SUCCEEDS(cudaDeviceSynchronize());
    EXPECT(!std::strcmp(cudaGetErrorName(cudaErrorNotReady), "cudaErrorNotReady"));
    cudaGetLastError();
}
#endif

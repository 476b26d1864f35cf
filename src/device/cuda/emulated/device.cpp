/* The device itself: what it can do, its errors, and what environment and tests ask of it. */
#include "control.h"
#include "driver.h"
#include "random.h"
#include <map>

namespace vv_emulated {

std::recursive_mutex driver_lock;
bool eager;
static cudaError_t last_error = cudaSuccess;
static uint64_t countdown, launches_left;
static std::map<const void *, int> shared_limits; /* by kernel, where it was raised */

constexpr int processors = 4, shared_plain = 48 << 10, shared_most = 227 << 10;
constexpr int processor_threads = 2048, processor_blocks = 32, processor_shared = 228 << 10;

cudaError_t noted(cudaError_t error) {
    if (error != cudaSuccess) {
        last_error = error;
    }
    return error;
}

bool may_take() {
    read_environment();
    return countdown == 0 || --countdown > 0;
}

static uint64_t variable(const char *name) {
    const char *text = std::getenv(name);
    return text ? std::strtoull(text, nullptr, 10) : 0;
}

void read_environment() {
    static bool read;
    if (read) {
        return;
    }
    read = true;
    if (uint64_t seed = variable("VARVE_EMULATED_SEED")) {
        vv_emulated_seed(seed);
    }
    if (uint64_t bytes = variable("VARVE_EMULATED_MEMORY")) {
        vv_emulated_memory(bytes);
    }
    countdown = countdown ? countdown : variable("VARVE_EMULATED_FAIL");
    eager = eager || variable("VARVE_EMULATED_EAGER") != 0;
}

static int shared_limit(const void *kernel) {
    auto found = shared_limits.find(kernel);
    return found == shared_limits.end() ? shared_plain : found->second;
}

cudaError_t check_launch(const void *kernel, dim3 blocks, dim3 threads, size_t shared) {
    VV_DRIVER;
    read_environment();
    uint64_t in_block = static_cast<uint64_t>(threads.x) * threads.y * threads.z;
    bool fits = in_block >= 1 && threads.x <= 1024 && threads.y <= 1024 && threads.z <= 64 &&
                in_block <= 1024 && blocks.x >= 1 && blocks.x <= 0x7fffffff && blocks.y >= 1 &&
                blocks.y <= 65535 && blocks.z >= 1 && blocks.z <= 65535;
    if (!fits) {
        return noted(cudaErrorInvalidConfiguration);
    }
    if (launches_left > 0 && --launches_left == 0) {
        return noted(cudaErrorLaunchOutOfResources);
    }
    return shared <= static_cast<size_t>(shared_limit(kernel)) ? cudaSuccess
                                                               : noted(cudaErrorInvalidValue);
}

cudaError_t set_shared_limit(const void *kernel, int bytes) {
    VV_DRIVER;
    if (bytes < 0 || bytes > shared_most) {
        return noted(cudaErrorInvalidValue);
    }
    shared_limits[kernel] = bytes;
    return cudaSuccess;
}

cudaError_t function_attributes(cudaFuncAttributes *attributes, const void *kernel) {
    VV_DRIVER;
    *attributes = cudaFuncAttributes{0, 0, 0, 1024, 32, 90, 90, shared_limit(kernel)};
    return cudaSuccess;
}

cudaError_t blocks_at_once(int *blocks, int threads, size_t shared) {
    if (threads < 1) {
        return noted(cudaErrorInvalidValue);
    }
    int by_threads = processor_threads / ((threads + 31) / 32 * 32);
    /* Each block has a kilobyte of the system's beside its own. */
    int by_shared = static_cast<int>(processor_shared / (shared + 1024));
    int fit = by_threads < by_shared ? by_threads : by_shared;
    *blocks = fit < processor_blocks ? fit : processor_blocks;
    return cudaSuccess;
}

static int attribute_of(cudaDeviceAttr attribute) {
    switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock:
        return 1024;
    case cudaDevAttrMaxSharedMemoryPerBlock:
        return shared_plain;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
        return shared_most;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
        return processor_shared;
    case cudaDevAttrWarpSize:
        return 32;
    case cudaDevAttrMaxRegistersPerBlock:
        return 65536;
    case cudaDevAttrMultiProcessorCount:
        return processors;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
        return processor_threads;
    case cudaDevAttrComputeCapabilityMajor:
        return 9;
    case cudaDevAttrGlobalMemoryBusWidth:
        return 64;
    case cudaDevAttrClockRate:
    case cudaDevAttrMemoryClockRate:
        return 1000000;
    case cudaDevAttrL2CacheSize:
        return 1 << 20;
    case cudaDevAttrCanMapHostMemory:
    case cudaDevAttrConcurrentKernels:
    case cudaDevAttrUnifiedAddressing:
    case cudaDevAttrManagedMemory:
    case cudaDevAttrConcurrentManagedAccess:
    case cudaDevAttrHostRegisterSupported:
        return 1;
    default:
        return 0;
    }
}

} // namespace vv_emulated

using namespace vv_emulated;

void vv_emulated_seed(uint64_t seed) {
    VV_DRIVER;
    random_state = (seed + 1) * 0x9e3779b97f4a7c15u;
    random_state = random_state ? random_state : 1;
    for (int i = 0; i < 8; i++) {
        draw();
    }
}
uint64_t vv_emulated_fail(uint64_t calls) {
    VV_DRIVER;
    read_environment();
    uint64_t left = countdown;
    countdown = calls;
    return left;
}
uint64_t vv_emulated_refuse(uint64_t launches) {
    VV_DRIVER;
    uint64_t left = launches_left;
    launches_left = launches;
    return left;
}
void vv_emulated_eager(int at_once) {
    VV_DRIVER;
    read_environment();
    eager = at_once != 0;
}

cudaError_t cudaGetDeviceCount(int *count) {
    *count = 1;
    return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
    return device == 0 ? cudaSuccess : noted(cudaErrorInvalidDevice);
}
cudaError_t cudaGetDevice(int *device) {
    *device = 0;
    return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device) {
    *value = attribute_of(attribute);
    return cudaSetDevice(device);
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *of, int device) {
    size_t free_bytes;
    *of = cudaDeviceProp();
    std::snprintf(of->name, sizeof of->name, "emulated GPU");
    cudaMemGetInfo(&free_bytes, &of->totalGlobalMem);
    of->sharedMemPerBlock = shared_plain;
    of->sharedMemPerBlockOptin = shared_most;
    of->sharedMemPerMultiprocessor = processor_shared;
    of->totalConstMem = 64 << 10;
    of->regsPerBlock = 65536;
    of->warpSize = 32;
    of->maxThreadsPerBlock = 1024;
    of->maxThreadsPerMultiProcessor = processor_threads;
    of->maxThreadsDim[0] = of->maxThreadsDim[1] = 1024;
    of->maxThreadsDim[2] = 64;
    of->maxGridSize[0] = 0x7fffffff;
    of->maxGridSize[1] = of->maxGridSize[2] = 65535;
    of->major = 9;
    of->multiProcessorCount = processors;
    of->memoryBusWidth = attribute_of(cudaDevAttrGlobalMemoryBusWidth);
    of->l2CacheSize = attribute_of(cudaDevAttrL2CacheSize);
    of->canMapHostMemory = of->concurrentKernels = of->unifiedAddressing = 1;
    of->managedMemory = of->concurrentManagedAccess = of->hostRegisterSupported = 1;
    of->asyncEngineCount = 2;
    return cudaSetDevice(device);
}
cudaError_t cudaDriverGetVersion(int *version) {
    *version = 13000;
    return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int *version) {
    return cudaDriverGetVersion(version);
}
cudaError_t cudaDeviceReset() {
    return cudaDeviceSynchronize();
}
cudaError_t cudaGetLastError() {
    VV_DRIVER;
    cudaError_t error = last_error;
    last_error = cudaSuccess;
    return error;
}
cudaError_t cudaPeekAtLastError() {
    VV_DRIVER;
    return last_error;
}

#define VV_ERRORS                                                                                  \
    VV_ERROR(cudaSuccess, "no error")                                                              \
    VV_ERROR(cudaErrorInvalidValue, "invalid argument")                                            \
    VV_ERROR(cudaErrorMemoryAllocation, "out of memory")                                           \
    VV_ERROR(cudaErrorInvalidConfiguration, "invalid configuration argument")                      \
    VV_ERROR(cudaErrorInsufficientDriver,                                                          \
             "CUDA driver version is insufficient for CUDA runtime version")                       \
    VV_ERROR(cudaErrorNoDevice, "no CUDA-capable device is detected")                              \
    VV_ERROR(cudaErrorInvalidDevice, "invalid device ordinal")                                     \
    VV_ERROR(cudaErrorInvalidResourceHandle, "invalid resource handle")                            \
    VV_ERROR(cudaErrorNotReady, "device not ready")                                                \
    VV_ERROR(cudaErrorIllegalAddress, "an illegal memory access was encountered")                  \
    VV_ERROR(cudaErrorLaunchOutOfResources, "too many resources requested for launch")             \
    VV_ERROR(cudaErrorHostMemoryAlreadyRegistered,                                                 \
             "part or all of the requested memory range is already mapped")                        \
    VV_ERROR(cudaErrorHostMemoryNotRegistered,                                                     \
             "pointer does not correspond to a registered memory region")                          \
    VV_ERROR(cudaErrorLaunchFailure, "unspecified launch failure")                                 \
    VV_ERROR(cudaErrorNotSupported, "operation not supported")                                     \
    VV_ERROR(cudaErrorStreamCaptureUnsupported,                                                    \
             "operation not permitted when stream is capturing")                                   \
    VV_ERROR(cudaErrorStreamCaptureInvalidated,                                                    \
             "operation failed due to a previous error during capture")                            \
    VV_ERROR(cudaErrorStreamCaptureMerge,                                                          \
             "operation would result in a merge of separate capture sequences")                    \
    VV_ERROR(cudaErrorStreamCaptureUnmatched, "capture was not ended in the same stream as it "    \
                                              "began")                                             \
    VV_ERROR(cudaErrorStreamCaptureUnjoined, "capturing stream has unjoined work")                 \
    VV_ERROR(cudaErrorStreamCaptureIsolation,                                                      \
             "dependency created on uncaptured work in another stream")

const char *cudaGetErrorName(cudaError_t error) {
    switch (error) {
#define VV_ERROR(name, text)                                                                       \
    case name:                                                                                     \
        return #name;
        VV_ERRORS
#undef VV_ERROR
    default:
        return "cudaErrorUnknown";
    }
}
const char *cudaGetErrorString(cudaError_t error) {
    switch (error) {
#define VV_ERROR(name, text)                                                                       \
    case name:                                                                                     \
        return text;
        VV_ERRORS
#undef VV_ERROR
    default:
        return "unknown error";
    }
}

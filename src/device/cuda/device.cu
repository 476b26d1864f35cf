/*
 * An NVIDIA GPU: memory, streams, and queues of kernels that are run at once or recorded as graphs.
 * Everything here returns a sentence when the runtime refuses.
 */
#include "device/cuda/grid.cuh"
#include "device/cuda/runtime.cuh"
#include "device/cuda/shared_pool.cuh"
#include "device/cuda/warpgroup.cuh"
VV_C_BEGIN
#include "quant/split.h"
VV_C_END

#include <cstdlib>
#include <vector>

namespace {

enum { BRANCHES = 4, STAGING_LEAST = 1 << 20 };

struct cuda_device {
    vv_device base; /* first: a device is found from it */
    cudaStream_t stream[BRANCHES];
    cudaEvent_t fork;             /* where branches may begin */
    cudaEvent_t joined[BRANCHES]; /* where each has come to */
    bool open[BRANCHES];          /* has work since the last join */
    bool recording;
    unsigned long long *status;      /* device */
    unsigned long long *status_read; /* host, pinned */
    vv_meeting *meeting;             /* device */
    uint8_t *staging;                /* host, pinned: uploads since the last wait */
    size_t staged, staging_bytes;
    std::vector<cudaEvent_t> marks;
    vv_shared_pool shared;
    char name[256];
};

cuda_device *of(vv_device *device) {
    return reinterpret_cast<cuda_device *>(device);
}

int failed(cudaError_t e, const char *what, vv_error *error) {
    cudaGetLastError(); /* told here; not to be found by a later call */
    if (e == cudaErrorMemoryAllocation) {
        size_t free_bytes = 0, total = 0;
        cudaMemGetInfo(&free_bytes, &total);
        return vv_fail(error, VV_ERROR_MEMORY,
                       "the GPU has no memory left to %s: %.1f of its %.1f GB are free", what,
                       (double)free_bytes / 1e9, (double)total / 1e9);
    }
    return vv_fail(error, VV_ERROR_DEVICE, "the GPU failed to %s: %s (%s)", what,
                   cudaGetErrorString(e), cudaGetErrorName(e));
}

/* Runs a call of the runtime; returns from the function with its sentence if it fails. */
#define TRY(call, what)                                                                            \
    do {                                                                                           \
        cudaError_t e_ = (call);                                                                   \
        if (e_ != cudaSuccess) {                                                                   \
            return failed(e_, what, error);                                                        \
        }                                                                                          \
    } while (0)

/* ---- memory ---- */

void *cuda_allocate(vv_device *device, size_t bytes) {
    void *at = nullptr;
    cuda_device *d = of(device);
    if (cudaMalloc(&at, bytes ? bytes : 1) != cudaSuccess) {
        cudaGetLastError(); /* said by returning NULL; not to be found by a later call */
        return nullptr;
    }
    if (cudaMemsetAsync(at, 0, bytes, d->stream[0]) != cudaSuccess ||
        cudaStreamSynchronize(d->stream[0]) != cudaSuccess) {
        cudaFree(at);
        return nullptr;
    }
    return at;
}

void cuda_release(vv_device *, void *at) {
    cudaFree(at);
}

/* Copies have no way to fail that the next wait would not tell. */
void cuda_copy(vv_device *device, void *to, const void *from, size_t bytes) {
    cuda_device *d = of(device);
    cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, d->stream[0]);
    cudaStreamSynchronize(d->stream[0]);
}

void cuda_copy_pieces(vv_device *device, void *to, size_t to_stride, const void *from,
                      size_t from_stride, size_t bytes, size_t count) {
    cudaStream_t stream = of(device)->stream[0];
    if (to_stride == bytes && from_stride == bytes) {
        cudaMemcpyAsync(to, from, bytes * count, cudaMemcpyDefault, stream);
    } else {
        cudaMemcpy2DAsync(to, to_stride, from, from_stride, bytes, count, cudaMemcpyDefault,
                          stream);
    }
}

void cuda_settle(vv_device *device) {
    cudaStreamSynchronize(of(device)->stream[0]);
}

/* As on the CPU; sequences begin on lines of memory. */
void cuda_layout(vv_device *, const vv_state_part *part, uint32_t slots, uint32_t tokens,
                 uint32_t window, vv_state_view *view) {
    size_t entries = vv_state_entries(part, tokens, window);
    view->type = part->type;
    view->width = part->width;
    view->ring = part->kind == VV_STATE_RING ? (uint32_t)entries : 0;
    view->entry_stride = vv_state_entry_bytes(part->type, part->width);
    view->slot_stride = (entries * view->entry_stride + 255) / 256 * 256;
    view->bytes = slots * view->slot_stride;
}

/* ---- queues ---- */

int begin(vv_device *device, bool record, vv_launch *launch, vv_error *error) {
    cuda_device *d = of(device);
    if (record) {
        TRY(cudaStreamBeginCapture(d->stream[0], cudaStreamCaptureModeThreadLocal),
            "record a window");
    }
    d->recording = record;
    for (bool &o : d->open) {
        o = false;
    }
    TRY(cudaEventRecord(d->fork, d->stream[0]), "begin a window");
    launch->stream = d->stream[0];
    launch->status = d->status;
    launch->processors = d->base.processors;
    launch->meeting = d->meeting;
    return VV_OK;
}

int branch(vv_device *device, unsigned n, vv_launch *launch, vv_error *error) {
    cuda_device *d = of(device);
    launch->stream = d->stream[n];
    if (n > 0 && !d->open[n]) {
        TRY(cudaStreamWaitEvent(d->stream[n], d->fork, 0), "begin a branch");
    }
    d->open[n] = true;
    return VV_OK;
}

int join(vv_device *device, vv_launch *launch, vv_error *error) {
    cuda_device *d = of(device);
    for (unsigned n = 1; n < BRANCHES; n++) {
        if (d->open[n]) {
            TRY(cudaEventRecord(d->joined[n], d->stream[n]), "end a branch");
            TRY(cudaStreamWaitEvent(d->stream[0], d->joined[n], 0), "join a branch");
            d->open[n] = false;
        }
    }
    d->open[0] = false;
    TRY(cudaEventRecord(d->fork, d->stream[0]), "join branches");
    launch->stream = d->stream[0];
    return VV_OK;
}

int end(vv_device *device, void **recording, vv_error *error) {
    cuda_device *d = of(device);
    cudaError_t launched = cudaGetLastError();
    if (!d->recording) {
        return launched == cudaSuccess ? VV_OK : failed(launched, "start a kernel", error);
    }
    d->recording = false;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t playable = nullptr;
    TRY(cudaStreamEndCapture(d->stream[0], &graph), "record a window");
    cudaError_t e = cudaGraphInstantiate(&playable, graph, 0);
    cudaGraphDestroy(graph);
    TRY(e, "prepare a recorded window");
    *recording = playable;
    return VV_OK;
}

int play(vv_device *device, void *recording, vv_error *error) {
    TRY(cudaGraphLaunch(static_cast<cudaGraphExec_t>(recording), of(device)->stream[0]),
        "run a recorded window");
    return VV_OK;
}

void forget(vv_device *, void *recording) {
    cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(recording));
}

int upload(vv_device *device, void *to, const void *from, size_t bytes, vv_error *error) {
    cuda_device *d = of(device);
    if (d->staged + bytes > d->staging_bytes) {
        TRY(cudaStreamSynchronize(d->stream[0]), "wait for a copy");
        cudaFreeHost(d->staging);
        d->staging = nullptr;
        d->staged = d->staging_bytes = 0;
        size_t room = 2 * bytes > STAGING_LEAST ? 2 * bytes : STAGING_LEAST;
        TRY(cudaMallocHost(reinterpret_cast<void **>(&d->staging), room), "stage a copy");
        d->staging_bytes = room;
    }
    uint8_t *at = d->staging + d->staged;
    d->staged += (bytes + 63) / 64 * 64;
    memcpy(at, from, bytes);
    TRY(cudaMemcpyAsync(to, at, bytes, cudaMemcpyHostToDevice, d->stream[0]), "copy a window");
    return VV_OK;
}

int download(vv_device *device, void *to, const void *from, size_t bytes, vv_error *error) {
    TRY(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, of(device)->stream[0]),
        "copy a window's results");
    return VV_OK;
}

int wait(vv_device *device, uint64_t *status, vv_error *error) {
    cuda_device *d = of(device);
    TRY(cudaMemcpyAsync(d->status_read, d->status, sizeof *d->status, cudaMemcpyDeviceToHost,
                        d->stream[0]),
        "read its status");
    TRY(cudaStreamSynchronize(d->stream[0]), "run the kernels of a window");
    d->staged = 0;
    *status = *d->status_read;
    if (*status != UINT64_MAX) {
        TRY(cudaMemsetAsync(d->status, 0xff, sizeof *d->status, d->stream[0]), "reset its status");
    }
    return VV_OK;
}

/* ---- moments ---- */

int mark(vv_device *device, size_t index, vv_error *error) {
    cuda_device *d = of(device);
    while (d->marks.size() <= index) {
        cudaEvent_t event;
        TRY(cudaEventCreate(&event), "make a clock");
        d->marks.push_back(event);
    }
    TRY(cudaEventRecord(d->marks[index], d->stream[0]), "read its clock");
    return VV_OK;
}

double seconds(vv_device *device, size_t from, size_t to) {
    float milliseconds = 0;
    cudaEventElapsedTime(&milliseconds, of(device)->marks[from], of(device)->marks[to]);
    return (double)milliseconds * 1e-3;
}

/* ---- memory that both reach ---- */

void *share(vv_device *device, size_t bytes) {
    return of(device)->shared.take(bytes);
}

void unshare(vv_device *device, void *at) {
    of(device)->shared.give(at);
}

void *host(vv_device *, size_t bytes) {
    void *at = nullptr;
    if (cudaMallocHost(&at, bytes) != cudaSuccess) {
        cudaGetLastError();
        return nullptr;
    }
    return at;
}

void unhost(vv_device *, void *at) {
    cudaFreeHost(at);
}

/* ---- life ---- */

void cuda_close(vv_device *device) {
    cuda_device *d = of(device);
    cudaDeviceSynchronize();
    for (cudaEvent_t event : d->marks) {
        cudaEventDestroy(event);
    }
    for (unsigned n = 0; n < BRANCHES; n++) {
        if (d->stream[n]) {
            cudaStreamDestroy(d->stream[n]);
        }
        if (d->joined[n]) {
            cudaEventDestroy(d->joined[n]);
        }
    }
    if (d->fork) {
        cudaEventDestroy(d->fork);
    }
    cudaFree(d->status);
    cudaFree(d->meeting);
    cudaFreeHost(d->status_read);
    cudaFreeHost(d->staging);
    delete d;
}

int set_up(cuda_device *d, vv_error *error) {
    for (unsigned n = 0; n < BRANCHES; n++) {
        TRY(cudaStreamCreateWithFlags(&d->stream[n], cudaStreamNonBlocking), "make a stream");
        TRY(cudaEventCreateWithFlags(&d->joined[n], cudaEventDisableTiming), "make an event");
    }
    TRY(cudaEventCreateWithFlags(&d->fork, cudaEventDisableTiming), "make an event");
    TRY(cudaMalloc(reinterpret_cast<void **>(&d->status), sizeof *d->status), "keep its status");
    TRY(cudaMemset(d->status, 0xff, sizeof *d->status), "keep its status");
    TRY(cudaMallocHost(reinterpret_cast<void **>(&d->status_read), sizeof *d->status_read),
        "keep its status");
    TRY(cudaMalloc(reinterpret_cast<void **>(&d->meeting), sizeof *d->meeting),
        "let blocks of kernels meet");
    TRY(cudaMemset(d->meeting, 0, sizeof *d->meeting), "let blocks of kernels meet");
    return VV_OK;
}

#ifdef __CUDACC__
__device__ int warpgroups_here = VV_WARPGROUPS; /* of the code that the device chose */
bool has_warpgroups() {
    int here = 0;
    return cudaMemcpyFromSymbol(&here, warpgroups_here, sizeof here) == cudaSuccess && here;
}
#else
bool has_warpgroups() {
    return true;
}
#endif

int look(cuda_device *d, vv_error *error) {
    int count = 0;
    cudaError_t e = cudaGetDeviceCount(&count);
    if (e != cudaSuccess || count == 0) {
        return vv_fail(error, VV_ERROR_UNSUPPORTED,
                       "there is no NVIDIA GPU that can be used (%s): without --device cuda varve "
                       "runs on the CPU, with the same results",
                       e == cudaSuccess ? "none was found" : cudaGetErrorString(e));
    }
    cudaDeviceProp p;
    TRY(cudaSetDevice(0), "be opened");
    TRY(cudaGetDeviceProperties(&p, 0), "tell its properties");
    if (p.major < 8) {
        return vv_fail(error, VV_ERROR_UNSUPPORTED,
                       "%s has compute capability %d.%d; varve's kernels need 8.0 (Ampere) or more",
                       p.name, p.major, p.minor);
    }
    snprintf(d->name, sizeof d->name, "%s", p.name);
    d->base.name = d->name;
    d->base.processors = (unsigned)p.multiProcessorCount;
    vv_launches_early = p.major >= 9;
    vv_has_warpgroups = has_warpgroups();
    size_t free_bytes = 0, total = 0;
    TRY(cudaMemGetInfo(&free_bytes, &total), "tell how much memory it has left");
    d->base.memory = free_bytes;
    d->base.features =
        VV_CUDA_ANY | (p.major >= 9 ? VV_CUDA_90 : 0u) | (p.major >= 10 ? VV_CUDA_100 : 0u);
    return VV_OK;
}

} // namespace

int vv_cuda_open(vv_device **device, vv_error *error) {
    static const vv_device_calls calls = {cuda_close,  cuda_allocate,    cuda_release,
                                          cuda_copy,   cuda_copy,        nullptr,
                                          cuda_layout, cuda_copy_pieces, cuda_settle};
    static const vv_launcher launcher = {
        begin,   branch,   join,   end,           play,          forget,
        upload,  download, wait,   mark,          seconds,       share,
        unshare, host,     unhost, vv_cuda_rates, vv_cuda_roofs, vv_cuda_multiply_bf16};
    cuda_device *d = new (std::nothrow) cuda_device();
    if (!d) {
        return vv_fail(error, VV_ERROR_MEMORY, "no memory for a device");
    }
    d->base.calls = &calls;
    d->base.launcher = &launcher;
    d->base.threads = 1;
    d->base.layout = &vv_layout_split;
    int code = look(d, error);
    code = code == VV_OK ? set_up(d, error) : code;
    if (code != VV_OK) {
        cuda_close(&d->base);
        return code;
    }
    *device = &d->base;
    return VV_OK;
}

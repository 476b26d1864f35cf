/* Memory of the device and of the host beside it: each piece ends at a page that can't be touched,
 * begins with bytes that tell that they were not set, and has marks around it. */
#include "control.h"
#include "driver.h"
#include <map>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

namespace vv_emulated {

enum class place { device, managed, pinned, registered };

struct piece {
    place where;
    size_t bytes;
    char *pages; /* of ours; NULL if registered */
    size_t page_bytes;
    size_t front, behind; /* marks before and after the piece, as long as pages are */
};

constexpr size_t alignment = 256, unset_at_most = 64 << 20;
constexpr int mark = 0xa5, unset = 0xff;

static std::map<uintptr_t, piece> pieces; /* by where they begin */
static size_t device_bytes = static_cast<size_t>(8) << 30, device_used;

static bool on_device(place where) {
    return where == place::device || where == place::managed;
}

/* The piece that `at` lies in; NULL: none, so memory of the process's own. */
static const piece *find(const void *at, size_t *offset) {
    uintptr_t address = reinterpret_cast<uintptr_t>(at);
    auto after = pieces.upper_bound(address);
    if (after == pieces.begin()) {
        return nullptr;
    }
    --after;
    *offset = address - after->first;
    return *offset < after->second.bytes ? &after->second : nullptr;
}

bool is_pageable(const void *at) {
    size_t offset;
    return !find(at, &offset);
}

static cudaError_t take(void **at, size_t bytes, place where) {
    *at = nullptr;
    if (bytes == 0) {
        return cudaSuccess;
    }
    size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    size_t room = (bytes + alignment - 1) / alignment * alignment;
    size_t inner = (room + page - 1) / page * page;
    if (!may_take() || bytes > SIZE_MAX / 2 ||
        (on_device(where) && bytes > device_bytes - device_used)) {
        return noted(cudaErrorMemoryAllocation);
    }
    void *pages = mmap(nullptr, inner + 2 * page, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED) {
        return noted(cudaErrorMemoryAllocation);
    }
    char *first = static_cast<char *>(pages) + page, *begin = first + inner - room;
    if (mprotect(first, inner, PROT_READ | PROT_WRITE) != 0) {
        munmap(pages, inner + 2 * page);
        return noted(cudaErrorMemoryAllocation);
    }
    std::memset(first, mark, inner - room);
    std::memset(begin, unset, bytes < unset_at_most ? bytes : 0);
    std::memset(begin + bytes, mark, room - bytes);
    pieces[reinterpret_cast<uintptr_t>(begin)] = piece{
        where, bytes, static_cast<char *>(pages), inner + 2 * page, inner - room, room - bytes};
    device_used += on_device(where) ? bytes : 0;
    *at = begin;
    return cudaSuccess;
}

static void check_marks(const char *begin, const piece &of) {
    for (size_t i = 0; i < of.front; i++) {
        if (begin[-1 - static_cast<std::ptrdiff_t>(i)] != static_cast<char>(mark)) {
            fail("byte %zu before a piece of memory of %zu bytes was written", i + 1, of.bytes);
        }
    }
    for (size_t i = 0; i < of.behind; i++) {
        if (begin[of.bytes + i] != static_cast<char>(mark)) {
            fail("byte %zu beyond a piece of memory of %zu bytes was written", i, of.bytes);
        }
    }
}

/* Waits for the device, as CUDA does. */
static cudaError_t give(void *at, bool device) {
    if (!at) {
        return cudaSuccess;
    }
    auto found = pieces.find(reinterpret_cast<uintptr_t>(at));
    if (found == pieces.end() || !found->second.pages || on_device(found->second.where) != device) {
        return noted(cudaErrorInvalidValue);
    }
    finish_all();
    piece of = found->second;
    check_marks(static_cast<char *>(at), of);
    pieces.erase(found);
    device_used -= device ? of.bytes : 0;
    munmap(of.pages, of.page_bytes);
    return cudaSuccess;
}

/* Whether `bytes` from `at` on are of one piece, or of the process's own, and where `kind` has
 * them.
 */
static bool may_copy(const void *at, size_t bytes, bool device, bool host) {
    size_t offset;
    const piece *of = find(at, &offset);
    if (!of) {
        return host;
    }
    bool fits = (of->where == place::device && device) || (of->where == place::managed) ||
                (!on_device(of->where) && host);
    return fits && bytes <= of->bytes - offset;
}

static cudaError_t copy(void *to, size_t to_stride, const void *from, size_t from_stride,
                        size_t width, size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
    if (width == 0 || height == 0) {
        return cudaSuccess;
    }
    bool any = kind == cudaMemcpyDefault;
    bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    if (width > to_stride || width > from_stride ||
        !may_copy(to, (height - 1) * to_stride + width, any || to_device, any || !to_device) ||
        !may_copy(from, (height - 1) * from_stride + width, any || from_device,
                  any || !from_device)) {
        return noted(cudaErrorInvalidValue);
    }
    cudaStreamCaptureStatus status;
    cudaStreamIsCapturing(stream, &status);
    bool captures = status != cudaStreamCaptureStatusNone;
    auto rows = [=](const char *read) {
        for (size_t row = 0; row < height; row++) {
            std::memcpy(static_cast<char *>(to) + row * to_stride, read + row * from_stride, width);
        }
    };
    const char *read = static_cast<const char *>(from);
    if (is_pageable(from) && !captures) { /* read at once, as CUDA stages it */
        std::string staged(read, (height - 1) * from_stride + width);
        return enqueue(stream, [=] { rows(staged.data()); });
    }
    cudaError_t error = enqueue(stream, [=] { rows(read); });
    return error == cudaSuccess && is_pageable(to) && !captures ? cudaStreamSynchronize(stream)
                                                                : error;
}

static cudaError_t set(void *at, int byte, size_t bytes, cudaStream_t stream) {
    if (bytes > 0 && (is_pageable(at) || !may_copy(at, bytes, true, true))) {
        return noted(cudaErrorInvalidValue);
    }
    return bytes > 0 ? enqueue(stream, [=] { std::memset(at, byte, bytes); }) : cudaSuccess;
}

} // namespace vv_emulated

using namespace vv_emulated;

void vv_emulated_memory(size_t bytes) {
    VV_DRIVER;
    device_bytes = bytes > device_used ? bytes : device_used;
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total) {
    VV_DRIVER;
    read_environment();
    *total = device_bytes;
    *free_bytes = device_bytes - device_used;
    return cudaSuccess;
}
cudaError_t cudaMalloc(void **at, size_t bytes) {
    VV_DRIVER;
    return take(at, bytes, place::device);
}
cudaError_t cudaMallocManaged(void **at, size_t bytes, unsigned) {
    VV_DRIVER;
    return take(at, bytes, place::managed);
}
cudaError_t cudaMallocHost(void **at, size_t bytes) {
    VV_DRIVER;
    return take(at, bytes, place::pinned);
}
cudaError_t cudaHostAlloc(void **at, size_t bytes, unsigned) {
    return cudaMallocHost(at, bytes);
}
cudaError_t cudaFree(void *at) {
    VV_DRIVER;
    return give(at, true);
}
cudaError_t cudaFreeHost(void *at) {
    VV_DRIVER;
    return give(at, false);
}
cudaError_t cudaHostRegister(void *at, size_t bytes, unsigned) {
    VV_DRIVER;
    if (!at || bytes == 0) {
        return noted(cudaErrorInvalidValue);
    }
    if (!is_pageable(at)) {
        return noted(cudaErrorHostMemoryAlreadyRegistered);
    }
    if (!may_take()) {
        return noted(cudaErrorMemoryAllocation);
    }
    pieces[reinterpret_cast<uintptr_t>(at)] = piece{place::registered, bytes, nullptr, 0, 0, 0};
    return cudaSuccess;
}
cudaError_t cudaHostUnregister(void *at) {
    VV_DRIVER;
    auto found = pieces.find(reinterpret_cast<uintptr_t>(at));
    if (found == pieces.end() || found->second.where != place::registered) {
        return noted(cudaErrorHostMemoryNotRegistered);
    }
    finish_all();
    pieces.erase(found);
    return cudaSuccess;
}
cudaError_t cudaHostGetDevicePointer(void **at, void *on_host, unsigned) {
    VV_DRIVER;
    size_t offset;
    const piece *of = find(on_host, &offset);
    if (!of || of->where == place::device) {
        return noted(cudaErrorInvalidValue);
    }
    *at = on_host;
    return cudaSuccess;
}
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind) {
    VV_DRIVER;
    cudaError_t error = copy(to, bytes, from, bytes, bytes, 1, kind, nullptr);
    return error == cudaSuccess ? cudaStreamSynchronize(nullptr) : error;
}
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
    VV_DRIVER;
    return copy(to, bytes, from, bytes, bytes, 1, kind, stream);
}
cudaError_t cudaMemcpy2DAsync(void *to, size_t to_stride, const void *from, size_t from_stride,
                              size_t width, size_t height, cudaMemcpyKind kind,
                              cudaStream_t stream) {
    VV_DRIVER;
    return copy(to, to_stride, from, from_stride, width, height, kind, stream);
}
cudaError_t cudaMemset(void *at, int byte, size_t bytes) {
    VV_DRIVER;
    cudaError_t error = set(at, byte, bytes, nullptr);
    return error == cudaSuccess ? cudaStreamSynchronize(nullptr) : error;
}
cudaError_t cudaMemsetAsync(void *at, int byte, size_t bytes, cudaStream_t stream) {
    VV_DRIVER;
    return set(at, byte, bytes, stream);
}
cudaError_t cudaMemPrefetchAsync(const void *at, size_t bytes, cudaMemLocation, unsigned,
                                 cudaStream_t stream) {
    VV_DRIVER;
    size_t offset;
    const piece *of = find(at, &offset);
    bool fits = of && of->where == place::managed && bytes <= of->bytes - offset;
    return fits ? enqueue(stream, [] {}) : noted(cudaErrorInvalidValue);
}

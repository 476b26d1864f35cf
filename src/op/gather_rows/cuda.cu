/* A thread as many bytes as all rows are aligned to. */
#include "op/cuda/kernel.cuh"
VV_C_BEGIN
#include "op/gather_rows/contract.h"
VV_C_END

namespace {

enum { THREADS = 256 };

template <class T>
__global__ void __launch_bounds__(THREADS)
    gather(const T *from, T *to, size_t width, const int32_t *index, size_t from_rows,
           vv_trouble trouble) {
    vv_follow();
    size_t row = blockIdx.x, at = (size_t)blockIdx.y * THREADS + threadIdx.x;
    size_t source = index ? (size_t)index[row] : row; /* below 0: beyond any row */
    if (source >= from_rows) {
        vv_report(trouble, VV_ERROR_INVALID);
    } else if (at < width) {
        to[row * width + at] = from[source * width + at];
    }
}

template <class T> int launch_as(const struct vv_gather_rows *a, const vv_launch *on) {
    size_t width = a->row_bytes / sizeof(T);
    dim3 grid((unsigned)vv_rows(a->rows), vv_blocks(width, THREADS));
    return vv_start_early(gather<T>, grid, THREADS, 0, on->stream, static_cast<const T *>(a->from),
                          static_cast<T *>(a->to), width, vv_on_device_as(on, a->index),
                          vv_rows(a->from_rows), vv_trouble_of(on));
}

int launch(const void *args, const vv_launch *on) {
    auto a = static_cast<const struct vv_gather_rows *>(args);
    uintptr_t all = (uintptr_t)a->from | (uintptr_t)a->to | a->row_bytes;
    return all % 16 == 0  ? launch_as<uint4>(a, on)
           : all % 4 == 0 ? launch_as<uint32_t>(a, on)
                          : launch_as<uint8_t>(a, on);
}

const vv_variant variants[] = {
    {"gather_rows/cuda", VV_CUDA_ANY, true, nullptr, nullptr, nullptr, launch, nullptr},
    {},
};

} // namespace

extern const vv_more_variants vv_cuda_folder_gather_rows[] = {{"gather_rows", variants}, {}};

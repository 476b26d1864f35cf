/* A thread an element of an entry, whose place is known by the window before its value is. */
#include "op/cuda/kernel.cuh"
VV_C_BEGIN
#include "op/cache_write/contract.h"
VV_C_END

namespace {

enum { THREADS = 256 };

/* Whether a ring holds the row's position at the window's end. */
__device__ bool stays(const vv_window *w, unsigned row, uint32_t ring) {
    int32_t slot = w->slot[row], newest = -1;
    for (int32_t i = 0; i < w->sequences; i++) {
        int32_t last = w->sequence_row[w->sequence_begin[i + 1] - 1];
        newest = w->slot[last] == slot ? w->position[last] : newest;
    }
    return newest - w->position[row] < (int64_t)ring;
}

/* Steps that write caches, of one window: they are launched as one. */
struct job {
    struct vv_cache_write a;
    unsigned rows;
    bool crowded; /* they are more than the ring has */
    vv_trouble trouble;
};
struct jobs {
    job of[VV_TOGETHER_MAX];
};

__device__ void write_entry(const job &j, unsigned row, unsigned at) {
    const struct vv_cache_write &a = j.a;
    if (row >= j.rows) {
        vv_follow();
        return;
    }
    int32_t end = a.window->position[row] + 1;
    bool kept = at < a.to.width && (!a.every || end % a.every == 0) &&
                (!j.crowded || stays(a.window, row, a.to.ring));
    int64_t index = a.every ? end / a.every - 1 : end - 1 + a.shift;
    void *entry = vv_state_at(&a.to, a.window->slot[row], index);
    size_t part = a.second ? a.to.width / 2 : a.to.width;
    bool beyond = at >= part;
    auto from = static_cast<const uint32_t *>(beyond ? a.second : a.from) + row * a.row_stride;
    vv_follow();
    if (!kept) {
        return;
    }
    uint32_t bits = from[beyond ? at - part : at];
    if (a.to.type != VV_TYPE_F16) {
        static_cast<uint32_t *>(entry)[at] = bits;
        return;
    }
    uint16_t narrow = vv_to_f16(vv_from_bits(bits));
    static_cast<uint16_t *>(entry)[at] = narrow;
    if ((narrow & 0x7c00) == 0x7c00) {
        vv_report(j.trouble, VV_ERROR_NOT_FINITE);
    }
}

__global__ void __launch_bounds__(THREADS) write(job j) {
    write_entry(j, blockIdx.x, blockIdx.y * THREADS + threadIdx.x);
}

/* The grid's third dimension is the jobs. */
__global__ void __launch_bounds__(THREADS) write_all(const __grid_constant__ jobs all) {
    write_entry(all.of[blockIdx.z], blockIdx.x, blockIdx.y * THREADS + threadIdx.x);
}

job job_of(const vv_launched_step &step, const vv_launch *on) {
    auto a = *static_cast<const struct vv_cache_write *>(step.args);
    size_t rows = vv_rows(a.rows);
    a.from = vv_on_device(on, a.from); /* tokens come from the window */
    a.second = vv_on_device(on, a.second);
    a.window = vv_on_device_as(on, a.window);
    return {a, (unsigned)rows, a.to.ring > 0 && rows > a.to.ring, {on->status, step.step}};
}

int launch(const void *args, const vv_launch *on) {
    auto a = static_cast<const struct vv_cache_write *>(args);
    dim3 blocks((unsigned)vv_rows(a->rows), vv_blocks(a->to.width, THREADS));
    return vv_start_early(write, blocks, THREADS, 0, on->stream, job_of({args, on->step}, on));
}

int launch_all(const vv_launched_step *steps, size_t count, const vv_launch *on) {
    jobs all = {};
    size_t rows = 0, width = 0;
    for (size_t i = 0; i < count; i++) {
        auto a = static_cast<const struct vv_cache_write *>(steps[i].args);
        all.of[i] = job_of(steps[i], on);
        rows = vv_rows(a->rows) > rows ? vv_rows(a->rows) : rows;
        width = a->to.width > width ? a->to.width : width;
    }
    dim3 blocks((unsigned)rows, vv_blocks(width, THREADS), (unsigned)count);
    return vv_start_early(write_all, blocks, THREADS, 0, on->stream, all);
}

const vv_variant variants[] = {
    {"cache_write/cuda", VV_CUDA_ANY, true, nullptr, nullptr, nullptr, launch, nullptr, launch_all},
    {},
};

} // namespace

extern const vv_more_variants vv_cuda_folder_cache_write[] = {{"cache_write", variants}, {}};

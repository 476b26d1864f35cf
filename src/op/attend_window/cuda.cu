/*
 * By tiles of a chunk that heads share, where there is the shared memory: of many rows a block
 * takes all chunks, of few rows a block each. Others are `plain`.
 */
#include "op/attend_window/cuda_chunks.cuh"
#include "op/attend_window/cuda_plain.cuh"
#include "op/attend_window/cuda_rows.cuh"
#include "op/cuda/chain.h"

namespace {

enum {
    WHOLE_BLOCKS = 32,       /* that take all chunks are done before those of a chunk would be */
    PARTIALS_MOST = 1 << 28, /* bytes */
    MERGE_THREADS = 128,
};

/* Shared memory that a block can have, beside what is static. */
size_t shared_most() {
    constexpr size_t fixed = 2 << 10;
    int device = 0, bytes = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    return (size_t)bytes > fixed ? (size_t)bytes - fixed : 0;
}

bool aligned(const struct vv_state_view &v) {
    return ((uintptr_t)v.base | v.slot_stride | v.entry_stride) % 16 == 0;
}

/* Rows are loaded sixteen bytes at a time. */
bool tiled(const struct vv_attend_window &a, size_t bytes) {
    return a.width <= TILE_WIDTH && a.width % 8 == 0 &&
           ((uintptr_t)a.q | (uintptr_t)a.own) % 16 == 0 && aligned(a.ring) && aligned(a.pooled) &&
           bytes <= shared_most();
}
bool tiles_chunks(const struct vv_attend_window &a) {
    return tiled(a, tile_bytes(a.width));
}
bool tiles_rows(const struct vv_attend_window &a) {
    return tiled(a, sizeof(row_memory));
}

int launch_plain(const void *args, const vv_launch *on) {
    task t = attend_task(args, on, on->step);
    dim3 blocks((unsigned)vv_rows(t.a.rows), (unsigned)t.a.heads);
    return vv_start_early(plain, blocks, PLAIN_THREADS, t.a.width * sizeof(float), on->stream, t);
}

int launch_rows(const void *args, const vv_launch *on) {
    task t = attend_task(args, on, on->step);
    dim3 blocks(vv_blocks(t.a.heads, ROW_HEADS), (unsigned)vv_rows(t.a.rows));
    return vv_start_early(whole_row, blocks, ROW_THREADS, sizeof(row_memory), on->stream, t);
}

__global__ void __launch_bounds__(MERGE_THREADS) merge_chunks(merge_job j) {
    vv_follow();
    merge_head(j, blockIdx.y, blockIdx.x, vv_dynamic_shared<float4>());
}

int launch_split(const void *args, const vv_launch *on) {
    int code = vv_cuda_attend_chunks(args, on, on->step);
    merge_job j = {attend_task(args, on, on->step), partials_of(attend_args(args), on)};
    dim3 blocks((unsigned)j.t.a.heads, (unsigned)vv_rows(j.t.a.rows));
    return code == VV_OK ? vv_start_early(merge_chunks, blocks, MERGE_THREADS, merge_bytes(j.from),
                                          on->stream, j)
                         : code;
}

bool splits(const struct vv_attend_window &a, const vv_launch *on) {
    bool few = vv_rows(a.rows) * vv_blocks(a.heads, ROW_HEADS) < WHOLE_BLOCKS;
    return tiles_chunks(a) && (few || !tiles_rows(a)) && partial_bytes(a, on) <= PARTIALS_MOST;
}

int launch(const void *args, const vv_launch *on) {
    const struct vv_attend_window &a = attend_args(args);
    return splits(a, on)   ? launch_split(args, on)
           : tiles_rows(a) ? launch_rows(args, on)
                           : launch_plain(args, on);
}

size_t scratch(const void *args, const vv_launch *on) {
    const struct vv_attend_window &a = attend_args(args);
    return splits(a, on) ? partial_bytes(a, on) : 0;
}

size_t split_scratch(const void *args, const vv_launch *on) {
    return partial_bytes(attend_args(args), on);
}

bool fits_rows(const void *args) {
    return tiles_rows(attend_args(args));
}

const vv_variant variants[] = {
    {"attend_window/cuda_plain", VV_CUDA_ANY, true, nullptr, nullptr, nullptr, launch_plain,
     nullptr},
    {"attend_window/cuda_split", VV_CUDA_ANY, true, vv_cuda_attend_splits, nullptr, nullptr,
     launch_split, split_scratch},
    {"attend_window/cuda_rows", VV_CUDA_ANY, true, fits_rows, nullptr, nullptr, launch_rows,
     nullptr},
    {"attend_window/cuda", VV_CUDA_ANY, true, nullptr, nullptr, nullptr, launch, scratch, nullptr,
     nullptr, &vv_cuda_chaining[VV_CHAIN_ATTEND]},
    {},
};

} // namespace

int vv_cuda_attend_chunks(const void *args, const vv_launch *on, uint32_t step) {
    const struct vv_attend_window &a = attend_args(args);
    partials to = partials_of(a, on);
    dim3 blocks(to.chunks, vv_blocks(a.heads, TILE_HEADS), (unsigned)vv_rows(a.rows));
    return vv_start_early(one_chunk, blocks, TILE_THREADS, tile_bytes(a.width), on->stream,
                          attend_task(args, on, step), to);
}

bool vv_cuda_attend_splits(const void *args) {
    return tiles_chunks(attend_args(args));
}

extern const vv_more_variants vv_cuda_folder_attend_window[] = {{"attend_window", variants}, {}};

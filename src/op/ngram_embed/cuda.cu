/*
 * A block a head of a row. Each thread finds the row of the table itself, which costs less than to
 * hand it on: all of them read the same few numbers. The row's bytes are brought near first, all at
 * once: where the table lies in the host's memory a journey there is long.
 */
#include "op/cuda/decode.cuh"
VV_C_BEGIN
#include "op/ngram_embed/contract.h"
VV_C_END

namespace {

enum { THREADS = 128, NEAR_MOST = 32 << 10 };

/* The id `back` positions before the row's, which is row `at` of the window, or -1: an older one.
 */
__device__ int32_t id_before(const struct vv_ngram_embed *a, size_t row, int32_t at, int32_t back) {
    const vv_window *w = a->window;
    if (w->position[row] < back) {
        return a->separator;
    }
    return at >= 0 ? w->token[at]
                   : *static_cast<const int32_t *>(
                         vv_state_at(&a->history, w->slot[row], w->position[row] - back));
}

/* Of the n-gram of `tokens` tokens, two or more. */
__device__ uint64_t hash_of(const struct vv_ngram_embed *a, size_t row, size_t tokens) {
    const vv_window *w = a->window;
    uint64_t hash = (uint64_t)w->token[row] * a->multipliers[0];
    int32_t at = (int32_t)row;
    bool cut = false;
    for (size_t s = 1; s < tokens; s++) {
        at = at >= 0 ? w->before[at] : -1;
        int32_t id = cut ? a->separator : id_before(a, row, at, (int32_t)s);
        cut = id == a->separator;
        hash ^= (uint64_t)id * a->multipliers[s];
    }
    return hash;
}

/* The table of which its row `row` is all, in shared memory. */
__device__ vv_table near_row(const vv_table &t, size_t row) {
    uint4 *near = vv_dynamic_shared<uint4>();
    const uint4 *from = reinterpret_cast<const uint4 *>(t.data + row * t.row_bytes);
    for (unsigned i = threadIdx.x; i < t.row_bytes / sizeof *from; i += THREADS) {
        near[i] = from[i];
    }
    __syncthreads();
    return {reinterpret_cast<const uint8_t *>(near), t.row_bytes, 1, t.width, t.type, t.scale};
}

__global__ void __launch_bounds__(THREADS)
    embed(struct vv_ngram_embed a, vv_table t, vv_trouble trouble) {
    vv_follow();
    size_t row = blockIdx.x, head = blockIdx.y, at = row * gridDim.y + head;
    uint64_t vocab = a.vocab[head], offset = a.offset[head];
    uint64_t within = vocab > 0 ? hash_of(&a, row, head / a.heads_per + 2) % vocab : 0;
    if (vocab == 0 || offset >= t.rows || within >= t.rows - offset) {
        vv_report(trouble, VV_ERROR_INVALID);
        return;
    }
    bool near = t.row_bytes <= NEAR_MOST;
    const vv_table seen = near ? near_row(t, within + offset) : t;
    for (unsigned i = threadIdx.x; i < t.width; i += THREADS) {
        a.e[at * t.width + i] = vv_table_value(seen, near ? 0 : within + offset, i);
    }
    if (a.row_ids && threadIdx.x == 0) {
        a.row_ids[at] = (int64_t)(within + offset);
    }
}

int launch(const void *args, const vv_launch *on) {
    auto a = *static_cast<const struct vv_ngram_embed *>(args);
    dim3 grid((unsigned)vv_rows(a.rows), (unsigned)((a.order - 1) * a.heads_per));
    a.window = vv_on_device_as(on, a.window);
    const vv_table t = vv_table_of(a.table);
    return vv_start_early(embed, grid, THREADS, t.row_bytes <= NEAR_MOST ? t.row_bytes : 0,
                          on->stream, a, t, vv_trouble_of(on));
}

const vv_variant variants[] = {
    {"ngram_embed/cuda", VV_CUDA_ANY, true, nullptr, &vv_layout_split, nullptr, launch, nullptr},
    {},
};

} // namespace

extern const vv_more_variants vv_cuda_folder_ngram_embed[] = {{"ngram_embed", variants}, {}};

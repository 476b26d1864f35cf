#include "op/index_score/cuda_integer.cuh"
#include "op/index_score/cuda_plain.cuh"
#include "op/index_score/cuda_tile.cuh"

namespace {

const struct vv_index_score &args_of(const void *args) {
    return *static_cast<const struct vv_index_score *>(args);
}

task task_of(const struct vv_index_score &a, const vv_launch *on) {
    return {a,
            vv_on_device_as(on, a.window->position),
            vv_on_device_as(on, a.window->slot),
            vv_on_device_as(on, a.window->sequence_row),
            (uint32_t)vv_rows(a.rows),
            (uint32_t)vv_state_entry_bytes(a.q_type, a.width)};
}

/* Blocks that any row of such windows sees. */
size_t most_of(const struct vv_index_score &a, const vv_launch *on) {
    return (size_t)on->depth / a.ratio;
}

template <arithmetic A> int launch_plain(const struct vv_index_score &a, const vv_launch *on) {
    dim3 blocks(vv_blocks(most_of(a, on), PLAIN_HALVES), (unsigned)vv_rows(a.rows));
    return vv_start_early(plain<A>, blocks, PLAIN_THREADS, 0, on->stream, task_of(a, on));
}

template <arithmetic A> int launch_floats(const void *args, const vv_launch *on) {
    const struct vv_index_score &a = args_of(args);
    if (most_of(a, on) <= a.keep) {
        return VV_OK; /* all rows attend to everything */
    }
    if (a.width > TILE_WIDTH || a.width % VV_LANES > 0) {
        return launch_plain<A>(a, on);
    }
    dim3 blocks(vv_blocks(most_of(a, on), TILE_KEYS), vv_blocks(vv_rows(a.rows), TILE_ROWS));
    return vv_start_early(tiles<A>, blocks, TILE_THREADS, TILE_KEYS * KEY_ROW * sizeof(float),
                          on->stream, task_of(a, on));
}

int launch_integers(const void *args, const vv_launch *on) {
    const struct vv_index_score &a = args_of(args);
    size_t most = most_of(a, on), rows = vv_rows(a.rows), shared = few_bytes(a.heads);
    if (most <= a.keep) {
        return VV_OK;
    }
    if (a.width > CODED_BLOCKS * CODES || shared > 48 << 10) {
        return launch_plain<INTEGERS>(a, on);
    }
    if (rows < MANY_ROWS) {
        return vv_start_early(codes_few, dim3(vv_blocks(most, FEW_KEYS), (unsigned)rows),
                              FEW_THREADS, shared, on->stream, task_of(a, on));
    }
    return vv_start_early(codes_many, dim3(vv_blocks(most, MANY_KEYS), vv_blocks(rows, MANY_ROWS)),
                          MANY_THREADS, 0, on->stream, task_of(a, on));
}

const vv_variant float_variants[] = {
    {"index_score/cuda", VV_CUDA_ANY, true, nullptr, nullptr, nullptr, launch_floats<FLOATS>,
     nullptr},
    {},
};
const vv_variant half_variants[] = {
    {"index_score_half/cuda", VV_CUDA_ANY, true, nullptr, nullptr, nullptr, launch_floats<HALVES>,
     nullptr},
    {},
};
const vv_variant integer_variants[] = {
    {"index_score_integer/cuda", VV_CUDA_ANY, true, nullptr, nullptr, nullptr, launch_integers,
     nullptr},
    {},
};

} // namespace

extern const vv_more_variants vv_cuda_folder_index_score[] = {
    {"index_score", float_variants},
    {"index_score_half", half_variants},
    {"index_score_integer", integer_variants},
    {}};

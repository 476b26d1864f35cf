#include "op/gdn_step/cuda_few.cuh"
#include "op/gdn_step/cuda_many.cuh"

namespace {

enum { FEW_A_SEQUENCE = 16 }; /* rows for which one kernel takes less than three */

bool aligned(const void *at, size_t to) {
    return (uintptr_t)at % to == 0;
}

unsigned together(const struct vv_gdn_step &a) {
    for (unsigned n = 4; n > 1; n /= 2) {
        size_t bytes = n * sizeof(float);
        if (a.value_dim % n == 0 && aligned(a.state.base, bytes) &&
            a.state.slot_stride % bytes == 0) {
            return n;
        }
    }
    return 1;
}

task task_of(const struct vv_gdn_step &a, const vv_launch *on) {
    const struct vv_window *w = a.window;
    return {a,
            vv_gdn_channels(&a),
            vv_on_device_as(on, w->position),
            vv_on_device_as(on, w->slot),
            vv_on_device_as(on, w->sequence_begin),
            vv_on_device_as(on, w->sequence_row),
            w->rows,
            w->sequences,
            together(a),
            a.kernel == 4 && aligned(a.conv, 16),
            (float)(1 / sqrt((double)a.key_dim)),
            vv_trouble_of(on)};
}

size_t up_to(size_t n, size_t whole) {
    return (n + whole - 1) / whole * whole;
}

/* What is prepared for a window, in elements; the values of every shape of the scan find room. */
struct sizes {
    size_t dim, gates, keys, values;
};

sizes sizes_of(const struct vv_gdn_step &a) {
    size_t rows = (size_t)a.window->rows, dim = up_to(a.key_dim, VV_SEGMENT);
    size_t columns = up_to(a.value_dim, SCAN_COLUMNS_MOST);
    return {dim, up_to(rows * a.value_heads, 2), rows * a.key_heads * dim * 2,
            rows * a.value_heads * columns};
}

/* Where scratch memory from `at` on holds what. */
template <class S> prepared prepared_at(const struct vv_gdn_step &a, void *at) {
    static_assert(S::WIDTH <= SCAN_COLUMNS_MOST, "there is room");
    const sizes s = sizes_of(a);
    prepared p = {};
    p.dim = (unsigned)s.dim;
    p.share = S::SHARE;
    p.heads = S::HEADS;
    p.width = S::WIDTH;
    p.tiles = vv_blocks(a.value_dim, S::WIDTH);
    p.gates = static_cast<float2 *>(at);
    p.qk = reinterpret_cast<float *>(p.gates + s.gates);
    p.v = p.qk + s.keys;
    return p;
}

/* Blocks of the scan have a processor each, if there are enough: none begins before all that was
 * prepared is there. */
template <class S> int launch_shape(const task &t, const vv_launch *on) {
    const struct vv_gdn_step &a = t.a;
    size_t rows = (size_t)t.rows, taps = a.kernel - 1 + PREPARED_TOGETHER;
    unsigned heads = (unsigned)a.value_heads, pieces = vv_blocks(a.value_dim, PREPARED_VALUES);
    prepared p = prepared_at<S>(a, on->scratch);
    dim3 prepare(vv_blocks(rows, PREPARED_ROWS), (unsigned)a.key_heads + heads * pieces + 1);
    dim3 scanned(heads / S::HEADS * p.tiles, (unsigned)t.sequences);
    int code = vv_start_early((prepare_rows<S::SEGMENTS>), prepare, 32 * PREPARED_WARPS,
                              PREPARED_WARPS * taps * sizeof(void *), on->stream, t, p);
    if (code == VV_OK) {
        code = vv_start(scan<S>, scanned, S::THREADS, SCAN_STAGES * SCAN_ROWS * sizeof(scan_row<S>),
                        on->stream, t, p);
    }
    if (code == VV_OK && a.mode != VV_GDN_COMMIT) {
        code = vv_start_early(norm_and_gate, vv_blocks(rows * a.value_heads, FINISHED_HALVES),
                              FINISHED_HALVES * VV_LANES, 0, on->stream, t);
    }
    return code;
}

/* As many heads together as share a key head, and can be divided by. */
int launch_many(const task &t, const vv_launch *on) {
    size_t shared = t.a.value_heads / t.a.key_heads;
    if (t.a.key_dim > VV_SEGMENT) {
        return launch_shape<scan_shape<1, 1, 1, 2, 8>>(t, on);
    }
    return shared % 3 == 0   ? launch_shape<scan_shape<4, 3, 1, 1, 8>>(t, on)
           : shared % 2 == 0 ? launch_shape<scan_shape<4, 2, 1, 1, 16>>(t, on)
                             : launch_shape<scan_shape<4, 1, 2, 1, 16>>(t, on);
}

bool supported(const struct vv_gdn_step &a) {
    return a.key_dim <= VV_GDN_KEY_DIM_MAX && a.kernel <= VV_GDN_KERNEL_MAX;
}

bool few(const struct vv_gdn_step &a) {
    return a.key_dim <= FEW_DIM && a.value_dim <= FEW_DIM &&
           a.window->rows <= FEW_A_SEQUENCE * a.window->sequences;
}

int launch_few(const task &t, const few_planes &to, const vv_launch *on) {
    unsigned heads = (unsigned)((size_t)t.sequences * t.a.value_heads);
    if (!vv_pairs() || 2 * heads > on->processors) {
        return vv_start_early(few_rows, heads, FEW_THREADS, sizeof(few_shared), on->stream, t, to);
    }
    return vv_start_early(t.rows == 1 ? few_rows_in_pairs<1> : few_rows_in_pairs<FEW_ROWS>,
                          2 * heads, FEW_THREADS, sizeof(few_shared), on->stream, t, to);
}

int launch(const void *args, const vv_launch *on) {
    const auto &a = *static_cast<const struct vv_gdn_step *>(args);
    if (!supported(a)) {
        return VV_ERROR_UNSUPPORTED;
    }
    task t = task_of(a, on);
    if (few(a)) {
        return launch_few(t, few_planes{}, on);
    }
    return launch_many(t, on);
}

/* The planes, too. */
const vv_planes *planes_behind(const vv_whole *whole) {
    const auto &a = *static_cast<const struct vv_gdn_step *>(whole->step[0].args);
    return vv_planes_of(whole, 1, a.y, a.value_heads * a.value_dim, (size_t)a.window->rows);
}
bool fits_planes(const vv_whole *whole) {
    return whole->count == 2 && planes_behind(whole);
}
int launch_planes(const vv_whole *whole, const vv_launch *on) {
    const auto &a = *static_cast<const struct vv_gdn_step *>(whole->step[0].args);
    if (!supported(a) || !few(a) || a.value_dim != VV_SEGMENT) {
        return VV_ERROR_UNSUPPORTED;
    }
    few_planes to = {*planes_behind(whole), {on->status, whole->step[1].step}};
    return launch_few(task_of(a, on), to, on);
}
const vv_whole_way whole_way = {fits_planes, launch_planes};

/* The scan, however few rows there are. */
int launch_scan(const void *args, const vv_launch *on) {
    const auto &a = *static_cast<const struct vv_gdn_step *>(args);
    return supported(a) ? launch_many(task_of(a, on), on) : VV_ERROR_UNSUPPORTED;
}

size_t scratch(const void *args, const vv_launch *) {
    const sizes s = sizes_of(*static_cast<const struct vv_gdn_step *>(args));
    return s.gates * sizeof(float2) + (s.keys + s.values) * sizeof(float);
}

const vv_variant variants[] = {
    {"gdn_step/cuda_scan", VV_CUDA_ANY, true, nullptr, nullptr, nullptr, launch_scan, scratch},
    {"gdn_step/cuda", VV_CUDA_ANY, true, nullptr, nullptr, nullptr, launch, scratch, nullptr,
     &whole_way},
    {},
};

} // namespace

extern const vv_more_variants vv_cuda_folder_gdn_step[] = {{"gdn_step", variants}, {}};

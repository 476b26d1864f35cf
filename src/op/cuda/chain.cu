/* What may follow what in a chain, and how chains are launched. */
#include "op/cuda/chain_kernel.cuh"

namespace {

/* What a part of a step touches of what the step before it left: `floats` from first + part ·
 * stride on. */
struct region {
    const float *first;
    size_t stride, floats, parts; /* of all rows; 0: nothing that another step could follow */
};

const struct vv_rms_norm &norm_of(const void *args) {
    return *static_cast<const struct vv_rms_norm *>(args);
}
const struct vv_rope_pairs &rope_of(const void *args) {
    return *static_cast<const struct vv_rope_pairs *>(args);
}
const struct vv_round_fp8 &fp8_of(const void *args) {
    return *static_cast<const struct vv_round_fp8 *>(args);
}
const struct vv_round_fp4 &fp4_of(const void *args) {
    return *static_cast<const struct vv_round_fp4 *>(args);
}
const struct vv_round_half &half_of(const void *args) {
    return *static_cast<const struct vv_round_half *>(args);
}
const struct vv_quantize_rows &planes_of(const void *args) {
    return *static_cast<const struct vv_quantize_rows *>(args);
}
const struct vv_compress_rows &compress_of(const void *args) {
    return *static_cast<const struct vv_compress_rows *>(args);
}
const struct vv_cache_write &store_of(const void *args) {
    return *static_cast<const struct vv_cache_write *>(args);
}
const struct vv_sinkhorn &sinkhorn_of(const void *args) {
    return *static_cast<const struct vv_sinkhorn *>(args);
}
const struct vv_stream_read &read_of(const void *args) {
    return *static_cast<const struct vv_stream_read *>(args);
}

const struct vv_stream_write &write_of(const void *args) {
    return *static_cast<const struct vv_stream_write *>(args);
}
const struct vv_hash_route &route_of(const void *args) {
    return *static_cast<const struct vv_hash_route *>(args);
}
const struct vv_route_group &group_of(const void *args) {
    return *static_cast<const struct vv_route_group *>(args);
}
const struct vv_swiglu &swiglu_of(const void *args) {
    return *static_cast<const struct vv_swiglu *>(args);
}
const struct vv_expert_sum &sum_of(const void *args) {
    return *static_cast<const struct vv_expert_sum *>(args);
}

/* ---- what may follow what ---- */

enum {
    COLUMNS = 128,
    GATED = 256
}; /* of a part, where a row's values have nothing to do with each
    * other */

/* How many parts of so many values a row has. */
size_t pieces(size_t width, size_t each) {
    return width % each == 0 ? width / each : 1;
}

/* Rows of `width` values from `first` on, in pieces. */
region cut(const float *first, size_t width, size_t each, size_t rows) {
    size_t parts = pieces(width, each);
    return {first, width / parts, width / parts, rows * parts};
}

/* Parts of a step that lie one behind the other from row to row; none: they don't. */
region even(const float *first, size_t row, size_t stride, size_t floats, size_t rows,
            size_t each) {
    return row == each * stride ? region{first, stride, floats, rows * each} : region{};
}

/* What a step reads, as parts; none: it can only be a chain's first. */
region taken_by(int kind, const void *args) {
    switch (kind) {
    case VV_CHAIN_NORM: {
        auto &a = norm_of(args);
        return even(a.x, a.x_row, a.groups > 1 ? a.x_group : a.x_row, a.width, vv_rows(a.rows),
                    a.groups);
    }
    case VV_CHAIN_ROPE: {
        auto &a = rope_of(args);
        return even(a.x, a.row_stride, a.heads > 1 ? a.head_stride : a.row_stride, a.dims,
                    vv_rows(a.rows), a.heads);
    }
    case VV_CHAIN_FP8: {
        auto &a = fp8_of(args);
        return {a.x, a.stride, a.width, vv_rows(a.rows)};
    }
    case VV_CHAIN_FP4: {
        auto &a = fp4_of(args);
        return even(a.x, a.stride, a.heads > 1 ? a.width : a.stride, a.width, vv_rows(a.rows),
                    a.heads);
    }
    case VV_CHAIN_HALF: {
        auto &a = half_of(args);
        return {a.x, a.width, a.width, vv_rows(a.rows)};
    }
    case VV_CHAIN_PLANES: {
        auto &a = planes_of(args);
        return {a.planes.x, a.planes.width, a.planes.width, vv_rows(a.rows)};
    }
    case VV_CHAIN_STORE: {
        auto &a = store_of(args);
        auto from = static_cast<const float *>(a.from);
        return a.second || a.to.ring ? region{}
                                     : region{from, a.row_stride, a.to.width, vv_rows(a.rows)};
    }
    case VV_CHAIN_READ: {
        auto &a = read_of(args);
        return {a.pre, a.streams, a.streams, vv_rows(a.rows)};
    }
    case VV_CHAIN_WRITE: {
        auto &a = write_of(args);
        return cut(a.y, a.width, COLUMNS, vv_rows(a.rows));
    }
    case VV_CHAIN_GROUP: {
        auto &a = group_of(args);
        return {reinterpret_cast<const float *>(a.expert), a.used, a.used, vv_rows(a.rows)};
    }
    default:
        return {};
    }
}

/* What a step leaves where it doesn't change what it took. */
region left_by(int kind, const void *args) {
    switch (kind) {
    case VV_CHAIN_NORM: {
        auto &a = norm_of(args);
        return even(a.y, a.y_row, a.groups > 1 ? a.y_group : a.y_row, a.width, vv_rows(a.rows),
                    a.groups);
    }
    case VV_CHAIN_COMPRESS: {
        auto &a = compress_of(args);
        return {a.y, a.width, a.width, vv_rows(a.rows)};
    }
    case VV_CHAIN_SINKHORN: {
        auto &a = sinkhorn_of(args);
        return {a.pre, a.streams, a.streams, vv_rows(a.rows)};
    }
    case VV_CHAIN_READ: {
        auto &a = read_of(args);
        return {a.u, a.width, a.width, vv_rows(a.rows)};
    }
    case VV_CHAIN_ROUTE: {
        auto &a = route_of(args);
        return {reinterpret_cast<const float *>(a.expert), a.used, a.used, vv_rows(a.rows)};
    }
    case VV_CHAIN_SWIGLU: {
        auto &a = swiglu_of(args);
        return cut(a.h, a.width, GATED, vv_rows(a.rows));
    }
    case VV_CHAIN_SUM: {
        auto &a = sum_of(args);
        return cut(a.o, a.width, COLUMNS, vv_rows(a.rows));
    }
    case VV_CHAIN_ATTEND: {
        auto &a = attend_args(args);
        return {a.y, a.width, a.width, vv_rows(a.rows) * a.heads};
    }
    default:
        return {};
    }
}

bool in_place(int kind) {
    return kind == VV_CHAIN_ROPE || kind == VV_CHAIN_FP8 || kind == VV_CHAIN_HALF;
}

const float *least(const float *a, const float *b) {
    return a < b ? a : b;
}

/* Both, if parts of either touch the same part of the other and no other one; else none. */
region joined(const region &a, const region &b) {
    const float *first = least(a.first, b.first);
    size_t end_a = (size_t)(a.first + a.floats - first);
    size_t end_b = (size_t)(b.first + b.floats - first), floats = end_a > end_b ? end_a : end_b;
    bool same = a.parts > 0 && a.parts == b.parts && a.stride == b.stride && floats <= a.stride;
    return same ? region{first, a.stride, floats, a.parts} : region{};
}

/* Planes are made of whole segments, as many as a part before them has. */
bool planes_follow(const region &before, const region &planes) {
    size_t floats = planes.parts * planes.floats;
    bool whole = before.parts > 0 && before.floats <= before.stride &&
                 before.parts * before.stride == floats && before.first >= planes.first &&
                 before.first + before.floats <= planes.first + before.stride;
    bool cut = planes.floats % VV_SEGMENT == 0 && before.stride % VV_SEGMENT == 0;
    return whole && (cut || before.stride == planes.floats);
}

/* What the chain's last step leaves to one behind it; none: it may not be there, or none may
 * follow. `fits`: whether it may be there. */
region last_region(const vv_chain &chain, bool *fits) {
    region now = {};
    *fits = true;
    for (size_t i = 0; i < chain.count; i++) {
        int kind = chain.variant[i]->chaining->kind;
        const void *args = chain.step[i].args;
        region took = taken_by(kind, args), left = left_by(kind, args);
        region all = i == 0 ? took : joined(now, took);
        bool planes = kind == VV_CHAIN_PLANES;
        *fits = *fits && (i == 0 || (planes ? planes_follow(now, took) : all.parts > 0));
        now = planes ? region{} : in_place(kind) ? all : left;
    }
    return now;
}

bool suits(int kind, const void *args) {
    switch (kind) {
    case VV_CHAIN_PLANES:
        return !planes_of(args).planes.coarse_panel && !planes_of(args).planes.fine_panel;
    case VV_CHAIN_NORM:
        return norm_of(args).width <= 16384;
    case VV_CHAIN_SINKHORN:
        return sinkhorn_of(args).streams == FEW_STREAMS && sinkhorn_of(args).width <= 8192;
    case VV_CHAIN_WRITE:
        return write_of(args).streams <= FEW_STREAMS;
    case VV_CHAIN_COMPRESS:
        return compress_of(args).width <= 4096;
    case VV_CHAIN_GROUP:
        return vv_rows(group_of(args).rows) == 1 && group_of(args).used <= ROW_PAIRS_MOST;
    case VV_CHAIN_ATTEND:
        return vv_cuda_attend_splits(args);
    default:
        return true;
    }
}

bool fits(const vv_chain *chain) {
    size_t last = chain->count - 1;
    bool may;
    last_region(*chain, &may);
    return may && suits(chain->variant[last]->chaining->kind, chain->step[last].args);
}

/* ---- launch ---- */

/* What a task wants of a launch; `parts` of a row if it is the chain's only one. */
struct wants {
    size_t rows, parts, threads, shared;
};

/* So many pieces that each has a few segments, which planes can be cut into. */
size_t plane_parts(size_t width) {
    constexpr size_t each = 8;
    return width % (each * VV_SEGMENT) == 0 ? width / (each * VV_SEGMENT) : 1;
}

wants task_of(int kind, const void *args, const vv_launch *on, chained *to) {
    switch (kind) {
    case VV_CHAIN_NORM: {
        auto &a = to->norm = norm_of(args);
        return {vv_rows(a.rows), a.groups, vv_segment_threads(a.width),
                vv_parts(a.width) * sizeof(float)};
    }
    case VV_CHAIN_ROPE: {
        auto &a = to->rope = rope_of(args);
        a.window = vv_on_device_as(on, a.window);
        return {vv_rows(rope_of(args).rows), a.heads, a.dims / 2, 0};
    }
    case VV_CHAIN_FP8: {
        auto &a = to->fp8 = fp8_of(args);
        a.window = vv_on_device_as(on, a.window);
        return {vv_rows(a.rows), 1, a.width / 2, 0};
    }
    case VV_CHAIN_FP4: {
        auto &a = to->fp4.of = fp4_of(args);
        a.window = vv_on_device_as(on, a.window);
        to->fp4.unit = hadamard_unit(a.width);
        return {vv_rows(a.rows), a.heads, 32, a.width * sizeof(float)};
    }
    case VV_CHAIN_HALF: {
        auto &a = to->half = half_of(args);
        return {vv_rows(a.rows), 1, a.width, 0};
    }
    case VV_CHAIN_PLANES: {
        auto &a = planes_of(args);
        to->planes.of = a.planes;
        to->planes.rows = (unsigned)vv_rows(a.rows);
        size_t parts = plane_parts(a.planes.width);
        return {vv_rows(a.rows), parts, a.planes.width / 4 / parts, 0};
    }
    case VV_CHAIN_COMPRESS: {
        auto &a = to->compress = compress_of(args);
        a.window = vv_on_device_as(on, a.window);
        return {vv_rows(a.rows), 1, a.width < 512 ? a.width : 512, compress_bytes(a)};
    }
    case VV_CHAIN_STORE: {
        auto &a = to->store = cache_job_of(args, on);
        constexpr size_t each = 512;
        size_t width = a.a.to.width;
        return {vv_rows(store_of(args).rows), vv_blocks(width, each), width < each ? width : each,
                0};
    }
    case VV_CHAIN_SINKHORN: {
        auto &a = to->sinkhorn = sinkhorn_of(args);
        return {vv_rows(a.rows), 1, vv_segment_threads(a.streams * a.width), sinkhorn_bytes(a)};
    }
    case VV_CHAIN_WRITE: {
        auto &a = to->write = write_of(args);
        return {vv_rows(a.rows), pieces(a.width, COLUMNS), COLUMNS, 0};
    }
    case VV_CHAIN_ROUTE: {
        auto &a = to->route = route_of(args);
        a.window = vv_on_device_as(on, a.window);
        return {vv_rows(route_of(args).rows), 1, 256, hash_route_bytes(a)};
    }
    case VV_CHAIN_GROUP: {
        auto &a = to->group = group_of(args);
        return {vv_rows(a.rows), 1, 256, sizeof(group_memory)};
    }
    case VV_CHAIN_SWIGLU: {
        auto &a = to->swiglu = swiglu_of(args);
        return {vv_rows(a.rows), pieces(a.width, GATED), GATED, 0};
    }
    case VV_CHAIN_SUM: {
        auto &a = to->sum = sum_of(args);
        return {vv_rows(a.rows), pieces(a.width, COLUMNS), COLUMNS, 0};
    }
    case VV_CHAIN_ATTEND: {
        auto &a = attend_args(args);
        to->attend = {attend_task(args, on, to->step), partials_of(a, on)};
        return {vv_rows(a.rows), a.heads, a.width / 2, merge_bytes(to->attend.from)};
    }
    default: {
        auto &a = to->read = read_of(args);
        return {vv_rows(a.rows), 1, a.width / 4, 0};
    }
    }
}

size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

int launch(const vv_chain *given, size_t count, const vv_launch *on) {
    chains all = {};
    size_t threads = 32, shared = 0;
    unsigned tasks = 0, blocks = 0;
    int code = VV_OK;
    for (size_t c = 0; c < count && code == VV_OK; c++) {
        chain &to = all.list[c];
        to.first = tasks;
        for (size_t i = 0; i < given[c].count; i++) {
            chained &t = all.of[tasks++];
            t.kind = given[c].variant[i]->chaining->kind;
            t.step = given[c].step[i].step;
            wants w = task_of(t.kind, given[c].step[i].args, on, &t);
            if (t.kind == VV_CHAIN_ATTEND) {
                code = vv_cuda_attend_chunks(given[c].step[i].args, on, t.step);
            }
            threads = larger(threads, w.threads);
            shared = larger(shared, w.shared);
            if (i == 0) {
                to.rows = (unsigned)w.rows;
                to.parts = (unsigned)w.parts;
            }
        }
        const chained &first = all.of[to.first];
        bool beside = first.kind == VV_CHAIN_SINKHORN && first.sinkhorn.post && given[c].count > 1;
        to.end = tasks;
        to.begin = blocks;
        to.blocks = to.rows * to.parts * (beside ? 2 : 1);
        blocks += to.blocks;
    }
    all.count = (unsigned)count;
    all.status = on->status;
    threads = threads < THREADS_MOST ? (threads + 31) / 32 * 32 : (size_t)THREADS_MOST;
    return code == VV_OK
               ? vv_start_early(run_chains, blocks, (unsigned)threads, shared, on->stream, all)
               : code;
}

} // namespace

#define VV_CHAINED(kind)                                                                           \
    { kind, fits, launch }
extern const vv_chaining vv_cuda_chaining[VV_CHAIN_KINDS] = {
    VV_CHAINED(VV_CHAIN_NORM),     VV_CHAINED(VV_CHAIN_ROPE),   VV_CHAINED(VV_CHAIN_FP8),
    VV_CHAINED(VV_CHAIN_FP4),      VV_CHAINED(VV_CHAIN_HALF),   VV_CHAINED(VV_CHAIN_PLANES),
    VV_CHAINED(VV_CHAIN_COMPRESS), VV_CHAINED(VV_CHAIN_STORE),  VV_CHAINED(VV_CHAIN_SINKHORN),
    VV_CHAINED(VV_CHAIN_READ),     VV_CHAINED(VV_CHAIN_WRITE),  VV_CHAINED(VV_CHAIN_ROUTE),
    VV_CHAINED(VV_CHAIN_GROUP),    VV_CHAINED(VV_CHAIN_SWIGLU), VV_CHAINED(VV_CHAIN_SUM),
    VV_CHAINED(VV_CHAIN_ATTEND),
};

#include "op/attend/cuda_chunks.cuh"
#include "op/attend/cuda_plain.cuh"

namespace {

enum {
    WHOLE_BLOCKS = 512,      /* that keep all their chunks fill any device */
    SHARED_MOST = 96 << 10,  /* of a block, on any device */
    PARTIALS_MOST = 1 << 28, /* bytes */
};

bool aligned(const void *at, size_t stride, size_t to) {
    return ((uintptr_t)at | stride) % to == 0;
}

/* Whether tiles take such shapes; else they are `plain`. */
bool tiled(const struct vv_attend &a) {
    return a.width % VV_LANES == 0 && a.width <= TILE_WIDTH && aligned(a.q, 0, 8) &&
           aligned(a.k.base, a.k.slot_stride | a.k.entry_stride, 16) &&
           aligned(a.v.base, a.v.slot_stride | a.v.entry_stride, 16);
}

tile_shape shape_of(const struct vv_attend &a) {
    tile_shape s = {};
    /* Keys that follow each other begin a quarter or half of the banks apart. */
    s.key_row =
        (uint32_t)((a.width * element_bytes(a.k) + 127) / 128 * 128 + 16 * element_bytes(a.k));
    s.value_row = (uint32_t)(a.width * element_bytes(a.v));
    uint32_t keys = CHUNK * s.key_row, values = CHUNK * s.value_row;
    s.value = keys + values <= SHARED_MOST ? keys : 0;
    s.bytes = s.value ? keys + values : keys > values ? keys : values;
    return s;
}

/* Whether blocks have twice SHARED_HEADS heads, most of which there are. */
bool shares(const struct vv_attend &a) {
    size_t blocks = a.kv_heads * vv_blocks(a.heads / a.kv_heads, 2 * SHARED_HEADS);
    return tiled(a) && a.width == TILE_WIDTH && a.k.type == VV_TYPE_F16 &&
           a.v.type == VV_TYPE_F16 && blocks * 2 * SHARED_HEADS * 3 <= 4 * a.heads;
}

/* Chunks that any row of such windows may have. */
size_t chunks_of(const struct vv_attend &a, const vv_launch *on) {
    size_t most = (size_t)on->depth;
    if (a.list && a.keep * a.ratio + a.ratio - 1 < most) {
        most = a.keep * a.ratio + a.ratio - 1;
    }
    return (most + CHUNK - 1) / CHUNK;
}

size_t partial_bytes(const struct vv_attend &a, const vv_launch *on) {
    size_t chunks = vv_rows(a.rows) * a.heads * chunks_of(a, on);
    return chunks * (sizeof(float2) + a.width * sizeof(float));
}

/* Heads of a thread: two threads' worth is a block's. */
size_t heads_of(const struct vv_attend &a) {
    return a.heads / a.kv_heads % 3 == 0 ? 3 : 2;
}

size_t head_blocks(const struct vv_attend &a) {
    return a.kv_heads * vv_blocks(a.heads / a.kv_heads, 2 * heads_of(a));
}

bool split(const struct vv_attend &a, const vv_launch *on) {
    return vv_rows(a.rows) * head_blocks(a) < WHOLE_BLOCKS && partial_bytes(a, on) <= PARTIALS_MOST;
}

task task_of(const struct vv_attend &a, const vv_launch *on) {
    return {a, vv_on_device_as(on, a.window->position), vv_on_device_as(on, a.window->slot),
            vv_trouble_of(on)};
}

int launch_shared(const struct vv_attend &a, const vv_launch *on) {
    tile_shape s = {};
    s.query = by_shared_queries<SHARED_HEADS>::BYTES;
    s.bytes = s.query + (uint32_t)(2 * SHARED_HEADS * a.width * sizeof(float));
    dim3 blocks((unsigned)(a.kv_heads * vv_blocks(a.heads / a.kv_heads, 2 * SHARED_HEADS)),
                (unsigned)vv_rows(a.rows));
    return vv_start_early(all_chunks_shared, blocks, TILE_THREADS, s.bytes, on->stream,
                          task_of(a, on), s);
}

template <int HEADS> int launch_whole(const struct vv_attend &a, const vv_launch *on) {
    tile_shape shape = shape_of(a);
    dim3 blocks((unsigned)head_blocks(a), (unsigned)vv_rows(a.rows));
    return vv_start_early(all_chunks<HEADS>, blocks, TILE_THREADS, shape.bytes, on->stream,
                          task_of(a, on), shape);
}

template <int HEADS> int launch_split(const struct vv_attend &a, const vv_launch *on) {
    task t = task_of(a, on);
    tile_shape shape = shape_of(a);
    unsigned rows = (unsigned)vv_rows(a.rows), blocks = (unsigned)head_blocks(a);
    size_t chunks = chunks_of(a, on);
    partials p = {static_cast<float2 *>(on->scratch), nullptr, chunks};
    p.o = reinterpret_cast<float *>(p.softmax + (rows * a.heads * chunks + 1) / 2 * 2);
    int code = vv_start_early(one_chunk<HEADS>, dim3((unsigned)chunks, blocks, rows), TILE_THREADS,
                              shape.bytes, on->stream, t, shape, p);
    return code == VV_OK
               ? vv_start_early(merge_chunks,
                                dim3(rows * (unsigned)a.heads, vv_blocks(a.width, MERGE_THREADS)),
                                MERGE_THREADS, 0, on->stream, t, p)
               : code;
}

/* Rows keep all their chunks, however few rows there are. */
int launch_rows(const void *args, const vv_launch *on) {
    const auto &a = *static_cast<const struct vv_attend *>(args);
    return heads_of(a) == 3 ? launch_whole<3>(a, on) : launch_whole<2>(a, on);
}

int launch(const void *args, const vv_launch *on) {
    const auto &a = *static_cast<const struct vv_attend *>(args);
    if (!tiled(a)) {
        return vv_start_early(plain, (unsigned)(vv_rows(a.rows) * a.heads), PLAIN_THREADS, 0,
                              on->stream, task_of(a, on));
    }
    if (!split(a, on)) {
        return shares(a) ? launch_shared(a, on) : launch_rows(args, on);
    }
    return heads_of(a) == 3 ? launch_split<3>(a, on) : launch_split<2>(a, on);
}

bool fits_shared(const void *args) {
    return shares(*static_cast<const struct vv_attend *>(args));
}
int launch_shared_rows(const void *args, const vv_launch *on) {
    return launch_shared(*static_cast<const struct vv_attend *>(args), on);
}

bool fits_tiles(const void *args) {
    return tiled(*static_cast<const struct vv_attend *>(args));
}

size_t scratch(const void *args, const vv_launch *on) {
    const auto &a = *static_cast<const struct vv_attend *>(args);
    return tiled(a) && split(a, on) ? partial_bytes(a, on) + sizeof(float2) : 0;
}

const vv_variant variants[] = {
    {"attend/cuda_shared", VV_CUDA_ANY, true, fits_shared, nullptr, nullptr, launch_shared_rows,
     nullptr},
    {"attend/cuda_rows", VV_CUDA_ANY, true, fits_tiles, nullptr, nullptr, launch_rows, nullptr},
    {"attend/cuda", VV_CUDA_ANY, true, nullptr, nullptr, nullptr, launch, scratch},
    {},
};

} // namespace

extern const vv_more_variants vv_cuda_folder_attend[] = {{"attend", variants}, {}};

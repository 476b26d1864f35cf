/* Jobs to launches. */
#include "op/cuda/products.cuh"

namespace vv_products {

__global__ void __launch_bounds__(THREADS, 2)
    plain(const __grid_constant__ vv_product_job job, const __grid_constant__ grid_of_job grid) {
    auto &memory = *vv_dynamic_shared<plain_memory>();
    run_block<PLAIN, false>(job, grid, nullptr,
                            [&](const place &at, const rows_in_hand<PLAIN> &rows) {
                                plain_rows(job, at, rows, memory);
                            });
}
static int start_plain(const vv_product_job &job, const grid_of_job &grid, dim3 blocks, unsigned,
                       size_t, void *stream) {
    return vv_start_early(plain, blocks, THREADS, sizeof(plain_memory), stream, job, grid);
}

static const kernels float_kernels = {
    start_plain, start_plain, nullptr, sizeof(plain_memory), nullptr, nullptr, nullptr, 0, 0};

static const kernels *kernels_of(int type) {
    const kernels *k = super_kernels(type);
    k = k ? k : grid_kernels(type);
    k = k ? k : block_kernels(type);
    return k ? k : &float_kernels;
}

static bool same_kernels(int type, int other) {
    return type == other || (vv_is_float_type(type) && vv_is_float_type(other));
}

/* ---- which kernel, and its blocks ---- */

static bool by_tiles(vv_product_way way) {
    return way >= VV_TILES_OF_64;
}

struct plan {
    vv_product_way how;
    bool decoded;
    unsigned rows;  /* of activations that a block takes together */
    unsigned slots; /* weight rows of a tile */
    unsigned tiles; /* of a block, one below the other */
    grid_of_job grid;
    unsigned blocks, threads, threads_most;
    size_t sums; /* bytes */
};

/* Weight rows that all blocks have together. */
static size_t all_slots(const vv_product_job &job, const vv_product_part &p) {
    return (size_t)p.outputs * p.matrices * (job.active ? job.slices_most : 1);
}
static size_t slots_of_parts(const vv_product_job &job) {
    size_t slots = 0;
    for (unsigned i = 0; i < job.parts; i++) {
        slots += all_slots(job, job.part[i]);
    }
    return slots;
}
/* Shared memory of a block that holds `slots` weight rows, for `row_tile` rows of activations. */
static size_t held_bytes(const vv_product_part &p, unsigned slots) {
    return (size_t)slots * held_pitch(p.row_bytes);
}
static size_t sum_bytes(unsigned segments, unsigned slots, unsigned row_tile) {
    return (size_t)slots * row_tile * (segments | 1) * sizeof(float);
}

static unsigned power_above(unsigned n) {
    unsigned shift = 0;
    while (1u << shift < n) {
        shift++;
    }
    return shift;
}

/*
 * Weight rows of a block, as a power of two: as many as leave enough blocks to fill the GPU, and as
 * leave a processor room for several blocks, so that weights are on their way while others are
 * multiplied.
 */
static unsigned slots_shift(const vv_product_job &job, const vv_product_part &p, unsigned row_tile,
                            const vv_launch *on) {
    constexpr size_t blocks_least = 4;
    const size_t shared_most = row_tile == EIGHT ? 44 << 10 : 24 << 10; /* measured */
    constexpr unsigned most = 6;
    unsigned shift = most, least = power_above(p.matrices);
    while (shift > least) {
        unsigned slots = 1u << shift;
        size_t shared = held_bytes(p, slots) + sum_bytes(segments_of(job), slots, row_tile);
        if (shared <= shared_most && all_slots(job, p) / slots >= blocks_least * on->processors) {
            break;
        }
        shift--;
    }
    return shift;
}

/* Threads for so many tasks: each with as many. */
static unsigned threads_for(unsigned tasks, unsigned most) {
    unsigned turns = (tasks + most - 1) / most;
    return (tasks + turns * 32 - 1) / (turns * 32) * 32;
}

static void plan_part(const vv_product_job &job, unsigned i, const vv_launch *on, plan &to) {
    const vv_product_part &p = job.part[i];
    bool floats = vv_is_float_type(p.type);
    unsigned shift = 0, slots = to.slots;
    if (!by_tiles(to.how)) {
        unsigned segments = segments_of(job), lanes = floats ? VV_LANES : 1;
        shift = slots_shift(job, p, to.rows, on);
        slots = 1u << shift;
        unsigned held = to.decoded ? 0 : (unsigned)held_bytes(p, slots);
        to.grid.held = held > to.grid.held ? held : to.grid.held;
        size_t sums = sum_bytes(segments, slots, to.rows);
        to.sums = sums > to.sums ? sums : to.sums;
        unsigned threads = threads_for((segments << shift) * lanes, to.threads_most);
        to.threads = threads > to.threads ? threads : to.threads;
    }
    unsigned outputs = slots / p.matrices * (to.tiles ? to.tiles : 1);
    to.blocks += vv_blocks(p.outputs, outputs);
    to.grid.part[i] = {outputs, shift, to.blocks};
}

static bool fits(const vv_product_job &job, vv_product_way way) {
    bool all = true;
    for (unsigned i = 0; i < job.parts; i++) {
        const vv_product_part &p = job.part[i];
        all = all && vv_cuda_way_fits(way, job.x.width, p.row_bytes, p.matrices);
    }
    return all;
}

/* Wide strips where they leave no processor idle; but where rows are short, much of the work is
 * the end, which wants many warps. */
static vv_product_way strips_of(const vv_product_job &job, size_t meet, const vv_launch *on) {
    constexpr size_t few = strip_of_16::TN, short_segments = 4;
    size_t blocks =
        slots_of_parts(job) / strip_of_64::TM * (job.active ? 1 : vv_blocks(meet, strip_of_64::TN));
    bool wide = meet > few && blocks >= on->processors &&
                (segments_of(job) > short_segments || job.part[0].matrices == 1);
    return wide ? VV_STRIPS_OF_64 : VV_STRIPS_OF_16;
}

/*
 * By the rows that each weight meets, about, as far as the host can know. Measured on an H200
 * (docs/measurements/2026-11-30-cuda-chain.md). Experts of few rows have mostly one each.
 */
static vv_product_way rule(const vv_product_job &job, const vv_launch *on) {
    const vv_product_part &p = job.part[0];
    size_t rows = job.active ? job.rows_most : job.rows;
    size_t meet = job.active ? job.rows / job.slices_most : rows;
    if (rows <= 1 && fits(job, VV_ONE_BY_ONE)) {
        return VV_ONE_BY_ONE;
    }
    if ((rows <= FOUR || (job.active && rows <= EIGHT)) && fits(job, VV_BY_FOUR)) {
        return VV_BY_FOUR;
    }
    size_t slots = slots_of_parts(job);
    bool few_floats = vv_is_float_type(p.type) &&
                      vv_blocks(slots, PLAIN) * vv_blocks(rows, PLAIN) < on->processors / 2;
    if ((rows <= EIGHT || few_floats) && fits(job, VV_BY_EIGHT)) {
        return VV_BY_EIGHT;
    }
    if (kernels_of(p.type)->strip_few) {
        return strips_of(job, meet, on);
    }
    constexpr size_t large = tile_of_128::TM;
    size_t blocks = slots / large * (job.active ? 1 : meet / large);
    return meet >= large && blocks >= on->processors / 2 ? VV_TILES_OF_128 : VV_TILES_OF_64;
}

/* Shared memory that a block can have. */
static size_t shared_most() {
    int device = 0, bytes = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    return (size_t)bytes;
}

/* Rows of activations that a block takes: fewer than it can where that leaves processors idle. */
static unsigned rows_of_block(const vv_product_job &job, const plan &to, const vv_launch *on) {
    unsigned rows = to.rows;
    while (to.how == VV_TILES_OF_64 && to.rows > PLAIN && rows > 2 * UNIT_COLUMNS &&
           to.blocks * vv_blocks(job.rows, rows) < on->processors) {
        rows /= 2;
    }
    return rows;
}

/* Tiles of a block, as many as leave each processor many blocks; all, where the way is forced, so
 * that checks see them. */
static unsigned tiles_below(const vv_product_job &job, const plan &to, const vv_launch *on) {
    constexpr size_t enough = 16;
    size_t blocks =
        slots_of_parts(job) / to.slots * (job.active ? 1 : vv_blocks(job.rows, to.rows));
    unsigned tiles = job.way == VV_BY_RULE ? 1 : strip_of_16::TILES;
    while (tiles < strip_of_16::TILES && blocks / (2 * tiles) >= enough * on->processors) {
        tiles *= 2;
    }
    return tiles;
}

static start *kernel_of(const vv_product_job &job, plan &to, const vv_launch *on) {
    const kernels *k = kernels_of(job.part[0].type);
    bool floats = k == &float_kernels;
    bool strips = to.how >= VV_STRIPS_OF_16;
    if ((to.how == VV_TILES_OF_128 && k->many_bytes > shared_most()) || (strips && !k->strip_few)) {
        to.how = VV_TILES_OF_64;
    }
    if (to.how == VV_STRIPS_OF_128 && k->all_bytes > shared_most()) {
        to.how = VV_STRIPS_OF_64;
    }
    if (to.how == VV_STRIPS_OF_64 && k->some_bytes > shared_most()) {
        to.how = VV_STRIPS_OF_16;
    }
    switch (to.how) {
    case VV_BY_FOUR:
        to.rows = FOUR;
        to.threads_most = rows_threads<FOUR>;
        return start_four;
    case VV_BY_EIGHT:
        to.rows = EIGHT;
        to.threads_most = rows_threads<EIGHT>;
        return start_eight;
    case VV_TILES_OF_64:
        to.rows = to.slots = floats ? PLAIN : tile_of_64::TN;
        return k->tile_few;
    case VV_TILES_OF_128:
        to.rows = to.slots = floats ? PLAIN : tile_of_128::TN;
        return k->tile_many;
    case VV_STRIPS_OF_16:
        to.rows = strip_of_16::TN;
        to.slots = strip_of_16::TM;
        to.tiles = tiles_below(job, to, on);
        return k->strip_few;
    case VV_STRIPS_OF_64:
        to.rows = strip_of_64::TN;
        to.slots = strip_of_64::TM;
        return k->strip_some;
    case VV_STRIPS_OF_128:
        to.rows = strip_of_128::TN;
        to.slots = strip_of_128::TM;
        return k->strip_many;
    default:
        to.rows = 1;
        to.threads_most = to.decoded ? THREADS : rows_threads<1>;
        return to.decoded ? k->decoded : start_one;
    }
}

/* One launch. */
static int run(const vv_product_job &job, vv_product_way how, bool decoded, const vv_launch *on) {
    plan to = {};
    to.decoded = decoded;
    to.how = how;
    start *s = kernel_of(job, to, on);
    for (unsigned i = 0; i < job.parts; i++) {
        plan_part(job, i, on, to);
    }
    to.grid.rows = rows_of_block(job, to, on);
    dim3 all(to.blocks, job.active ? job.slices_most : 1,
             job.active ? 1 : vv_blocks(job.rows, to.grid.rows));
    return s(job, to.grid, all, to.threads, to.grid.held + to.sums, on->stream);
}

} // namespace vv_products

using namespace vv_products;

bool vv_cuda_way_fits(enum vv_product_way way, size_t width, size_t row_bytes, unsigned matrices) {
    constexpr size_t shared_most = 99 << 10; /* of a block of any GPU */
    unsigned rows = way == VV_BY_EIGHT ? EIGHT : way == VV_BY_FOUR ? FOUR : 1;
    size_t held = (size_t)matrices * held_pitch(vv_split_row_bytes(row_bytes));
    size_t sums = sum_bytes((unsigned)((width + 127) / 128), matrices, rows);
    return by_tiles(way) || held + sums <= shared_most;
}

void vv_cuda_part(struct vv_product_part *part, const struct vv_weight *weight, uint32_t step) {
    part->data[0] = weight->data;
    part->scale[0] = weight->scale;
    part->row_bytes = vv_split_row_bytes(weight->row_bytes);
    part->slice_bytes[0] = weight->rows * part->row_bytes;
    part->outputs = (unsigned)weight->rows;
    part->matrices = 1;
    part->type = weight->type;
    part->step = step;
}

int vv_cuda_products(const struct vv_product_job *given, const struct vv_launch *on) {
    vv_product_job job = *given;
    job.used = job.used ? job.used : 1;
    job.status = on->status;
    vv_product_way how = job.way == VV_BY_RULE ? rule(job, on) : job.way;
    bool few = job.parts == 1 || job.rows <= EIGHT; /* so that all parts go the first one's way */
    if (!job.x.float_only && !by_tiles(how) && (few || job.way != VV_BY_RULE)) {
        return run(job, how, false, on);
    }
    bool done[VV_PARTS_MAX] = {};
    int code = VV_OK;
    for (unsigned i = 0; i < given->parts && code == VV_OK; i++) { /* a launch for each format */
        if (done[i]) {
            continue;
        }
        job.parts = 0;
        for (unsigned j = i; j < given->parts; j++) {
            if (same_kernels(given->part[i].type, given->part[j].type)) {
                job.part[job.parts++] = given->part[j];
                done[j] = true;
            }
        }
        bool decoded = job.x.float_only && !vv_is_float_type(job.part[0].type);
        how = decoded ? VV_ONE_BY_ONE : job.way == VV_BY_RULE ? rule(job, on) : job.way;
        code = run(job, how, decoded, on);
    }
    return code;
}

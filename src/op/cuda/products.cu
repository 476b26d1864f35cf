/* Jobs to launches. */
#include "op/cuda/products.cuh"

namespace vv_products {

__global__ void __launch_bounds__(THREADS, 2)
    plain(const __grid_constant__ vv_product_job job, const __grid_constant__ grid_of_job grid) {
    auto &memory = *vv_dynamic_shared<plain_memory>();
    run_block<PLAIN>(job, grid, nullptr, [&](const place &at, const rows_in_hand<PLAIN> &rows) {
        plain_rows(job, at, rows, memory);
    });
}
static VV_STARTER(start_plain, plain)

    static const kernels float_kernels = {start_plain, start_plain, nullptr};

static const kernels *kernels_of(int type) {
    const kernels *k = super_kernels(type);
    k = k ? k : grid_kernels(type);
    k = k ? k : block_kernels(type);
    return k ? k : &float_kernels;
}

/* ---- which kernel, and its blocks ---- */

static bool by_tiles(vv_product_way way) {
    return way == VV_TILES_OF_64 || way == VV_TILES_OF_128;
}

struct plan {
    vv_product_way how;
    bool decoded;
    unsigned rows; /* of activations that a block takes together */
    grid_of_job grid;
    unsigned blocks;
    size_t shared; /* beside what is held and summed */
    size_t sums;
};

/* Weight rows that all blocks have together. */
static size_t all_slots(const vv_product_job &job, const vv_product_part &p) {
    return (size_t)p.outputs * p.matrices * (job.active ? job.slices_most : 1);
}
/* Of `slots` rows as many as whole outputs take. */
static unsigned whole_outputs(const vv_product_part &p, unsigned slots) {
    return slots / p.matrices * p.matrices;
}

/* Shared memory of a block that holds `slots` weight rows, for `row_tile` rows of activations. */
static size_t held_bytes(const vv_product_part &p, unsigned slots) {
    return (size_t)slots * held_pitch(p.row_bytes);
}
static size_t sum_bytes(unsigned segments, unsigned slots, unsigned row_tile) {
    return (size_t)slots * row_tile * (segments | 1) * sizeof(float);
}

/*
 * Threads (or, of a few rows, warps) that share a weight row: as few as fill the GPU, so that the
 * end is divided among many rows; more where there are few rows, or where what a block holds would
 * leave too little room for other blocks. `rows_of(lanes)`: weight rows of a block.
 */
template <typename ROWS_OF>
static unsigned share(const vv_product_job &job, const vv_product_part &p, unsigned least,
                      unsigned most, unsigned row_tile, const vv_launch *on, ROWS_OF rows_of) {
    constexpr size_t shared_most = 48 << 10, blocks_least = 4;
    unsigned lanes = least;
    while (lanes < most && rows_of(2 * lanes) >= p.matrices) {
        unsigned slots = rows_of(lanes);
        size_t shared = held_bytes(p, slots) + sum_bytes(segments_of(job), slots, row_tile);
        if (shared <= shared_most && all_slots(job, p) / slots >= blocks_least * on->processors) {
            break;
        }
        lanes *= 2;
    }
    return lanes;
}

static void plan_part(const vv_product_job &job, unsigned i, const vv_launch *on, plan &to) {
    const vv_product_part &p = job.part[i];
    bool floats = vv_is_float_type(p.type);
    unsigned segments = segments_of(job), slots = 0, lanes = 1;
    if (by_tiles(to.how)) {
        slots = floats ? PLAIN : to.rows; /* as many as rows of activations */
    } else if (to.how == VV_A_FEW && !floats) {
        auto rows_of = [](unsigned warps) { return WARPS / warps * UNIT_ROWS; };
        lanes = share(job, p, 1, WARPS, FEW, on, rows_of);
        slots = rows_of(lanes);
    } else {
        auto rows_of = [](unsigned threads) { return THREADS / threads; };
        unsigned each = floats ? 16 : to.decoded ? 1 : 4, most = each; /* of a segment */
        while (most < each * segments && most < THREADS) {
            most *= 2;
        }
        lanes = share(job, p, each > 1 ? each : 4, most, to.rows, on, rows_of);
        slots = rows_of(lanes);
    }
    slots = whole_outputs(p, slots);
    to.blocks += vv_blocks(p.outputs, slots / p.matrices);
    to.grid.part[i] = {slots, lanes, to.blocks};
    if (!by_tiles(to.how)) {
        unsigned held = to.decoded ? 0 : (unsigned)held_bytes(p, slots);
        to.grid.held = held > to.grid.held ? held : to.grid.held;
        size_t sums = sum_bytes(segments, slots, to.rows);
        to.sums = sums > to.sums ? sums : to.sums;
    }
}

static bool fits(const vv_product_job &job, vv_product_way way) {
    bool all = true;
    for (unsigned i = 0; i < job.parts; i++) {
        const vv_product_part &p = job.part[i];
        all = all && vv_cuda_way_fits(way, job.x.width, p.row_bytes, p.matrices);
    }
    return all;
}

/*
 * By the rows that each weight meets, about, as far as the host can know. Measured on an H200
 * (docs/measurements/2026-11-30-cuda.md). Experts of few rows have mostly one each.
 */
static vv_product_way rule(const vv_product_job &job, const vv_launch *on) {
    const vv_product_part &p = job.part[0];
    size_t rows = job.active ? job.rows_most : job.rows;
    size_t meet = job.active ? job.rows / job.slices_most : rows;
    if (rows <= 1 && fits(job, VV_ONE_BY_ONE)) {
        return VV_ONE_BY_ONE;
    }
    if ((rows <= FOUR || (job.active && rows <= FEW)) && fits(job, VV_BY_FOUR)) {
        return VV_BY_FOUR;
    }
    bool few = fits(job, VV_A_FEW), floats = vv_is_float_type(p.type);
    bool small = floats ? rows <= 2 * PLAIN && all_slots(job, p) < 2 * PLAIN : meet < 4;
    if (few && (rows <= FEW || small)) {
        return VV_A_FEW;
    }
    constexpr size_t large = tile_of_128::TM;
    size_t blocks = all_slots(job, p) / large * (job.active ? 1 : meet / large);
    return meet >= large && blocks >= on->processors / 2 ? VV_TILES_OF_128 : VV_TILES_OF_64;
}

static start *kernel_of(const vv_product_job &job, plan &to) {
    const kernels *k = kernels_of(job.part[0].type);
    bool floats = k == &float_kernels;
    switch (to.how) {
    case VV_BY_FOUR:
        to.rows = FOUR;
        return start_four;
    case VV_A_FEW:
        to.rows = FEW;
        to.shared = few_staged;
        return start_few;
    case VV_TILES_OF_64:
    case VV_TILES_OF_128:
        if (floats) {
            to.rows = PLAIN;
            to.shared = sizeof(plain_memory);
            return k->tile_few;
        }
        to.rows = to.how == VV_TILES_OF_64 ? tile_of_64::TN : tile_of_128::TN;
        return to.how == VV_TILES_OF_64 ? k->tile_few : k->tile_many;
    default:
        to.rows = 1;
        return to.decoded ? k->decoded : start_one;
    }
}

/* One launch. */
static int run(const vv_product_job &job, vv_product_way how, bool decoded, const vv_launch *on) {
    plan to = {};
    to.decoded = decoded;
    to.how = how;
    start *s = kernel_of(job, to);
    for (unsigned i = 0; i < job.parts; i++) {
        plan_part(job, i, on, to);
    }
    dim3 all(to.blocks, job.active ? job.slices_most : 1,
             job.active ? 1 : vv_blocks(job.rows, to.rows));
    return s(job, to.grid, all, to.grid.held + to.shared + to.sums, on->stream);
}

} // namespace vv_products

using namespace vv_products;

bool vv_cuda_way_fits(enum vv_product_way way, size_t width, size_t row_bytes, unsigned matrices) {
    constexpr size_t shared_most = 99 << 10; /* of a block of any GPU */
    unsigned slots = way == VV_A_FEW ? UNIT_ROWS : matrices;
    unsigned rows = way == VV_A_FEW ? FEW : way == VV_BY_FOUR ? FOUR : 1;
    size_t held = (size_t)slots * held_pitch(vv_split_row_bytes(row_bytes));
    return by_tiles(way) || (way == VV_A_FEW ? few_staged : 0) + held +
                                    sum_bytes((unsigned)((width + 127) / 128), slots, rows) <=
                                shared_most;
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
    if (!job.x.float_only && !by_tiles(how)) {
        return run(job, how, false, on);
    }
    int code = VV_OK;
    for (unsigned i = 0; i < given->parts && code == VV_OK; i++) { /* one format a launch */
        job.part[0] = given->part[i];
        job.parts = 1;
        bool decoded = job.x.float_only && !vv_is_float_type(job.part[0].type);
        how = decoded ? VV_ONE_BY_ONE : job.way == VV_BY_RULE ? rule(job, on) : job.way;
        code = run(job, how, decoded, on);
    }
    return code;
}

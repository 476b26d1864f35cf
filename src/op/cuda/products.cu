/* Jobs to launches. */
#include "op/cuda/products.cuh"

namespace vv_products {

/* ---- weights of float formats ---- */

template <unsigned R>
__global__ void __launch_bounds__(THREADS)
    floats(const __grid_constant__ vv_product_job job, const __grid_constant__ grid_of_job grid) {
    float *sum = vv_dynamic_shared<float>();
    run_sums<R>(job, grid, sum, [&](const place &at, const rows_in_hand<R> &rows) {
        float_rows<R>(job, at, rows, sum);
    });
}

__global__ void __launch_bounds__(THREADS, 2)
    plain(const __grid_constant__ vv_product_job job, const __grid_constant__ grid_of_job grid) {
    auto &memory = *vv_dynamic_shared<plain_memory>();
    run_block<PLAIN>(job, grid, [&](const place &at, const rows_in_hand<PLAIN> &rows) {
        plain_rows(job, at, rows, memory);
    });
}

VV_STARTER(start_floats, floats<1>)
VV_STARTER(start_few_floats, floats<FEW>)
VV_STARTER(start_plain, plain)

static const kernels float_kernels = {start_floats, start_few_floats, start_plain, start_plain,
                                      start_floats};

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
    size_t shared;
};

/* Weight rows that all blocks have together. */
static size_t all_slots(const vv_product_job &job, const vv_product_part &p) {
    return (size_t)p.outputs * p.matrices * (job.active ? job.slices_most : 1);
}
/* Of `slots` rows as many as whole outputs take. */
static unsigned whole_outputs(const vv_product_part &p, unsigned slots) {
    return slots / p.matrices * p.matrices;
}

/*
 * Threads (or, of a few rows, warps) that share a weight row: as few as fill the GPU, so that the
 * end is divided among many rows; more where there are few rows, or where the block's sums would
 * not fit. `rows_of(lanes)`: weight rows of a block.
 */
template <typename ROWS_OF>
static unsigned share(const vv_product_job &job, const vv_product_part &p, unsigned least,
                      unsigned most, unsigned row_tile, const vv_launch *on, ROWS_OF rows_of) {
    constexpr size_t sums_most = 48 << 10, blocks_least = 4;
    unsigned lanes = least, stride = segments_of(job) | 1;
    while (lanes < most && rows_of(2 * lanes) >= p.matrices) {
        size_t slots = rows_of(lanes);
        bool fits = slots * row_tile * stride * sizeof(float) <= sums_most;
        if (fits && all_slots(job, p) / slots >= blocks_least * on->processors) {
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
    to.grid.lanes[i] = lanes;
    to.grid.slots[i] = whole_outputs(p, slots);
    unsigned blocks = vv_blocks(p.outputs, to.grid.slots[i] / p.matrices);
    to.grid.blocks = i == 0 ? blocks : to.grid.blocks;
    to.blocks += blocks;
    if (!by_tiles(to.how)) {
        size_t sums = (size_t)slots * to.rows * (segments | 1) * sizeof(float);
        sums += to.how == VV_A_FEW && !vv_is_float_type(job.part[0].type) ? few_staged : 0;
        to.shared = sums > to.shared ? sums : to.shared;
    }
}

/*
 * By the rows that each weight meets, about, as far as the host can know. Measured on an H200
 * (docs/measurements/2026-11-30-cuda.md): two rows one after another cost less than matrix units do
 * for any number up to eight, and experts of so few rows have mostly one each.
 */
static vv_product_way rule(const vv_product_job &job, const vv_launch *on) {
    const vv_product_part &p = job.part[0];
    size_t rows = job.active ? job.rows_most : job.rows;
    size_t meet = job.active ? job.rows / job.slices_most : rows;
    bool one = vv_cuda_way_fits(VV_ONE_BY_ONE, job.x.width);
    bool few = vv_cuda_way_fits(VV_A_FEW, job.x.width);
    if (vv_is_float_type(p.type)) {
        return rows <= 2 ? VV_ONE_BY_ONE
               : rows <= FEW || (rows <= 2 * PLAIN && all_slots(job, p) < 2 * PLAIN)
                   ? VV_A_FEW
                   : VV_TILES_OF_64;
    }
    if (one && (rows <= 2 || (job.active && rows <= FEW))) {
        return VV_ONE_BY_ONE;
    }
    if (few && (rows <= FEW || meet < 4)) {
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
    case VV_A_FEW:
        to.rows = FEW;
        return k->few;
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
        return to.decoded ? k->decoded : k->one;
    }
}

static int run(const vv_product_job &job, vv_product_way how, const vv_launch *on) {
    plan to = {};
    to.decoded = job.x.float_only && !vv_is_float_type(job.part[0].type);
    to.how = to.decoded ? VV_ONE_BY_ONE : how;
    start *s = kernel_of(job, to);
    for (unsigned i = 0; i < job.parts; i++) {
        plan_part(job, i, on, to);
    }
    dim3 all(to.blocks, job.active ? job.slices_most : 1,
             job.active ? 1 : vv_blocks(job.rows, to.rows));
    return s(job, to.grid, all, to.shared, on->stream);
}

} // namespace vv_products

using namespace vv_products;

bool vv_cuda_way_fits(enum vv_product_way way, size_t width) {
    constexpr size_t shared_most = 99 << 10; /* of a block of any GPU */
    size_t sums = ((width + 127) / 128 | 1) * sizeof(float);
    return (way == VV_A_FEW ? few_staged + UNIT_ROWS * FEW * sums : sums) <= shared_most;
}

void vv_cuda_part(struct vv_product_part *part, const struct vv_weight *weight) {
    part->data[0] = weight->data;
    part->scale[0] = weight->scale;
    part->row_bytes = vv_split_row_bytes(weight->row_bytes);
    part->slice_bytes[0] = weight->rows * part->row_bytes;
    part->outputs = (unsigned)weight->rows;
    part->matrices = 1;
    part->type = weight->type;
}

int vv_cuda_products(const struct vv_product_job *given, const struct vv_launch *on) {
    vv_product_job job = *given;
    job.used = job.used ? job.used : 1;
    job.trouble.status = on->status;
    job.trouble.step = on->step;
    vv_product_way how = job.way == VV_BY_RULE ? rule(job, on) : job.way;
    if (job.parts > 1 && by_tiles(how)) {
        vv_product_job second = job; /* tiles of floats are another kernel */
        second.part[0] = job.part[1];
        second.parts = job.parts = 1;
        int code = run(second, rule(second, on), on);
        if (code != VV_OK) {
            return code;
        }
    }
    return run(job, how, on);
}

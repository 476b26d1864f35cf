/* Jobs to launches. */
#include "op/cuda/products.cuh"

namespace vv_products {

static const kernels *kernels_of(int type) {
    const kernels *k = super_kernels(type);
    k = k ? k : grid_kernels(type);
    return k ? k : block_kernels(type);
}

/* Threads that share a weight row: as few as fill the GPU, so that the end is divided among many
 * rows; more where there are few rows, or where the block's sums would not fit. */
static unsigned lanes_of(const vv_product_job &job, const vv_product_part &p, unsigned row_tile,
                         const vv_launch *on) {
    constexpr size_t shared_most = 48 << 10;
    unsigned segments = (unsigned)((job.x.width + 127) / 128);
    unsigned most = THREADS, lanes = vv_is_float_type(p.type) ? 16 : 4;
    while (most > lanes && THREADS / most < p.matrices) {
        most /= 2;
    }
    size_t slots = (size_t)p.outputs * p.matrices * (job.active ? job.slices_most : 1);
    unsigned useful = vv_is_float_type(p.type) ? 16 * segments : 4 * segments;
    while (lanes < most) {
        size_t in_block = THREADS / lanes;
        bool fits = in_block * row_tile * segments * sizeof(float) <= shared_most;
        bool fills = slots / in_block >= 4 * (size_t)on->processors;
        if (fits && (fills || lanes >= useful)) {
            break;
        }
        lanes *= 2;
    }
    return lanes;
}

static unsigned blocks_of(const vv_product_part &p, unsigned lanes) {
    return vv_blocks(p.outputs, THREADS / lanes / p.matrices);
}

} // namespace vv_products

using namespace vv_products;

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
    const vv_product_part &p = job.part[0];
    const kernels *k = kernels_of(p.type);
    static const kernels plain = {start_floats<1>, start_floats<4>, start_floats<8>,
                                  start_floats<1>};
    k = k ? k : &plain;
    bool decode = job.x.float_only && k != &plain;
    unsigned tile = decode || job.rows == 1 ? 1 : job.rows <= 4 ? 4 : 8;
    grid_of_job grid = {};
    grid.lanes[0] = lanes_of(job, p, tile, on);
    grid.blocks = blocks_of(p, grid.lanes[0]);
    unsigned blocks = grid.blocks, slots = THREADS / grid.lanes[0];
    if (job.parts > 1) {
        grid.lanes[1] = lanes_of(job, job.part[1], tile, on);
        blocks += blocks_of(job.part[1], grid.lanes[1]);
        slots = slots > THREADS / grid.lanes[1] ? slots : THREADS / grid.lanes[1];
    }
    size_t segments = (job.x.width + 127) / 128;
    size_t shared = (size_t)slots * tile * segments * sizeof(float);
    dim3 all(blocks, job.active ? job.slices_most : 1, job.active ? 1 : vv_blocks(job.rows, tile));
    start *s = decode ? k->decoded : tile == 1 ? k->one : tile == 4 ? k->four : k->eight;
    return s(job, grid, all, shared, on->stream);
}

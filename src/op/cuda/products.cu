/* Jobs to launches. */
#include "op/cuda/products.cuh"
#include "op/cuda/products_float_tile.cuh"

namespace vv_products {

__global__ void __launch_bounds__(THREADS, 2)
    plain(const __grid_constant__ vv_product_job job, const __grid_constant__ grid_of_job grid) {
    auto &memory = *vv_dynamic_shared<plain_memory>();
    run_block<PLAIN>(job, grid, [&](const place &at, const rows_in_hand<PLAIN> &rows) {
        plain_rows(job, at, rows, memory);
    });
}
static int start_plain(const vv_product_job &job, const grid_of_job &grid, dim3 blocks, unsigned,
                       size_t, void *stream) {
    return vv_start_early(plain, blocks, THREADS, sizeof(plain_memory), stream, job, grid);
}

__global__ void __launch_bounds__(THIN_THREADS, 1)
    thin(const __grid_constant__ vv_product_job job, const __grid_constant__ grid_of_job grid) {
    float *sum = vv_dynamic_shared<float>();
    run_block<THIN>(job, grid, [&](const place &at, const rows_in_hand<THIN> &rows) {
        thin_rows(job, at, rows, sum);
    });
}
/* Weight rows that a block has at most. */
static unsigned thin_outputs(const vv_product_job &job) {
    unsigned most = 0;
    for (unsigned i = 0; i < job.parts; i++) {
        most = job.part[i].outputs > most ? job.part[i].outputs : most;
    }
    return most < THIN_OUTPUTS ? most : THIN_OUTPUTS;
}

static int start_thin(const vv_product_job &job, const grid_of_job &grid, dim3 blocks, unsigned,
                      size_t, void *stream) {
    return vv_start_early(thin, blocks, THIN_THREADS,
                          thin_bytes(thin_outputs(job), segments_of(job)), stream, job, grid);
}

__global__ void __launch_bounds__(THREADS, 1)
    floats(const __grid_constant__ vv_product_job job, const __grid_constant__ grid_of_job grid) {
    auto &memory = *vv_dynamic_shared<float_memory>();
    run_block<FLOAT_TILE>(job, grid, [&](const place &at, const rows_in_hand<FLOAT_TILE> &rows) {
        float_tile(job, at, rows, memory);
    });
}
static int start_floats(const vv_product_job &job, const grid_of_job &grid, dim3 blocks, unsigned,
                        size_t, void *stream) {
    return vv_start_early(floats, blocks, THREADS, sizeof(float_memory), stream, job, grid);
}

static const kernels float_kernels = {start_plain, start_floats, nullptr,
                                      sizeof(float_memory) + 2 * FLOAT_TILE * sizeof(unsigned),
                                      nullptr};

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
/* A thread multiplies whole segments. */
static bool by_threads(vv_product_way way) {
    return way <= VV_BY_FOUR;
}

struct plan {
    vv_product_way how;
    bool decoded;
    unsigned rows;  /* of activations that a block takes together */
    unsigned slots; /* weight rows of a tile */
    unsigned tiles; /* of a block, one below the other */
    grid_of_job grid;
    unsigned blocks, threads;
    unsigned tasks; /* of a block: warps that it could use */
    size_t sums;    /* bytes */
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
static size_t sum_bytes(unsigned segments, unsigned slots, unsigned row_tile) {
    return (size_t)slots * row_tile * (segments | 1) * sizeof(float);
}

/* Bytes of two segments' codes and headers in a split row; where headers begin. */
struct row_form {
    unsigned codes, heads, heads_at;
};
static row_form form_of(int type, size_t width, size_t row_bytes) {
    switch (type) {
#define VV_EACH(TYPE)                                                                              \
    case VV_TYPE_##TYPE: {                                                                         \
        constexpr unsigned values = vv_codes::of<VV_TYPE_##TYPE>::VALUES;                          \
        using bytes = vv_split<VV_TYPE_##TYPE>;                                                    \
        return {2 * bytes::CODES * 128 / values, 2 * bytes::HEADER * 128 / values,                 \
                (unsigned)(width / values * bytes::CODES)};                                        \
    }
        VV_QUANTISED_TYPES(VV_EACH)
#undef VV_EACH
    default:
        return {256u * (type == VV_TYPE_F32 ? 4 : 2), 0, (unsigned)row_bytes};
    }
}

/* Bytes of a held row of so many segments (an even number, but for whole rows). */
static unsigned pitch_of(const row_form &form, unsigned segments, unsigned spans,
                         size_t row_bytes) {
    constexpr unsigned ends = 2 * 16; /* pieces begin and end at multiples of 16 */
    return held_pitch(spans == 1 ? row_bytes
                                 : (form.codes + form.heads) * (segments / 2) + 2 * ends);
}

/* Shared memory of a tile, for `rows` rows of activations. */
static size_t tile_bytes(const vv_product_part &p, size_t width, unsigned span, unsigned spans,
                         unsigned rows) {
    unsigned segments = (unsigned)((width + 127) / 128);
    unsigned slots = vv_is_float_type(p.type) ? p.matrices : TILE;
    return slots * (size_t)pitch_of(form_of(p.type, width, p.row_bytes), span, spans, p.row_bytes) +
           near_bytes(span, rows) + sum_bytes(segments, slots, rows);
}

constexpr size_t SHARED_MOST = 96 << 10; /* of a block of any GPU */
constexpr size_t LARGE = 48 << 10;       /* of what it holds: few others fit beside it */

/* An even number of segments for so many spans. */
static unsigned span_of(unsigned segments, unsigned spans) {
    return spans == 1 ? segments : ((segments + spans - 1) / spans + 1) / 2 * 2;
}

/* Rows that are too long for a block, or too few to give every processor a block, are cut. */
static void cut_rows(const vv_product_job &job, const vv_launch *on, plan &to) {
    constexpr unsigned together_most = 8, span_least = 8;
    unsigned segments = segments_of(job), spans = 1;
    bool pairs = vv_pairs() && !job.active;
    size_t tiles = 0, bytes = 0, held = 0;
    for (unsigned i = 0; i < job.parts; i++) {
        tiles += (all_slots(job, job.part[i]) + TILE - 1) / TILE;
    }
    for (;; spans *= 2) {
        unsigned span = span_of(segments, spans);
        bytes = held = 0;
        for (unsigned i = 0; i < job.parts; i++) {
            const vv_product_part &p = job.part[i];
            size_t all = tile_bytes(p, job.x.width, span, spans, to.rows);
            bytes = all > bytes ? all : bytes;
            all -= near_bytes(span, to.rows) + sum_bytes(segments, TILE, to.rows);
            held = all > held && !vv_is_float_type(p.type) ? all : held;
        }
        bool more = pairs && 2 * spans <= together_most; /* beyond it, blocks would be alone */
        bool few = more && tiles * spans < on->processors && segments / (2 * spans) >= span_least;
        bool large = more && held > LARGE;
        if ((bytes <= SHARED_MOST && !few && !large) || span <= 2) {
            break;
        }
    }
    to.grid.span = span_of(segments, spans);
    to.grid.spans = (segments + to.grid.span - 1) / to.grid.span;
    to.grid.together = pairs && to.grid.spans <= together_most ? to.grid.spans : 1;
}

/*
 * Weight rows of a block, as a power of two: tiles while short rows make them small and there are
 * enough blocks, half a tile of rows so long that few blocks would fit; rows of floats by twos,
 * likewise, where those of all parts count.
 */
static unsigned slots_shift(const vv_product_job &job, const vv_product_part &p, unsigned pitch,
                            const plan &to, const vv_launch *on) {
    bool floats = vv_is_float_type(p.type);
    const size_t held_most = (size_t)(floats ? 36 : 24) << 10; /* floats: as a tile of wide rows */
    bool large = by_threads(to.how) && (size_t)pitch * TILE > LARGE;
    unsigned shift = floats ? 0 : large ? 3 : 4, blocks_least = floats ? 1 : 2;
    size_t batches = job.active ? 1 : vv_blocks(job.rows, to.rows);
    size_t slots = (floats ? slots_of_parts(job) : all_slots(job, p)) * batches;
    size_t of_part = (size_t)p.outputs * p.matrices;
    while ((1u << shift) < p.matrices) {
        shift++;
    }
    while (shift < 6 && 1u << shift < of_part && ((size_t)pitch << (shift + 1)) <= held_most &&
           ((floats && shift == 0) || slots >> (shift + 1) >= blocks_least * on->processors)) {
        shift++;
    }
    return shift;
}

static void plan_part(const vv_product_job &job, unsigned i, const vv_launch *on, plan &to) {
    const vv_product_part &p = job.part[i];
    bool floats = vv_is_float_type(p.type);
    auto &grid = to.grid.part[i];
    unsigned shift = 0, slots = to.slots;
    if (!by_tiles(to.how)) {
        row_form form = form_of(p.type, job.x.width, p.row_bytes);
        unsigned pitch = pitch_of(form, to.grid.span, to.grid.spans, p.row_bytes);
        shift = to.decoded ? 2 : slots_shift(job, p, pitch, to, on);
        while ((1u << shift) < p.matrices) {
            shift++;
        }
        slots = 1u << shift;
        grid.heads = form.heads_at;
        grid.code_step = form.codes * (to.grid.span / 2);
        grid.head_step = form.heads * (to.grid.span / 2);
        grid.pitch = pitch;
        unsigned held = to.decoded ? 0 : slots * pitch;
        to.grid.held = held > to.grid.held ? held : to.grid.held;
        unsigned near = floats || to.decoded ? 0 : near_bytes(to.grid.span, to.rows);
        to.grid.near = near > to.grid.near ? near : to.grid.near;
        size_t sums = sum_bytes(segments_of(job), slots, to.rows);
        to.sums = sums > to.sums ? sums : to.sums;
        unsigned tasks =
            floats ? float_tasks(to.grid.span, shift) : to.grid.span * ((slots + TILE - 1) / TILE);
        to.tasks = tasks > to.tasks ? tasks : to.tasks;
    }
    unsigned outputs = slots / p.matrices * (to.tiles ? to.tiles : 1);
    to.blocks += vv_blocks(p.outputs, outputs);
    grid.outputs = outputs;
    grid.shift = shift;
    grid.end = to.blocks;
}

/* Shared memory that a block can have. */
static size_t shared_most() {
    int device = 0, bytes = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    return (size_t)bytes;
}

/*
 * Where there are many more tiles than processors can hold at once, blocks of many rows of
 * activations take several tiles each: what is near stays there. One row is faster tile by tile.
 */
static void stack_tiles(const vv_product_job &job, const vv_launch *on, plan &to) {
    constexpr size_t reserved = 3 << 10, waves_least = 8; /* static, and the system's */
    const size_t shared = shared_most();                  /* of a processor, nearly */
    bool forced = job.way != VV_BY_RULE;                  /* then always, so that checks see it */
    size_t tiles = (size_t)to.blocks * (job.active ? job.slices_most : 1);
    size_t rest = to.grid.near + 2 * to.sums + reserved;
    size_t alone = shared / (to.grid.held + rest) * on->processors;
    bool many = !by_threads(to.how) && !job.active && tiles > waves_least * alone;
    if (to.grid.spans > 1 || (!many && !forced)) {
        return;
    }
    to.grid.buffers = BUFFERS_MOST;
    while (to.grid.buffers > 1 && 2 * (to.grid.buffers * to.grid.held + rest) > shared) {
        to.grid.buffers--; /* two blocks a processor */
    }
    if (to.grid.buffers < 2) { /* or one */
        to.grid.buffers = 2 * to.grid.held + rest <= shared ? 2 : 1;
    }
    size_t room = shared / (to.grid.buffers * to.grid.held + rest);
    room = (room ? room : 1) * on->processors;
    to.grid.turns = (unsigned)((tiles + room - 1) / room);
    to.grid.turns = forced && to.grid.turns < 4 ? 4 : to.grid.turns;
    to.blocks = 0;
    for (unsigned i = 0; i < job.parts; i++) {
        auto &grid = to.grid.part[i];
        to.blocks += vv_blocks(job.part[i].outputs, (size_t)grid.outputs * to.grid.turns);
        grid.end = to.blocks;
    }
}

/* Each warp with as many tasks; with more of them where a block is one of many, so that all find
 * room at once, and leave as much for the kernel behind. */
static unsigned threads_of(const vv_product_job &job, const vv_launch *on, const plan &to) {
    constexpr unsigned warps_room = 26;
    unsigned threads_most = to.grid.turns > 1         ? STREAM_THREADS
                            : to.how == VV_ONE_BY_ONE ? rows_threads<1>
                            : to.how == VV_BY_FOUR    ? rows_threads<FOUR>
                                                      : rows_threads<EIGHT>;
    unsigned warps_most = threads_most / 32;
    bool one_each = job.active && job.rows_most == 1;
    unsigned turns_most = one_each ? 8 : by_threads(to.how) ? 6 : 2;
    size_t room = (size_t)on->processors * warps_room;
    size_t blocks = (size_t)to.blocks * to.grid.together * (job.active ? job.slices_most : 1);
    unsigned turns = (to.tasks + warps_most - 1) / warps_most;
    while (turns < turns_most && blocks * ((to.tasks + turns - 1) / turns) > room) {
        turns++;
    }
    return (to.tasks + turns - 1) / turns * 32;
}

static bool fits(const vv_product_job &job, vv_product_way way) {
    bool all = true;
    for (unsigned i = 0; i < job.parts; i++) {
        const vv_product_part &p = job.part[i];
        all = all && vv_cuda_way_fits(way, p.type, job.x.width, p.row_bytes, p.matrices);
    }
    return all;
}

/* Whether blocks that have a processor each are long enough and fill most of their last turn. */
static bool by_groups(const vv_product_job &job, const vv_launch *on) {
    constexpr unsigned segments_least = 16;
    bool stored = vv_has_warpgroups && !job.active && segments_of(job) >= segments_least;
    size_t blocks = 0;
    for (unsigned i = 0; i < job.parts; i++) {
        const vv_product_part &p = job.part[i];
        stored = stored && p.end == VV_END_STORE && p.matrices == 1;
        blocks += vv_blocks(p.outputs, group_of_128::TM);
    }
    blocks *= vv_blocks(job.rows, group_of_128::TN);
    size_t turns = vv_blocks(blocks, on->processors);
    return stored && 10 * blocks >= 9 * turns * on->processors;
}

/* Wide strips where they leave no processor idle. */
static vv_product_way strips_of(const vv_product_job &job, size_t meet, const vv_launch *on) {
    if (by_groups(job, on)) {
        return VV_GROUPS_OF_128;
    }
    size_t blocks = slots_of_parts(job) / strip_of_64::TM * vv_blocks(meet, strip_of_64::TN);
    bool wide = meet > strip_of_16::TN && blocks >= on->processors;
    return wide ? VV_STRIPS_OF_64 : VV_STRIPS_OF_16;
}

/* Whether a part's rows of floats fill blocks of many products. */
static bool many_floats(const vv_product_part &p) {
    return vv_is_float_type(p.type) && (size_t)p.outputs * p.matrices > EIGHT;
}
/* Whether there are such blocks for most processors. */
static bool wide_floats(const vv_product_job &job, const vv_launch *on) {
    size_t blocks = 0;
    for (unsigned i = 0; i < job.parts && !job.active; i++) {
        const vv_product_part &p = job.part[i];
        blocks += many_floats(p) ? vv_blocks((size_t)p.outputs * p.matrices, FLOAT_SLOTS) : 0;
    }
    return blocks * vv_blocks(job.rows, FLOAT_TILE) > on->processors / 2;
}

/*
 * By the rows that each weight meets, about, as far as the host can know. Measured on an H200
 * (docs/measurements/2026-11-30-cuda-held.md). Experts of few rows have mostly one each.
 */
static vv_product_way rule(const vv_product_job &job, const vv_launch *on) {
    const vv_product_part &p = job.part[0];
    size_t rows = job.active ? job.rows_most : job.rows;
    size_t meet = job.active ? job.rows / job.slices_most : rows;
    if (rows <= 1 && fits(job, VV_ONE_BY_ONE)) {
        return VV_ONE_BY_ONE;
    }
    if (rows <= (job.active ? EIGHT : FOUR) && fits(job, VV_BY_FOUR)) {
        return VV_BY_FOUR;
    }
    if (rows <= EIGHT && fits(job, VV_BY_EIGHT)) {
        return VV_BY_EIGHT;
    }
    if (kernels_of(p.type)->strips) {
        return strips_of(job, meet, on);
    }
    if (vv_is_float_type(p.type)) {
        return wide_floats(job, on) ? VV_TILES_OF_128 : VV_TILES_OF_64;
    }
    constexpr size_t large = tile_of_128::TM;
    size_t blocks = slots_of_parts(job) / large * (job.active ? 1 : meet / large);
    return meet >= large && blocks >= on->processors / 2 ? VV_TILES_OF_128 : VV_TILES_OF_64;
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

/* Of a job of several rows; most experts have one or two of a window's. */
static unsigned rows_at_once(const vv_product_job &job, vv_product_way way) {
    unsigned rows = job.active ? job.rows_most : job.rows;
    unsigned most = job.active || way == VV_BY_FOUR ? FOUR : EIGHT;
    return rows < most ? rows : most;
}

/* Tiles of a block of strips: as many as leave each processor many blocks; all that there can be
 * where the way is forced, so that checks see them. */
static unsigned tiles_below(const vv_product_job &job, const strip_kernel &strip,
                            const vv_launch *on) {
    constexpr size_t enough = 16;
    size_t blocks =
        slots_of_parts(job) / strip.slots * (job.active ? 1 : vv_blocks(job.rows, strip.rows));
    unsigned tiles = job.way == VV_BY_RULE ? 1 : strip.tiles;
    while (2 * tiles <= strip.tiles && blocks / (2 * tiles) >= enough * on->processors) {
        tiles *= 2;
    }
    return tiles;
}

static start *strip_of_job(const vv_product_job &job, const strip_kernel *strips, plan &to,
                           const vv_launch *on) {
    const strip_kernel *strip = strips + (to.how - VV_STRIPS_OF_16);
    strip = strip->bytes > shared_most() ? strips : strip;
    to.rows = strip->rows;
    to.slots = strip->slots;
    to.tiles = tiles_below(job, *strip, on);
    return strip->begin;
}

/* Whether all parts, of floats, go by rows: those of few outputs, and where there are too few tiles
 * all that are long enough to give each warp a segment. */
static bool is_thin(const vv_product_job &job, vv_product_way how) {
    constexpr size_t reserved = 2 << 10; /* static, and the system's */
    constexpr unsigned segments_least = THIN_THREADS / 32;
    unsigned segments = segments_of(job);
    bool all = !job.active && job.way == VV_BY_RULE;
    bool any = how == VV_TILES_OF_64 && segments >= segments_least;
    for (unsigned i = 0; i < job.parts; i++) {
        const vv_product_part &p = job.part[i];
        all = all && p.matrices == 1 && (any || p.outputs <= THIN_OUTPUTS);
    }
    return all && thin_bytes(thin_outputs(job), segments) + reserved <= shared_most();
}

static start *kernel_of(const vv_product_job &job, plan &to, const vv_launch *on) {
    const kernels *k = kernels_of(job.part[0].type);
    bool floats = k == &float_kernels;
    if (by_tiles(to.how) && k->strips) {
        to.how = to.how < VV_STRIPS_OF_16 ? VV_STRIPS_OF_16 : to.how; /* of a part beside others */
        return strip_of_job(job, k->strips, to, on);
    }
    bool too_large = to.how == VV_TILES_OF_128 && k->many_bytes > shared_most();
    if (to.how > VV_TILES_OF_128 || too_large) {
        to.how = VV_TILES_OF_64;
    }
    if (floats && by_tiles(to.how) && is_thin(job, to.how)) {
        to.rows = THIN;
        to.slots = THIN_OUTPUTS;
        return start_thin;
    }
    switch (to.how) {
    case VV_BY_FOUR:
    case VV_BY_EIGHT:
        to.rows = rows_at_once(job, to.how);
        return to.how == VV_BY_FOUR ? start_four : start_eight;
    case VV_TILES_OF_64:
        to.rows = to.slots = floats ? PLAIN : tile_of_64::TN;
        return k->tile_few;
    case VV_TILES_OF_128:
        to.rows = floats ? FLOAT_TILE : tile_of_128::TN;
        to.slots = floats ? FLOAT_SLOTS : tile_of_128::TN;
        return k->tile_many;
    default:
        to.rows = 1;
        return to.decoded ? k->decoded : start_one;
    }
}

/* Blocks one behind the other that share the rows of activations: of few experts, such as the
 * groups of an output projection, each of whose rows is many, as many as give every processor some.
 */
static unsigned row_blocks(const vv_product_job &job, const plan &to, const vv_launch *on) {
    if (!job.active) {
        return (unsigned)vv_blocks(job.rows, to.grid.rows);
    }
    constexpr size_t enough = 16; /* of a processor */
    size_t blocks = (size_t)to.blocks * job.slices_most, most = vv_blocks(job.rows_most, to.rows);
    size_t wanted = vv_blocks(enough * on->processors, blocks);
    return by_tiles(to.how) ? (unsigned)(wanted < most ? wanted : most) : 1;
}

/* One launch. */
static int run(const vv_product_job &job, vv_product_way how, bool decoded, const vv_launch *on) {
    plan to = {};
    to.decoded = decoded;
    to.how = how;
    start *s = kernel_of(job, to, on);
    bool tiles = by_tiles(to.how);
    to.grid.tile = to.rows;
    to.grid.together = to.grid.spans = to.grid.turns = to.grid.buffers = 1;
    to.grid.span = segments_of(job);
    if (!tiles && !decoded) {
        cut_rows(job, on, to);
    }
    for (unsigned i = 0; i < job.parts; i++) {
        plan_part(job, i, on, to);
    }
    if (!tiles && !decoded) {
        stack_tiles(job, on, to);
    }
    to.grid.sums = (unsigned)to.sums;
    to.threads = tiles ? 0 : decoded ? THREADS : threads_of(job, on, to);
    to.grid.rows = rows_of_block(job, to, on);
    dim3 all(to.blocks * to.grid.together, job.active ? job.slices_most : 1,
             row_blocks(job, to, on));
    size_t shared =
        to.grid.buffers * to.grid.held + to.grid.near + (to.grid.turns > 1 ? 2 : 1) * to.sums;
    return s(job, to.grid, all, to.threads, shared, on->stream);
}

} // namespace vv_products

using namespace vv_products;

bool vv_cuda_way_fits(enum vv_product_way way, int type, size_t width, size_t row_bytes,
                      unsigned matrices) {
    vv_product_part p = {};
    p.type = type;
    p.row_bytes = row_bytes;
    p.matrices = matrices;
    if (by_tiles(way)) {
        return (way >= VV_STRIPS_OF_16) == (kernels_of(type)->strips != nullptr) &&
               (way < VV_GROUPS_OF_128 || vv_has_warpgroups);
    }
    unsigned rows = way == VV_BY_EIGHT ? EIGHT : way == VV_BY_FOUR ? FOUR : 1;
    return tile_bytes(p, width, 2, 2, rows) <= SHARED_MOST;
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
    bool done[VV_PARTS_MAX] = {}, wide = wide_floats(job, on);
    int code = VV_OK;
    for (unsigned i = 0; i < given->parts && code == VV_OK; i++) { /* a launch for each format … */
        if (done[i]) {
            continue;
        }
        job.parts = 0;
        for (unsigned j = i; j < given->parts; j++) {
            const vv_product_part &p = given->part[i], &other = given->part[j];
            if (same_kernels(p.type, other.type) &&
                (!wide || many_floats(p) == many_floats(other))) {
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

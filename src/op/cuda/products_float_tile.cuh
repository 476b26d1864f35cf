/*
 * Many rows of activations by float weights: a thread has whole products of 4 weight rows and 8
 * rows of activations, all sixteen lanes of them, and adds lanes up without other threads: lane
 * after lane in the order in which the tree meets them (docs/arithmetic.md, section 4), five sums
 * of a product at a time at most. Of a segment both lie in shared memory so that a lane's values
 * follow each other; the next segment comes meanwhile.
 */
#pragma once
#include "op/cuda/products_float.cuh"

namespace vv_products {

/* Of a thread; of a block. */
constexpr unsigned FLOAT_OUTPUTS = 4, FLOAT_ROWS = 8, FLOAT_PRODUCTS = FLOAT_OUTPUTS * FLOAT_ROWS;
constexpr unsigned FLOAT_SLOTS = 64, FLOAT_TILE = 128;
constexpr unsigned FLOAT_PLACES = FLOAT_SLOTS + FLOAT_TILE; /* rows of both that are staged */

struct float_memory {
    float stage[2][FLOAT_PLACES][VV_SEGMENT];
    float4 total[FLOAT_PRODUCTS / 4][THREADS];
    const uint8_t *row[FLOAT_PLACES]; /* weights, then activations */
};

/*
 * Where value 16 j + l of a staged row stands: lanes follow each other, eight values each, by
 * pieces of four, whose order is such that neither lanes of one row nor rows of one lane, eight
 * that follow each other, are in the same banks; nor are lanes from 8 on with those below 8.
 */
static VV_DEVICE unsigned float_piece(unsigned l, unsigned four, unsigned row) {
    return (2 * l + four) ^ (l / 4 % 2) ^ row % 8;
}
/* Activations stand in another order than weights: what is multiplied then is read into registers
 * of different banks. */
constexpr unsigned FLOAT_SWAP = 1;
static VV_DEVICE unsigned float_place(unsigned l, unsigned j, unsigned row, unsigned swap) {
    return float_piece(l, j / 4, row) * 4 + (j % 4 ^ l / 8 * 2 ^ swap);
}

/* Which products a thread has: rows of both are some apart, and threads 1 or 2 apart in a warp
 * share one of both, so that what they read comes together. */
struct float_thread {
    unsigned slot, row;
};
static VV_DEVICE float_thread float_thread_of(unsigned thread) {
    unsigned warp = thread / 32, lane = thread % 32;
    return {warp % 4 * 16 + lane % 2 + lane / 8 % 2 * 2,
            warp / 4 * 64 + lane / 2 % 4 + lane / 16 * 4};
}
constexpr unsigned FLOAT_SLOT_STEP = 4, FLOAT_ROW_STEP = 8;

/* Begins to bring rows first, first + 1, … before `end` of a segment: a warp every eighth row, 32
 * values at a time; WHOLE: all of which there are. */
template <bool WHOLE>
static VV_DEVICE void copy_floats(unsigned width, unsigned segment, unsigned first, unsigned end,
                                  float_memory &memory) {
    unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32, l = lane % VV_LANES;
    unsigned begin = segment * VV_SEGMENT + lane, put[4];
    float(*to)[VV_SEGMENT] = memory.stage[segment % 2];
    VV_UNROLL
    for (unsigned i = 0; i < 4; i++) { /* value 32 i + lane */
        put[i] = float_place(l, 2 * i + lane / VV_LANES, warp, 0);
    }
    VV_UNROLL_BY(2)
    for (unsigned r = first + warp; r < end; r += THREADS / 32) {
        const float *from = reinterpret_cast<const float *>(memory.row[r]) + begin;
        unsigned swap = r < FLOAT_SLOTS ? 0 : FLOAT_SWAP;
        VV_UNROLL
        for (unsigned i = 0; i < 4; i++) {
            bool here = WHOLE || begin + 32 * i < width;
            vv_copy_async<4>(&to[r][put[i] ^ swap], from + (here ? 32 * i : 0), here ? 4 : 0);
        }
    }
}

/*
 * Weights of 16 bits become floats: a thread asks for its share of a segment, two values a word,
 * long before it stores them. Rows end in zeros up to a multiple of 16 bytes.
 */
constexpr unsigned FLOAT_WORDS = FLOAT_SLOTS * VV_SEGMENT / 2 / THREADS;
static VV_DEVICE void ask_halves(unsigned width, unsigned segment, const float_memory &memory,
                                 uint32_t (&words)[FLOAT_WORDS]) {
    unsigned warp = threadIdx.x / 32, begin = segment * VV_SEGMENT / 2 + threadIdx.x % 32;
    VV_UNROLL
    for (unsigned i = 0; i < FLOAT_WORDS; i++) {
        auto row = reinterpret_cast<const uint32_t *>(memory.row[warp + i / 2 * (THREADS / 32)]);
        unsigned word = begin + i % 2 * 32;
        words[i] = 2 * word < width ? row[word] : 0;
    }
}
static VV_DEVICE void store_halves(int type, unsigned segment, float_memory &memory,
                                   const uint32_t (&words)[FLOAT_WORDS]) {
    unsigned warp = threadIdx.x / 32;
    VV_UNROLL
    for (unsigned i = 0; i < FLOAT_WORDS; i++) {
        unsigned at = 2 * (threadIdx.x % 32 + i % 2 * 32);
        float *to = memory.stage[segment % 2][warp + i / 2 * (THREADS / 32)];
        VV_UNROLL
        for (unsigned k = 0; k < 2; k++) {
            unsigned l = (at + k) % VV_LANES, j = at / VV_LANES;
            auto bits = (unsigned short)(words[i] >> 16 * k);
            to[float_place(l, j, warp, 0)] =
                type == VV_TYPE_F16 ? __half2float(__ushort_as_half(bits)) : vv_from_bf16(bits);
        }
    }
}

/* Begins to bring what is copied as it is. */
static VV_DEVICE void stage_floats(const vv_product_job &job, const place &at, unsigned segment,
                                   float_memory &memory) {
    unsigned width = (unsigned)job.x.width;
    unsigned first = at.part->type == VV_TYPE_F32 ? 0 : FLOAT_SLOTS;
    if ((segment + 1) * VV_SEGMENT <= width) {
        copy_floats<true>(width, segment, first, FLOAT_PLACES, memory);
    } else {
        copy_floats<false>(width, segment, first, FLOAT_PLACES, memory);
    }
    vv_copy_commit();
}

/* Lane l + MORE of a thread's products, l < 4; the pointers are those of pieces with an even number
 * before they are moved by l and row, and with an odd one. */
struct float_lanes {
    const float *slot[2][2], *row[2]; /* slots: of the first, of the second; and so on */
};
template <unsigned MORE>
static VV_DEVICE void float_lane(const float_lanes &in, float (&lane)[FLOAT_PRODUCTS]) {
    VV_UNROLL
    for (unsigned i = 0; i < FLOAT_PRODUCTS; i++) {
        lane[i] = 0.0f;
    }
    VV_UNROLL
    for (unsigned four = 0; four < 2; four++) {
        constexpr unsigned moved = MORE / 4 % 2;
        float w[FLOAT_OUTPUTS][4], x[FLOAT_ROWS][4];
        auto load = [&](float(&to)[4], const float *from, unsigned row, unsigned swap) {
            float4 all = *reinterpret_cast<const float4 *>(from + row * VV_SEGMENT + MORE * 8);
            const float raw[4] = {all.x, all.y, all.z, all.w};
            VV_UNROLL
            for (unsigned j = 0; j < 4; j++) {
                to[j] = raw[j ^ MORE / 8 * 2 ^ swap];
            }
        };
        VV_UNROLL
        for (unsigned i = 0; i < FLOAT_OUTPUTS; i++) {
            load(w[i], in.slot[i % 2][four ^ moved], i * FLOAT_SLOT_STEP, 0);
        }
        VV_UNROLL
        for (unsigned i = 0; i < FLOAT_ROWS; i++) {
            load(x[i], in.row[four ^ moved], i * FLOAT_ROW_STEP, FLOAT_SWAP);
        }
        VV_UNROLL
        for (unsigned j = 0; j < 4; j++) {
            VV_UNROLL
            for (unsigned i = 0; i < FLOAT_PRODUCTS; i++) {
                lane[i] = fmaf(w[i / FLOAT_ROWS][j], x[i % FLOAT_ROWS][j], lane[i]);
            }
        }
    }
}

static VV_DEVICE void add_floats(float (&to)[FLOAT_PRODUCTS], const float (&more)[FLOAT_PRODUCTS]) {
    VV_UNROLL
    for (unsigned i = 0; i < FLOAT_PRODUCTS; i++) {
        to[i] += more[i];
    }
}

/* The sum of lanes l, l + 4, l + 8, l + 12, as the tree has it, onto `to`. */
static VV_DEVICE void float_four_lanes(const float_memory &memory, unsigned segment,
                                       const float_thread &mine, unsigned l,
                                       float (&to)[FLOAT_PRODUCTS]) {
    const float *stage = memory.stage[segment % 2][0];
    const float *slots = stage + mine.slot * VV_SEGMENT;
    const float *rows = stage + (FLOAT_SLOTS + mine.row) * VV_SEGMENT;
    float_lanes in;
    VV_UNROLL
    for (unsigned four = 0; four < 2; four++) {
        in.slot[0][four] = slots + float_piece(l, four, mine.slot) * 4;
        in.slot[1][four] = slots + float_piece(l, four, mine.slot + FLOAT_SLOT_STEP) * 4;
        in.row[four] = rows + float_piece(l, four, mine.row) * 4;
    }
    float lane[FLOAT_PRODUCTS], more[FLOAT_PRODUCTS], pair[FLOAT_PRODUCTS];
    float_lane<0>(in, pair);
    float_lane<8>(in, more);
    add_floats(pair, more);
    float_lane<4>(in, lane);
    float_lane<12>(in, more);
    add_floats(lane, more);
    add_floats(pair, lane);
    add_floats(to, pair);
}

/* A segment onto the totals. */
static VV_DEVICE void float_segment(float_memory &memory, unsigned segment,
                                    const float_thread &mine) {
    float sum[FLOAT_PRODUCTS] = {};
    VV_UNROLL_BY(1)
    for (unsigned odd = 0; odd < 2; odd++) {
        float half[FLOAT_PRODUCTS] = {};
        VV_UNROLL_BY(1)
        for (unsigned l = odd; l < 4; l += 2) {
            float_four_lanes(memory, segment, mine, l, half);
        }
        add_floats(sum, half);
    }
    VV_UNROLL
    for (unsigned i = 0; i < FLOAT_PRODUCTS / 4; i++) {
        float4 t = memory.total[i][threadIdx.x];
        memory.total[i][threadIdx.x] = make_float4(t.x + sum[4 * i], t.y + sum[4 * i + 1],
                                                   t.z + sum[4 * i + 2], t.w + sum[4 * i + 3]);
    }
}

static VV_DEVICE float float_total(const float_memory &memory, unsigned slot, unsigned r) {
    unsigned lane = slot % 2 + r % 4 * 2 + slot / 2 % 2 * 8 + r / 4 % 2 * 16;
    unsigned thread = (slot / 16 + r / 64 * 4) * 32 + lane;
    unsigned i = slot % 16 / FLOAT_SLOT_STEP * FLOAT_ROWS + r % 64 / FLOAT_ROW_STEP;
    return reinterpret_cast<const float *>(&memory.total[i / 4][thread])[i % 4];
}

static VV_DEVICE void float_tile(const vv_product_job &job, const place &at,
                                 const rows_in_hand<FLOAT_TILE> &rows, float_memory &memory) {
    for (unsigned i = threadIdx.x; i < FLOAT_PLACES; i += THREADS) {
        const float *x = job.x.x;
        memory.row[i] = i < FLOAT_SLOTS ? row_of_slot(at, i)
                                        : reinterpret_cast<const uint8_t *>(
                                              x + (size_t)rows.x(i - FLOAT_SLOTS) * job.x.width);
    }
    VV_UNROLL
    for (unsigned i = 0; i < FLOAT_PRODUCTS / 4; i++) {
        memory.total[i][threadIdx.x] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    }
    __syncthreads();
    float_thread mine = float_thread_of(threadIdx.x);
    unsigned width = (unsigned)job.x.width;
    int type = at.part->type;
    uint32_t words[FLOAT_WORDS] = {};
    stage_floats(job, at, 0, memory);
    if (type != VV_TYPE_F32) {
        ask_halves(width, 0, memory, words);
        store_halves(type, 0, memory, words);
    }
    VV_UNROLL_BY(1)
    for (unsigned segment = 0; segment < at.segments; segment++) {
        bool more = segment + 1 < at.segments, halves = more && type != VV_TYPE_F32;
        vv_copy_wait<0>();
        __syncthreads(); /* this one is here, and the one before it is done with */
        if (more) {
            stage_floats(job, at, segment + 1, memory);
        }
        if (halves) {
            ask_halves(width, segment + 1, memory, words);
        }
        float_segment(memory, segment, mine);
        if (halves) {
            store_halves(type, segment + 1, memory, words);
        }
    }
    __syncthreads();
    finish<FLOAT_TILE>(job, at, rows,
                       [&](unsigned o, unsigned r) { return float_total(memory, o, r); });
}

} // namespace vv_products

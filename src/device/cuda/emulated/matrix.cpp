/*
 * The matrix unit, by the fragments' layouts in the PTX manual. With g = lane / 4 and t = lane mod
 * 4, and 4-byte words of w = 4 (bytes) or 2 (halves) values: A [16][depth]  word i: row g + 8·(i
 * mod 2), values w·t.. + 4·w·(i / 2) B [depth][8]   word i: column g, values w·t.. + 4·w·i D
 * [16][8]      word i: row g + 8·(i / 2), column 2·t + i mod 2 Products and sums of halves are
 * exact in double up to 2^53 and rounded once; what the hardware does where a sum of 2^24 is passed
 * is not told by NVIDIA and not claimed here.
 */
#include "matrix.h"
#include "cuda_bf16.h"
#include "cuda_fp16.h"

namespace vv_emulated {

constexpr unsigned rows = 16, columns = 8, words_a = 4, words_b = 2, first_b = words_a,
                   first_d = words_a + words_b;

static unsigned whole_warp(unsigned present) {
    if (present != 0xffffffffu) {
        fail("only the lanes of mask 0x%08x use the matrix unit, which needs all 32", present);
    }
    return warp_lanes;
}

/* How values lie in a word, and what sums of their products are kept in. */
struct of_s8 {
    using sum = int64_t;
    static constexpr unsigned in_word = 4;
    static int64_t value_a(uint32_t word, unsigned i) {
        return signed_byte(word, i);
    }
    static int64_t value_b(uint32_t word, unsigned i) {
        return signed_byte(word, i);
    }
    static uint32_t add(uint32_t d, int64_t of) { /* wraps */
        return d + static_cast<uint32_t>(of);
    }
};
struct of_u8_s8 : of_s8 {
    static int64_t value_a(uint32_t word, unsigned i) {
        return unsigned_byte(word, i);
    }
};
template <class format> struct of_halves {
    using sum = double;
    static constexpr unsigned in_word = 2;
    static double value_a(uint32_t word, unsigned i) {
        return static_cast<double>(format::widen(static_cast<unsigned short>(word >> 16 * i)));
    }
    static double value_b(uint32_t word, unsigned i) {
        return value_a(word, i);
    }
    static uint32_t add(uint32_t d, double of) {
        return __float_as_uint(static_cast<float>(static_cast<double>(__uint_as_float(d)) + of));
    }
};

template <class of, unsigned depth>
static void combine(exchange *const lanes[warp_lanes], unsigned present) {
    constexpr unsigned w = of::in_word, chunk = 4 * w;
    typename of::sum a[rows][depth], b[columns][depth];
    for (unsigned lane = 0; lane < whole_warp(present); lane++) {
        unsigned g = lane / 4, t = lane % 4;
        for (unsigned k = 0; k < depth / chunk; k++) {
            for (unsigned i = 0; i < w; i++) {
                unsigned at = k * chunk + w * t + i;
                a[g][at] = of::value_a(lanes[lane]->in[2 * k], i);
                a[g + 8][at] = of::value_a(lanes[lane]->in[2 * k + 1], i);
                b[g][at] = of::value_b(lanes[lane]->in[first_b + k], i);
            }
        }
    }
    for (unsigned lane = 0; lane < warp_lanes; lane++) {
        for (unsigned i = 0; i < 4; i++) {
            unsigned row = lane / 4 + 8 * (i / 2), column = 2 * (lane % 4) + i % 2;
            typename of::sum sum = 0;
            for (unsigned k = 0; k < depth; k++) {
                sum += a[row][k] * b[column][k];
            }
            lanes[lane]->out[i] = of::add(lanes[lane]->in[first_d + i], sum);
        }
    }
}

/* A lane's pointer is in words 0 and 1. */
static const unsigned char *row_of(const exchange &from) {
    const unsigned char *at;
    std::memcpy(&at, from.in, sizeof at);
    return at;
}
static void check_row(const exchange &from) {
    if (reinterpret_cast<uintptr_t>(row_of(from)) % 16) {
        fail("ldmatrix reads a row of a matrix at %p, which is not 16-byte aligned",
             static_cast<const void *>(row_of(from)));
    }
}

static void combine_load(exchange *const lanes[warp_lanes], unsigned present) {
    unsigned count = lanes[0]->in[2];
    for (unsigned lane = 0; lane < whole_warp(present); lane++) {
        for (unsigned i = 0; i < count; i++) {
            const exchange &row = *lanes[8 * i + lane / 4];
            check_row(row);
            std::memcpy(&lanes[lane]->out[i], row_of(row) + 4 * (lane % 4), 4);
        }
    }
}
static void combine_load_transposed(exchange *const lanes[warp_lanes], unsigned present) {
    unsigned count = lanes[0]->in[2];
    for (unsigned lane = 0; lane < whole_warp(present); lane++) {
        for (unsigned i = 0; i < count; i++) {
            for (unsigned half = 0; half < 2; half++) {
                const exchange &row = *lanes[8 * i + 2 * (lane % 4) + half];
                check_row(row);
                std::memcpy(reinterpret_cast<char *>(&lanes[lane]->out[i]) + 2 * half,
                            row_of(row) + 2 * (lane / 4), 2);
            }
        }
    }
}

const meeting mma_s8_k16 = {"mma of m16n8k16 s8", combine<of_s8, 16>},
              mma_s8_k32 = {"mma of m16n8k32 s8", combine<of_s8, 32>},
              mma_u8_s8_k32 = {"mma of m16n8k32 u8 s8", combine<of_u8_s8, 32>},
              mma_f16_k8 = {"mma of m16n8k8 f16", combine<of_halves<half_format>, 8>},
              mma_f16_k16 = {"mma of m16n8k16 f16", combine<of_halves<half_format>, 16>},
              mma_bf16_k8 = {"mma of m16n8k8 bf16", combine<of_halves<brain_format>, 8>},
              mma_bf16_k16 = {"mma of m16n8k16 bf16", combine<of_halves<brain_format>, 16>},
              load_matrices = {"ldmatrix", combine_load},
              load_matrices_transposed = {"ldmatrix.trans", combine_load_transposed};

void multiply(const meeting &what, void *d, const unsigned *a, const unsigned *b,
              unsigned a_words) {
    exchange &own = own_exchange();
    std::memcpy(own.in, a, a_words * sizeof *a);
    std::memcpy(own.in + first_b, b, a_words / 2 * sizeof *b);
    std::memcpy(own.in + first_d, d, 4 * sizeof *own.in);
    meet(what, 0xffffffffu);
    std::memcpy(d, own.out, sizeof own.out);
}

void load(const meeting &what, unsigned *to, const void *row, unsigned count) {
    exchange &own = own_exchange();
    std::memcpy(own.in, &row, sizeof row);
    own.in[2] = count;
    meet(what, 0xffffffffu);
    std::memcpy(to, own.out, count * sizeof *to);
}

} // namespace vv_emulated

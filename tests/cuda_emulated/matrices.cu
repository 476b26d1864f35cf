/* The matrix unit against plain loops; fragments come through ldmatrix and straight from memory. */
#include "test.h"
#include <cstring>

/* A [16][depth] by rows, B [8][depth] by columns, D [16][8]; all in bytes of global memory. */
template <int words_a>
static VV_DEVICE void read_fragments(unsigned (&a)[words_a], unsigned (&b)[words_a / 2],
                                     const uint8_t *from_a, const uint8_t *from_b, int row_bytes) {
    int lane = static_cast<int>(threadIdx.x % 32), g = lane / 4, t = lane % 4;
    for (int i = 0; i < words_a; i++) {
        memcpy(&a[i], from_a + (g + 8 * (i % 2)) * row_bytes + 16 * (i / 2) + 4 * t, 4);
    }
    for (int i = 0; i < words_a / 2; i++) {
        memcpy(&b[i], from_b + g * row_bytes + 16 * i + 4 * t, 4);
    }
}

template <class T> static VV_DEVICE void write_result(T *to, const T (&d)[4]) {
    int lane = static_cast<int>(threadIdx.x % 32), g = lane / 4, t = lane % 4;
    for (int i = 0; i < 4; i++) {
        to[(g + 8 * (i / 2)) * 8 + 2 * t + i % 2] = d[i];
    }
}

struct s8_k32 {
    static constexpr int words = 4;
    using sum = int;
    static VV_DEVICE void run(int (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
        vv_mma_m16n8k32_s8(d, a, b);
    }
};
struct u8_k32 : s8_k32 {
    static VV_DEVICE void run(int (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
        vv_mma_m16n8k32_u8_s8(d, a, b);
    }
};
struct s8_k16 {
    static constexpr int words = 2;
    using sum = int;
    static VV_DEVICE void run(int (&d)[4], const unsigned (&a)[2], const unsigned (&b)[1]) {
        vv_mma_m16n8k16_s8(d, a, b);
    }
};
struct f16_k16 {
    static constexpr int words = 4;
    using sum = float;
    static VV_DEVICE void run(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
        vv_mma_m16n8k16_f16(d, a, b);
    }
};
struct f16_k8 {
    static constexpr int words = 2;
    using sum = float;
    static VV_DEVICE void run(float (&d)[4], const unsigned (&a)[2], const unsigned (&b)[1]) {
        vv_mma_m16n8k8_f16(d, a, b);
    }
};
struct bf16_k16 : f16_k16 {
    static VV_DEVICE void run(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
        vv_mma_m16n8k16_bf16(d, a, b);
    }
};
struct bf16_k8 : f16_k8 {
    static VV_DEVICE void run(float (&d)[4], const unsigned (&a)[2], const unsigned (&b)[1]) {
        vv_mma_m16n8k8_bf16(d, a, b);
    }
};

template <class form>
static __global__ void multiply(typename form::sum *to, const uint8_t *from_a,
                                const uint8_t *from_b) {
    unsigned a[form::words], b[form::words / 2];
    typename form::sum d[4] = {1, 2, 3, 4};
    read_fragments(a, b, from_a, from_b, 8 * form::words);
    form::run(d, a, b);
    form::run(d, a, b);
    write_result(to, d);
}

/* The same operands, brought to shared memory and taken from it by ldmatrix; B lies there with its
 * rows along the depth, so that it is transposed on the way. */
static __global__ void multiply_loaded(float *to, const uint8_t *from_a, const uint8_t *from_b) {
    __shared__ __align__(16) uint16_t tile_a[16][16], tile_b[16][8];
    int lane = static_cast<int>(threadIdx.x);
    for (int i = lane; i < 16 * 16; i += 32) {
        memcpy(&tile_a[i / 16][i % 16], from_a + 2 * i, 2);
        if (i < 128) {
            memcpy(&tile_b[i % 16][i / 16], from_b + 2 * i, 2);
        }
    }
    __syncwarp();
    unsigned a[4], b[2], one[1];
    float d[4] = {1, 2, 3, 4};
    vv_load_matrix(a, &tile_a[lane % 16][lane / 16 * 8]);
    vv_load_matrix_transposed(b, tile_b[lane % 16]);
    vv_load_matrix(one, &tile_a[lane % 8][0]);
    a[0] = one[0];
    vv_mma_m16n8k16_f16(d, a, b);
    vv_mma_m16n8k16_f16(d, a, b);
    write_result(to, d);
}

/* An operand's bytes and what they are as numbers. */
struct operand {
    std::vector<uint8_t> bytes;
    std::vector<double> values;
};
static double as_number(const uint8_t *at, int width, bool brain, bool is_unsigned) {
    if (width == 1) {
        return is_unsigned ? *at : static_cast<int8_t>(*at);
    }
    uint16_t bits;
    memcpy(&bits, at, 2);
    int fraction = brain ? 7 : 10, bias = brain ? 127 : 15;
    int exponent = (bits & 0x7fff) >> fraction, low = bits & ((1 << fraction) - 1);
    double size = std::ldexp(low + (1 << fraction), exponent - bias - fraction);
    return bits & 0x8000 ? -size : size;
}
/* Of halves: integers of up to 4 in size, so that no sum of products rounds. */
static operand make_operand(int rows, int row_bytes, int width, bool brain, bool is_unsigned,
                            uint32_t seed) {
    operand made;
    for (int i = 0; i < rows * row_bytes / width; i++) {
        uint32_t number = next_number(seed);
        uint32_t exponent = (brain ? 127u : 15u) + number % 2;
        uint16_t bits =
            static_cast<uint16_t>(exponent << (brain ? 7u : 10u) |
                                  (number >> 3 & 1) << (brain ? 6u : 9u) | (number >> 4 & 1) << 15);
        uint8_t pair[2] = {static_cast<uint8_t>(number), static_cast<uint8_t>(number >> 8)};
        if (width == 2) {
            memcpy(pair, &bits, 2);
        }
        made.bytes.insert(made.bytes.end(), pair, pair + width);
        made.values.push_back(as_number(pair, width, brain, is_unsigned));
    }
    return made;
}

template <class T>
static void expect_product(const std::vector<T> &got, const operand &a, const operand &b) {
    size_t depth = a.values.size() / 16;
    for (size_t row = 0; row < 16; row++) {
        for (size_t column = 0; column < 8; column++) {
            double sum = 1 + static_cast<double>(column % 2) + 2 * static_cast<double>(row / 8);
            for (size_t k = 0; k < depth; k++) {
                sum += 2 * a.values[row * depth + k] * b.values[column * depth + k];
            }
            EXPECT(static_cast<double>(got[row * 8 + column]) == sum);
        }
    }
}

template <class form> static void check_form(int width, bool brain, bool is_unsigned) {
    operand a = make_operand(16, 8 * form::words, width, brain, is_unsigned, 7);
    operand b = make_operand(8, 8 * form::words, width, brain, false, 8);
    on_device<uint8_t> on_a(a.bytes), on_b(b.bytes);
    on_device<typename form::sum> to{std::vector<typename form::sum>(128)};
    SUCCEEDS(vv_start(multiply<form>, 1, 32, 0, nullptr, to.at, on_a.at, on_b.at));
    expect_product(to.read(), a, b);
}

void test_matrices() {
    check_form<s8_k32>(1, false, false);
    check_form<u8_k32>(1, false, true);
    check_form<s8_k16>(1, false, false);
    check_form<f16_k16>(2, false, false);
    check_form<f16_k8>(2, false, false);
    check_form<bf16_k16>(2, true, false);
    check_form<bf16_k8>(2, true, false);

    operand a = make_operand(16, 32, 2, false, false, 9),
            b = make_operand(8, 32, 2, false, false, 3);
    on_device<uint8_t> on_a(a.bytes), on_b(b.bytes);
    on_device<float> to{std::vector<float>(128)};
    SUCCEEDS(vv_start(multiply_loaded, 1, 32, 0, nullptr, to.at, on_a.at, on_b.at));
    expect_product(to.read(), a, b);
}

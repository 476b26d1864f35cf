/*
 * Tests of the emulated GPU. All but misuse.cu hold on a real GPU, too:
 *   nvcc -arch=native -std=c++17 -Isrc tests/cuda_emulated/X.cu … -o test && ./test
 */
#pragma once
#include "device/cuda/intrinsics.cuh"
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);           \
            std::exit(1);                                                                          \
        }                                                                                          \
    } while (0)
#define SUCCEEDS(call) EXPECT((call) == cudaSuccess)

/* Device memory that holds a vector's values while a kernel works on them. */
template <class T> struct on_device {
    T *at;
    size_t count;

    explicit on_device(const std::vector<T> &values) : count(values.size()) {
        SUCCEEDS(cudaMalloc(&at, count * sizeof(T)));
        SUCCEEDS(cudaMemcpy(at, values.data(), count * sizeof(T), cudaMemcpyHostToDevice));
    }
    ~on_device() {
        cudaFree(at);
    }
    on_device(const on_device &) = delete;
    on_device &operator=(const on_device &) = delete;
    std::vector<T> read() const {
        std::vector<T> values(count);
        SUCCEEDS(cudaMemcpy(values.data(), at, count * sizeof(T), cudaMemcpyDeviceToHost));
        return values;
    }
};

/* Numbers that differ, from a seed. */
inline uint32_t next_number(uint32_t &state) {
    state = state * 1664525u + 1013904223u;
    return state >> 8;
}

void test_warps();
void test_blocks();
void test_grid();
void test_numbers();
void test_matrices();
void test_copies();
void test_streams();
void test_graphs();
void test_memory();
void test_misuse();

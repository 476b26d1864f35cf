/* Blocks that wait for each other: for words that carry their launch's number. */
#include "device/cuda/grid.cuh"
#include "test.h"

/* A block puts a word, and takes those of all. */
static __global__ void exchange(vv_meeting *m, float *sums, float add) {
    float *taken = vv_dynamic_shared<float>();
    unsigned turn = vv_begin_turn(m);
    if (threadIdx.x == 0) {
        vv_put_word(m->word + blockIdx.x, (float)blockIdx.x + add, turn);
    }
    if (threadIdx.x < gridDim.x) {
        taken[threadIdx.x] = vv_take_word(m->word + threadIdx.x, turn);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        float sum = 0;
        for (unsigned b = 0; b < gridDim.x; b++) {
            sum += taken[b];
        }
        sums[blockIdx.x] = sum;
    }
    vv_end_turn(m, turn);
}

void test_grid() {
    constexpr unsigned threads = 64;
    int processors = 0;
    SUCCEEDS(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0));
    unsigned blocks = (unsigned)processors < threads ? (unsigned)processors : threads;
    on_device<vv_meeting> meeting{std::vector<vv_meeting>(1)};
    on_device<float> floats{std::vector<float>(blocks)};
    vv_launch on = {};
    on.processors = blocks;
    for (unsigned again = 0; again < 5; again++) {
        float add = (float)again * 100;
        EXPECT(vv_start_grid(&on, exchange, threads, threads * sizeof(float), meeting.at, floats.at,
                             add) == VV_OK);
        for (float sum : floats.read()) {
            EXPECT(sum == (float)blocks * ((float)(blocks - 1) / 2 + add));
        }
    }
    EXPECT(vv_start_grid(&on, exchange, threads, 300 << 10, meeting.at, floats.at, 0.0f) ==
           VV_ERROR_UNSUPPORTED);
    EXPECT(cudaGetLastError() == cudaSuccess);
}

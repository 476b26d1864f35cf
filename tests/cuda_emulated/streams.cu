/* Streams and events: order within a stream, waits across them, what is seen when. */
#include "test.h"
#include <cstring>

static __global__ void add(int *at, int by) {
    *at += by;
}
static __global__ void multiply(int *at, int by) {
    *at *= by;
}
static __global__ void store(int *to, const int *from) {
    *to = *from;
}

void test_streams() {
    cudaStream_t a, b;
    cudaEvent_t event, begin, end;
    SUCCEEDS(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    SUCCEEDS(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    SUCCEEDS(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    SUCCEEDS(cudaEventCreate(&begin));
    SUCCEEDS(cudaEventCreate(&end));
    int *pinned;
    SUCCEEDS(cudaMallocHost(&pinned, 2 * sizeof(int)));
    on_device<int> x({7}), y({0});

    SUCCEEDS(cudaEventRecord(begin, a));
    SUCCEEDS(vv_start(add, 1, 1, 0, a, x.at, 1));
    SUCCEEDS(vv_start(multiply, 1, 1, 0, a, x.at, 10));
    SUCCEEDS(cudaEventRecord(event, a));
    SUCCEEDS(cudaStreamWaitEvent(b, event, 0));
    SUCCEEDS(vv_start(store, 1, 1, 0, b, y.at, static_cast<const int *>(x.at)));
    SUCCEEDS(cudaMemcpyAsync(pinned, y.at, sizeof(int), cudaMemcpyDeviceToHost, b));
    SUCCEEDS(cudaStreamSynchronize(b));
    EXPECT(pinned[0] == 80);
    SUCCEEDS(cudaEventRecord(end, a));
    SUCCEEDS(cudaEventSynchronize(end));
    float milliseconds = -1;
    SUCCEEDS(cudaEventElapsedTime(&milliseconds, begin, end));
    EXPECT(milliseconds >= 0);

    /* What is pageable may change after the call; rows of a matrix keep their strides. */
    int rows[2][3] = {{1, 2, 3}, {4, 5, 6}};
    on_device<int> matrix{std::vector<int>(8, -1)};
    SUCCEEDS(cudaMemcpy2DAsync(matrix.at, 4 * sizeof(int), rows, sizeof rows[0], 2 * sizeof(int), 2,
                               cudaMemcpyHostToDevice, a));
    std::memset(rows, 0, sizeof rows);
    SUCCEEDS(cudaMemsetAsync(matrix.at + 7, 0, sizeof(int), a));
    SUCCEEDS(cudaStreamSynchronize(a));
    EXPECT((matrix.read() == std::vector<int>{1, 2, -1, -1, 4, 5, -1, 0}));

    while (cudaStreamQuery(a) == cudaErrorNotReady) {
    }
    SUCCEEDS(cudaEventQuery(end));
    SUCCEEDS(cudaFreeHost(pinned));
    SUCCEEDS(cudaEventDestroy(event));
    SUCCEEDS(cudaEventDestroy(begin));
    SUCCEEDS(cudaEventDestroy(end));
    SUCCEEDS(cudaStreamDestroy(a));
    SUCCEEDS(cudaStreamDestroy(b));
}

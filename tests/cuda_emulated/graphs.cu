/* Graphs: arguments are kept, branches run beside each other and join, misuse is refused. */
#include "test.h"

struct many {
    int values[100];
};

static __global__ void add_one_of(int *at, many of, int which) {
    *at += of.values[which];
}
static __global__ void triple(int *at) {
    *at *= 3;
}
static __global__ void add_both(int *to, const int *x, const int *y) {
    *to = *x + *y;
}

static cudaGraphExec_t capture(cudaStream_t a, cudaStream_t b, cudaEvent_t fork, cudaEvent_t join,
                               int *x, int *y, int *to) {
    cudaGraph_t graph;
    cudaGraphExec_t playable;
    many of;
    for (int i = 0; i < 100; i++) {
        of.values[i] = i;
    }
    SUCCEEDS(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
    SUCCEEDS(cudaMemsetAsync(to, 0xff, sizeof(int), a));
    SUCCEEDS(cudaEventRecord(fork, a));
    SUCCEEDS(cudaStreamWaitEvent(b, fork, 0));
    SUCCEEDS(vv_start(add_one_of, 1, 1, 0, a, x, of, 42));
    SUCCEEDS(vv_start(triple, 1, 1, 0, a, x));
    SUCCEEDS(vv_start(triple, 1, 1, 0, b, y));
    SUCCEEDS(vv_start(add_one_of, 1, 1, 0, b, y, of, 5));
    SUCCEEDS(cudaEventRecord(join, b));
    SUCCEEDS(cudaStreamWaitEvent(a, join, 0));
    SUCCEEDS(vv_start(add_both, 1, 1, 0, a, to, static_cast<const int *>(x),
                      static_cast<const int *>(y)));
    cudaStreamCaptureStatus status;
    SUCCEEDS(cudaStreamIsCapturing(b, &status));
    EXPECT(status == cudaStreamCaptureStatusActive);
    SUCCEEDS(cudaStreamEndCapture(a, &graph));
    size_t nodes = 0;
    SUCCEEDS(cudaGraphGetNodes(graph, nullptr, &nodes));
    EXPECT(nodes == 6);
    SUCCEEDS(cudaGraphInstantiate(&playable, graph, 0));
    SUCCEEDS(cudaGraphDestroy(graph));
    return playable;
}

static void refuse_misuse(cudaStream_t a, cudaStream_t b, cudaEvent_t fork, int *x) {
    cudaGraph_t graph;
    SUCCEEDS(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
    SUCCEEDS(cudaEventRecord(fork, a));
    SUCCEEDS(cudaStreamWaitEvent(b, fork, 0));
    SUCCEEDS(vv_start(triple, 1, 1, 0, b, x));
    EXPECT(cudaStreamEndCapture(a, &graph) == cudaErrorStreamCaptureUnjoined);
    SUCCEEDS(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
    EXPECT(cudaStreamSynchronize(a) == cudaErrorStreamCaptureUnsupported);
    EXPECT(cudaStreamEndCapture(a, &graph) == cudaErrorStreamCaptureInvalidated);
    cudaGetLastError();
    EXPECT(cudaGetLastError() == cudaSuccess);
}

void test_graphs() {
    cudaStream_t a, b;
    cudaEvent_t fork, join;
    SUCCEEDS(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    SUCCEEDS(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    SUCCEEDS(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
    SUCCEEDS(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
    on_device<int> x({1}), y({10}), to({0});
    cudaGraphExec_t playable = capture(a, b, fork, join, x.at, y.at, to.at);
    EXPECT(x.read()[0] == 1 && to.read()[0] == 0); /* nothing ran yet */
    int x_is = 1, y_is = 10;
    for (int i = 0; i < 3; i++) {
        SUCCEEDS(cudaGraphLaunch(playable, a));
        SUCCEEDS(cudaStreamSynchronize(a));
        x_is = (x_is + 42) * 3;
        y_is = y_is * 3 + 5;
        EXPECT(to.read()[0] == x_is + y_is);
    }
    SUCCEEDS(cudaGraphExecDestroy(playable));
    refuse_misuse(a, b, fork, x.at);
    SUCCEEDS(cudaEventDestroy(fork));
    SUCCEEDS(cudaEventDestroy(join));
    SUCCEEDS(cudaStreamDestroy(a));
    SUCCEEDS(cudaStreamDestroy(b));
}

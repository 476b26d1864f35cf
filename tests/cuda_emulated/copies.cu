/* Asynchronous copies: a pipeline of three stages over a row, its last piece filled up with zeros.
 */
#include "test.h"

static constexpr int threads = 64, stages = 3;

static __global__ void double_row(int *to, const int *from, int count) {
    int *stage = vv_dynamic_shared<int>(); /* [stages][4 * threads] */
    int piece = 4 * threads, pieces = (count + piece - 1) / piece;
    int own = 4 * static_cast<int>(threadIdx.x);
    auto bring = [&](int p) {
        int at = p * piece + own, left = count - at;
        left = left < 0 ? 0 : left > 4 ? 4 : left;
        if (p < pieces) {
            vv_copy_async<16>(stage + p % stages * piece + own, from + (left ? at : 0), 4 * left);
        }
        vv_copy_commit();
    };
    for (int p = 0; p < stages - 1; p++) {
        bring(p);
    }
    for (int p = 0; p < pieces; p++) {
        vv_copy_wait<stages - 2>();
        __syncthreads(); /* also: all are done with the stage that is filled next */
        bring(p + stages - 1);
        const int *here = stage + p % stages * piece;
        for (int i = own; i < own + 4; i++) { /* what others brought */
            to[p * piece + i] = 2 * here[(i + 12) % piece];
        }
    }
}

static __global__ void copy_small(int *to, const int *from) {
    __shared__ __align__(16) int held[64];
    vv_copy_async<4>(&held[threadIdx.x], from + threadIdx.x);
    if (threadIdx.x < 16) {
        vv_copy_async<8>(&held[32 + 2 * threadIdx.x], from + 32 + 2 * threadIdx.x);
    }
    vv_copy_commit();
    vv_copy_wait<0>();
    __syncthreads();
    to[threadIdx.x] = held[31 - threadIdx.x];
    to[32 + threadIdx.x] = held[63 - threadIdx.x];
}

void test_copies() {
    const size_t count = 2001, piece = 4 * threads, room = (count + piece - 1) / piece * piece;
    std::vector<int> x((count + 3) / 4 * 4);
    for (size_t i = 0; i < x.size(); i++) {
        x[i] = static_cast<int>(i * 17 % 1009);
    }
    on_device<int> from(x), to{std::vector<int>(room)};
    SUCCEEDS(vv_start(double_row, 2, threads, stages * piece * sizeof(int), nullptr, to.at, from.at,
                      static_cast<int>(count)));
    std::vector<int> got = to.read();
    for (size_t i = 0; i < room; i++) {
        size_t source = i / piece * piece + (i + 12) % piece;
        EXPECT(got[i] == (source < count ? 2 * x[source] : 0));
    }
    on_device<int> small{std::vector<int>(64)};
    SUCCEEDS(vv_start(copy_small, 1, 32, 0, nullptr, small.at, from.at));
    for (size_t i = 0; i < 64; i++) {
        EXPECT(small.read()[i] == x[i / 32 * 32 + 31 - i % 32]);
    }
}

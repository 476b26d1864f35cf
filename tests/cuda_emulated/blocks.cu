/* Shared memory, barriers and atomics of blocks, in one to three dimensions. */
#include "test.h"

/* A sum over a block by halving, the last block of all adds the blocks' sums. */
template <int threads>
static __global__ void __launch_bounds__(threads)
    sum_all(const int *values, int count, int *sums, unsigned *done, int *total) {
    __shared__ int part[threads];
    __shared__ bool last;
    int i = static_cast<int>(blockIdx.x * threads + threadIdx.x);
    part[threadIdx.x] = i < count ? values[i] : 0;
    for (unsigned apart = threads / 2; apart > 0; apart /= 2) {
        __syncthreads();
        if (threadIdx.x < apart) {
            part[threadIdx.x] += part[threadIdx.x + apart];
        }
    }
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = part[0];
        __threadfence();
        last = atomicAdd(done, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        for (unsigned b = 0; b < gridDim.x; b++) {
            *total += sums[b];
        }
    }
}

static __global__ void count_votes(int *to) {
    int i = static_cast<int>(threadIdx.x);
    int counted = __syncthreads_count(i % 3 == 0), any = __syncthreads_or(i == 5);
    int all = __syncthreads_and(i < 1000), none = __syncthreads_or(i > 1000);
    to[i] = counted + 1000 * any + 10000 * all + 100000 * none;
}

static __global__ void add_places(unsigned long long *sum, int *least, unsigned *bits,
                                  unsigned *places) {
    unsigned in_block = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    unsigned at = block * blockDim.x * blockDim.y * blockDim.z + in_block;
    places[at]++;
    atomicAdd(sum, static_cast<unsigned long long>(at) << 30);
    atomicMin(least, 5 - static_cast<int>(at));
    atomicOr(bits, 1u << at % 31);
}

/* Threads leave one by one; the others' barriers go on without them. */
static __global__ void leave_in_turn(int *rounds) {
    int i = static_cast<int>(threadIdx.x);
    for (int round = 0; round < i; round++) {
        __syncthreads();
        rounds[i] = round + 1;
    }
}

static __global__ void transpose(float *to, const float *from, int side) {
    float *tile = vv_dynamic_shared<float>();
    for (int y = static_cast<int>(threadIdx.y); y < side; y += static_cast<int>(blockDim.y)) {
        tile[y * (side + 1) + static_cast<int>(threadIdx.x)] =
            from[y * side + static_cast<int>(threadIdx.x)];
    }
    __syncthreads();
    for (int y = static_cast<int>(threadIdx.y); y < side; y += static_cast<int>(blockDim.y)) {
        to[y * side + static_cast<int>(threadIdx.x)] =
            tile[static_cast<int>(threadIdx.x) * (side + 1) + y];
    }
}

static void check_sums() {
    const int count = 5000, threads = 256, blocks = (count + threads - 1) / threads;
    std::vector<int> x(count);
    int sum = 0;
    for (int i = 0; i < count; i++) {
        x[static_cast<size_t>(i)] = i * i % 1001 - 300;
        sum += x[static_cast<size_t>(i)];
    }
    on_device<int> values(x), sums{std::vector<int>(blocks)}, total{std::vector<int>(1)};
    on_device<unsigned> done{std::vector<unsigned>(1)};
    SUCCEEDS(vv_start(sum_all<threads>, blocks, threads, 0, nullptr, values.at, count, sums.at,
                      done.at, total.at));
    EXPECT(total.read()[0] == sum);
}

static void check_places() {
    on_device<unsigned long long> sum{std::vector<unsigned long long>(1)};
    on_device<int> least{std::vector<int>(1)};
    on_device<unsigned> bits{std::vector<unsigned>(1)};
    dim3 grid(3, 2, 2), block(5, 3, 2);
    const unsigned all = 12 * 30;
    on_device<unsigned> places{std::vector<unsigned>(all)};
    SUCCEEDS(vv_start(add_places, grid, block, 0, nullptr, sum.at, least.at, bits.at, places.at));
    EXPECT(sum.read()[0] == static_cast<unsigned long long>(all * (all - 1) / 2) << 30);
    EXPECT(least.read()[0] == 5 - static_cast<int>(all - 1) && bits.read()[0] == 0x7fffffffu);
    EXPECT(places.read() == std::vector<unsigned>(all, 1));
}

static void check_transposed(int side) {
    std::vector<float> x(static_cast<size_t>(side * side));
    for (size_t i = 0; i < x.size(); i++) {
        x[i] = static_cast<float>(i);
    }
    on_device<float> from(x), to(x);
    size_t shared = static_cast<size_t>(side * (side + 1)) * sizeof(float);
    SUCCEEDS(vv_start(transpose, 1, dim3(static_cast<unsigned>(side), 4), shared, nullptr, to.at,
                      static_cast<const float *>(from.at), side));
    std::vector<float> got = to.read();
    for (size_t i = 0; i < x.size(); i++) {
        size_t n = static_cast<size_t>(side);
        EXPECT(got[i] == x[i % n * n + i / n]);
    }
}

void test_blocks() {
    check_sums();
    check_places();
    check_transposed(20);
    check_transposed(128); /* more than 48 KB */

    on_device<int> votes{std::vector<int>(100)};
    SUCCEEDS(vv_start(count_votes, 1, 100, 0, nullptr, votes.at));
    EXPECT(votes.read() == std::vector<int>(100, 34 + 1000 + 10000));

    on_device<int> rounds{std::vector<int>(70)};
    SUCCEEDS(vv_start(leave_in_turn, 1, 70, 0, nullptr, rounds.at));
    for (int i = 0; i < 70; i++) {
        EXPECT(rounds.read()[static_cast<size_t>(i)] == i);
    }
}

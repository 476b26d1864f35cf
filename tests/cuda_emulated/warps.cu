/* Shuffles, votes and sums of a warp against loops over its lanes. */
#include "test.h"

struct lane_results {
    int from, up, down, across, within, wide_float;
    long long eight_bytes;
    unsigned ballot, equal, sum, smallest;
    int largest, any, all, odd_sum;
};

static __global__ void exchange_all(lane_results *to, const int *values) {
    int lane = static_cast<int>(threadIdx.x), x = values[blockIdx.x * 32 + threadIdx.x];
    lane_results r = {};
    r.from = __shfl_sync(0xffffffffu, x, (lane * 7 + 3) % 32);
    r.up = __shfl_up_sync(0xffffffffu, x, 3, 16);
    r.down = __shfl_down_sync(0xffffffffu, x, 5, 8);
    r.across = __shfl_xor_sync(0xffffffffu, x, 9);
    r.within = __shfl_sync(0xffffffffu, x, lane + 6, 4);
    r.wide_float = __float_as_int(__shfl_xor_sync(0xffffffffu, __int_as_float(x), 16));
    r.eight_bytes = __shfl_xor_sync(0xffffffffu, x * 0x100000001ll, 1);
    r.ballot = __ballot_sync(0xffffffffu, x % 3 == 0);
    r.equal = __match_any_sync(0xffffffffu, x % 5);
    r.sum = __reduce_add_sync(0xffffffffu, static_cast<unsigned>(x));
    r.smallest = __reduce_min_sync(0xffffffffu, static_cast<unsigned>(x));
    r.largest = __reduce_max_sync(0xffffffffu, x - 500);
    r.any = __any_sync(0xffffffffu, x == 77);
    r.all = __all_sync(0xffffffffu, x >= 0);
    if (lane % 2) { /* half of the warp alone, a butterfly over it */
        int sum = x;
        for (int apart = 2; apart < 32; apart *= 2) {
            sum += __shfl_xor_sync(0xaaaaaaaau, sum, apart);
        }
        r.odd_sum = sum;
    }
    __syncwarp();
    to[blockIdx.x * 32 + threadIdx.x] = r;
}

static void check_warp(const lane_results *r, const int *x) {
    unsigned sum = 0, smallest = UINT32_MAX, ballot = 0;
    int largest = INT32_MIN, odd = 0, any = 0;
    for (int i = 0; i < 32; i++) {
        sum += static_cast<unsigned>(x[i]);
        smallest = static_cast<unsigned>(x[i]) < smallest ? static_cast<unsigned>(x[i]) : smallest;
        largest = x[i] - 500 > largest ? x[i] - 500 : largest;
        ballot |= static_cast<unsigned>(x[i] % 3 == 0) << i;
        odd += i % 2 ? x[i] : 0;
        any |= x[i] == 77;
    }
    for (int i = 0; i < 32; i++) {
        EXPECT(r[i].from == x[(i * 7 + 3) % 32]);
        EXPECT(r[i].up == (i % 16 >= 3 ? x[i - 3] : x[i]));
        EXPECT(r[i].down == (i % 8 + 5 < 8 ? x[i + 5] : x[i]));
        EXPECT(r[i].across == x[i ^ 9] && r[i].wide_float == x[i ^ 16]);
        EXPECT(r[i].within == x[i / 4 * 4 + (i + 6) % 4]);
        EXPECT(r[i].eight_bytes == x[i ^ 1] * 0x100000001ll);
        EXPECT(r[i].ballot == ballot && r[i].sum == sum && r[i].smallest == smallest);
        EXPECT(r[i].largest == largest && r[i].any == any && r[i].all);
        unsigned equal = 0;
        for (int j = 0; j < 32; j++) {
            equal |= static_cast<unsigned>(x[i] % 5 == x[j] % 5) << j;
        }
        EXPECT(r[i].equal == equal && r[i].odd_sum == (i % 2 ? odd : 0));
    }
}

/* Lanes that have returned are waited for by none. */
static __global__ void count_the_rest(unsigned *to, unsigned stay) {
    if (threadIdx.x >= stay) {
        return;
    }
    to[threadIdx.x] = __ballot_sync((1u << stay) - 1, 1);
}

/* Each lane writes, the others read after a rendezvous of the warp. */
static __global__ void turn_around(int *values) {
    __shared__ int shared[64];
    unsigned i = threadIdx.x, first = i / 32 * 32;
    shared[i] = values[i];
    __syncwarp();
    int turned = shared[first + 31 - i % 32];
    __syncwarp();
    shared[i] = turned + 1;
    __syncwarp();
    values[i] = shared[first + 31 - i % 32];
}

void test_warps() {
    const int blocks = 3;
    std::vector<int> x(32 * blocks);
    uint32_t state = 1;
    for (int &v : x) {
        v = static_cast<int>(next_number(state) % 1000);
    }
    on_device<int> values(x);
    on_device<lane_results> results{std::vector<lane_results>(x.size())};
    SUCCEEDS(vv_start(exchange_all, blocks, 32, 0, nullptr, results.at, values.at));
    std::vector<lane_results> got = results.read();
    for (int b = 0; b < blocks; b++) {
        check_warp(&got[static_cast<size_t>(32 * b)], &x[static_cast<size_t>(32 * b)]);
    }

    on_device<unsigned> counts{std::vector<unsigned>(32)};
    SUCCEEDS(vv_start(count_the_rest, 1, 32, 0, nullptr, counts.at, 11u));
    for (unsigned i = 0; i < 11; i++) {
        EXPECT(counts.read()[i] == (1u << 11) - 1);
    }

    x.resize(64);
    on_device<int> turned(x);
    SUCCEEDS(vv_start(turn_around, 1, 64, 0, nullptr, turned.at));
    for (size_t i = 0; i < 64; i++) {
        EXPECT(turned.read()[i] == x[i] + 1);
    }
}

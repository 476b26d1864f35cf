/* What a GPU leaves undefined ends a process with a sentence here. */
#include "device/cuda/grid.cuh"
#include "test.h"
#ifdef VV_CUDA_EMULATED
#include "device/cuda/emulated/control.h"
#include <string>
#include <sys/wait.h>
#include <unistd.h>

static __global__ void half_at_barrier() {
    if (threadIdx.x < 16) {
        __syncthreads();
    } else {
        __syncwarp(0xffffffffu);
    }
}
static __global__ void read_outside(int *to) {
    if (threadIdx.x < 4) {
        to[threadIdx.x] = __shfl_sync(0xfu, 1, 4);
    }
}
static __global__ void not_named(int *to) {
    *to = __any_sync(0xf0u, 1);
}
static __global__ void masks_differ(int *to) {
    *to = __shfl_xor_sync(threadIdx.x == 3 ? 0xffffu : 0xffffffffu, 1, 1);
}
static __global__ void calls_differ(int *to) {
    if (threadIdx.x % 2) {
        *to = static_cast<int>(__ballot_sync(0xffffffffu, 1));
    } else {
        *to = __shfl_sync(0xffffffffu, 1, 0);
    }
}
static __global__ void barriers_differ() {
    if (threadIdx.x == 70) {
        __syncthreads_or(1);
    } else {
        __syncthreads();
    }
}
static __global__ void few_multiply(float *to) {
    if (threadIdx.x < 8) {
        return;
    }
    unsigned a[2] = {0, 0}, b[1] = {0};
    float d[4] = {0, 0, 0, 0};
    vv_mma_m16n8k8_f16(d, a, b);
    *to = d[0];
}
static __global__ void copy_unaligned(int *to) {
    vv_copy_async<16>(vv_dynamic_shared<int>(), to + 1);
}
template <int a, int b> static __global__ void trap_in_template() {
    __trap();
}
static __global__ void wait_for_nobody(vv_meeting *m) {
    if (blockIdx.x != 1) {
        vv_take_word(m->word, 1);
    }
}
static __global__ void write_behind(char *to) {
    to[100] = 1;
}

/* What `run` says before it aborts. */
template <class F> static std::string dying_words(F run) {
    int ends[2];
    EXPECT(pipe(ends) == 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], 2);
        run();
        cudaDeviceSynchronize();
        _exit(0);
    }
    close(ends[1]);
    std::string text;
    char part[256];
    for (ssize_t n; (n = read(ends[0], part, sizeof part)) > 0;) {
        text.append(part, static_cast<size_t>(n));
    }
    close(ends[0]);
    int status;
    EXPECT(waitpid(child, &status, 0) == child);
    EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    return text;
}

static void expect_in(const std::string &text, std::initializer_list<const char *> parts) {
    for (const char *part : parts) {
        if (text.find(part) == std::string::npos) {
            std::fprintf(stderr, "\"%s\" is not in: %s", part, text.c_str());
            std::exit(1);
        }
    }
}

void test_misuse() {
    on_device<int> x{std::vector<int>(64)};
    int *at = x.at;
    expect_in(dying_words([] { vv_start(half_at_barrier, 1, 32, 0, nullptr); }),
              {"all threads wait", "__syncwarp", "__syncthreads", "kernel half_at_barrier,",
               "block 0 0 0"});
    expect_in(dying_words([at] { vv_start(read_outside, 1, 32, 0, nullptr, at); }),
              {"from lane 4, which takes no part", "read_outside"});
    expect_in(dying_words([at] { vv_start(not_named, dim3(1, 3), 1, 0, nullptr, at); }),
              {"lane 0", "0x000000f0", "does not name it", "thread 0 0 0"});
    expect_in(dying_words([at] { vv_start(masks_differ, 1, 32, 0, nullptr, at); }),
              {"0x0000ffff", "0xffffffff"});
    expect_in(dying_words([at] { vv_start(calls_differ, 1, 32, 0, nullptr, at); }),
              {"a ballot", "a shuffle", "0xffffffff"});
    expect_in(dying_words([] { vv_start(barriers_differ, 1, 96, 0, nullptr); }),
              {"another form of __syncthreads"});
    expect_in(dying_words([at] {
                  vv_start(few_multiply, 1, 32, 0, nullptr, reinterpret_cast<float *>(at));
              }),
              {"0xffffff00", "needs all 32"});
    expect_in(dying_words([at] { vv_start(copy_unaligned, 1, 1, 1024, nullptr, at); }),
              {"16 bytes", "not both aligned"});
    expect_in(dying_words([] { vv_start(trap_in_template<1, 2>, 1, 1, 0, nullptr); }),
              {"(kernel trap_in_template<1, 2>, block"});
    on_device<vv_meeting> meeting{std::vector<vv_meeting>(1)};
    vv_meeting *m = meeting.at;
    expect_in(dying_words([m] {
                  vv_launch on = {};
                  on.processors = 3;
                  vv_start_grid(&on, wait_for_nobody, 32, 0, m);
              }),
              {"blocks wait for each other for ever", "wait_for_nobody"});
    expect_in(dying_words([] {
                  char *few;
                  SUCCEEDS(cudaMalloc(&few, 100));
                  vv_start(write_behind, 1, 1, 0, nullptr, few);
                  cudaFree(few);
              }),
              {"byte 0 beyond a piece of memory of 100 bytes"});
}
#endif

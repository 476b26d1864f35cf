#include "test.h"
#ifdef VV_CUDA_EMULATED
#include "device/cuda/emulated/control.h"
#endif

static void test_what_a_gpu_has() {
    test_warps();
    test_blocks();
    test_grid();
    test_numbers();
    test_matrices();
    test_copies();
    test_streams();
    test_graphs();
}

int main() {
#ifdef VV_CUDA_EMULATED
    for (uint64_t seed = 1; seed <= 20; seed++) {
        vv_emulated_seed(seed);
        vv_emulated_eager(seed % 4 == 0);
        test_what_a_gpu_has();
    }
    vv_emulated_eager(0);
    test_memory();
    test_misuse();
#else
    test_what_a_gpu_has();
#endif
    std::puts("all passed");
    return 0;
}

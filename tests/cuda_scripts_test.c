/* Random scripts of everything that moves a sequence's state (support/script.h), on the emulated
 * GPU and, after each restart, in turn on the CPU: what the one has written the other goes on from.
 * The number of steps, and a seed, may be given as arguments. */
#include "support/script.h"

#include <stdlib.h>

static size_t steps_wanted = VARVE_FAIL_EVERY > 4 ? 10 : 40; /* few with sanitizers */
static uint64_t first_seed = 1;

static void qwen4exp(void **state) {
    (void)state;
    script_run("qwen4exp/micro.f32.gguf",
               (struct varve_session_options){
                   .threads = 1, .device = VARVE_DEVICE_CUDA_EMULATED, .keep_bytes = 4 << 20},
               VARVE_DEVICE_CPU, steps_wanted, first_seed);
}

static void deepseek4(void **state) {
    (void)state;
    script_run("deepseek4/tiny.gguf",
               (struct varve_session_options){
                   .threads = 1, .mtp = true, .device = VARVE_DEVICE_CUDA_EMULATED},
               VARVE_DEVICE_CPU, steps_wanted, first_seed + 10);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(qwen4exp),
        cmocka_unit_test(deepseek4),
    };
    steps_wanted = argc > 1 ? strtoul(argv[1], NULL, 10) : steps_wanted;
    first_seed = argc > 2 ? strtoul(argv[2], NULL, 10) : first_seed;
    return cmocka_run_group_tests(tests, NULL, NULL);
}

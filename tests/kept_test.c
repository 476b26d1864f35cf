/* Random scripts of everything that moves a sequence's state (support/script.h), on the CPU and, in
 * turn, on another device. The number of steps, a seed, and `cuda` for that device in place of the
 * mock may be given as arguments: tools/steps.sh. */
#include "support/script.h"

#include <stdlib.h>
#include <string.h>

static size_t steps_wanted = VARVE_SCRIPT_STEPS;
static uint64_t first_seed = 1;
static enum varve_device other = VARVE_DEVICE_MOCK;

static void c078_scripts_on_the_cpu(void **state) {
    (void)state;
    script_run("qwen4exp/micro.f32.gguf",
               (struct varve_session_options){.threads = 1, .keep_bytes = 4 << 20}, other,
               steps_wanted * 5 / 10, first_seed);
    script_run("qwen4exp/odd.f32.gguf", (struct varve_session_options){.threads = 1, .mtp = true},
               other, steps_wanted * 2 / 10, first_seed + 1);
}

/* Its layers hold the last 13 keys, and pooled ones; the context is as long as the text. */
static void c063_scripts_of_a_sliding_window(void **state) {
    (void)state;
    script_run("deepseek4/tiny.gguf", (struct varve_session_options){.threads = 1, .mtp = true},
               other, steps_wanted * 1 / 10, first_seed + 3);
}

static void scripts_on_a_device_of_its_own(void **state) {
    (void)state;
    script_run(
        "qwen4exp/micro.f32.gguf",
        (struct varve_session_options){.threads = 2, .mtp = true, .kv_f16 = true, .device = other},
        VARVE_DEVICE_CPU, steps_wanted * 2 / 10, first_seed + 2);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(c078_scripts_on_the_cpu),
        cmocka_unit_test(c063_scripts_of_a_sliding_window),
        cmocka_unit_test(scripts_on_a_device_of_its_own),
    };
    steps_wanted = argc > 1 ? strtoul(argv[1], NULL, 10) : steps_wanted;
    first_seed = argc > 2 ? strtoul(argv[2], NULL, 10) : first_seed;
    other = argc > 3 && strcmp(argv[3], "cuda") == 0 ? VARVE_DEVICE_CUDA : other;
    return cmocka_run_group_tests(tests, NULL, NULL);
}

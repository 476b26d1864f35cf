/* Random scripts of everything that moves a sequence's state (support/script.h). The number of
 * steps, and a seed, may be given as arguments. */
#include "support/script.h"

#include <stdlib.h>

static size_t steps_wanted = VARVE_SCRIPT_STEPS;
static uint64_t first_seed = 1;

static void c078_scripts_on_the_cpu(void **state) {
    (void)state;
    script_run("qwen4exp/micro.f32.gguf",
               (struct varve_session_options){.threads = 1, .keep_bytes = 4 << 20},
               VARVE_DEVICE_MOCK, steps_wanted * 5 / 10, first_seed);
    script_run("qwen4exp/odd.f32.gguf", (struct varve_session_options){.threads = 1, .mtp = true},
               VARVE_DEVICE_MOCK, steps_wanted * 2 / 10, first_seed + 1);
}

/* Its layers hold the last 13 keys, and pooled ones; the context is as long as the text. */
static void c063_scripts_of_a_sliding_window(void **state) {
    (void)state;
    script_run("deepseek4/tiny.gguf", (struct varve_session_options){.threads = 1, .mtp = true},
               VARVE_DEVICE_MOCK, steps_wanted * 1 / 10, first_seed + 3);
}

static void scripts_on_a_device_of_its_own(void **state) {
    (void)state;
    script_run("qwen4exp/micro.f32.gguf",
               (struct varve_session_options){
                   .threads = 2, .mtp = true, .kv_f16 = true, .device = VARVE_DEVICE_MOCK},
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
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What the command tells of the module of CUDA kernels: beside it, absent or broken. */
#include "support/command.h"
#include "support/folder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The command where no module lies beside it. */
static struct command_result alone(const char *device) {
    char script[1200];
    snprintf(script, sizeof script,
             "cp '%s' '%s/varve' && exec '%s/varve' check --list --device %s", VARVE_BINARY,
             folder.path, folder.path, device);
    return command_input("", 0, (const char *const[]){"/bin/sh", "-c", script, NULL});
}

static void an_absent_module_is_told(void **state) {
    (void)state;
    command_refuses(alone("cuda-emulated"), 1, WORDS("can't be found", "-DVARVE_EMULATED_CUDA=ON"));
}

/* The reason is the first one, not that of the search that follows. */
static void so_is_a_broken_one(void **state) {
    (void)state;
    temporary_write(&folder, "libvarve_cuda.so", "no library");
    command_refuses(alone("cuda"), 1,
                    WORDS("is there, but can't be loaded", folder.path, "libvarve_cuda.so"));
}

static void variants_are_the_devices(void **state) {
    (void)state;
    struct command_result cpu = varve("check", "--list");
    assert_int_equal(cpu.code, 0);
    assert_non_null(strstr(cpu.out, "gemv/reference"));
    assert_null(strstr(cpu.out, "gemv/cuda"));
    command_free(&cpu);
#ifdef VARVE_EMULATED_MODULE
    struct command_result gpu = varve("check", "--list", "--device", "cuda-emulated");
    assert_int_equal(gpu.code, 0);
    assert_non_null(strstr(gpu.out, "gemv/cuda"));
    assert_null(strstr(gpu.out, "gemv/reference"));
    command_free(&gpu);
#endif
}

#ifdef VARVE_EMULATED_MODULE
#define ANSWER                                                                                     \
    "run", "-m", VARVE_SOURCE_DIR "/models/varve-tiny.gguf", "--raw", "-n", "1", "--seed", "1",    \
        "-c", "64", "-w", "8", "a", "--device"

/* A table that leaves no room for the rest goes to the host's memory, and is read there. */
static void what_is_too_much_for_the_device_lies_in_the_hosts_memory(void **state) {
    (void)state;
    static const char *const memory[] = {"25500000", "100000000"};
    struct command_result cpu = varve(ANSWER, "cpu");
    assert_int_equal(cpu.code, 0);
    for (size_t i = 0; i < 2; i++) {
        setenv("VARVE_EMULATED_MEMORY", memory[i], 1);
        struct command_result gpu = varve(ANSWER, "cuda-emulated");
        assert_int_equal(gpu.code, 0);
        assert_string_equal(gpu.out, cpu.out);
        assert_int_equal(strstr(gpu.err, "1.4 MB, lies in the host's memory") != NULL, i == 0);
        command_free(&gpu);
    }
    command_free(&cpu);
    setenv("VARVE_EMULATED_MEMORY", memory[0], 1);
    command_refuses(varve(ANSWER, "cuda-emulated", "--tables", "device"), 1,
                    WORDS("no memory for"));
    unsetenv("VARVE_EMULATED_MEMORY");
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_absent_module_is_told),
        cmocka_unit_test(so_is_a_broken_one),
        cmocka_unit_test(variants_are_the_devices),
#ifdef VARVE_EMULATED_MODULE
        cmocka_unit_test(what_is_too_much_for_the_device_lies_in_the_hosts_memory),
#endif
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_absent_module_is_told),
        cmocka_unit_test(so_is_a_broken_one),
        cmocka_unit_test(variants_are_the_devices),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

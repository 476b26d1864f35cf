/* The program on an x86 CPU from before AVX, emulated (case C109). */
#include "support/command.h"
#include "support/folder.h"
#include "support/sanitized.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define MICRO VARVE_SOURCE_DIR "/tests/data/qwen4exp/micro.f32.gguf"
#define LOGITS(path) "logits", "-m", MICRO, "--tokens", "1 2 3 4 5", "-t", "2", "-o", path
#define OLDER(...)                                                                                 \
    command_input(                                                                                 \
        "", 0,                                                                                     \
        (const char *const[]){emulator, "-cpu", "Nehalem", VARVE_BINARY, __VA_ARGS__, NULL})

static char emulator[4096];

/* Leaves the test out where there is no emulator that this build can run on. */
static void find_emulator(void) {
#if defined(__x86_64__) && !SANITIZED
    const char *path = getenv("PATH");
    while (path && *path) {
        int length = (int)strcspn(path, ":");
        snprintf(emulator, sizeof emulator, "%.*s/qemu-x86_64-static", length, path);
        if (access(emulator, X_OK) == 0) {
            return;
        }
        path += length + (path[length] == ':');
    }
#endif
    skip();
}

static size_t read_file(const char *path, char *bytes, size_t room) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t n = fread(bytes, 1, room, file);
    fclose(file);
    return n;
}

static void c109_a_cpu_without_avx_gives_the_same_logits(void **state) {
    (void)state;
    find_emulator();
    const char *here = temporary_file(&folder, "here.npy");
    struct command_result r = varve(LOGITS(here));
    assert_int_equal(r.code, 0);
    command_free(&r);
    const char *there = temporary_file(&folder, "there.npy");
    r = OLDER(LOGITS(there));
    assert_int_equal(r.code, 0);
    command_free(&r);
    static char bytes[2][1 << 16];
    size_t n = read_file(here, bytes[0], sizeof bytes[0]);
    assert_true(n > 5 * sizeof(float) && n < sizeof bytes[0]);
    assert_int_equal(read_file(there, bytes[1], sizeof bytes[1]), n);
    assert_memory_equal(bytes[0], bytes[1], n);
}

static void c109_what_it_lacks_is_refused_by_name(void **state) {
    (void)state;
    find_emulator();
    command_refuses(OLDER(LOGITS("/dev/null"), "--isa", "avx2"), 1, WORDS("avx2", "portable"));
}

static void c109_helpers_answer(void **state) {
    (void)state;
    find_emulator();
    struct command_result r = OLDER("check", "rms_norm", "--quick");
    assert_int_equal(r.code, 0);
    assert_non_null(strstr(r.out, " passed, 0 failed"));
    command_free(&r);
    r = OLDER("inspect", "-m", MICRO);
    assert_int_equal(r.code, 0);
    command_free(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(c109_a_cpu_without_avx_gives_the_same_logits),
        cmocka_unit_test(c109_what_it_lacks_is_refused_by_name),
        cmocka_unit_test(c109_helpers_answer),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

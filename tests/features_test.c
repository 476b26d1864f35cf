/* What a CPU's own words are taken to mean, and the levels made of it. */
#include "base/error.h"
#include "device/cpu/features.h"
#include "registry/operation.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Words such as these processors give; XCR0 of systems that save everything and of some that don't.
 */
static const struct vv_cpuid haswell = {.ecx1 = 0x7ffafbbf, .ebx7 = 0x000027ab, .saved = 0x7};
static const struct vv_cpuid skylake_x = {.ecx1 = 0x7ffefbbf, .ebx7 = 0xd39ffffb, .saved = 0xe7};
static const struct vv_cpuid cascade_lake = {
    .ecx1 = 0x7ffefbbf, .ebx7 = 0xd39ffffb, .ecx7 = 0x00000818, .saved = 0xe7};
static const struct vv_cpuid alder_lake = {.ecx1 = 0x7ffafbbf,
                                           .ebx7 = 0x239c27eb,
                                           .ecx7 = 0x98c027ac,
                                           .edx7 = 0xfc1cc410,
                                           .eax7_1 = 0x00400810,
                                           .saved = 0x207};
static const struct vv_cpuid sapphire_rapids = {.ecx1 = 0x7ffefbff,
                                                .ebx7 = 0xf3bfbffb,
                                                .ecx7 = 0xfbc0fffe,
                                                .edx7 = 0xffdd4432,
                                                .eax7_1 = 0x00001c30,
                                                .saved = 0x602e7};

enum {
    UP_TO_VNNI = VV_CPU_AVX2 | VV_CPU_AVX512 | VV_CPU_AVX512_VNNI,
};

static void processors_are_read(void **state) {
    (void)state;
    assert_int_equal(vv_cpuid_features(&haswell), VV_CPU_AVX2);
    assert_int_equal(vv_cpuid_features(&skylake_x), VV_CPU_AVX2 | VV_CPU_AVX512);
    assert_int_equal(vv_cpuid_features(&cascade_lake), UP_TO_VNNI);
    assert_int_equal(vv_cpuid_features(&alder_lake), VV_CPU_AVX2 | VV_CPU_AVX_VNNI);
    assert_int_equal(vv_cpuid_features(&sapphire_rapids),
                     UP_TO_VNNI | VV_CPU_AVX_VNNI | VV_CPU_AMX_INT8);
}

/* A system that does not save a register file gives no use of its instructions. */
static void registers_that_are_not_saved_do_not_count(void **state) {
    (void)state;
    struct vv_cpuid id = sapphire_rapids;
    id.saved = 0;
    assert_int_equal(vv_cpuid_features(&id), VV_CPU_ANY);
    id.saved = 0x3; /* SSE alone */
    assert_int_equal(vv_cpuid_features(&id), VV_CPU_ANY);
    id.saved = 0x7; /* no masks, no upper halves */
    assert_int_equal(vv_cpuid_features(&id), VV_CPU_AVX2 | VV_CPU_AVX_VNNI);
    id.saved = 0x67; /* the upper sixteen registers are missing */
    assert_int_equal(vv_cpuid_features(&id), VV_CPU_AVX2 | VV_CPU_AVX_VNNI);
    id.saved = 0xe7; /* no tiles */
    assert_int_equal(vv_cpuid_features(&id), UP_TO_VNNI | VV_CPU_AVX_VNNI);
    id.saved = 0x200e7; /* the tiles' shapes, not their data */
    assert_int_equal(vv_cpuid_features(&id), UP_TO_VNNI | VV_CPU_AVX_VNNI);
}

static void every_instruction_of_a_set_is_needed(void **state) {
    (void)state;
    static const uint32_t ecx1[] = {1u << 12, 1u << 29}, ebx7[] = {1u << 3, 1u << 5, 1u << 8};
    static const uint32_t avx512[] = {1u << 16, 1u << 17, 1u << 28, 1u << 30, 1u << 31};
    for (size_t i = 0; i < sizeof ecx1 / sizeof *ecx1; i++) {
        struct vv_cpuid id = sapphire_rapids;
        id.ecx1 &= ~ecx1[i];
        assert_int_equal(vv_cpuid_features(&id), VV_CPU_ANY);
    }
    for (size_t i = 0; i < sizeof ebx7 / sizeof *ebx7; i++) {
        struct vv_cpuid id = sapphire_rapids;
        id.ebx7 &= ~ebx7[i];
        assert_int_equal(vv_cpuid_features(&id), VV_CPU_ANY);
    }
    for (size_t i = 0; i < sizeof avx512 / sizeof *avx512; i++) {
        struct vv_cpuid id = cascade_lake;
        id.ebx7 &= ~avx512[i];
        assert_int_equal(vv_cpuid_features(&id), VV_CPU_AVX2);
    }
    struct vv_cpuid id = sapphire_rapids;
    id.ecx7 &= ~(1u << 1); /* AVX512-VBMI, which kernels for AMX have beside it */
    assert_int_equal(vv_cpuid_features(&id), UP_TO_VNNI | VV_CPU_AVX_VNNI);
}

static void c183_a_level_is_here_or_the_sentence_tells_which_are(void **state) {
    (void)state;
    static const char *const x86[] = {"avx2", "avxvnni", "avx512", "vnni", "amx"};
    static const char *const arm[] = {"neon", "dotprod", "i8mm"};
    struct vv_error error;
    uint32_t features = 77;
    assert_int_equal(vv_cpu_level("portable", &features, &error), VV_OK);
    assert_int_equal(features, VV_CPU_ANY);
    assert_int_equal(vv_cpu_level("sse", &features, &error), VV_ERROR_INVALID);
    assert_non_null(strstr(error.message, "\"sse\"; this machine offers portable"));
#if defined(__aarch64__)
    const char *const *here = arm, *const *other = x86;
    size_t here_count = 3, other_count = 5;
#else
    const char *const *here = x86, *const *other = arm;
    size_t here_count = 5, other_count = 3;
#endif
    for (size_t i = 0; i < other_count; i++) {
        assert_int_equal(vv_cpu_level(other[i], &features, &error), VV_ERROR_UNSUPPORTED);
        assert_non_null(strstr(error.message, other[i]));
        assert_non_null(strstr(error.message, "it offers portable"));
    }
    for (size_t i = 0; i < here_count; i++) {
        int code = vv_cpu_level(here[i], &features, &error);
        assert_true(code == VV_OK || code == VV_ERROR_UNSUPPORTED);
        assert_true(code != VV_OK || (features & ~vv_cpu_features()) == 0);
    }
}

#if defined(__x86_64__)
/* From now on the system refuses this process the tiles. */
static bool refuse_tiles(void) {
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_arch_prctl, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x1023, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof rules / sizeof *rules, rules};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* In a process of its own, which has not asked for features before. */
static void tiles_that_the_system_refuses_are_not_used(void **state) {
    (void)state;
    enum { NO_FILTERS = 3 };
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct vv_error error;
        uint32_t features;
        if (!refuse_tiles()) {
            _exit(NO_FILTERS);
        }
        int code = vv_cpu_level("amx", &features, &error);
        bool clean = code == VV_ERROR_UNSUPPORTED && !(vv_cpu_features() & VV_CPU_AMX_INT8);
        _exit(clean ? 0 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == NO_FILTERS) {
        skip(); /* a container that allows no filters */
    }
    assert_int_equal(WEXITSTATUS(status), 0);
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {
#if defined(__x86_64__)
        cmocka_unit_test(tiles_that_the_system_refuses_are_not_used), /* first: nobody has asked */
#endif
        cmocka_unit_test(processors_are_read),
        cmocka_unit_test(registers_that_are_not_saved_do_not_count),
        cmocka_unit_test(every_instruction_of_a_set_is_needed),
        cmocka_unit_test(c183_a_level_is_here_or_the_sentence_tells_which_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

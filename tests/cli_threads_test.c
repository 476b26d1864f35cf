/* How many threads are taken, and what is said where they can't all run at once (case C112). */
#include "support/command.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define MICRO VARVE_SOURCE_DIR "/tests/data/qwen4exp/micro.f32.gguf"
#define RUN "run", "-m", MICRO, "--raw", "-n", "1", "--temperature", "0", "One"

static int cpus(void) {
    cpu_set_t allowed;
    assert_int_equal(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    return CPU_COUNT(&allowed);
}

/* One sentence, whether the CPUs or a container's limit are too few, and the answer all the same.
 */
static void c112_more_threads_than_cpus_is_a_warning(void **state) {
    (void)state;
    char threads[20], told[60];
    snprintf(threads, sizeof threads, "%d", cpus() + 1);
    snprintf(told, sizeof told, "warning: %d threads ", cpus() + 1);
    struct command_result r = varve(RUN, "-t", threads);
    assert_int_equal(r.code, 0);
    const char *warning = strstr(r.err, told);
    assert_non_null(warning);
    assert_non_null(strstr(warning, " CPUs"));
    assert_null(strstr(warning + 1, "warning: "));
    command_free(&r);
}

static void c112_what_is_taken_by_itself_is_no_warning(void **state) {
    (void)state;
    struct command_result r = varve(RUN);
    assert_int_equal(r.code, 0);
    assert_null(strstr(r.err, "warning: "));
    command_free(&r);
    r = varve(RUN, "-t", "1");
    assert_null(strstr(r.err, "warning: "));
    command_free(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(c112_more_threads_than_cpus_is_a_warning),
        cmocka_unit_test(c112_what_is_taken_by_itself_is_no_warning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

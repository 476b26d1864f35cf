/*
 * What kernels find on every thread of a team, whatever the caller has set: room on the stack, and
 * the rounding that results are defined with. The caller gets its own settings back.
 */
#include "device/cpu/team.h"

#include <fenv.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { THREADS = 3, NEEDED = 1 << 20 };

static void run(vv_team_body body, void *context) {
    struct vv_error error;
    struct vv_team *team = vv_team_new(THREADS, &error);
    assert_non_null(team);
    vv_team_run(team, body, context);
    vv_team_free(team);
}

static void measure_stack(void *context, struct vv_team *team, unsigned thread) {
    (void)team;
    pthread_attr_t attributes;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstacksize(&attributes, (size_t *)context + thread);
    pthread_attr_destroy(&attributes);
}

static void threads_have_stack_for_kernels(void **state) {
    (void)state;
    pthread_attr_t before, small;
    size_t stack[THREADS] = {0};
    pthread_getattr_default_np(&before);
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 256 << 10);
    pthread_setattr_default_np(&small);
    run(measure_stack, stack);
    pthread_setattr_default_np(&before);
    pthread_attr_destroy(&small);
    pthread_attr_destroy(&before);
    for (unsigned t = 0; t < THREADS; t++) {
        assert_true(stack[t] >= NEEDED);
    }
}

/* 0 where the thread rounds to nearest, makes denormals, and bears a division by zero. */
static void compute(void *context, struct vv_team *team, unsigned thread) {
    (void)team;
    volatile float third = 1.0f, denormal = 0x1p-126f, zero = 0.0f;
    third /= 3.0f;
    denormal /= 4.0f;
    volatile float infinite = 1.0f / zero;
    (void)infinite;
    ((int *)context)[thread] = third == 0x1.555556p-2f && denormal == 0x1p-128f ? 0 : 1;
}

static void a_callers_float_mode_is_ignored_and_kept(void **state) {
    (void)state;
    int wrong[THREADS] = {1, 1, 1};
    assert_int_equal(fesetround(FE_DOWNWARD), 0);
    feenableexcept(FE_DIVBYZERO); /* where the machine can */
    int traps = fegetexcept();
    run(compute, wrong);
    int rounding = fegetround(), traps_after = fegetexcept();
    fedisableexcept(FE_ALL_EXCEPT);
    fesetround(FE_TONEAREST);
    assert_int_equal(rounding, FE_DOWNWARD);
    assert_int_equal(traps_after, traps);
    for (unsigned t = 0; t < THREADS; t++) {
        assert_int_equal(wrong[t], 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_have_stack_for_kernels),
        cmocka_unit_test(a_callers_float_mode_is_ignored_and_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

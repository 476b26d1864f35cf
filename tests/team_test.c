/*
 * What kernels find on every thread of a team, whatever the caller has set: room on the stack, the
 * rounding that results are defined with, the CPUs of its place. The caller gets its own back.
 */
#include "device/cpu/team.h"

#include <fenv.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { THREADS = 3, NEEDED = 1 << 20 };

static void run_placed(const struct vv_placement *placement, vv_team_body body, void *context) {
    struct vv_error error;
    struct vv_team *team = vv_team_new(placement, &error);
    assert_non_null(team);
    vv_team_run(team, body, context);
    vv_team_free(team);
}

static void run(vv_team_body body, void *context) {
    const struct vv_placement anywhere = {.threads = THREADS};
    run_placed(&anywhere, body, context);
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

/* ---- places ---- */

static void read_affinity(void *context, struct vv_team *team, unsigned thread) {
    (void)team;
    unsigned char(*sets)[VV_CPUS_MAX / 8] = context;
    assert_int_equal(sched_getaffinity(0, sizeof *sets, (cpu_set_t *)(void *)sets[thread]), 0);
}

/* On this machine, whatever it is: each thread may run on its zone's CPUs and on no other, and the
 * caller is afterwards where it was. */
static void threads_keep_to_their_places(void **state) {
    (void)state;
    enum { BYTES = VV_CPUS_MAX / 8 };
    struct vv_placement p;
    struct vv_error error;
    assert_int_equal(vv_place_here(VV_NUMA_SPREAD, 0, &p, &error), VV_OK);
    unsigned char before[BYTES] = {0}, after[BYTES] = {0};
    _Alignas(cpu_set_t) unsigned char(*sets)[BYTES] = calloc(p.threads, BYTES);
    sched_getaffinity(0, BYTES, (cpu_set_t *)(void *)before);
    run_placed(&p, read_affinity, sets);
    sched_getaffinity(0, BYTES, (cpu_set_t *)(void *)after);
    assert_memory_equal(before, after, BYTES);
    for (unsigned t = 0; t < p.threads; t++) {
        assert_memory_equal(sets[t], p.zones[p.zone_of[t]].cpus, BYTES);
    }
    free(sets);
    vv_placement_free(&p);
}

struct parts {
    size_t turn;
    struct vv_share of[4];
};

static void note_share(void *context, struct vv_team *team, unsigned thread) {
    struct parts *parts = context;
    parts->of[thread] = vv_team_share(team, thread, parts->turn);
}

/* Shares are by speed, lie one behind another without a gap, and begin with another thread at each
 * turn. The zones have every CPU, so that the system takes them on any machine. */
static void shares_go_by_speed(void **state) {
    (void)state;
    cpu_set_t *all = CPU_ALLOC(VV_CPUS_MAX);
    memset(all, 0xff, VV_CPUS_MAX / 8);
    struct vv_zone zones[] = {{all, 0, 1024, 2}, {all, 0, 400, 1}};
    unsigned zone_of[] = {0, 1, 0};
    const struct vv_placement p = {3, zones, 2, zone_of, 0};
    static const uint32_t before[4][3] = {
        {0, 1024, 1424}, {1024, 2048, 0}, {1424, 0, 400}, {0, 1024, 1424}};
    for (size_t turn = 0; turn < 4; turn++) {
        struct parts parts = {.turn = turn};
        run_placed(&p, note_share, &parts);
        for (unsigned t = 0; t < 3; t++) {
            assert_int_equal(parts.of[t].before, before[turn][t]);
            assert_int_equal(parts.of[t].own, zones[zone_of[t]].speed);
            assert_int_equal(parts.of[t].all, 2448);
        }
    }
    CPU_FREE(all);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_have_stack_for_kernels),
        cmocka_unit_test(a_callers_float_mode_is_ignored_and_kept),
        cmocka_unit_test(threads_keep_to_their_places),
        cmocka_unit_test(shares_go_by_speed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

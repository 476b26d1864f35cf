/*
 * Programs: barriers stand where a hazard is and nowhere else; a failure is told by its first step
 * whatever the threads; the mock device locks its memory.
 */
#include "device/device.h"
#include "op/gather_rows/contract.h"
#include "op/rms_norm/contract.h"
#include "program/program.h"

#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { ROWS = 4, WIDTH = 32 };

static struct vv_device *device(unsigned threads, bool mock) {
    struct vv_device *d;
    struct vv_error error;
    struct vv_cpu_options options = {.threads = threads, .features = UINT32_MAX};
    int code = mock ? vv_mock_device(&options, &d, &error) : vv_cpu_device(&options, &d, &error);
    assert_int_equal(code, VV_OK);
    return d;
}

static struct vv_program *program(struct vv_device *d) {
    struct vv_program *p;
    struct vv_error error;
    assert_int_equal(vv_program_new(d, ROWS, ROWS, &p, &error), VV_OK);
    return p;
}

static void copy(struct vv_program *p, const float *from, float *to, const char *what) {
    struct vv_gather_rows args = {.from = from,
                                  .to = to,
                                  .row_bytes = WIDTH * sizeof(float),
                                  .rows = {&vv_program_window(p)->rows, 1},
                                  .from_rows = {&vv_program_window(p)->rows, 1}};
    vv_program_add(p, &vv_gather_rows, &args, what);
}

static void finish(struct vv_program *p, bool all_barriers) {
    struct vv_error error;
    struct vv_program_options options = {.all_barriers = all_barriers};
    assert_int_equal(vv_program_finish(p, &options, NULL, &error), VV_OK);
}

static struct vv_program_step step(const struct vv_program *p, size_t index) {
    struct vv_program_step s;
    vv_program_step(p, index, &s);
    return s;
}

static void assert_order(const struct vv_program *p, size_t count, const char *const *what,
                         const bool *barrier) {
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(step(p, i).what, what[i]);
        assert_int_equal(step(p, i).barrier, barrier[i]);
    }
}

/* Read after write, write after read, write after write need one; two readers, or strangers, don't.
 * A step runs as early as it may. */
static void barriers_stand_where_hazards_are(void **state) {
    (void)state;
    struct vv_device *d = device(2, false);
    for (int all = 0; all < 2; all++) {
        static const char *const recorded[] = {"a", "another reader",     "a read after write",
                                               "b", "a write after read", "a write after write"};
        static const char *const sorted[] = {"a",
                                             "another reader",
                                             "b",
                                             "a read after write",
                                             "a write after read",
                                             "a write after write"};
        static const bool everywhere[] = {false, true, true, true, true, true};
        static const bool needed[] = {false, false, false, true, false, true};
        struct vv_program *p = program(d);
        float *m[6];
        for (int i = 0; i < 6; i++) {
            m[i] = vv_program_memory(p, ROWS * WIDTH * sizeof(float));
        }
        copy(p, m[0], m[1], recorded[0]);
        copy(p, m[0], m[2], recorded[1]);
        copy(p, m[1], m[3], recorded[2]);
        copy(p, m[4], m[5], recorded[3]);
        copy(p, m[0], m[4], recorded[4]);
        copy(p, m[2], m[4], recorded[5]);
        finish(p, all);
        assert_order(p, 6, all ? recorded : sorted, all ? everywhere : needed);
        if (!all) {
            assert_string_equal(step(p, 3).after, "a");
            assert_true(step(p, 3).reads && !step(p, 3).writes);
            assert_string_equal(step(p, 4).after, "b");
            assert_true(!step(p, 4).reads && step(p, 4).writes);
            assert_string_equal(step(p, 5).after, "a write after read");
            assert_true(!step(p, 5).reads && !step(p, 5).writes);
            assert_int_equal(step(p, 5).hazard_bytes, ROWS * WIDTH * sizeof(float));
        }
        vv_program_free(p);
    }
    d->calls->close(d);
}

/* Large steps without a hazard meet; what is small is left to one thread, and costs no barrier of
 * its own, while the window is small. */
static void small_steps_share_a_barrier(void **state) {
    (void)state;
    enum { LARGE = 40000 };
    struct vv_device *d = device(3, false);
    struct vv_program *p = program(d);
    struct vv_window *w = vv_program_window(p);
    float *m[6];
    for (int i = 0; i < 6; i++) {
        m[i] = vv_program_memory(p, ROWS * LARGE * sizeof(float));
    }
    static const struct {
        int from, to;
        size_t width;
        const char *what;
    } copies[] = {{0, 1, LARGE, "large"},
                  {1, 2, 8000, "small"},
                  {2, 3, 4, "smaller"},
                  {4, 5, LARGE, "another large"},
                  {3, 4, LARGE, "last"}};
    for (size_t i = 0; i < 5; i++) {
        struct vv_gather_rows args = {.from = m[copies[i].from],
                                      .to = m[copies[i].to],
                                      .row_bytes = copies[i].width * sizeof(float),
                                      .rows = {&w->rows, 1},
                                      .from_rows = {&w->rows, 1}};
        vv_program_add(p, &vv_gather_rows, &args, copies[i].what);
    }
    finish(p, false);
    for (int32_t rows = 1; rows <= ROWS; rows += ROWS - 1) {
        static const char *const order[] = {"large", "another large", "small", "smaller", "last"};
        bool few = rows == 1, barrier[] = {false, false, true, !few, !few};
        struct vv_error error;
        w->rows = rows;
        memset(m[3], 0, 16);
        m[0][2] = (float)rows;
        m[4][0] = 7;
        assert_int_equal(vv_program_run(p, &error), VV_OK);
        barrier[4] = false; /* "smaller" stays small */
        assert_order(p, 5, order, barrier);
        assert_int_equal(step(p, 2).alone, few);
        assert_true(step(p, 3).alone && !step(p, 4).alone);
        assert_true(m[4][2] == (float)rows && m[5][0] == 7);
    }
    vv_program_free(p);
    d->calls->close(d);
}

/* A profile counts runs, rows, bytes, and what each thread did when. */
static void a_profile_counts(void **state) {
    (void)state;
    enum { RUNS = 5, EVENTS = 8 };
    struct vv_device *d = device(2, true);
    struct vv_program *p = program(d);
    float *m[3];
    for (int i = 0; i < 3; i++) {
        m[i] = vv_program_memory(p, ROWS * WIDTH * sizeof(float));
    }
    copy(p, m[0], m[1], "first");
    copy(p, m[1], m[2], "second");
    struct vv_error error;
    struct vv_program_options options = {.profile = true, .events = EVENTS};
    assert_int_equal(vv_program_finish(p, &options, NULL, &error), VV_OK);
    for (int i = 0; i < RUNS; i++) {
        vv_program_window(p)->rows = ROWS - 1;
        assert_int_equal(vv_program_run(p, &error), VV_OK);
    }
    struct vv_program_totals totals;
    vv_program_totals(p, &totals);
    assert_int_equal(totals.runs, RUNS);
    assert_int_equal(totals.rows, RUNS * (ROWS - 1));
    assert_int_equal(totals.threads, 2);
    assert_true(totals.wall > 0 && totals.idle >= 0 && totals.barrier >= 0);
    double sum = totals.idle + totals.barrier;
    for (size_t i = 0; i < 2; i++) {
        sum += step(p, i).seconds;
        assert_int_equal(step(p, i).bytes, RUNS * 2 * (ROWS - 1) * WIDTH * sizeof(float));
        assert_true(step(p, i).seconds > 0 && step(p, i).seconds < totals.wall);
    }
    assert_true(fabs(sum - totals.wall) <= 1e-6 * totals.wall); /* all time is accounted for */
    for (unsigned t = 0; t < 2; t++) {
        const struct vv_program_event *events;
        size_t first, n = vv_program_events(p, t, &events, &first);
        assert_int_equal(n, EVENTS);
        for (size_t i = 1; i < n; i++) { /* a thread's time has no holes within a run */
            const struct vv_program_event *a = &events[(first + i - 1) % n];
            const struct vv_program_event *b = &events[(first + i) % n];
            assert_true(a->begin <= a->end && a->end <= b->begin);
            assert_true(a->step < 2 || a->step == VV_EVENT_WAIT);
        }
    }
    vv_program_free(p);
    d->calls->close(d);
}

/* The values that pass through a chain of steps, on devices of one to five threads. */
static void steps_see_what_earlier_ones_wrote(void **state) {
    (void)state;
    for (unsigned threads = 1; threads <= 5; threads++) {
        for (int mock = 0; mock < 2; mock++) {
            struct vv_device *d = device(threads, mock);
            struct vv_program *p = program(d);
            struct vv_error error;
            float in[ROWS * WIDTH], out[ROWS * WIDTH];
            float *m[40];
            for (size_t i = 0; i < ROWS * WIDTH; i++) {
                in[i] = (float)i;
            }
            for (int i = 0; i < 40; i++) {
                m[i] = vv_program_memory(p, sizeof in);
            }
            for (int i = 1; i < 40; i++) {
                copy(p, m[i - 1], m[i], "link");
            }
            finish(p, false);
            d->calls->write(d, m[0], in, sizeof in);
            for (int again = 0; again < 50; again++) {
                assert_int_equal(vv_program_run(p, &error), VV_OK);
            }
            d->calls->read(d, out, m[39], sizeof out);
            assert_memory_equal(in, out, sizeof in);
            vv_program_free(p);
            d->calls->close(d);
        }
    }
}

/* Two steps fail in one run: the message names the earlier, and later phases don't run. */
static void the_first_failure_is_told(void **state) {
    (void)state;
    for (unsigned threads = 1; threads <= 4; threads++) {
        struct vv_device *d = device(threads, false);
        struct vv_program *p = program(d);
        struct vv_error error;
        float *x = vv_program_memory(p, ROWS * WIDTH * sizeof(float));
        float *y = vv_program_memory(p, ROWS * WIDTH * sizeof(float));
        float *weight = vv_program_memory(p, WIDTH * sizeof(float));
        float *after = vv_program_memory(p, ROWS * WIDTH * sizeof(float));
        for (int i = 0; i < 2; i++) {
            struct vv_rms_norm args = {.x = x,
                                       .weight = weight,
                                       .y = y,
                                       .rows = {&vv_program_window(p)->rows, 1},
                                       .groups = 1,
                                       .width = WIDTH,
                                       .x_row = WIDTH,
                                       .y_row = WIDTH,
                                       .eps = 1e-6f};
            vv_program_add(p, &vv_rms_norm, &args, i ? "blk.8.second" : "blk.7.first");
        }
        copy(p, y, after, "later");
        finish(p, false);
        x[ROWS * WIDTH - 1] = INFINITY;
        after[0] = 3;
        assert_int_equal(vv_program_run(p, &error), VV_ERROR_NOT_FINITE);
        assert_non_null(strstr(error.message, "blk.7.first"));
        assert_true(after[0] == 3);
        x[ROWS * WIDTH - 1] = 1; /* and the next run is none the worse */
        assert_int_equal(vv_program_run(p, &error), VV_OK);
        vv_program_free(p);
        d->calls->close(d);
    }
}

/* In a child: touching the mock's memory from outside must kill it. */
static void mock_memory_is_locked(void **state) {
    (void)state;
    struct vv_device *d = device(2, true);
    volatile float *at = d->calls->allocate(d, 4096);
    pid_t child = fork();
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL);
        at[0] = 1;
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    /* A sanitizer turns the signal into an exit code of its own. */
    assert_false(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    d->calls->close(d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(barriers_stand_where_hazards_are),
        cmocka_unit_test(small_steps_share_a_barrier),
        cmocka_unit_test(a_profile_counts),
        cmocka_unit_test(steps_see_what_earlier_ones_wrote),
        cmocka_unit_test(the_first_failure_is_told),
        cmocka_unit_test(mock_memory_is_locked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

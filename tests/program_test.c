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
    struct vv_cpu_options options = {threads, UINT32_MAX};
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
    struct vv_program_options options = {all_barriers, false};
    assert_int_equal(vv_program_finish(p, &options, NULL, &error), VV_OK);
}

static bool barrier(const struct vv_program *p, size_t step) {
    struct vv_program_step s;
    vv_program_step(p, step, &s);
    return s.barrier;
}

/* Read after write, write after read, write after write need one; two readers, or strangers, don't.
 */
static void barriers_stand_where_hazards_are(void **state) {
    (void)state;
    for (int all = 0; all < 2; all++) {
        struct vv_device *d = device(2, false);
        struct vv_program *p = program(d);
        float *m[6];
        for (int i = 0; i < 6; i++) {
            m[i] = vv_program_memory(p, ROWS * WIDTH * sizeof(float));
        }
        copy(p, m[0], m[1], "first");
        copy(p, m[0], m[2], "another reader of the same");
        copy(p, m[1], m[3], "read after write");
        copy(p, m[4], m[5], "a stranger");
        copy(p, m[0], m[4], "write after read");
        copy(p, m[2], m[4], "write after write");
        finish(p, all);
        static const bool want[] = {false, false, true, false, true, true};
        for (size_t i = 0; i < 6; i++) {
            assert_int_equal(barrier(p, i), i > 0 && (all || want[i]));
        }
        vv_program_free(p);
        d->calls->close(d);
    }
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
        cmocka_unit_test(steps_see_what_earlier_ones_wrote),
        cmocka_unit_test(the_first_failure_is_told),
        cmocka_unit_test(mock_memory_is_locked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

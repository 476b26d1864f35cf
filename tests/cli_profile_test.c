/* `--profile` and its files (case C196). */
#include "support/command.h"
#include "support/folder.h"

#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define MICRO VARVE_SOURCE_DIR "/tests/data/qwen4exp/micro.f32.gguf"
#define RUN "run", "-m", MICRO, "--raw", "-n", "4", "--temperature", "0", "--threads", "2"

static json_t *read_json(const char *path) {
    json_error_t error;
    json_t *value = json_load_file(path, 0, &error);
    assert_non_null(value);
    return value;
}

static double number(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    assert_true(json_is_number(value));
    return json_number_value(value);
}

static void c196_the_table_adds_up_and_names_every_barrier(void **state) {
    (void)state;
    struct command_result r = varve(RUN, "--profile", "--barriers", "needed", "One");
    assert_int_equal(r.code, 0);
    static const char *const words[] = {
        "2 threads",  "GB/s",       "gdn_step",  "(idle)",     "(barriers)",
        "(all)",      "of it",      "(looking)", "without it", "blk.0: threads meet",
        "reads what", "one thread:"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        assert_non_null(strstr(r.err, words[i]));
    }
    command_free(&r);
    r = varve(RUN, "--profile", "--barriers", "all", "One");
    assert_non_null(strstr(r.err, "threads meet"));
    assert_null(strstr(r.err, "one thread:"));
    command_free(&r);
}

/* Steps, classes, barriers and idling are the whole time; every barrier has its hazard. */
static void adds_up(const char *path) {
    json_t *profile = read_json(path), *item;
    double rest = number(profile, "idle_seconds") + number(profile, "barrier_seconds");
    double wall = number(profile, "wall_seconds"), classes = rest, steps = rest, bytes = 0;
    size_t i, barriers = 0;
    json_array_foreach(json_object_get(profile, "classes"), i, item) {
        classes += number(item, "seconds");
        bytes += number(item, "bytes");
    }
    json_array_foreach(json_object_get(profile, "steps"), i, item) {
        const json_t *hazard = json_object_get(item, "hazard");
        steps += number(item, "seconds");
        bytes -= number(item, "bytes");
        barriers += json_is_true(json_object_get(item, "barrier"));
        assert_int_equal(json_is_true(json_object_get(item, "barrier")), hazard != NULL);
        assert_true(!hazard || (json_is_string(json_object_get(hazard, "after")) &&
                                number(hazard, "bytes") > 0));
    }
    assert_true(wall > 0 && barriers > 0 && fabs(bytes) < 0.5);
    assert_true(fabs(classes - wall) < 0.03 * wall && fabs(steps - wall) < 0.03 * wall);
    assert_int_equal(number(profile, "threads"), 2);
    double looking = number(profile, "looking_seconds");
    assert_true(looking > 0 && looking < wall);
    json_decref(profile);
}

/* Twice the steps are looked at twice as often; what that costs is told, and what is left. */
static void c196_what_profiling_costs_is_told(void **state) {
    (void)state;
    double looking[2];
    for (int i = 0; i < 2; i++) {
        struct command_result r =
            varve(RUN, "--profile", "--barriers", i ? "all" : "needed", "One");
        const char *line = strstr(r.err, "(looking)"), *left = strstr(r.err, "without it ");
        const char *all = strstr(r.err, "(all)");
        double wall, without;
        assert_true(line && left && all);
        assert_int_equal(sscanf(line, "(looking) %lf", &looking[i]), 1);
        assert_int_equal(sscanf(left, "without it %lf", &without), 1);
        assert_int_equal(sscanf(all, "(all) %lf", &wall), 1);
        assert_true(fabs(wall - looking[i] - without) < 0.01);
        command_free(&r);
    }
    assert_true(looking[0] > 0 && looking[1] > looking[0]);
}

static void c196_json_adds_up(void **state) {
    (void)state;
    const char *path = temporary_file(&folder, "profile.json");
    struct command_result r = varve(RUN, "--profile-json", path, "One");
    assert_int_equal(r.code, 0);
    assert_null(strstr(r.err, "(idle)")); /* the table was not asked for */
    command_free(&r);
    adds_up(path);
}

static void c196_a_measurements_profile_adds_up(void **state) {
    (void)state;
    const char *path = temporary_file(&folder, "bench.json");
    struct command_result r =
        varve("bench", "model", "-m", MICRO, "-t", "2", "--prompt", "20", "--depth", "0", "--rows",
              "1,4", "--gen", "3", "--rounds", "2", "--profile", "--profile-json", path);
    assert_int_equal(r.code, 0);
    assert_non_null(strstr(r.err, "(idle)"));
    assert_non_null(strstr(r.out, "prompt 20"));
    command_free(&r);
    adds_up(path);
    r = varve("bench", "gemv", "--profile");
    assert_int_equal(r.code, 2);
    assert_non_null(strstr(r.err, "varve bench model"));
    command_free(&r);
}

static void the_trace_is_a_list_of_events(void **state) {
    (void)state;
    const char *path = temporary_file(&folder, "trace.json");
    struct command_result r = varve(RUN, "--profile-trace", path, "One");
    assert_int_equal(r.code, 0);
    command_free(&r);
    json_t *trace = read_json(path), *event;
    size_t i, steps[2] = {0}, waits[2] = {0};
    json_array_foreach(json_object_get(trace, "traceEvents"), i, event) {
        const char *phase = json_string_value(json_object_get(event, "ph"));
        int thread = (int)number(event, "tid");
        assert_true(thread == 0 || thread == 1);
        if (strcmp(phase, "X") == 0) {
            bool wait = !strcmp(json_string_value(json_object_get(event, "name")), "wait");
            assert_true(number(event, "dur") >= 0 && number(event, "ts") >= -1e6);
            (wait ? waits : steps)[thread]++;
        }
    }
    assert_true(steps[0] > 100 && steps[1] > 0 && waits[0] > 10 && waits[0] == waits[1]);
    json_decref(trace);
}

static void a_file_that_cannot_be_written_is_told(void **state) {
    (void)state;
    struct command_result r = varve(RUN, "--profile-json", "/nowhere/profile.json", "One");
    assert_int_equal(r.code, 1);
    assert_non_null(strstr(r.err, "/nowhere/profile.json"));
    command_free(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(c196_the_table_adds_up_and_names_every_barrier),
        cmocka_unit_test(c196_what_profiling_costs_is_told),
        cmocka_unit_test(c196_json_adds_up),
        cmocka_unit_test(c196_a_measurements_profile_adds_up),
        cmocka_unit_test(the_trace_is_a_list_of_events),
        cmocka_unit_test(a_file_that_cannot_be_written_is_told),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

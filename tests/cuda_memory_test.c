/*
 * Memory of the emulated GPU that runs out, at each call that takes some (with sanitizers a
 * sample), and kernels that it refuses to launch: that ends in a sentence, what was asked for works
 * when it is asked for again, and a session that is opened later knows nothing of it. Cases C120
 * and C124 of docs/cases.md.
 */
#include "registry/operation.h"
#include "support/opened.h"
#include "tune/check.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* Sets a countdown of the module; returns what is left of the last one. */
typedef uint64_t control(uint64_t countdown);

static control *find_control(const char *name) {
    control *found;
    void *module = dlopen(VARVE_EMULATED_MODULE, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(module);
    void *symbol = dlsym(module, name);
    assert_non_null(symbol);
    memcpy(&found, &symbol, sizeof found);
    return found;
}

/* One call that may fail; the same call again then works, as only one fails. */
static int twice(struct varve_session *s, enum varve_mode mode, struct varve_error *error) {
    const struct varve_row rows[2] = {{0, 1, true}, {0, 2, true}};
    struct varve_error again = {0};
    int code = varve_session_evaluate(s, rows, 2, mode, NULL, NULL, error);
    if (code != VARVE_OK &&
        varve_session_evaluate(s, rows, 2, mode, NULL, NULL, &again) != VARVE_OK) {
        fail_msg("after \"%s\": %s", error->message, again.message);
    }
    return code;
}

/* A session that verifies, commits, reads and drafts; the second window of one count is recorded.
 */
static int whole_session(const struct opened *o, struct varve_error *error) {
    struct varve_session_options options = {.context = 96,
                                            .window = 4,
                                            .threads = 1,
                                            .mtp = true,
                                            .device = VARVE_DEVICE_CUDA_EMULATED};
    struct varve_session *s = NULL;
    int32_t drafts[2];
    int code = varve_session_open(o->model, &options, &s, error);
    code = code ? code : twice(s, VARVE_VERIFY, error);
    code = code ? code : varve_session_commit(s, 0, 1, error);
    code = code ? code : twice(s, VARVE_ADVANCE, error);
    code = code ? code : varve_session_draft(s, 0, 1, 2, drafts, NULL, error);
    varve_session_close(s);
    return code;
}

static void c120_out_of_memory_ends_in_a_sentence(void **state) {
    (void)state;
    struct opened o = open_model("qwen4exp/micro.f32.gguf");
    size_t failures = 0;
    control *fail_at = find_control("vv_emulated_fail");
    for (uint64_t n = 1, left = 0; left == 0; n += VARVE_FAIL_EVERY) {
        struct varve_error error = {0};
        fail_at(n);
        int code = whole_session(&o, &error);
        left = fail_at(0);
        failures += code != VARVE_OK;
        if (code != VARVE_OK && (code != VARVE_ERROR_MEMORY || left > 0)) {
            fail_msg("call %d: %d, %s", (int)n, code, error.message);
        }
        assert_true(code == VARVE_OK || strstr(error.message, "memory"));
    }
    assert_true(failures > 200 / VARVE_FAIL_EVERY);
    close_model(&o);
}

/* A launch in twenty or so: there are hundreds. */
static void c120_c124_a_refused_launch_ends_in_a_sentence(void **state) {
    (void)state;
    struct opened o = open_model("qwen4exp/micro.f32.gguf");
    size_t failures = 0;
    control *refuse_at = find_control("vv_emulated_refuse");
    for (uint64_t n = 1, left = 0; left == 0; n += 5 * VARVE_FAIL_EVERY + 3) {
        struct varve_error error = {0};
        refuse_at(n);
        int code = whole_session(&o, &error);
        left = refuse_at(0);
        failures += code != VARVE_OK;
        if (left == 0 && (code != VARVE_ERROR_DEVICE || !strstr(error.message, "refuses to run"))) {
            fail_msg("launch %d: %d, %s", (int)n, code, error.message);
        }
    }
    assert_true(failures > 40 / VARVE_FAIL_EVERY);
    close_model(&o);
}

static int launch_nothing(const void *args, const struct vv_launch *on) {
    (void)args;
    (void)on;
    return VV_OK;
}

static void keep_first(void *context, const char *line) {
    char *first = context;
    if (!*first) {
        snprintf(first, 200, "%s", line);
    }
}

/* A launch that the driver drops without a word leaves what the check put there before, so a
 * variant that launches nothing fails. The process has that variant from here on: no test comes
 * after this one. */
static void c124_a_dropped_launch_fails_the_check(void **state) {
    (void)state;
    static const struct vv_variant dropped[] = {
        {.name = "rms_norm/dropped", .needs = VV_CUDA_ANY, .exact = true, .launch = launch_nothing},
        {0}};
    static const struct vv_more_variants more[] = {{"rms_norm", dropped}, {0}};
    char first[200] = "";
    size_t passed, failed;
    struct vv_error error;
    struct vv_check_options options = {.folder = "rms_norm",
                                       .variant = "rms_norm/",
                                       .seed = 1,
                                       .quick = true,
                                       .device = VV_DEVICE_CUDA_EMULATED,
                                       .failure = keep_first,
                                       .context = first};
    assert_int_equal(vv_check_run(&options, &passed, &failed, &error), VV_OK);
    assert_true(passed > 0);
    assert_int_equal(failed, 0);
    vv_add_variants(more);
    options.variant = "rms_norm/dropped";
    assert_int_equal(vv_check_run(&options, &passed, &failed, &error), VV_OK);
    assert_true(failed > 10);
    assert_non_null(strstr(first, "rms_norm/dropped"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(c120_out_of_memory_ends_in_a_sentence),
        cmocka_unit_test(c120_c124_a_refused_launch_ends_in_a_sentence),
        cmocka_unit_test(c124_a_dropped_launch_fails_the_check),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

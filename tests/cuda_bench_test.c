/* Measurements on a device that launches kernels, here the emulated one: what they need of it
 * works. How long anything takes is of no interest. */
#include "model/model.h"
#include "support/command.h"
#include "support/opened.h"
#include "tune/steps.h"

#include <stdlib.h>
#include <string.h>

#define MODEL VARVE_SOURCE_DIR "/tests/data/qwen4exp/micro.f32.gguf"

static void every_kind_of_format_has_a_roof(void **state) {
    (void)state;
    static const struct varve_session_options cpu = {0},
                                              gpu = {.device = VARVE_DEVICE_CUDA_EMULATED};
    struct varve_roof roofs[VARVE_ROOFS];
    struct varve_error error;
    double seconds;
    assert_int_equal(varve_measure_roofs(&gpu, roofs, &error), VARVE_OK);
    for (size_t i = 0; i < VARVE_ROOFS; i++) {
        assert_true(roofs[i].rate > 0 && roofs[i].form && roofs[i].kind);
    }
    assert_int_equal(varve_measure_roofs(&cpu, roofs, &error), VARVE_ERROR_UNSUPPORTED);
    assert_int_equal(varve_measure_bf16(&gpu, 64, 64, 64, &seconds, &error),
                     VARVE_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "libcublas"));
}

/* Of the steps of a model: every variant that tune may take is timed, and the window can be run
 * again after it. */
static void every_candidate_is_timed(void **state) {
    (void)state;
    const struct vv_session_options options = {.slots = 1,
                                               .device = VV_DEVICE_CUDA_EMULATED,
                                               .features = UINT32_MAX,
                                               .kv_type = VV_TYPE_F16,
                                               .index_score = VV_INDEX_FLOAT};
    struct vv_gguf *file;
    struct vv_error error;
    struct vv_steps steps = {0};
    void *geometry;
    assert_int_equal(vv_gguf_open(MODEL, NULL, &file, &error), VV_OK);
    const struct vv_family *family = vv_family_of(file, &error);
    assert_int_equal(family->open(file, &geometry, &error), VV_OK);
    if (vv_steps_open(file, family, geometry, &options, 4, &steps, &error) != VV_OK ||
        vv_steps_fill(&steps, 2, 1, &error) != VV_OK) {
        fail_msg("%s", error.message);
    }
    size_t timed = 0, more = 0;
    for (size_t i = 0; i < steps.count; i++) {
        const struct vv_step_group *g = &steps.groups[i];
        const struct vv_variant *v;
        for (size_t k = 0, of_group = 0; (v = vv_variant_at(g->operation, k)) != NULL; k++) {
            if (vv_interchangeable(v, g->rule, g->args[0], steps.features)) {
                assert_true(vv_steps_seconds(&steps, g, v, 1) > 0);
                timed++;
                more += of_group++ > 0;
            }
        }
    }
    assert_int_equal(steps.failure.code, VV_OK);
    assert_true(timed > 20 && more > 5);
    assert_int_equal(vv_steps_fill(&steps, 3, 1, &error), VV_OK);
    vv_steps_close(&steps);
    family->close(geometry);
    vv_gguf_close(file);
}

static void assert_tells(struct command_result r, const char *const *words) {
    assert_int_equal(r.code, 0);
    for (size_t i = 0; words[i]; i++) {
        if (!strstr(r.out, words[i]) && !strstr(r.err, words[i])) {
            fail_msg("\"%s\" is not in: %s%s", words[i], r.out, r.err);
        }
    }
    command_free(&r);
}

static void commands_measure_there_too(void **state) {
    (void)state;
    assert_tells(varve("bench", "model", "-m", MODEL, "--device", "cuda-emulated", "--prompt",
                       "none", "--depth", "0", "--rows", "1", "--gen", "1", "--rounds", "1",
                       "--batch", "2", "--window", "2", "--profile"),
                 WORDS("window 1", "batch 2", "% of what it takes", "hyper_down"));
    assert_tells(varve("ab", "-m", MODEL, "--device", "cuda-emulated", "--b", "--graphs off",
                       "--prompt", "2", "--gen", "1", "--rounds", "1"),
                 WORDS("all tokens were equal"));
    assert_tells(varve("run", "-m", VARVE_SOURCE_DIR "/models/varve-tiny.gguf", "--raw", "--device",
                       "cuda-emulated", "-n", "1", "--profile", "a"),
                 WORDS("hyper_down", "% of it", "read at"));
    assert_tells(varve("bench", "hyper_read", "--geometry", MODEL, "--device", "cuda-emulated",
                       "--rows", "1", "--rounds", "1"),
                 WORDS("hyper_down/cuda", "of read"));
}

/* The same tables as of the CPU: a line for each number of rows, with its multiple of one row's. */
static void tables_by_rows(void **state) {
    (void)state;
    static const struct {
        const char *table, *option;
        const char *lines[6];
    } tables[] = {
        {"hyper_read", "--tiles", {"hyper_down/cuda", "hyper_up/cuda", "all steps, as a program"}},
        {"gdn", "--modes", {"advance", "verify", "commit"}},
        {"gemv_cat", NULL, {"together", "apart"}},
    };
    for (size_t i = 0; i < 3; i++) {
        struct command_result r =
            tables[i].option
                ? varve("bench", tables[i].table, "--device", "cuda-emulated", "--shape",
                        "varve-tiny", "--rows", "1,2", "--rounds", "1", "--json", tables[i].option)
                : varve("bench", tables[i].table, "--device", "cuda-emulated", "--shape",
                        "varve-tiny", "--rows", "1,2", "--rounds", "1", "--json");
        if (r.code != 0) {
            fail_msg("%s: %s", tables[i].table, r.err);
        }
        size_t found[6][3] = {0};
        for (const char *at = r.out; *at; at = strchr(at, '\n') + 1) {
            const char *rows = strstr(at, "\"rows\":");
            assert_true(rows && strstr(rows, "\"ratio\":"));
            size_t n = strtoul(rows + 7, NULL, 10);
            assert_true(n == 1 || n == 2);
            for (size_t k = 0; k < 6 && tables[i].lines[k]; k++) {
                const char *name = strstr(at, tables[i].lines[k]);
                found[k][n] += name && name < rows;
            }
        }
        for (size_t k = 0; k < 6 && tables[i].lines[k]; k++) {
            if (found[k][1] == 0 || found[k][1] != found[k][2]) {
                fail_msg("%s: %zu and %zu lines of %s", tables[i].table, found[k][1], found[k][2],
                         tables[i].lines[k]);
            }
        }
        command_free(&r);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_format_has_a_roof),
        cmocka_unit_test(every_candidate_is_timed),
        cmocka_unit_test(commands_measure_there_too),
        cmocka_unit_test(tables_by_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

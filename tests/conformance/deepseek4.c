/*
 * Every fixture of FIXTURES/deepseek4 within the tolerances of its README: conformance_deepseek4
 * FIXTURES. Floats alone, plain and with rounded caches, in one window and in several; integers as
 * activations of quantised files; caches in halves.
 */
#include "support/deepseek4_golden.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct deepseek4_limits plain = {1e-3, 1e-4, 1e-6, true, NULL};
static const struct deepseek4_limits heads = {5e-4, 5e-5, 1e-6, true, NULL};
static const struct deepseek4_limits rounded = {0.1, 1e-2, 1e-3, false, NULL};
static const struct deepseek4_limits integers = {INFINITY, 0.4, 0.05, false,
                                                 "len64 len300 same150"};
static const struct deepseek4_limits halves = {INFINITY, 3e-2, INFINITY, false, NULL};

static const struct fixture {
    const char *model, *golden;
    const struct deepseek4_limits *limits;
    bool rounded_cache, int8, halves;
} fixtures[] = {
    {"micro", "micro", &plain, false, false, false},
    {"odd", "odd", &plain, false, false, false},
    {"mtp", "mtp", &plain, false, false, false},
    {"heads", "heads", &heads, false, false, false},
    {"heads-q8_0", "heads-q8_0", &heads, false, false, false},
    {"heads-mxfp4", "heads-mxfp4", &heads, false, false, false},
    {"headsk-mixed", "headsk-mixed", &heads, false, false, false},
    {"micro", "micro.sim", &rounded, true, false, false},
    {"heads", "heads.sim", &rounded, true, false, false},
    {"heads-q8_0", "heads-q8_0", &integers, false, true, false},
    {"heads-mxfp4", "heads-mxfp4", &integers, false, true, false},
    {"headsk-mixed", "headsk-mixed", &integers, false, true, false},
    {"micro", "micro", &halves, false, false, true},
    {"heads", "heads", &halves, false, false, true},
};

int main(int argc, char **argv) {
    static const uint32_t windows[] = {0, 37};
    struct golden g = {0};
    if (argc != 2) {
        fprintf(stderr, "usage: %s FIXTURES\n", argv[0]);
        return 2;
    }
    for (size_t i = 0; i < sizeof fixtures / sizeof *fixtures; i++) {
        const struct fixture *f = &fixtures[i];
        char model[4096], golden[4096], what[120];
        snprintf(model, sizeof model, "%s/deepseek4/%s.gguf", argv[1], f->model);
        snprintf(golden, sizeof golden, "%s/deepseek4/%s.golden.gguf", argv[1], f->golden);
        for (size_t w = 0; w < 2; w++) {
            struct varve_session_options options = {.window = windows[w],
                                                    .threads = 1 + (uint32_t)w,
                                                    .kv_f16 = f->halves,
                                                    .exact_cache = !f->rounded_cache,
                                                    .float_activations = !f->int8};
            snprintf(what, sizeof what, "%s%s%s%s", f->model, f->rounded_cache ? ", rounded" : "",
                     f->int8 ? ", int8" : "", f->halves ? ", halves" : "");
            deepseek4_golden_run(&g, model, golden, &options, f->limits, what);
        }
    }
    printf("deepseek4: %zu passed, %zu failed\n", g.passed, g.failed);
    return g.failed > 0;
}

/* Outputs and rows that fill no tile of any kernel: what lies behind an output survives. The
 * harness of the checks compares all bytes of a buffer and ends it at a guard page. */
#include "gguf/types.h"
#include "op/gemv/contract.h"
#include "op/quantize_rows/check_planes.h"
#include "registry/check_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

enum { WIDTH = 256, TWO_TILES = 32, GAP = 3 /* floats behind each row of outputs */ };

static void say(void *context, const char *line) {
    (void)context;
    fprintf(stderr, "%s\n", line);
}

static void product(struct vv_check *check, int type, size_t outputs, int32_t rows) {
    struct vv_gemv a = {.weight = vv_check_weight(check, type, WIDTH, outputs, 1),
                        .y_row = outputs + GAP,
                        .rows = {&rows, 1}};
    unsigned planes = type == VV_TYPE_F16 ? 0 : VV_PLANES_COARSE | VV_PLANES_FINE;
    const float *x = vv_check_normals(check, (size_t)rows * WIDTH);
    a.x = vv_check_planes(check, x, (size_t)rows, WIDTH, planes);
    a.y = vv_check_floats(check, (size_t)rows * a.y_row);
    vv_check_variants(check, &vv_gemv, &a, "type %d, %zu outputs, %d rows", type, outputs, rows);
    vv_check_reset(check);
}

static void c106_nothing_is_written_behind_outputs(void **state) {
    static const int types[] = {VV_TYPE_F16, VV_TYPE_Q8_0, VV_TYPE_Q4_K};
    struct vv_check check = {.folder = "gemv", .seed = 106, .state = 106, .report = say};
    (void)state;
    if (setjmp(check.out_of_memory)) {
        fail_msg("no memory");
    }
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        for (int32_t n = 1; n <= TWO_TILES + 1; n++) {
            product(&check, types[t], (size_t)n, 1 + n % 3);
            product(&check, types[t], 17, n);
        }
    }
    assert_int_equal(check.failed, 0);
    assert_true(check.passed >= 3 * 2 * (TWO_TILES + 1));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(c106_nothing_is_written_behind_outputs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

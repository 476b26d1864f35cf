/* The arithmetic contract's goldens. */
#include "support/arithmetic_golden.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static void results_are_the_contracts(void **state) {
    (void)state;
    struct golden g = {0};
    arithmetic_golden_run(&g, "tests/data/arithmetic");
    assert_int_equal(g.failed, 0);
    assert_true(g.passed > 10000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_are_the_contracts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

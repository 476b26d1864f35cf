/* Figures of repeated measurements, against ones worked out by hand or by another method. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tune/series.h"

#include <math.h>

static void quartiles_lie_between_samples(void **state) {
    (void)state;
    struct vv_series s = vv_series_of((const double[]){4, 1, 3, 2}, 4);
    assert_true(s.least == 1 && s.most == 4 && s.median == 2.5);
    assert_true(s.low == 1.75 && s.high == 3.25);
    s = vv_series_of((const double[]){9, 7, 8}, 3);
    assert_true(s.median == 8 && s.low == 7.5 && s.high == 8.5);
    s = vv_series_of((const double[]){6}, 1);
    assert_true(s.least == 6 && s.low == 6 && s.median == 6 && s.high == 6 && s.most == 6);
}

/* All ways to swap pairs from `at` on, by recursion. */
static size_t count_far(const double *a, const double *b, size_t pairs, size_t at, double sum,
                        double seen) {
    if (at == pairs) {
        return fabs(sum) >= seen - 1e-12;
    }
    double d = a[at] - b[at];
    return count_far(a, b, pairs, at + 1, sum + d, seen) +
           count_far(a, b, pairs, at + 1, sum - d, seen);
}

static void p_values_by_hand(void **state) {
    (void)state;
    /* Differences -1 -1 -2: all of one sign only in 2 of 8 ways. */
    assert_true(vv_permutation_p((const double[]){1, 2, 3}, (const double[]){2, 3, 5}, 3) == 0.25);
    /* 1 -1: any way is at least as far apart as 0. */
    assert_true(vv_permutation_p((const double[]){2, 1}, (const double[]){1, 2}, 2) == 1);
    assert_true(vv_permutation_p((const double[]){5}, (const double[]){3}, 1) == 1);
    assert_true(vv_permutation_p((const double[]){1, 1}, (const double[]){1, 1}, 2) == 1);
    /* 3 3 -1: as far as 5 are +++ 7, ++- 5 and their opposites. */
    assert_true(vv_permutation_p((const double[]){3, 3, 0}, (const double[]){0, 0, 1}, 3) == 0.5);
}

static void p_values_as_counted_by_recursion(void **state) {
    (void)state;
    enum { PAIRS = 12 };
    double a[PAIRS], b[PAIRS], sum = 0;
    for (size_t pairs = 1; pairs <= PAIRS; pairs++) {
        sum = 0;
        for (size_t i = 0; i < pairs; i++) {
            a[i] = 10 + 0.1 * (double)(i * 7 % 5);
            b[i] = 10.05 + 0.1 * (double)(i * 3 % 4);
            sum += a[i] - b[i];
        }
        double far = (double)count_far(a, b, pairs, 0, 0, fabs(sum));
        assert_true(vv_permutation_p(a, b, pairs) == far / (double)((size_t)1 << pairs));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quartiles_lie_between_samples),
        cmocka_unit_test(p_values_by_hand),
        cmocka_unit_test(p_values_as_counted_by_recursion),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

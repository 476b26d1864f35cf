/* Properties of base/math.h and base/half.h that need no golden data. */
#include "base/dot.h"
#include "base/half.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void exp_of_zero_is_one(void **state) {
    (void)state;
    assert_true(vv_bits(vv_exp(0.0f)) == vv_bits(1.0f));
    assert_true(vv_bits(vv_exp(-0.0f)) == vv_bits(1.0f));
    assert_true(isinf(vv_exp(89.0f)) && vv_exp(-105.0f) == 0.0f && isnan(vv_exp(NAN)));
}

/* Every half that is not a NaN survives the way to float and back. */
static void halves_round_trip(void **state) {
    (void)state;
    for (uint32_t h = 0; h < 0x10000; h++) {
        if ((h & 0x7c00) != 0x7c00 || (h & 0x3ff) == 0) {
            assert_int_equal(vv_to_f16(vv_from_f16((uint16_t)h)), h);
        }
        if ((h & 0x7f80) != 0x7f80 || (h & 0x7f) == 0) {
            assert_int_equal(vv_to_bf16(vv_from_bf16((uint16_t)h)), h);
        }
    }
    assert_true(isnan(vv_from_f16(0x7e00)) && isnan(vv_from_f16(vv_to_f16(NAN))));
}

/* Halfway cases go to the even neighbour, in the normal and in the denormal range. */
static void narrowing_ties_to_even(void **state) {
    (void)state;
    assert_int_equal(vv_to_f16(1.0f + 0x1p-11f), 0x3c00);
    assert_int_equal(vv_to_f16(1.0f + 3 * 0x1p-11f), 0x3c02);
    assert_int_equal(vv_to_f16(0x1p-25f), 0x0000);
    assert_int_equal(vv_to_f16(3 * 0x1p-25f), 0x0002);
    assert_int_equal(vv_to_f16(65519.996f), 0x7bff);
    assert_int_equal(vv_to_f16(65520.0f), 0x7c00);
    assert_int_equal(vv_to_bf16(1.0f + 0x1p-8f), 0x3f80);
    assert_int_equal(vv_to_bf16(1.0f + 3 * 0x1p-8f), 0x3f82);
}

static void selection_keys_order_by_score_then_index(void **state) {
    (void)state;
    assert_true(vv_selection_key(1.0f, 5) > vv_selection_key(0.5f, 0));
    assert_true(vv_selection_key(-1.0f, 0) < vv_selection_key(-0.5f, 9));
    assert_true(vv_selection_key(0.0f, 1) > vv_selection_key(-0.0f, 2));
    assert_true(vv_selection_key(-0.0f, 1) > vv_selection_key(0.0f, 2));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exp_of_zero_is_one),
        cmocka_unit_test(halves_round_trip),
        cmocka_unit_test(narrowing_ties_to_even),
        cmocka_unit_test(selection_keys_order_by_score_then_index),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

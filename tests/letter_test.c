/* Case and kind of characters, by the Unicode Character Database. */
#include "text/letter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void assert_becomes(enum vv_case wanted, uint32_t from, size_t count, uint32_t a, uint32_t b,
                           uint32_t c) {
    uint32_t out[3] = {0, 0, 0};
    assert_int_equal(vv_to_case(wanted, from, out), count);
    assert_int_equal(out[0], a);
    assert_true(count < 2 || out[1] == b);
    assert_true(count < 3 || out[2] == c);
}

static void letters_change_case(void **state) {
    (void)state;
    assert_becomes(VV_UPPER, 'a', 1, 'A', 0, 0);
    assert_becomes(VV_LOWER, 'Z', 1, 'z', 0, 0);
    assert_becomes(VV_TITLE, 'm', 1, 'M', 0, 0);
    assert_becomes(VV_UPPER, '[', 1, '[', 0, 0);
    assert_becomes(VV_LOWER, '@', 1, '@', 0, 0);
    assert_becomes(VV_UPPER, 0xe9, 1, 0xc9, 0, 0);   /* é */
    assert_becomes(VV_UPPER, 0x101, 1, 0x100, 0, 0); /* a run in steps of two */
    assert_becomes(VV_UPPER, 0x100, 1, 0x100, 0, 0);
    assert_becomes(VV_LOWER, 0x416, 1, 0x436, 0, 0);     /* Ж */
    assert_becomes(VV_UPPER, 0x10428, 1, 0x10400, 0, 0); /* Deseret */
    assert_becomes(VV_UPPER, 0x65e5, 1, 0x65e5, 0, 0);   /* 日 has none */
}

static void one_letter_may_become_several(void **state) {
    (void)state;
    assert_becomes(VV_UPPER, 0xdf, 2, 'S', 'S', 0); /* ß */
    assert_becomes(VV_TITLE, 0xdf, 2, 'S', 's', 0);
    assert_becomes(VV_UPPER, 0xfb03, 3, 'F', 'F', 'I'); /* ﬃ */
    assert_becomes(VV_TITLE, 0xfb03, 3, 'F', 'f', 'i');
    assert_becomes(VV_LOWER, 0x130, 2, 'i', 0x307, 0); /* İ */
    assert_becomes(VV_UPPER, 0x390, 3, 0x399, 0x308, 0x301);
}

static void title_case_is_a_case_of_its_own(void **state) {
    (void)state;
    assert_becomes(VV_UPPER, 0x1c6, 1, 0x1c4, 0, 0); /* ǆ */
    assert_becomes(VV_TITLE, 0x1c6, 1, 0x1c5, 0, 0);
    assert_becomes(VV_TITLE, 0x1c5, 1, 0x1c5, 0, 0);
    assert_becomes(VV_LOWER, 0x1c5, 1, 0x1c6, 0, 0);
    assert_becomes(VV_TITLE, 0x10d0, 1, 0x10d0, 0, 0); /* Georgian has none */
    assert_becomes(VV_UPPER, 0x10d0, 1, 0x1c90, 0, 0);
}

static void characters_have_kinds(void **state) {
    (void)state;
    assert_true(vv_is_space(' ') && vv_is_space(0x1f) && vv_is_space(0x85) && vv_is_space(0x3000));
    assert_false(vv_is_space(0x200b) || vv_is_space(0x180e) || vv_is_space('a') || vv_is_space(0));
    assert_true(vv_is_upper('A') && vv_is_upper(0x2160) && vv_is_lower('a') && vv_is_lower(0xaa));
    assert_false(vv_is_upper(0x1c5) || vv_is_lower(0x1c5) || vv_is_upper('1'));
    assert_true(vv_is_cased(0x1c5) && vv_is_cased('a') && !vv_is_cased('1') &&
                !vv_is_cased(0x65e5));
    assert_true(vv_is_digit('7') && vv_is_digit(0xb2) && vv_is_digit(0x663));
    assert_false(vv_is_digit(0xbd) || vv_is_digit('a'));
    assert_true(vv_is_number(0xbd) && vv_is_letter(0x65e5) && !vv_is_letter('1'));
    assert_true(vv_is_printable(' ') && vv_is_printable(0xe9) && vv_is_printable(0x1f600));
    assert_false(vv_is_printable('\n') || vv_is_printable(0xa0) || vv_is_printable(0x200b) ||
                 vv_is_printable(0x378) || vv_is_printable(0x2028));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(letters_change_case),
        cmocka_unit_test(one_letter_may_become_several),
        cmocka_unit_test(title_case_is_a_case_of_its_own),
        cmocka_unit_test(characters_have_kinds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

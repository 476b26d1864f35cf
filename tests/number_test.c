/* Numbers as decimal text. The expected texts are those of Python's repr and of printf. */
#include "text/number.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void assert_prints(double x, const char *wanted) {
    char text[VV_NUMBER_ROOM];
    assert_int_equal(vv_number_print(x, text), strlen(wanted));
    assert_string_equal(text, wanted);
}

static void the_shortest_text_is_written(void **state) {
    (void)state;
    assert_prints(0, "0.0");
    assert_prints(-0.0, "-0.0");
    assert_prints(1, "1.0");
    assert_prints(-2.5, "-2.5");
    assert_prints(0.1, "0.1");
    assert_prints(0.1 + 0.2, "0.30000000000000004");
    assert_prints(1.0 / 3, "0.3333333333333333");
    assert_prints(100, "100.0");
    assert_prints(123456789.125, "123456789.125");
    assert_prints(0.0001, "0.0001");
    assert_prints(0.00001, "1e-05");
    assert_prints(1.5e-7, "1.5e-07");
    assert_prints(1e15, "1000000000000000.0");
    assert_prints(1e16, "1e+16");
    assert_prints(1.25e100, "1.25e+100");
    assert_prints(9007199254740993.0, "9007199254740992.0");
    assert_prints(DBL_MAX, "1.7976931348623157e+308");
    assert_prints(DBL_MIN, "2.2250738585072014e-308");
    assert_prints(5e-324, "5e-324");
    assert_prints(INFINITY, "inf");
    assert_prints(-INFINITY, "-inf");
    assert_prints(NAN, "nan");
}

/* Where doubles lie closer on one side, a correctly rounded text of 16 digits is another number. */
static void powers_of_two_are_short(void **state) {
    (void)state;
    assert_prints(0x1p-44, "5.684341886080802e-14");
    assert_prints(0x1p89, "6.189700196426902e+26");
    assert_prints(0x1p-1022, "2.2250738585072014e-308");
}

static void what_was_written_reads_back(void **state) {
    (void)state;
    uint64_t bits = 0x123456789abcdef;
    for (int i = 0; i < 20000; i++) {
        char text[VV_NUMBER_ROOM];
        double x, y;
        bits = bits * 6364136223846793005u + 1442695040888963407u;
        memcpy(&x, &bits, sizeof x);
        if (x - x != 0) {
            continue;
        }
        assert_true(vv_number_read(text, vv_number_print(x, text), &y));
        assert_memory_equal(&x, &y, sizeof x);
    }
}

static double read(const char *text) {
    double x = 12345;
    assert_true(vv_number_read(text, strlen(text), &x));
    return x;
}

static void texts_are_read(void **state) {
    (void)state;
    assert_true(read("12") == 12 && read("-12.50") == -12.5 && read("+.5") == 0.5);
    assert_true(read("5.") == 5 && read("1e3") == 1000 && read("1E-2") == 0.01);
    assert_true(read("00012e+01") == 120 && read("0.00") == 0 && signbit(read("-0")));
    assert_true(isinf(read("1e400")) && read("1e-400") == 0 && read("0e99999999999") == 0);
    assert_true(isinf(read("1e99999999999999999999")) && read("1e-99999999999999999999") == 0);
    assert_true(read("9007199254740993") == 9007199254740992.0);
    static const char *const wrong[] = {"",      "-",   ".",   "1e",  "1e+", "e5",   " 1",  "1 ",
                                        "1.2.3", "0x1", "inf", "1,5", "--1", "1e5.", "1_0", "+"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        double x;
        assert_false(vv_number_read(wrong[i], strlen(wrong[i]), &x));
    }
}

/* Digits far behind still decide between two doubles: the middle goes down, a bit more goes up. */
static void long_texts_are_read_exactly(void **state) {
    (void)state;
    static char text[3000] = "9007199254740993";
    size_t length = strlen(text);
    text[length++] = '.';
    memset(text + length, '0', 2000);
    length += 2000;
    double x;
    assert_true(vv_number_read(text, length, &x));
    assert_true(x == 9007199254740992.0);
    text[length++] = '1';
    assert_true(vv_number_read(text, length, &x));
    assert_true(x == 9007199254740994.0);
    memset(text, '0', 2500);
    memcpy(text + 2500, "7e-1", 4);
    assert_true(vv_number_read(text, 2504, &x));
    assert_true(x == 0.7);
    memset(text, '0', 2500);
    text[0] = '3';
    memcpy(text + 2500, "e-2499", 6);
    assert_true(vv_number_read(text, 2506, &x));
    assert_true(x == 3);
}

static void assert_formats(double x, char conversion, int places, const char *wanted) {
    char text[VV_NUMBER_FIXED];
    assert_int_equal(vv_number_format(x, conversion, places, false, text), strlen(wanted));
    assert_string_equal(text, wanted);
}

static void numbers_have_places(void **state) {
    (void)state;
    assert_formats(2.675, 'f', 2, "2.67");
    assert_formats(0.5, 'f', 0, "0");
    assert_formats(1.5, 'f', 0, "2");
    assert_formats(-1.0 / 3, 'f', 3, "-0.333");
    assert_formats(12345.678, 'e', 2, "1.23e+04");
    assert_formats(0.0001, 'G', 3, "0.0001");
    assert_formats(INFINITY, 'f', 2, "inf");
    char text[VV_NUMBER_FIXED];
    assert_int_equal(vv_number_format(-DBL_MAX, 'f', 100000, false, text), 1 + 309 + 1 + 1000);
    vv_number_format(1, 'f', 0, true, text);
    assert_string_equal(text, "1.");
}

static void integers_are_read(void **state) {
    (void)state;
    int64_t i;
    assert_true(vv_integer_read("9223372036854775807", 19, &i) && i == INT64_MAX);
    assert_true(vv_integer_read("-9223372036854775808", 20, &i) && i == INT64_MIN);
    assert_true(vv_integer_read("+0007", 5, &i) && i == 7);
    assert_false(vv_integer_read("9223372036854775808", 19, &i));
    assert_false(vv_integer_read("-9223372036854775809", 20, &i));
    assert_false(vv_integer_read("", 0, &i) || vv_integer_read("-", 1, &i) ||
                 vv_integer_read("1.0", 3, &i) || vv_integer_read(" 1", 2, &i));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_shortest_text_is_written),
        cmocka_unit_test(powers_of_two_are_short),
        cmocka_unit_test(what_was_written_reads_back),
        cmocka_unit_test(texts_are_read),
        cmocka_unit_test(long_texts_are_read_exactly),
        cmocka_unit_test(numbers_have_places),
        cmocka_unit_test(integers_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

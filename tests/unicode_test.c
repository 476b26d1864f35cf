/* UTF-8, normalisation form C and the pre-tokenizers' cuts. */
#include "text/split.h"
#include "text/unicode.h"
#include "text/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static struct vv_error error;

static void assert_bytes(const struct vv_bytes *got, const char *wanted, size_t length) {
    assert_int_equal(got->length, length);
    assert_memory_equal(got->at ? got->at : "", wanted, length);
}

/* The ill-formed sequences of the Unicode standard's tables (3-8 to 3-11) and some more; each is
 * fed at once and byte by byte. */
static void c033_each_maximal_ill_formed_part_becomes_one_replacement(void **state) {
    (void)state;
#define R "\xef\xbf\xbd"
    static const char *const cases[][2] = {
        {"\xf0\x9f\x98", R},
        {"\xed\xa0\x80", R R R},
        {"\xc0\x80", R R},
        {"\xf4\x90\x80\x80", R R R R},
        {"\xc0\xaf\xe0\x80\xbf\xf0\x81\x82\x41", R R R R R R R R "A"},
        {"\xed\xa0\x80\xed\xbf\xbf\xed\xaf\x41", R R R R R R R R "A"},
        {"\xf4\x91\x92\x93\xff\x41\x80\xbf\x42", R R R R R "A" R R "B"},
        {"\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41", R R R R "A"},
        {"a\xffz", "a" R "z"},
        {"\xe2\x82\xe2\x82\xac", R "\xe2\x82\xac"},
        {"\xf0\x9f\x98\x80\xf0\x9f", "\xf0\x9f\x98\x80" R},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t length = strlen(cases[i][0]);
        for (size_t step = 1; step <= length; step++) {
            struct vv_utf8_stream stream = {0};
            struct vv_bytes out = {0};
            for (size_t at = 0; at < length; at += step) {
                size_t part = length - at < step ? length - at : step;
                assert_int_equal(vv_utf8_feed(&stream, cases[i][0] + at, part, &out, &error), 0);
            }
            assert_int_equal(vv_utf8_end(&stream, &out, &error), 0);
            assert_bytes(&out, cases[i][1], strlen(cases[i][1]));
            vv_bytes_free(&out);
        }
    }
}

/* Every code point survives writing and reading; surrogates are never well-formed. */
static void characters_round_trip(void **state) {
    (void)state;
    for (uint32_t c = 0; c <= 0x10ffff; c += c < 0x3000 ? 1 : 37) {
        if (c < 0xd800 || c > 0xdfff) {
            struct vv_bytes out = {0};
            size_t at = 0;
            assert_int_equal(vv_utf8_append(&out, c, &error), 0);
            assert_int_equal(vv_utf8_length(out.at, out.length), out.length);
            assert_int_equal(vv_utf8_length(out.at, out.length - 1), 0);
            assert_int_equal(vv_utf8_next(out.at, &at), c);
            assert_int_equal(at, out.length);
            vv_bytes_free(&out);
        }
    }
}

/* Hexadecimal code points up to `;` or the end of the line, as UTF-8. */
static const char *read_points(const char *line, struct vv_bytes *out) {
    while (*line && *line != ';' && *line != '\n') {
        char *end;
        assert_int_equal(vv_utf8_append(out, (uint32_t)strtoul(line, &end, 16), &error), 0);
        line = *end == ' ' ? end + 1 : end;
    }
    return line + (*line == ';');
}

static void c031_nfc_equals_the_reference(void **state) {
    (void)state;
    char line[500];
    int lines = 0;
    FILE *file = fopen("tests/data/text/nfc.txt", "r");
    assert_non_null(file);
    for (; fgets(line, sizeof line, file); lines++) {
        struct vv_bytes text = {0}, wanted = {0}, got = {0};
        read_points(read_points(line, &text), &wanted);
        assert_int_equal(vv_nfc(text.at, text.length, &got, &error), 0);
        assert_bytes(&got, wanted.at, wanted.length);
        vv_bytes_free(&text);
        vv_bytes_free(&wanted);
        vv_bytes_free(&got);
    }
    fclose(file);
    assert_true(lines > 600);
}

/* Half a million marks in the wrong order are one run to sort: no quadratic time. */
static void a_long_run_of_marks_is_sorted_in_time(void **state) {
    (void)state;
    struct vv_bytes text = {0}, got = {0};
    assert_int_equal(vv_bytes_append(&text, "a", 1, &error), 0);
    for (int i = 0; i < 250000; i++) {
        assert_int_equal(vv_bytes_append(&text, "\u0301\u0327", 4, &error), 0);
    }
    clock_t begin = clock();
    assert_int_equal(vv_nfc(text.at, text.length, &got, &error), 0);
    assert_true((double)(clock() - begin) / CLOCKS_PER_SEC < 10);
    assert_int_equal(got.length, text.length - 1); /* á takes in the first of them */
    assert_memory_equal(got.at, "\u00e1\u0327\u0327", 6);
    vv_bytes_free(&text);
    vv_bytes_free(&got);
}

static void classes_are_those_of_unicode_16(void **state) {
    (void)state;
    static const struct {
        uint32_t character;
        int class;
    } cases[] = {
        {'a', VV_CLASS_LETTER},     {'7', VV_CLASS_NUMBER},     {'_', VV_CLASS_PUNCTUATION},
        {'+', VV_CLASS_SYMBOL},     {'\n', VV_CLASS_SPACE},     {0x1c, VV_CLASS_OTHER},
        {0, VV_CLASS_OTHER},        {0x200b, VV_CLASS_OTHER},   {0x180e, VV_CLASS_OTHER},
        {0xa0, VV_CLASS_SPACE},     {0x85, VV_CLASS_SPACE},     {0x3000, VV_CLASS_SPACE},
        {0x1fabf, VV_CLASS_SYMBOL}, {0x31350, VV_CLASS_LETTER}, {0x1c89, VV_CLASS_LETTER},
        {0x1ccd6, VV_CLASS_SYMBOL}, {0x2ebf0, VV_CLASS_LETTER}, {0x16d70, VV_CLASS_NUMBER},
        {0x10ffff, VV_CLASS_OTHER}, {0x0bcd, VV_CLASS_MARK},    {0xbd, VV_CLASS_NUMBER},
        {0x20c1, VV_CLASS_OTHER}, /* assigned in Unicode 17 */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(vv_unicode_class(cases[i].character) & ~VV_CLASS_NFC, cases[i].class);
    }
}

/* The pieces of `text`, joined with "¦". */
static void assert_split(int splitter, const char *text, const char *wanted) {
    struct vv_split split = {.text = text, .length = strlen(text)};
    struct vv_text piece;
    struct vv_bytes got = {0};
    while (vv_splitters[splitter].next(&split, &piece)) {
        assert_true(piece.length > 0);
        assert_int_equal(vv_bytes_append(&got, "¦", got.length ? 2 : 0, &error), 0);
        assert_int_equal(vv_bytes_append(&got, piece.at, piece.length, &error), 0);
    }
    assert_int_equal(vv_bytes_append(&got, "", 1, &error), 0);
    assert_string_equal(got.at, wanted);
    vv_bytes_free(&got);
}

static void qwen35_cuts_as_its_pattern_says(void **state) {
    (void)state;
    assert_string_equal(vv_splitters[0].name, "qwen35");
    static const char *const cases[][2] = {
        {"", ""},
        {"don't WE'LL I'M", "don¦'t¦ WE¦'LL¦ I¦'M"},
        {"it'\u017fa 'x", "it¦'\u017f¦a¦ '¦x"}, /* ſ is an s where case does not count */
        {"'Ve're'r", "'Ve¦'re¦'r"},
        {"a  b", "a¦ ¦ b"},
        {"a \n \n  b", "a¦ \n \n¦ ¦ b"},
        {"end   ", "end¦   "},
        {"x\r\n\r\n", "x¦\r\n\r\n"},
        {"123a", "1¦2¦3¦a"},
        {" 1", " ¦1"},
        {"a!!!\n\nb", "a¦!!!\n\n¦b"},
        {" !? x", " !?¦ x"},
        {".net", ".net"},
        {"\u0301", "\u0301"},
        {"\u0301!", "\u0301¦!"},
        {"1\u0301", "1¦\u0301"},
        {"e\u0301x", "e\u0301x"},
        {"a\u00a0b", "a¦\u00a0b"},
        {"a\u00a0\u3000b", "a¦\u00a0¦\u3000b"},
        {"\u200b\u200bx", "\u200b\u200b¦x"},
        {"\u180ex", "\u180ex"},
        {"\u1fabf", "\u1fabf"},
        {"Stra\u00dfe", "Stra\u00dfe"},
        {"\nx", "\n¦x"},
        {"\tx", "\tx"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_split(0, cases[i][0], cases[i][1]);
    }
}

static void c028_deepseek_cuts_as_its_three_patterns_say(void **state) {
    (void)state;
    assert_string_equal(vv_splitters[1].name, "joyai-llm");
    static const char *const cases[][2] = {
        {"", ""},
        {"12345", "123¦45"},
        {"a12 b", "a¦12¦ b"},
        {"a  1", "a¦  ¦1"}, /* the blanks end their piece, so none is given back */
        {"a  b", "a¦ ¦ b"},
        {"a  \u4e00", "a¦  ¦\u4e00"},
        {"\u3042\u30fb\u3044x", "\u3042¦\u30fb¦\u3044¦x"}, /* the middle dot is a sign */
        {"\u9fa5\u9fa6", "\u9fa5¦\u9fa6"}, /* beyond the range of the second pattern */
        {"\u3042a", "\u3042¦a"},
        {"_name", "_name"},
        {"(name)", "(name¦)"},
        {"_na\u00efve", "_na¦\u00efve"}, /* after a sign only ASCII letters */
        {"don't", "don¦'t"},
        {" !?\n", " !?\n"},
        {"\u200bx", "\u200bx"},
        {"\u200b\u200bx", "\u200b¦\u200bx"},
        {"\u200b\u200b!", "\u200b\u200b¦!"}, /* what nothing matches is a piece */
        {"\u200b", "\u200b"},
        {"a\u200b\u200b1", "a¦\u200b\u200b¦1"},
        {"\u00dcbergr\u00f6\u00dfe, M\u00fc\u00dfig",
         "\u00dcbergr\u00f6\u00dfe¦,¦ M\u00fc\u00dfig"},
        {"\u0301\u0301a", "\u0301\u0301a"},
        {"x \n y", "x¦ \n¦ y"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_split(1, cases[i][0], cases[i][1]);
        assert_split(2, cases[i][0], cases[i][1]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(c033_each_maximal_ill_formed_part_becomes_one_replacement),
        cmocka_unit_test(characters_round_trip),
        cmocka_unit_test(c031_nfc_equals_the_reference),
        cmocka_unit_test(a_long_run_of_marks_is_sorted_in_time),
        cmocka_unit_test(classes_are_those_of_unicode_16),
        cmocka_unit_test(qwen35_cuts_as_its_pattern_says),
        cmocka_unit_test(c028_deepseek_cuts_as_its_three_patterns_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Typed access to metadata: cases C006, C007 and C009 of docs/cases.md. */
#include "support/gguf_bytes.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct vv_error error;

static void message_has(const char *word) {
    if (!strstr(error.message, word)) {
        fail_msg("'%s' is not in: %s", word, error.message);
    }
}

static struct vv_gguf *open_bytes(const struct gguf_bytes *b) {
    struct vv_gguf *g;
    if (vv_gguf_open_memory(b->at, b->size, "file.gguf", &g, &error) != VV_OK) {
        fail_msg("refused: %s", error.message);
    }
    return g;
}

#define PUT_VALUE(b, key, value_type, c_type, ...)                                                 \
    do {                                                                                           \
        c_type put_ = (c_type)(__VA_ARGS__);                                                       \
        gguf_put_key(b, key, value_type);                                                          \
        gguf_put(b, &put_, sizeof put_);                                                           \
    } while (0)

/* One key of each type, and arrays. */
static struct gguf_bytes numbers(void) {
    struct gguf_bytes b = {0};
    gguf_put_header(&b, 3, 0, 23);
    PUT_VALUE(&b, "u8", VV_GGUF_U8, uint8_t, 200);
    PUT_VALUE(&b, "i8", VV_GGUF_I8, int8_t, -100);
    PUT_VALUE(&b, "u16", VV_GGUF_U16, uint16_t, 60000);
    PUT_VALUE(&b, "i16", VV_GGUF_I16, int16_t, -30000);
    PUT_VALUE(&b, "u32", VV_GGUF_U32, uint32_t, 4000000000);
    PUT_VALUE(&b, "i32", VV_GGUF_I32, int32_t, -2000000000);
    PUT_VALUE(&b, "u64", VV_GGUF_U64, uint64_t, UINT64_MAX);
    PUT_VALUE(&b, "i64", VV_GGUF_I64, int64_t, INT64_MIN);
    PUT_VALUE(&b, "i64 small", VV_GGUF_I64, int64_t, 5);
    PUT_VALUE(&b, "u64 2^24", VV_GGUF_U64, uint64_t, 1 << 24);
    PUT_VALUE(&b, "u64 2^24+1", VV_GGUF_U64, uint64_t, (1 << 24) + 1);
    PUT_VALUE(&b, "f32", VV_GGUF_F32, float, 1.5f);
    PUT_VALUE(&b, "f32 nan", VV_GGUF_F32, float, NAN);
    PUT_VALUE(&b, "f32 infinite", VV_GGUF_F32, float, -INFINITY);
    PUT_VALUE(&b, "f64", VV_GGUF_F64, double, 0.1);
    PUT_VALUE(&b, "f64 large", VV_GGUF_F64, double, 1e39);
    PUT_VALUE(&b, "f64 most", VV_GGUF_F64, double, (double)FLT_MAX);
    PUT_VALUE(&b, "true", VV_GGUF_BOOL, uint8_t, 1);
    PUT_VALUE(&b, "false", VV_GGUF_BOOL, uint8_t, 0);
    gguf_put_key(&b, "text", VV_GGUF_STRING);
    gguf_put_u64(&b, 5);
    gguf_put(&b, "a\0b\nc", 5);
    gguf_put_key_array(&b, "list", VV_GGUF_I16, 3);
    gguf_put(&b, "\1\0\xff\xff\0\x80", 6); /* 1, -1, -32768 */
    gguf_put_key_array(&b, "flags", VV_GGUF_BOOL, 2);
    gguf_put(&b, "\1\0", 2);
    gguf_put_key_array(&b, "floats", VV_GGUF_F64, 0);
    return b;
}

static void c009_integers_are_range_checked(void **state) {
    (void)state;
    struct gguf_bytes b = numbers();
    struct vv_gguf *g = open_bytes(&b);
    uint32_t u32;
    uint64_t u64;
    int64_t i64;
    assert_int_equal(vv_gguf_get_u32(g, "u8", &u32, &error), VV_OK);
    assert_int_equal(u32, 200);
    assert_int_equal(vv_gguf_get_u32(g, "u16", &u32, &error), VV_OK);
    assert_int_equal(u32, 60000);
    assert_int_equal(vv_gguf_get_u32(g, "u32", &u32, &error), VV_OK);
    assert_int_equal(u32, 4000000000);
    assert_int_equal(vv_gguf_get_u32(g, "i64 small", &u32, &error), VV_OK);
    assert_int_equal(u32, 5);
    assert_int_equal(vv_gguf_get_u64(g, "u64", &u64, &error), VV_OK);
    assert_true(u64 == UINT64_MAX);
    assert_int_equal(vv_gguf_get_i64(g, "i64", &i64, &error), VV_OK);
    assert_true(i64 == INT64_MIN);
    assert_int_equal(vv_gguf_get_i64(g, "i8", &i64, &error), VV_OK);
    assert_int_equal(i64, -100);
    assert_int_equal(vv_gguf_get_i64(g, "i16", &i64, &error), VV_OK);
    assert_int_equal(i64, -30000);
    assert_int_equal(vv_gguf_get_i64(g, "i32", &i64, &error), VV_OK);
    assert_int_equal(i64, -2000000000);

    static const struct {
        const char *key, *found;
    } refused[] = {
        {"i8", "-100 (int8)"},
        {"i64", "-9223372036854775808 (int64)"},
        {"u64", "18446744073709551615 (uint64)"},
        {"f32", "1.5 (float32)"},
        {"f32 nan", "nan (float32)"},
        {"f32 infinite", "-inf (float32)"},
        {"true", "true (bool)"},
        {"text", "(string)"},
        {"list", "array of 3 elements (int16)"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        assert_int_equal(vv_gguf_get_u32(g, refused[i].key, &u32, &error), VV_ERROR_INVALID);
        message_has("file.gguf");
        message_has(refused[i].key);
        message_has(refused[i].found);
    }
    message_has("one value is wanted");
    assert_int_equal(vv_gguf_get_u32(g, "u64", &u32, &error), VV_ERROR_INVALID);
    message_has("from 0 to 4294967295");
    assert_int_equal(vv_gguf_get_i64(g, "u64", &i64, &error), VV_ERROR_INVALID);
    assert_int_equal(vv_gguf_get_u64(g, "i64", &u64, &error), VV_ERROR_INVALID);
    assert_int_equal(vv_gguf_get_u32(g, "gone", &u32, &error), VV_ERROR_INVALID);
    message_has("no key 'gone'");
    vv_gguf_close(g);
    gguf_bytes_free(&b);
}

static void c009_floats_are_range_checked(void **state) {
    (void)state;
    struct gguf_bytes b = numbers();
    struct vv_gguf *g = open_bytes(&b);
    static const struct {
        const char *key;
        float value; /* NAN: refused */
    } cases[] = {
        {"f32", 1.5f},         {"f64", 0.1f},         {"f64 most", FLT_MAX}, {"i16", -30000.0f},
        {"u64 2^24", 0x1p24f}, {"u64 2^24+1", NAN},   {"u64", NAN},          {"i64", NAN},
        {"f32 nan", NAN},      {"f32 infinite", NAN}, {"f64 large", NAN},    {"true", NAN},
        {"text", NAN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        float value = 0;
        int code = vv_gguf_get_f32(g, cases[i].key, &value, &error);
        if (isnan(cases[i].value)) {
            assert_int_equal(code, VV_ERROR_INVALID);
            message_has(cases[i].key);
        } else {
            assert_int_equal(code, VV_OK);
            assert_true(value == cases[i].value);
        }
    }
    vv_gguf_close(g);
    gguf_bytes_free(&b);
}

static void bools_strings_and_arrays(void **state) {
    (void)state;
    struct gguf_bytes b = numbers();
    struct vv_gguf *g = open_bytes(&b);
    bool flag, flags[2];
    assert_int_equal(vv_gguf_get_bool(g, "true", &flag, &error), VV_OK);
    assert_true(flag);
    assert_int_equal(vv_gguf_get_bool(g, "false", &flag, &error), VV_OK);
    assert_false(flag);
    assert_int_equal(vv_gguf_get_bool(g, "u8", &flag, &error), VV_ERROR_INVALID);
    message_has("200 (uint8)");

    struct vv_string text;
    assert_int_equal(vv_gguf_get_string(g, "text", &text, &error), VV_OK);
    assert_int_equal(text.length, 5);
    assert_memory_equal(text.at, "a\0b\nc", 5);
    assert_int_equal(vv_gguf_get_string(g, "flags", &text, &error), VV_ERROR_INVALID);

    int32_t i32[3];
    uint32_t u32[3];
    uint64_t u64[3];
    float f32[3];
    assert_int_equal(vv_gguf_array_i32(g, "list", 3, i32, &error), VV_OK);
    assert_int_equal(i32[0], 1);
    assert_int_equal(i32[1], -1);
    assert_int_equal(i32[2], -32768);
    assert_int_equal(vv_gguf_array_f32(g, "list", 3, f32, &error), VV_OK);
    assert_true(f32[2] == -32768.0f);
    assert_int_equal(vv_gguf_array_u32(g, "list", 3, u32, &error), VV_ERROR_INVALID);
    message_has("'list' element 1 is -1 (int16)");
    assert_int_equal(vv_gguf_array_u64(g, "list", 3, u64, &error), VV_ERROR_INVALID);
    assert_int_equal(vv_gguf_array_bool(g, "flags", 2, flags, &error), VV_OK);
    assert_true(flags[0] && !flags[1]);
    assert_int_equal(vv_gguf_array_f32(g, "floats", 0, f32, &error), VV_OK);
    assert_int_equal(vv_gguf_array_u32(g, "u8", 1, u32, &error), VV_ERROR_INVALID);
    message_has("an array is wanted");

    const struct vv_gguf_entry *list;
    int64_t element;
    assert_int_equal(vv_gguf_get_array(g, "list", &list, &error), VV_OK);
    assert_int_equal(list->count, 3);
    assert_int_equal(vv_gguf_entry_i64(g, list, 2, &element, &error), VV_OK);
    assert_int_equal(element, -32768);
    assert_int_equal(vv_gguf_entry_i64(g, list, 3, &element, &error), VV_ERROR_INVALID);
    message_has("3 elements");
    assert_int_equal(vv_gguf_entry_i64(g, list, UINT64_MAX, &element, &error), VV_ERROR_INVALID);
    assert_true(vv_gguf_has(g, "list"));
    assert_false(vv_gguf_has(g, "lis"));
    assert_false(vv_gguf_has(g, ""));
    vv_gguf_close(g);
    gguf_bytes_free(&b);
}

/* A vocabulary as files hold it: strings, scores, types. */
static struct gguf_bytes vocabulary(const char *const *tokens, uint64_t count, uint64_t scores) {
    struct gguf_bytes b = {0};
    gguf_put_header(&b, 3, 0, 2);
    gguf_put_key_array(&b, "tokenizer.ggml.tokens", VV_GGUF_STRING, count);
    for (uint64_t i = 0; i < count; i++) {
        gguf_put_string(&b, tokens[i]);
    }
    gguf_put_key_array(&b, "tokenizer.ggml.scores", VV_GGUF_F32, scores);
    gguf_put_data(&b, 4 * scores);
    return b;
}

/* The reader hands out every token; what a string that is there twice means is decided in
 * src/text. */
static void c006_equal_tokens_and_no_bos(void **state) {
    (void)state;
    static const char *const tokens[] = {"a", "", "b", "a"};
    struct gguf_bytes b = vocabulary(tokens, 4, 4);
    struct vv_gguf *g = open_bytes(&b);
    const struct vv_gguf_entry *list;
    assert_int_equal(vv_gguf_get_array(g, "tokenizer.ggml.tokens", &list, &error), VV_OK);
    assert_int_equal(list->count, 4);
    for (uint64_t i = 0; i < 4; i++) {
        struct vv_string token;
        assert_int_equal(vv_gguf_entry_string(g, list, i, &token, &error), VV_OK);
        assert_int_equal(token.length, strlen(tokens[i]));
        assert_memory_equal(token.at, tokens[i], token.length);
    }
    struct vv_string token;
    uint64_t number;
    assert_int_equal(vv_gguf_entry_string(g, list, 4, &token, &error), VV_ERROR_INVALID);
    assert_int_equal(vv_gguf_entry_u64(g, list, 0, &number, &error), VV_ERROR_INVALID);
    message_has("element 0 is 'a' (string)");
    assert_false(vv_gguf_has(g, "tokenizer.ggml.bos_token_id"));
    vv_gguf_close(g);
    gguf_bytes_free(&b);
}

static void c007_scores_and_tokens_differ_in_length(void **state) {
    (void)state;
    static const char *const tokens[] = {"a", "b", "c", "d"};
    float scores[4];
    for (uint64_t count = 3; count <= 5; count++) {
        struct gguf_bytes b = vocabulary(tokens, 4, count);
        struct vv_gguf *g = open_bytes(&b);
        int code = vv_gguf_array_f32(g, "tokenizer.ggml.scores", 4, scores, &error);
        assert_int_equal(code, count == 4 ? VV_OK : VV_ERROR_INVALID);
        if (count != 4) {
            message_has("'tokenizer.ggml.scores'");
            message_has(count == 3 ? "has 3 elements" : "has 5 elements");
            message_has("4 are wanted");
        }
        vv_gguf_close(g);
        gguf_bytes_free(&b);
    }
}

/* A header of more than the first load: arrays of many strings, longer than a MiB. */
static void large_headers_are_read(void **state) {
    (void)state;
    enum { COUNT = 3000 };
    struct gguf_bytes b = {0};
    char text[1000];
    memset(text, 'x', sizeof text);
    gguf_put_header(&b, 3, 1, 2);
    gguf_put_key_array(&b, "texts", VV_GGUF_STRING, COUNT);
    for (uint32_t i = 0; i < COUNT; i++) {
        gguf_put_u64(&b, sizeof text);
        memcpy(text, &i, sizeof i);
        gguf_put(&b, text, sizeof text);
    }
    gguf_put_key_u32(&b, "last", 77);
    gguf_put_tensor_1d(&b, "t", 8, VV_TYPE_F32, 0);
    gguf_put_padding(&b, 32);
    gguf_put_data(&b, 32);
    struct vv_gguf *g = open_bytes(&b);
    const struct vv_gguf_entry *list;
    uint32_t value;
    assert_int_equal(vv_gguf_get_u32(g, "last", &value, &error), VV_OK);
    assert_int_equal(value, 77);
    assert_int_equal(vv_gguf_get_array(g, "texts", &list, &error), VV_OK);
    assert_int_equal(list->count, COUNT);
    for (uint32_t i = 0; i < COUNT; i++) {
        struct vv_string s;
        assert_int_equal(vv_gguf_entry_string(g, list, i, &s, &error), VV_OK);
        assert_int_equal(s.length, sizeof text);
        assert_memory_equal(s.at, &i, sizeof i);
    }
    assert_string_equal(vv_gguf_tensor_at(g, 0)->name, "t");
    assert_memory_equal(vv_gguf_tensor_data(g, vv_gguf_tensor_at(g, 0)), "\0\1\2\3\4\5", 6);
    vv_gguf_close(g);
    gguf_bytes_free(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(c006_equal_tokens_and_no_bos),
        cmocka_unit_test(c007_scores_and_tokens_differ_in_length),
        cmocka_unit_test(c009_integers_are_range_checked),
        cmocka_unit_test(c009_floats_are_range_checked),
        cmocka_unit_test(bools_strings_and_arrays),
        cmocka_unit_test(large_headers_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

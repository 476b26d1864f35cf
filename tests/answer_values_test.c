/* Arguments typed by the schemas of the tools given. */
#include "support/answer_calls.h"

/* One call of f with one argument gives this JSON of it. */
static void gives(const char *key, const char *value, const char *json) {
    char answer[1000], wanted[1000];
    snprintf(answer, sizeof answer,
             "<tool_call>\n<function=f>\n<parameter=%s>\n%s\n</parameter>\n</function>\n"
             "</tool_call>",
             key, value);
    snprintf(wanted, sizeof wanted, "[call 0]f[arguments]{\"%s\":%s}[end][END]", key, json);
    tells(qwen, answer, wanted);
}

/* ---- Values ---- */

static void values_by_schema(void **state) {
    (void)state;
    gives("s", "a", "\"a\"");
    gives("s", "12", "\"12\"");
    gives("s", "null", "\"null\"");
    gives("s", "", "\"\"");
    gives("s", "\n a \n", "\"\\n a \\n\"");
    gives("s", "\"\\/\b\f\r\t\x01\x7f é", "\"\\\"\\\\/\\b\\f\\r\\t\\u0001\x7f é\"");
    gives("i", " 12 ", "12");
    gives("i", "12345678901234567890123", "12345678901234567890123");
    gives("i", "1.0", "1.0");
    gives("i", "twelve", "\"twelve\"");
    gives("i", "12x", "\"12x\"");
    gives("i", "01", "\"01\"");
    gives("i", "\"12\"", "\"12\"");
    gives("i", "", "\"\"");
    gives("n", "-1.50e+3", "-1.50e+3");
    gives("n", "nan", "\"nan\"");
    gives("b", "true", "true");
    gives("b", "False", "false");
    gives("b", "yes", "\"yes\"");
    gives("z", "None", "null");
    gives("a", "[1,\n {\"a\": []}]", "[1,\n {\"a\": []}]");
    gives("a", "[1,", "\"[1,\"");
    gives("o", "{\"a\": 1}", "{\"a\": 1}");
    gives("o", "{a: 1}", "\"{a: 1}\"");
}

static void values_of_several_types(void **state) {
    (void)state;
    gives("sz", "null", "null");
    gives("sz", "None", "null");
    gives("sz", "nothing", "\"nothing\"");
    gives("sz", "12", "\"12\"");
    gives("sz", "{}", "\"{}\"");
    gives("si", "12", "12");
    gives("si", "1.5", "\"1.5\"");
    gives("si", "\"12\"", "\"\\\"12\\\"\"");
    gives("si", "true", "\"true\"");
    gives("iz", "None", "null");
    gives("iz", "7", "7");
    gives("iz", "seven", "\"seven\"");
    gives("e", "1", "\"1\"");
    gives("c", "[\"a\"]", "[\"a\"]");
    for (int i = 0; i < 4; i++) { /* whose schema says nothing */
        const char *key = ((const char *[]){"any", "ref", "all", "unknown"})[i];
        gives(key, "12", "12");
        gives(key, "1.5", "1.5");
        gives(key, "text", "\"text\"");
        gives(key, "\"quoted\"", "\"\\\"quoted\\\"\"");
        gives(key, "[1", "\"[1\"");
        gives(key, "True", "true");
        gives(key, "  {\"a\": null}\n", "{\"a\": null}");
    }
}

static void c161_an_array_of_objects(void **state) {
    (void)state;
    gives("a", "[{\"path\": \"a\", \"edits\": [{\"old\": \"</parameter>\", \"new\": \"\\n\"}]}]",
          "[{\"path\": \"a\", \"edits\": [{\"old\": \"</parameter>\", \"new\": \"\\n\"}]}]");
}

static void schemas_of_other_forms(void **state) {
    (void)state;
    tells(qwen, CALL("g", ARG("s", "1")), "[call 0]g[arguments]{\"s\":\"1\"}[end][END]");
    tells(qwen, CALL("h", ARG("s", "1")), "[call 0]h[arguments]{\"s\":\"1\"}[end][END]");
}

static void tools_that_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *json, *word;
    } cases[] = {
        {"", "JSON"},
        {"{}", "array"},
        {"[{}]", "number 1"},
        {"[{\"name\": \"f\"}, 1]", "number 2"},
        {"[] []", "JSON"},
        {"[{\"name\": \"f\", \"parameters\": {\"properties\": {\"a\": [}}}]", "JSON"},
    };
    struct vv_answer *answer;
    struct vv_error error;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct vv_text json = text_of(cases[i].json);
        assert_int_equal(vv_answer_new("qwen4exp", VV_THINKING_NONE, &json, &answer, &error),
                         VV_ERROR_INVALID);
        assert_non_null(strstr(error.message, "the tools"));
        assert_non_null(strstr(error.message, cases[i].word));
    }
    assert_int_equal(vv_answer_new("llama", VV_THINKING_NONE, NULL, &answer, &error),
                     VV_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "llama"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_by_schema),         cmocka_unit_test(values_of_several_types),
        cmocka_unit_test(c161_an_array_of_objects), cmocka_unit_test(schemas_of_other_forms),
        cmocka_unit_test(tools_that_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

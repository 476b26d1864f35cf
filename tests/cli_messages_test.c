/* `varve run` with messages and tools: what is taken apart of an answer. The model is varve-tiny,
 * which was trained to call tools in its template's format. */
#include "support/command.h"
#include "support/folder.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TINY VARVE_SOURCE_DIR "/models/varve-tiny.gguf"
#define RUN "run", "-m", TINY, "--temperature", "0", "-n", "80", "-t", "1"
#define QUESTION "What is the weather in Paris?"

static const char weather[] =
    "[{\"type\": \"function\", \"function\": {\"name\": \"get_weather\", \"description\": \"Get "
    "the "
    "weather of a place.\", \"parameters\": {\"type\": \"object\", \"properties\": {\"city\": "
    "{\"type\": \"string\"}}, \"required\": [\"city\"]}}}]";
static const char call[] = "{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Paris\"}}\n";

static void a_call_is_one_line(void **state) {
    (void)state;
    const char *tools = temporary_write(&folder, "tools.json", weather);
    struct command_result r = varve(RUN, "--tools", tools, QUESTION);
    assert_int_equal(r.code, 0);
    assert_string_equal(r.out, call);
    command_free(&r);
    r = varve(RUN, "--tools", tools, "--thinking", "hide", QUESTION);
    assert_string_equal(r.out, call);
    command_free(&r);
    r = varve(RUN, "--tools", tools, "--thinking", "on", QUESTION);
    const char *end = strstr(r.out, "\n</think>\n\n");
    assert_true(end && end > r.out);
    assert_string_equal(end + strlen("\n</think>\n\n"), call);
    command_free(&r);
}

/* The texts of all events of that name, joined. */
static char *joined(const char *lines, const char *name) {
    char *all = calloc(1, strlen(lines) + 1);
    for (const char *line = lines; *line; line += strcspn(line, "\n") + 1) {
        json_t *event = json_loadb(line, strcspn(line, "\n"), 0, NULL);
        assert_non_null(event);
        if (strcmp(json_string_value(json_object_get(event, "event")), name) == 0) {
            strcat(all, json_string_value(json_object_get(event, "text")));
        }
        json_decref(event);
    }
    return all;
}

static void events_of_the_parts(void **state) {
    (void)state;
    const char *tools = temporary_write(&folder, "tools.json", weather);
    struct command_result r = varve(RUN, "--tools", tools, "--thinking", "on", "--json", QUESTION);
    char *thoughts = joined(r.out, "reasoning"), *content = joined(r.out, "content");
    char *raw = joined(r.out, "token"), want[400];
    assert_non_null(strstr(r.out, "{\"event\":\"tool_call\",\"index\":0,\"name\":\"get_weather\","
                                  "\"arguments\":{\"city\":\"Paris\"}}\n"));
    assert_string_equal(content, "");
    snprintf(want, sizeof want,
             "%s\n</think>\n\n<tool_call>\n<function=get_weather>\n<parameter=city>\nParis\n"
             "</parameter>\n</function>\n</tool_call>",
             thoughts);
    assert_string_equal(raw, want);
    free(thoughts);
    free(content);
    free(raw);
    command_free(&r);
}

/* A call that the token limit cuts off is told, and nobody can take it for a whole one. */
static void an_unfinished_call(void **state) {
    (void)state;
    const char *tools = temporary_write(&folder, "tools.json", weather);
    struct command_result r = varve(RUN, "-n", "14", "--tools", tools, "--json", QUESTION);
    assert_non_null(strstr(r.out, "{\"event\":\"unfinished_call\",\"name\":\"get_weather\"}"));
    assert_null(strstr(r.out, "tool_call\""));
    command_free(&r);
    r = varve(RUN, "-n", "14", "--tools", tools, QUESTION);
    assert_non_null(strstr(r.err, "within a call of the tool \"get_weather\""));
    assert_null(strstr(r.out, "get_weather"));
    command_free(&r);
}

/* A prompt is one more message behind those of the file. */
static void messages_of_a_file(void **state) {
    (void)state;
    const char *all = temporary_write(&folder, "all.json",
                                      "[{\"role\": \"user\", \"content\": \"Hello\"}, {\"role\": "
                                      "\"assistant\", \"content\": \"Hi.\"}, {\"role\": \"user\", "
                                      "\"content\": \"Tell me a story\"}]");
    const char *some = temporary_write(&folder, "some.json",
                                       "[{\"role\": \"user\", \"content\": \"Hello\"}, {\"role\": "
                                       "\"assistant\", \"content\": \"Hi.\"}]");
    struct command_result a = varve(RUN, "-n", "12", "--messages", all);
    struct command_result b = varve(RUN, "-n", "12", "--messages", some, "Tell me a story");
    struct command_result c = varve(RUN, "-n", "12", "--messages", some, "Tell me a joke");
    assert_int_equal(a.code, 0);
    assert_string_equal(a.out, b.out);
    assert_int_equal(strncmp(a.err, b.err, strlen("varve: prompt 28 tokens")), 0);
    assert_int_equal(c.code, 0);
    command_free(&a);
    command_free(&b);
    command_free(&c);
}

static void files_that_are_refused(void **state) {
    (void)state;
    command_refuses(varve(RUN, "--messages", temporary_write(&folder, "bad.json", "[{\n ]")), 1,
                    WORDS("bad.json", "line 2"));
    command_refuses(varve(RUN, "--tools", temporary_write(&folder, "bad.json", "{}"), "x"), 1,
                    WORDS("no JSON list"));
    command_refuses(varve(RUN, "--messages", temporary_write(&folder, "bad.json", "[]")), 1,
                    WORDS("line 7, column"));
    command_refuses(varve(RUN, "--raw", "--messages", "x", "x"), 2, WORDS("--raw"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_is_one_line),     cmocka_unit_test(events_of_the_parts),
        cmocka_unit_test(an_unfinished_call),     cmocka_unit_test(messages_of_a_file),
        cmocka_unit_test(files_that_are_refused),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

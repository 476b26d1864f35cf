/* Calls in the form of each family, tools for them, and what answers must tell. For tests. */
#pragma once
#include "support/told.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define DSML "｜DSML｜"

enum { OPEN = VV_THINKING_OPEN, CLOSED = VV_THINKING_CLOSED, NONE = VV_THINKING_NONE };

static const char tools[] =
    "[{\"type\": \"function\", \"function\": {\"name\": \"f\", \"description\": \"\","
    "  \"parameters\": {\"type\": \"object\", \"required\": [\"s\"], \"properties\": {"
    "    \"s\": {\"type\": \"string\"}, \"i\": {\"type\": \"integer\"},"
    "    \"n\": {\"type\": \"number\"}, \"b\": {\"type\": \"boolean\"},"
    "    \"a\": {\"type\": \"array\", \"items\": {\"type\": \"object\"}},"
    "    \"o\": {\"type\": \"object\", \"properties\": {\"s\": {\"type\": \"integer\"}}},"
    "    \"z\": {\"type\": \"null\"}, \"sz\": {\"type\": [\"string\", \"null\"]},"
    "    \"si\": {\"anyOf\": [{\"type\": \"string\"}, {\"type\": \"integer\"}]},"
    "    \"iz\": {\"oneOf\": [{\"type\": \"integer\"}, {\"type\": \"null\"}]},"
    "    \"e\": {\"enum\": [\"1\", \"2\"]}, \"c\": {\"const\": [\"a\"]}, \"any\": {},"
    "    \"ref\": {\"$ref\": \"#/x\"}, \"all\": true"
    "  }}}},"
    " {\"parameters\": {\"properties\": {\"s\": {\"type\": \"string\"}}}, \"name\": \"g\"},"
    " {\"name\": \"h\", \"input_schema\": {\"properties\": {\"s\": {\"type\": \"string\"}}}}]";

static const struct answer_setting qwen = {"qwen4exp", VV_THINKING_CLOSED, tools};
static const struct answer_setting deep = {"deepseek4", VV_THINKING_CLOSED, tools};

static inline struct answer_setting with(struct answer_setting setting, int thinking) {
    setting.thinking = (enum vv_thinking)thinking;
    return setting;
}

static inline struct vv_text text_of(const char *text) {
    return (struct vv_text){text, strlen(text)};
}

/* The events' line is `wanted`, and all bytes are told of, however the answer is cut. */
static inline void tells(struct answer_setting setting, const char *answer, const char *wanted) {
    struct vv_text text = text_of(answer);
    for (size_t place = 0; place <= text.length; place++) {
        struct told told = told_of(&setting, text, place ? told_cut_once : told_cut_bytes, &place);
        told_add(&told.line, (struct vv_text){"", 1});
        told_add(&told.raw, (struct vv_text){"", 1});
        if (strcmp(told.line.at, wanted) != 0) {
            print_error("cut at %zu\n", place);
        }
        assert_string_equal(told.line.at, wanted);
        assert_string_equal(told.raw.at, answer);
        told_free(&told);
    }
}

#define CALL(name, inside) "<tool_call>\n<function=" name ">\n" inside "</function>\n</tool_call>"
#define ARG(key, value) "<parameter=" key ">\n" value "\n</parameter>\n"
#define BLOCK(inside) "<" DSML "tool_calls>\n" inside "</" DSML "tool_calls>"
#define INVOKE(name, inside) "<" DSML "invoke name=\"" name "\">\n" inside "</" DSML "invoke>\n"
#define PARAM(key, attribute, value)                                                               \
    "<" DSML "parameter name=\"" key "\"" attribute ">" value "</" DSML "parameter>\n"
#define BARE " string=\"true\""
#define JSON " string=\"false\""

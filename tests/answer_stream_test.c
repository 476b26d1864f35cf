/* Answers as they stream: cuts, what is held back, the order of events, the public interface. */
#include "support/answer_calls.h"

#include <jansson.h>

#include "varve.h"

/* ---- The stream ---- */

/* How many bytes are held back after `text`. */
static size_t held_after(struct answer_setting setting, const char *text) {
    struct told told = {0};
    struct vv_answer *answer = told_begin(&setting);
    assert_int_equal(vv_answer_push(answer, text_of(text), told_take, &told, &told.error), VV_OK);
    size_t held = strlen(text) - told.raw.length;
    vv_answer_free(answer);
    told_free(&told);
    return held;
}

static void c165_only_what_may_be_markup_is_held_back(void **state) {
    (void)state;
    static const struct {
        const char *text;
        size_t held;
    } cases[] = {
        {"a", 0},
        {"a\n", 1},
        {"a\n\n", 2},
        {"a\n\n\n", 2},
        {"a\n ", 0},
        {"a<", 1},
        {"a\n<", 2},
        {"a<b", 0},
        {"a<tool_call", 10},
        {"a<tool_calls", 0},
        {"a<tool_call>\n<function=f>\n", 25},
        {"a<tool_call>\n<function=f>\n<parameter=s>", 0},
        {"a<tool_call>\n<function=f>\n<parameter=s>\nbcd\n", 1},
        {"a<tool_call>\n<function=f>\n<parameter=s>\nbcd\n<", 2},
        {"a<tool_call>\n<function=f>\n<parameter=s>\nbcd\n</parameter>\n", 14},
        {"a<tool_call>\n<function=f>\n<parameter=s>\nbcd\n</parameter>\ne", 0},
        {"```\n<tool_call>\n", 0},
        {"```\n```\n", 1},
        {"</think>", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(held_after(qwen, cases[i].text), cases[i].held);
    }
    assert_int_equal(held_after(with(qwen, OPEN), "a\n</thi"), 6);
    assert_int_equal(held_after(with(deep, OPEN), "a\n</thi"), 5);
    assert_int_equal(held_after(with(deep, OPEN), "a\n"), 0);
    assert_int_equal(held_after(with(qwen, NONE), "<think"), 6);
    assert_int_equal(held_after(deep, "a<\xef\xbd"), 3);
}

static void strings_stream_and_other_values_wait(void **state) {
    (void)state;
    static const struct {
        const char *key, *value, *told;
    } cases[] = {
        {"s", "12", "\"12"}, {"s", " ", "\" "},  {"any", "a", "\"a"},
        {"any", "1", ""},    {"i", "x", "\"x"},  {"si", "{a", "\"{a"},
        {"sz", "no", ""},    {"any", " \n", ""}, {"any", " \n?", "\" \\n?"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[200], wanted[200];
        struct told told = {0};
        struct vv_answer *answer = told_begin(&qwen);
        snprintf(text, sizeof text, "<tool_call><function=f><parameter=%s>%s", cases[i].key,
                 cases[i].value);
        snprintf(wanted, sizeof wanted, "[call 0]f[arguments]{\"%s\":%s", cases[i].key,
                 cases[i].told);
        assert_int_equal(vv_answer_push(answer, text_of(text), told_take, &told, &told.error),
                         VV_OK);
        told_add(&told.line, (struct vv_text){"", 1});
        assert_string_equal(told.line.at, wanted);
        vv_answer_free(answer);
        told_free(&told);
    }
}

/* Strict rules for every stream of events. */
struct grammar {
    bool in_call;
    size_t calls;
};

static int follow_grammar(void *context, const struct vv_answer_event *event,
                          struct vv_error *error) {
    struct grammar *g = context;
    (void)error;
    switch (event->kind) {
    case VV_ANSWER_CALL: /* the first of its index has the name */
        assert_false(g->in_call);
        assert_int_equal(event->call, g->calls);
        assert_true(event->text.length > 0);
        g->in_call = true;
        break;
    case VV_ANSWER_ARGUMENTS:
    case VV_ANSWER_CALL_END:
        assert_true(g->in_call);
        assert_int_equal(event->call, g->calls);
        g->in_call = event->kind == VV_ANSWER_ARGUMENTS;
        g->calls += event->kind == VV_ANSWER_CALL_END;
        break;
    case VV_ANSWER_REASONING:
    case VV_ANSWER_CONTENT: /* no raw markup of a call */
        assert_false(g->in_call);
        assert_null(memchr(event->text.at, '<', event->text.length));
        break;
    default:
        break;
    }
    return VV_OK;
}

static void c166_c174_typed_events(void **state) {
    (void)state;
    const char *answer =
        "a\n</think>\n\nb\n\n" CALL("f", ARG("s", "x") ARG("i", "1")) "\n" CALL("g", "");
    struct grammar grammar = {0};
    struct answer_setting setting = with(qwen, OPEN);
    struct vv_answer *parser = told_begin(&setting);
    struct vv_error error;
    for (const char *at = answer; *at; at++) {
        assert_int_equal(
            vv_answer_push(parser, (struct vv_text){at, 1}, follow_grammar, &grammar, &error),
            VV_OK);
    }
    assert_int_equal(vv_answer_end(parser, follow_grammar, &grammar, &error), VV_OK);
    assert_int_equal(grammar.calls, 2);
    vv_answer_free(parser);
}

static int refuse(void *context, const struct vv_answer_event *event, struct vv_error *error) {
    int *left = context;
    (void)event;
    return --*left < 0 ? vv_fail(error, VV_ERROR_CANCELLED, "enough") : VV_OK;
}

static void a_sink_can_end_the_work(void **state) {
    (void)state;
    const char *answer = "a\n</think>\n\nb\n\n" CALL("f", ARG("i", "1")) "x";
    struct answer_setting setting = with(qwen, OPEN);
    int code = VV_ERROR_CANCELLED;
    for (int events = 0; code != VV_OK; events++) {
        struct vv_answer *parser = told_begin(&setting);
        struct vv_error error;
        int left = events;
        code = vv_answer_push(parser, text_of(answer), refuse, &left, &error);
        code = code == VV_OK ? vv_answer_end(parser, refuse, &left, &error) : code;
        assert_true(code == VV_OK || (code == VV_ERROR_CANCELLED && left == -1));
        assert_true(events < 20);
        vv_answer_free(parser);
    }
}

/* ---- The public interface ---- */

static int take_public(void *context, const struct varve_answer_event *event,
                       struct varve_error *error) {
    struct vv_answer_event inner = {(enum vv_answer_kind)event->kind,
                                    event->call,
                                    {event->text, event->length},
                                    {event->raw, event->raw_length}};
    return told_take(context, &inner, (struct vv_error *)(void *)error);
}

/* What a stop string's matcher still holds at the end goes through the same parser. */
static void c089_text_held_by_a_stop_string(void **state) {
    (void)state;
    const char *answer = "a\n</think>\n\nb";
    struct varve_error error;
    struct varve_stopper *stopper;
    struct varve_answer *parser;
    struct told told = {0};
    const char *out;
    size_t length;
    bool stopped;
    assert_int_equal(varve_stopper_new((const char *[]){"</think>\n\nbye"}, 1, &stopper, &error),
                     0);
    assert_int_equal(varve_answer_new("qwen4exp", VARVE_THINKING_OPEN, NULL, 0, &parser, &error),
                     0);
    for (const char *at = answer; at <= answer + strlen(answer); at++) {
        bool end = *at == 0;
        assert_int_equal(
            varve_stopper_push(stopper, at, !end, end, &out, &length, &stopped, &error), 0);
        assert_int_equal(varve_answer_push(parser, out, length, take_public, &told, &error), 0);
    }
    assert_int_equal(varve_answer_end(parser, take_public, &told, &error), 0);
    told_add(&told.line, (struct vv_text){"", 1});
    assert_string_equal(told.line.at, "[R]a[C]b[END]");
    varve_answer_free(parser);
    varve_stopper_free(stopper);
    told_free(&told);
}

static void the_public_interface(void **state) {
    (void)state;
    const char *answer = "b\n\n" CALL("f", ARG("s", "1"));
    struct varve_error error;
    struct varve_answer *parser;
    struct told told = {0};
    assert_int_equal(varve_answer_new("bert", VARVE_THINKING_NONE, NULL, 0, &parser, &error),
                     VARVE_ERROR_UNSUPPORTED);
    assert_int_equal(
        varve_answer_new("qwen4exp", VARVE_THINKING_CLOSED, tools, strlen(tools), &parser, &error),
        0);
    assert_int_equal(varve_answer_push(parser, answer, strlen(answer), take_public, &told, &error),
                     0);
    assert_int_equal(varve_answer_push(parser, NULL, 0, take_public, &told, &error), 0);
    assert_int_equal(varve_answer_end(parser, take_public, &told, &error), 0);
    told_add(&told.line, (struct vv_text){"", 1});
    told_add(&told.raw, (struct vv_text){"", 1});
    assert_string_equal(told.line.at, "[C]b[call 0]f[arguments]{\"s\":\"1\"}[end][END]");
    assert_string_equal(told.raw.at, answer);
    varve_answer_free(parser);
    varve_answer_free(NULL);
    told_free(&told);
}

/* ---- Random answers ---- */

static uint32_t seed = 1;

static uint32_t random_below(uint32_t bound) {
    seed = seed * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)(seed >> 8) * bound >> 24);
}

static size_t cut_at_random(size_t at, void *context) {
    (void)at;
    (void)context;
    return 1 + random_below(random_below(4) == 0 ? 40 : 3);
}

/* An answer made of pieces of markup, in any order, whole or cut off. */
static void jumble(const struct answer_setting *setting, struct vv_bytes *out) {
    static const char *const of_qwen[] = {"<tool_call>",
                                          "\n",
                                          "<function=f>",
                                          "<parameter=s>",
                                          "<parameter=i>",
                                          "<parameter=any>",
                                          "</parameter>",
                                          "</function>",
                                          "</tool_call>",
                                          CALL("f", ARG("i", "1")),
                                          "12",
                                          "[1]",
                                          "true"};
    static const char *const of_deepseek[] = {"<" DSML "tool_calls>",
                                              "\n",
                                              "<" DSML "invoke name=\"f\">",
                                              "<" DSML "parameter name=\"s\" string=\"true\">",
                                              "<" DSML "parameter name=\"i\" string=\"false\">",
                                              "<" DSML "parameter name=\"any\">",
                                              "</" DSML "parameter>",
                                              "</" DSML "invoke>",
                                              "</" DSML "tool_calls>",
                                              BLOCK(INVOKE("f", PARAM("i", JSON, "1"))),
                                              "12",
                                              "[1]",
                                              "true"};
    static const char *const common[] = {"\n\n",     " ",       "<",     "```",
                                         "</think>", "<think>", "é\"\\", "x"};
    const char *const *own = setting->family[0] == 'q' ? of_qwen : of_deepseek;
    for (uint32_t n = random_below(24); n > 0; n--) {
        const char *piece = random_below(3) > 0 ? own[random_below(13)] : common[random_below(8)];
        size_t length = strlen(piece);
        length = random_below(8) == 0 ? random_below((uint32_t)length + 1) : length;
        told_add(out, (struct vv_text){piece, length});
    }
}

static void any_cuts_tell_the_same(void **state) {
    (void)state;
    for (int i = 0; i < 20000; i++) {
        struct answer_setting setting = with(i & 1 ? qwen : deep, i / 2 % 3);
        struct vv_bytes bytes = {0};
        jumble(&setting, &bytes);
        struct vv_text text = {bytes.at, bytes.length};
        struct told whole = told_of(&setting, text, NULL, NULL);
        struct told cut = told_of(&setting, text, cut_at_random, NULL);
        assert_true(told_same(&whole, &cut));
        assert_int_equal(whole.raw.length, text.length);
        assert_true(text.length == 0 || memcmp(whole.raw.at, text.at, text.length) == 0);
        told_free(&whole);
        told_free(&cut);
        vv_bytes_free(&bytes);
    }
}

/* A message of random parts, written as the family's template does, and the line it must give. */
static void write_value(const struct answer_setting *setting, struct vv_bytes *answer,
                        struct vv_bytes *line) {
    static const char *const strings[] = {"a",
                                          "",
                                          "</parameter> x",
                                          "\n1\n",
                                          "</" DSML "parameter>.",
                                          "\"\\\n",
                                          "```",
                                          "</function>\n</tool_call>\n\n<tool_call>"};
    bool q = setting->family[0] == 'q';
    bool string = random_below(2) == 0;
    const char *value = string ? strings[random_below(8)] : "[1, \"</parameter>\"]";
    char text[300];
    snprintf(text, sizeof text,
             q        ? "<parameter=%s>\n%s\n</parameter>\n"
             : string ? "<" DSML "parameter name=\"%s\" string=\"true\">%s</" DSML "parameter>\n"
                      : "<" DSML "parameter name=\"%s\" string=\"false\">%s</" DSML "parameter>\n",
             string ? "s" : "a", value);
    told_add(answer, text_of(text));
    told_add(line, text_of(string ? "\"s\":" : "\"a\":"));
    json_t *json = string ? json_string(value) : json_loads(value, 0, NULL);
    char *dump = json_dumps(json, JSON_ENCODE_ANY);
    told_add(line, text_of(dump));
    free(dump);
    json_decref(json);
}

static void write_calls(const struct answer_setting *setting, struct vv_bytes *answer,
                        struct vv_bytes *line) {
    bool q = setting->family[0] == 'q';
    uint32_t calls = random_below(3);
    char text[300];
    for (uint32_t i = 0; i < calls; i++) {
        told_add(answer, text_of(i > 0 ? q ? "\n" : "" : q && answer->length == 0 ? "" : "\n\n"));
        told_add(answer, text_of(q        ? "<tool_call>\n<function=f>\n"
                                 : i == 0 ? "<" DSML "tool_calls>\n<" DSML "invoke name=\"f\">\n"
                                          : "<" DSML "invoke name=\"f\">\n"));
        snprintf(text, sizeof text, "[call %u]f[arguments]{", i);
        told_add(line, text_of(text));
        uint32_t count = random_below(3);
        for (uint32_t k = 0; k < count; k++) {
            told_add(line, text_of(k > 0 ? "," : ""));
            write_value(setting, answer, line);
        }
        told_add(answer, text_of(q               ? "</function>\n</tool_call>"
                                 : i + 1 < calls ? "</" DSML "invoke>\n"
                                                 : "</" DSML "invoke>\n</" DSML "tool_calls>"));
        told_add(line, text_of("}[end]"));
    }
}

static void what_is_rendered_comes_back(void **state) {
    (void)state;
    static const char *const texts[] = {
        "",      "Hello.", "a\n\nb",           "<tool_call>?", "```\nx\n```",
        "a < b", "é\n<",   "1. `</tool_call>`"};
    for (int i = 0; i < 20000; i++) {
        struct answer_setting setting = with(i & 1 ? qwen : deep, i / 2 % 2 ? OPEN : CLOSED);
        const char *thoughts = texts[random_below(8)], *content = texts[random_below(8)];
        struct vv_bytes answer = {0}, line = {0};
        if (setting.thinking == VV_THINKING_OPEN) {
            told_add(&answer, text_of(thoughts));
            told_add(&answer, text_of(i & 1 ? "\n</think>\n\n" : "</think>"));
            told_add(&line, text_of(*thoughts ? "[R]" : ""));
            told_add(&line, text_of(thoughts));
        }
        struct vv_bytes rest = {0};
        told_add(&rest, text_of(content));
        told_add(&line, text_of(*content ? "[C]" : ""));
        told_add(&line, text_of(content));
        write_calls(&setting, &rest, &line);
        told_add(&line, text_of("[END]"));
        told_add(&answer, (struct vv_text){rest.at, rest.length});
        struct told told =
            told_of(&setting, (struct vv_text){answer.at, answer.length}, cut_at_random, NULL);
        told_add(&line, (struct vv_text){"", 1});
        told_add(&told.line, (struct vv_text){"", 1});
        assert_string_equal(told.line.at, line.at);
        told_free(&told);
        vv_bytes_free(&answer);
        vv_bytes_free(&rest);
        vv_bytes_free(&line);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(c165_only_what_may_be_markup_is_held_back),
        cmocka_unit_test(strings_stream_and_other_values_wait),
        cmocka_unit_test(c166_c174_typed_events),
        cmocka_unit_test(a_sink_can_end_the_work),
        cmocka_unit_test(c089_text_held_by_a_stop_string),
        cmocka_unit_test(the_public_interface),
        cmocka_unit_test(any_cuts_tell_the_same),
        cmocka_unit_test(what_is_rendered_comes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

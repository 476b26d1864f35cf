/* Answers taken apart: the rules of docs/answers.md for thoughts, calls and the token limit. */
#include "support/answer_calls.h"

#include "varve.h"

/* ---- Thoughts ---- */

static void thoughts_and_text(void **state) {
    (void)state;
    tells(with(qwen, OPEN), "a\nb\n</think>\n\nHi.", "[R]a\nb[C]Hi.[END]");
    tells(with(qwen, OPEN), "\n\na\n\n</think>\n\n\nHi.\n", "[R]\n\na\n[C]\nHi.\n[END]");
    tells(with(qwen, OPEN), "\n</think>\n\n", "[END]");
    tells(with(qwen, OPEN), "</think>Hi.", "[C]Hi.[END]");
    tells(with(deep, OPEN), "\na\n</think>\n\nHi.", "[R]\na\n[C]\n\nHi.[END]");
    tells(with(deep, OPEN), "</think>", "[END]");
    tells(qwen, "", "[END]");
    tells(with(qwen, OPEN), "", "[END]");
    tells(with(qwen, NONE), "", "[END]");
    tells(qwen, "\n\n", "[C]\n\n[END]");
    tells(with(qwen, OPEN), "日本\n</think>\n\n語", "[R]日本[C]語[END]");
}

static void an_answer_that_opens_its_thoughts_itself(void **state) {
    (void)state;
    tells(with(qwen, NONE), "<think>\na\n</think>\n\nHi.", "[R]a[C]Hi.[END]");
    tells(with(qwen, NONE), "<think>\n\n</think>\n\nHi.", "[C]Hi.[END]");
    tells(with(deep, NONE), "<think>\na</think>Hi.", "[R]\na[C]Hi.[END]");
    tells(with(qwen, NONE), "<thin", "[C]<thin[END]");
    tells(with(qwen, NONE), "<thing> </think>", "[C]<thing> </think>[END]");
    tells(with(qwen, NONE), " <think>a</think>", "[C] <think>a</think>[END]");
    tells(qwen, "<think>\na\n</think>\n\nHi.", "[C]<think>\na\n</think>\n\nHi.[END]");
}

static void c035_thoughts_never_closed(void **state) {
    (void)state;
    tells(with(qwen, OPEN), "a\n", "[R]a\n[END]");
    tells(with(qwen, OPEN), "a\n</thin", "[R]a\n</thin[END]");
    tells(with(deep, NONE), "<think>a </thi", "[R]a </thi[END]");
}

static void c036_raw_text_passes_untouched(void **state) {
    (void)state;
    const char *answer = "a\n</think>\n\nHi.\n\n" CALL("f", ARG("i", "1")) "\n";
    struct answer_setting setting = with(qwen, OPEN);
    struct told told = told_of(&setting, text_of(answer), NULL, NULL);
    told_add(&told.raw, (struct vv_text){"", 1});
    assert_string_equal(told.raw.at, answer);
    told_free(&told);
}

static void c037_the_prompt_says_where_the_answer_begins(void **state) {
    (void)state;
    static const struct {
        const char *prompt;
        int thinking;
    } cases[] = {
        {"<|im_start|>assistant\n<think>\n", OPEN},
        {"<|im_start|>assistant\n<think>\n\n</think>\n\n", CLOSED},
        {"<|im_start|>assistant\n", NONE},
        {"<think>", OPEN},
        {"</think>", CLOSED},
        {"think>", NONE},
        {"<think>.", NONE},
        {"\n", NONE},
        {"", NONE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(vv_thinking_of(text_of(cases[i].prompt)), cases[i].thinking);
        assert_int_equal(varve_prompt_thinking(cases[i].prompt, strlen(cases[i].prompt)),
                         cases[i].thinking);
    }
}

static void c038_thoughts_closed_twice(void **state) {
    (void)state;
    tells(with(qwen, OPEN), "a\n</think>\n\n</think>\n\nb", "[R]a[C]</think>\n\nb[END]");
}

/* ---- Calls ---- */

static void calls_of_qwen(void **state) {
    (void)state;
    tells(qwen, CALL("f", ARG("s", "a") ARG("i", "-3")),
          "[call 0]f[arguments]{\"s\":\"a\",\"i\":-3}[end][END]");
    tells(qwen, "Look.\n\n" CALL("f", "") "\n" CALL("g", ARG("s", "1")),
          "[C]Look.[call 0]f[arguments]{}[end][call 1]g[arguments]{\"s\":\"1\"}[end][END]");
    tells(with(qwen, OPEN), "a\n</think>\n\n" CALL("f", ""),
          "[R]a[call 0]f[arguments]{}[end][END]");
    tells(qwen, "\n\n\na\n\n\n" CALL("f", ""), "[C]\n\n\na\n[call 0]f[arguments]{}[end][END]");
    tells(qwen, "a\n" CALL("f", ""), "[C]a[call 0]f[arguments]{}[end][END]");
    /* all newlines missing; two functions in one block; no end of the block */
    tells(qwen, "<tool_call><function=f><parameter=s>a</parameter></function></tool_call>",
          "[call 0]f[arguments]{\"s\":\"a\"}[end][END]");
    tells(qwen, "<tool_call>\n<function=f>\n</function>\n<function=g>\n</function>\n</tool_call>",
          "[call 0]f[arguments]{}[end][call 1]g[arguments]{}[end][END]");
    tells(qwen, "<tool_call>\n<function=f>\n</function>\n" CALL("g", "") "</tool_call> x",
          "[call 0]f[arguments]{}[end][call 1]g[arguments]{}[end][C]</tool_call> x[END]");
}

static void calls_of_deepseek(void **state) {
    (void)state;
    tells(deep,
          "Look.\n\n" BLOCK(INVOKE("f", PARAM("s", BARE, "a") PARAM("x", JSON, "[1, {\"y\": 2}]"))
                                INVOKE("now", "\n")),
          "[C]Look.[call 0]f[arguments]{\"s\":\"a\",\"x\":[1, {\"y\": 2}]}[end]"
          "[call 1]now[arguments]{}[end][END]");
    /* the attribute goes before the schema; without one the schema tells */
    tells(deep,
          BLOCK(INVOKE("f", PARAM("i", BARE, "1") PARAM("s", JSON, "2") PARAM("i", "", "3") PARAM(
                                "s", "", "4") PARAM("x", JSON, "{oh") PARAM("y", JSON, "\"q\""))),
          "[call "
          "0]f[arguments]{\"i\":\"1\",\"s\":2,\"i\":3,\"s\":\"4\",\"x\":\"{oh\",\"y\":\"q\"}[end]["
          "END]");
    /* nothing is trimmed off a value */
    tells(deep, BLOCK(INVOKE("f", PARAM("s", BARE, "\n a\n"))),
          "[call 0]f[arguments]{\"s\":\"\\n a\\n\"}[end][END]");
    /* an end of the block that is cut off, or not there */
    tells(deep, "<" DSML "tool_calls>\n" INVOKE("f", "") "</" DSML "tool",
          "[call 0]f[arguments]{}[end][END]");
    tells(deep, "<" DSML "tool_calls>" INVOKE("f", ""), "[call 0]f[arguments]{}[end][END]");
}

static void text_after_calls(void **state) {
    (void)state;
    tells(qwen, CALL("f", "") "\n \n", "[call 0]f[arguments]{}[end][END]");
    tells(qwen, CALL("f", "") "\n\nDone.\n", "[call 0]f[arguments]{}[end][C]\n\nDone.\n[END]");
    tells(qwen, CALL("f", "") "\n\n<tool_", "[call 0]f[arguments]{}[end][C]\n\n<tool_[END]");
    tells(deep, BLOCK(INVOKE("f", "")) "\n" BLOCK(INVOKE("g", "")),
          "[call 0]f[arguments]{}[end][call 1]g[arguments]{}[end][END]");
}

static void c163_a_parameter_closed_twice(void **state) {
    (void)state;
    tells(qwen, CALL("f", "<parameter=s>\na\n</parameter>\n</parameter>\n" ARG("i", "1")),
          "[call 0]f[arguments]{\"s\":\"a\",\"i\":1}[end][END]");
    tells(deep, BLOCK(INVOKE("f", PARAM("s", BARE, "a") "</" DSML "parameter>\n")),
          "[call 0]f[arguments]{\"s\":\"a\"}[end][END]");
    tells(qwen, CALL("f", "<parameter=s>\na</parameter></parameter></parameter></parameter>"),
          "[call 0]f[arguments]{\"s\":\"a</parameter></parameter>\"}[end][END]");
}

static void c164_calls_within_thoughts(void **state) {
    (void)state;
    tells(with(qwen, OPEN), "Hm.\n" CALL("f", ARG("i", "1")),
          "[R]Hm.[call 0]f[arguments]{\"i\":1}[end][END]");
    tells(with(qwen, OPEN), "a\n" CALL("f", "") "\n</think>\n\nb",
          "[R]a[call 0]f[arguments]{}[end][C]b[END]");
    tells(with(qwen, OPEN), "a\n" CALL("f", "") "\nb\n</think>\n\nc",
          "[R]a[call 0]f[arguments]{}[end][R]\nb[C]c[END]");
    tells(with(deep, OPEN), "a\n\n" BLOCK(INVOKE("f", "")),
          "[R]a\n\n" BLOCK(INVOKE("f", "")) "[END]");
    tells(with(deep, OPEN), "a" BLOCK(INVOKE("f", "")) "</think>b",
          "[R]a" BLOCK(INVOKE("f", "")) "[C]b[END]");
}

static void c175_a_value_contains_the_closing_tag(void **state) {
    (void)state;
    tells(qwen, CALL("f", ARG("s", "a </parameter> b\n</parameter>\nc") ARG("i", "1")),
          "[call 0]f[arguments]{\"s\":\"a </parameter> b\\n</parameter>\\nc\",\"i\":1}[end][END]");
    tells(qwen, CALL("f", ARG("s", "</parameter>\n</function")),
          "[call 0]f[arguments]{\"s\":\"</parameter>\\n</function\"}[end][END]");
    tells(qwen, CALL("f", ARG("s", "</parameter>\n<parameter=\n>")),
          "[call 0]f[arguments]{\"s\":\"</parameter>\\n<parameter=\\n>\"}[end][END]");
    tells(qwen, CALL("f", ARG("s", "</function>\n</tool_call>\n<tool_call>")),
          "[call 0]f[arguments]{\"s\":\"</function>\\n</tool_call>\\n<tool_call>\"}[end][END]");
    tells(deep, BLOCK(INVOKE("f", PARAM("s", BARE, "a</" DSML "parameter> b"))),
          "[call 0]f[arguments]{\"s\":\"a</" DSML "parameter> b\"}[end][END]");
}

static void c176_prose_that_mentions_a_call_stays_text(void **state) {
    (void)state;
    static const char *const proses[] = {
        "Write <tool_call> and then the call.",
        "Write `<tool_call>`",
        "`<tool_call><function=f>` begins one.",
        "`" CALL("f", "") "` is one.",
        "``a ` " CALL("f", "") "`` is one.",
        "a ~ `b` `" CALL("f", "") "`",
        "<tool_call>",
        "<tool_call>\n<functio",
        "<tool_call>\n{\"name\": \"f\"}\n</tool_call>",
        "<tool_call>\n<function=f>\nhello\n</function>\n</tool_call>",
        "<tool_call>\n<function=>\n</function>\n</tool_call>",
        "<tool_call>\n<function=a\nb>\n</function>\n</tool_call>",
        "<tool_call>\n<function=a<b>\n</function>\n</tool_call>",
        "<tool_call>\n<function=f>\n<parameter=>\n\n</parameter>\n</function>\n</tool_call>",
        "<function=f>\n</function>",
        "</tool_call></function></parameter>",
        "Like so:\n```xml\n" CALL("f", ARG("s", "a")) "\n```\nThat is all.",
        "~~~~\n~~~\n" CALL("f", "") "\n~~~~\n",
        "```\n" CALL("f", ""),
        "  ```\n" CALL("f", ""),
        "```` a\n```\n" CALL("f", ""),
        "```\n``` a\n" CALL("f", ""),
        "```\n~~~\n" CALL("f", ""),
        "``` " CALL("f", ""),
    };
    for (size_t i = 0; i < sizeof proses / sizeof *proses; i++) {
        char wanted[1000];
        snprintf(wanted, sizeof wanted, "[C]%s[END]", proses[i]);
        tells(qwen, proses[i], wanted);
        snprintf(wanted, sizeof wanted, "[R]%s[END]", proses[i]);
        tells(with(qwen, OPEN), proses[i], wanted);
    }
    tells(deep, "Use <" DSML "tool_calls>, then", "[C]Use <" DSML "tool_calls>, then[END]");
    tells(deep, "```\n" BLOCK(INVOKE("f", "")), "[C]```\n" BLOCK(INVOKE("f", "")) "[END]");
}

static void code_that_is_over_hides_no_call(void **state) {
    (void)state;
    static const char *const texts[] = {
        "```\na\n```", "```\na\n`````  ",        "~~~ `x`\na\n~~~", "``` `a` b", "a ```", "``\na",
        "`~~\na",      "```\n\n```\n```\n```\t", "x\n```\n```\r",   "` a",       "a ```",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char answer[1000], wanted[1000];
        snprintf(answer, sizeof answer, "%s\n\n%s", texts[i], CALL("f", ""));
        snprintf(wanted, sizeof wanted, "[C]%s[call 0]f[arguments]{}[end][END]", texts[i]);
        tells(qwen, answer, wanted);
    }
    tells(qwen, "a `b` ``c`d``" CALL("f", ""), "[C]a `b` ``c`d``[call 0]f[arguments]{}[end][END]");
    /* code is over at the end of the thoughts, and none is in a value */
    tells(with(qwen, OPEN), "```\n</think>\n\n" CALL("f", ""),
          "[R]```[call 0]f[arguments]{}[end][END]");
    tells(qwen, CALL("f", ARG("s", "```")) "\na\n" CALL("g", ""),
          "[call 0]f[arguments]{\"s\":\"```\"}[end][C]\na[call 1]g[arguments]{}[end][END]");
}

static void no_tools_no_calls(void **state) {
    (void)state;
    struct answer_setting none = {"qwen4exp", VV_THINKING_CLOSED, " [ ] "};
    struct answer_setting unknown = {"qwen4exp", VV_THINKING_CLOSED, NULL};
    tells(none, CALL("f", ""), "[C]" CALL("f", "") "[END]");
    tells(unknown, CALL("f", ARG("s", "1")), "[call 0]f[arguments]{\"s\":1}[end][END]");
    /* a tool that isn't given: the caller can tell the model so */
    tells(qwen, CALL("unheard", ARG("s", "1")), "[call 0]unheard[arguments]{\"s\":1}[end][END]");
}

static void c177_names_come_through(void **state) {
    (void)state;
    static const char *const names[] = {
        "a.b.c", "ns::f", "mcp__server__do", "x/y", "a-b", "f(x, y)", "日本", "a=b", "\\"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char answer[1000], wanted[1000];
        snprintf(answer, sizeof answer, "<tool_call>\n<function=%s>\n</function>\n</tool_call>",
                 names[i]);
        snprintf(wanted, sizeof wanted, "[call 0]%s[arguments]{}[end][END]", names[i]);
        tells(qwen, answer, wanted);
        snprintf(answer, sizeof answer,
                 "<" DSML "tool_calls>\n<" DSML "invoke name=\"%s\">\n</" DSML "invoke>\n</" DSML
                 "tool_calls>",
                 names[i]);
        tells(deep, answer, wanted);
    }
    tells(qwen, CALL("f", ARG("a \"b\"\\", "x")),
          "[call 0]f[arguments]{\"a \\\"b\\\"\\\\\":\"x\"}[end][END]");
}

static void names_and_space_have_a_bound(void **state) {
    (void)state;
    for (int over = 0; over < 2; over++) {
        char name[300], space[64], answer[800], wanted[1000];
        snprintf(name, sizeof name, "%0*d", 256 + over, 7);
        snprintf(space, sizeof space, "%*s", 32 + over, "");
        snprintf(answer, sizeof answer, "<tool_call><function=%s></function>", name);
        snprintf(wanted, sizeof wanted, over ? "[C]%s[END]" : "[call 0]%s[arguments]{}[end][END]",
                 over ? answer : name);
        tells(qwen, answer, wanted);
        snprintf(answer, sizeof answer, "<tool_call>%s<function=f></function>", space);
        snprintf(wanted, sizeof wanted, over ? "[C]%s[END]" : "[call 0]f[arguments]{}[end][END]",
                 answer);
        tells(qwen, answer, wanted);
    }
}

/* ---- The token limit ---- */

static void calls_that_break_off(void **state) {
    (void)state;
    static const struct {
        const char *end, *wanted;
    } cases[] = {
        {"", "[C]a[END]"},
        {"\n\n<tool_call>\n", "[C]a\n\n<tool_call>\n[END]"},
        {"\n\n<tool_call>\n<function=", "[C]a[broken 0][END]"},
        {"\n\n<tool_call>\n<function=f", "[C]a[broken 0][END]"},
        {"\n\n<tool_call>\n<function=f>", "[C]a[call 0]f[broken 0][END]"},
        {"\n\n<tool_call>\n<function=f>\n<param", "[C]a[call 0]f[broken 0][END]"},
        {"\n\n<tool_call>\n<function=f>\n<parameter=s>",
         "[C]a[call 0]f[arguments]{\"s\":[broken 0][END]"},
        {"\n\n<tool_call>\n<function=f>\n<parameter=s>\nrm -rf /tm",
         "[C]a[call 0]f[arguments]{\"s\":\"rm -rf /tm[broken 0][END]"},
        {"\n\n<tool_call>\n<function=f>\n<parameter=i>\n1",
         "[C]a[call 0]f[arguments]{\"i\":[broken 0][END]"},
        {"\n\n<tool_call>\n<function=f>\n<parameter=s>\nx\n</parameter>\n",
         "[C]a[call 0]f[arguments]{\"s\":\"x[broken 0][END]"},
        {"\n\n<tool_call>\n<function=f>\n</functio", "[C]a[call 0]f[broken 0][END]"},
        {"\n\n<tool_call>\n<function=f>\n</function>", "[C]a[call 0]f[arguments]{}[end][END]"},
        {CALL("f", "") "\n<tool_call>\n<function=g",
         "[C]a[call 0]f[arguments]{}[end][broken 1][END]"},
        {"<tool_call><function=f></function><function=g>",
         "[C]a[call 0]f[arguments]{}[end][call 1]g[broken 1][END]"},
        {"<tool_call><function=f></function><func", "[C]a[call 0]f[arguments]{}[end][END]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char answer[1000];
        snprintf(answer, sizeof answer, "a%s", cases[i].end);
        tells(qwen, answer, cases[i].wanted);
    }
    tells(deep,
          "<" DSML "tool_calls>\n<" DSML "invoke name=\"f\">\n<" DSML "parameter name=\"s\" s",
          "[call 0]f[broken 0][END]");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thoughts_and_text),
        cmocka_unit_test(an_answer_that_opens_its_thoughts_itself),
        cmocka_unit_test(c035_thoughts_never_closed),
        cmocka_unit_test(c036_raw_text_passes_untouched),
        cmocka_unit_test(c037_the_prompt_says_where_the_answer_begins),
        cmocka_unit_test(c038_thoughts_closed_twice),
        cmocka_unit_test(calls_of_qwen),
        cmocka_unit_test(calls_of_deepseek),
        cmocka_unit_test(text_after_calls),
        cmocka_unit_test(c163_a_parameter_closed_twice),
        cmocka_unit_test(c164_calls_within_thoughts),
        cmocka_unit_test(c175_a_value_contains_the_closing_tag),
        cmocka_unit_test(c176_prose_that_mentions_a_call_stays_text),
        cmocka_unit_test(code_that_is_over_hides_no_call),
        cmocka_unit_test(no_tools_no_calls),
        cmocka_unit_test(c177_names_come_through),
        cmocka_unit_test(names_and_space_have_a_bound),
        cmocka_unit_test(calls_that_break_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The template language against the reference (tools/jinja_goldens.py), and what is our own. */
#include "support/jinja_render.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <jansson.h>

#define CASES VARVE_SOURCE_DIR "/tests/data/jinja/cases.jsonl"

/* ---- The reference's cases ---- */

struct goldens {
    struct vv_arena arena;
    struct vv_value variables;
    size_t passed, failed;
};

static void check_case(struct goldens *g, const json_t *json) {
    static const struct tm now = {.tm_year = 126,
                                  .tm_mon = 2,
                                  .tm_mday = 5,
                                  .tm_hour = 7,
                                  .tm_min = 8,
                                  .tm_sec = 9,
                                  .tm_wday = 4,
                                  .tm_yday = 63};
    const struct vv_jinja_options options = {.now = &now};
    const json_t *template = json_object_get(json, "template");
    const json_t *wanted = json_object_get(json, "expected");
    struct vv_text source = {json_string_value(template), json_string_length(template)};
    struct vv_jinja *jinja = NULL;
    struct vv_jinja_rendering r = {0};
    struct vv_error error;
    int status = vv_jinja_compile(source, &jinja, &error);
    status = status == VV_OK ? vv_jinja_render(jinja, &g->variables, &options, &r, &error) : status;
    bool same = wanted ? status == VV_OK && r.text.length == json_string_length(wanted) &&
                             memcmp(r.text.at, json_string_value(wanted), r.text.length) == 0
                       : status == VV_ERROR_INVALID || status == VV_ERROR_UNSUPPORTED;
    g->passed += same;
    g->failed += !same;
    if (!same) {
        print_error("%s: %s\n  wanted %s\n  found  %.*s%s\n",
                    json_string_value(json_object_get(json, "id")), source.at,
                    wanted ? json_string_value(wanted) : "a refusal", (int)r.text.length,
                    r.text.length ? r.text.at : "", status ? error.message : "");
    }
    vv_jinja_rendering_free(&r);
    vv_jinja_free(jinja);
}

static void the_reference_renders_the_same(void **state) {
    (void)state;
    struct goldens g = {.passed = 0};
    struct vv_error error;
    json_t *first = NULL, *json;
    FILE *file = fopen(CASES, "r");
    assert_non_null(file);
    while ((json = json_loadf(file, JSON_DISABLE_EOF_CHECK, NULL))) {
        if (first) {
            check_case(&g, json);
            json_decref(json);
            continue;
        }
        first = json;
        char *text = json_dumps(json_object_get(json, "variables"), JSON_REAL_PRECISION(17));
        assert_int_equal(vv_value_json(&g.arena, (struct vv_text){text, strlen(text)}, true,
                                       &g.variables, &error),
                         VV_OK);
        free(text);
    }
    json_decref(first);
    fclose(file);
    vv_arena_free(&g.arena);
    assert_int_equal(g.failed, 0);
    assert_true(g.passed > 1650);
}

/* ---- Messages ---- */

static void assert_refused(const char *template, const char *variables, const char *sentence) {
    struct rendered r = render(template, variables);
    assert_int_equal(r.status, VV_ERROR_INVALID);
    assert_string_equal(r.error.message, sentence);
}

static void a_refusal_names_line_and_column(void **state) {
    (void)state;
    assert_refused("a\n  {{ x.y }}", "{}", "chat template, line 2, column 7: 'x' is undefined");
    assert_refused("é{{ 1 + 'a' }}", "{}",
                   "chat template, line 1, column 7: '+' is not possible between an integer and a "
                   "text");
    assert_refused("\r\n{% if x %}\r\n", "{}",
                   "chat template, line 2, column 11: the template ends before {% endif %}");
    assert_refused("{{ 'a\n\\x1' }}", "{}",
                   "chat template, line 2, column 1: this escape has too few digits, or is of a "
                   "kind that is not known");
    assert_refused("{% for m in l %}\n{{ raise_exception('Not ' ~ m) }}{% endfor %}",
                   "{\"l\": [\"so\"]}", "chat template, line 2, column 19: Not so");
    assert_refused("{{ nothing.pop() }}", "{\"nothing\": {}}",
                   "chat template, line 1, column 15: 'pop' would change a value, which a template "
                   "may not do");
    assert_refused("{{ x|nope }}", "{}",
                   "chat template, line 1, column 6: there is no filter "
                   "'nope'");
    assert_refused("{% include 'x' %}", "{}",
                   "chat template, line 1, column 4: there is no tag 'include' to be opened or "
                   "closed here");
}

/* The reference makes something of it that nobody can want. */
static void batches_of_nothing_are_refused(void **state) {
    (void)state;
    assert_refused("{{ [1]|batch(0)|list }}", "{}",
                   "chat template, line 1, column 8: a list cannot be parted like that");
    assert_refused("{{ [1]|batch(-1)|list }}", "{}",
                   "chat template, line 1, column 8: a list cannot be parted like that");
    assert_refused("{{ 5|batch(0)|list }}", "{}",
                   "chat template, line 1, column 6: an integer has no items to go through");
}

static void a_refusal_names_the_item_that_loops_stand_at(void **state) {
    (void)state;
    struct vv_arena arena = {0};
    struct vv_error error;
    struct vv_value list, dict;
    struct vv_jinja *jinja;
    struct vv_jinja_rendering r;
    static const char json[] = "[{\"a\": 1}, {\"a\": 2}, {\"a\": 3}]";
    static const char source[] =
        "{% for m in l[::-1] %}{% for i in [1, 2] %}{% if m.a == 2 %}{{ raise_exception('no') }}"
        "{% endif %}{% endfor %}{% endfor %}";
    assert_int_equal(
        vv_value_json(&arena, (struct vv_text){json, sizeof json - 1}, true, &list, &error), VV_OK);
    struct vv_pair pair = {.value = list};
    vv_value_string(&arena, (struct vv_text){"l", 1}, false, &pair.key, &error);
    assert_int_equal(vv_value_dict(&arena, &pair, 1, false, &dict, &error), VV_OK);
    assert_int_equal(vv_jinja_compile((struct vv_text){source, sizeof source - 1}, &jinja, &error),
                     VV_OK);
    struct vv_jinja_options options = {.counted = list, .counted_name = "message"};
    assert_int_equal(vv_jinja_render(jinja, &dict, &options, &r, &error), VV_ERROR_INVALID);
    assert_string_equal(error.message, "chat template, line 1, column 79 (message 1): no");
    vv_jinja_free(jinja);
    vv_arena_free(&arena);
}

static void there_is_no_clock_unless_given(void **state) {
    (void)state;
    assert_refused("{{ strftime_now('%Y') }}", "{}",
                   "chat template, line 1, column 16: 'strftime_now' is not there, as no time is "
                   "given");
}

/* ---- What Python has no equal of, or JSON no words for ---- */

static void integers_beyond_64_bits_pass_through(void **state) {
    (void)state;
    const char *variables = "{\"n\": 12345678901234567890123, \"m\": -99999999999999999999}";
    assert_true(renders("{{ n }} {{ [n]|tojson }} {{ m|string }}", variables,
                        "12345678901234567890123 [12345678901234567890123] -99999999999999999999"));
    assert_true(renders("{{ n is number }}{{ n is integer }}{{ n > 5 }}{{ m < n }}{{ n == n }}"
                        "{{ m > -1e30 }}{{ n|int }}{{ m|float }}",
                        variables, "TrueTrueTrueTrueTrueTrue12345678901234567890123-1e+20"));
    assert_int_equal(render("{{ n + 1 }}", variables).status, VV_ERROR_INVALID);
    assert_int_equal(render("{{ 9223372036854775807 + 1 }}", "{}").status, VV_ERROR_INVALID);
    assert_int_equal(render("{{ 9223372036854775807 * 2 }}", "{}").status, VV_ERROR_INVALID);
    assert_int_equal(render("{{ 2 ** 63 }}", "{}").status, VV_ERROR_INVALID);
    assert_true(renders("{{ 2 ** 62 }} {{ (-2) ** 63 }}", "{}",
                        "4611686018427387904 -9223372036854775808"));
    assert_int_equal(render("{{ ((-2) ** 63) // -1 }}", "{}").status, VV_ERROR_INVALID);
    assert_true(renders("{{ ((-2) ** 63) % -1 }}", "{}", "0"));
    assert_int_equal(render("{{ 2 ** 0.5 }}", "{}").status, VV_ERROR_UNSUPPORTED);
}

static void ill_formed_bytes_are_repaired(void **state) {
    (void)state;
    static const char ill_formed[] = "a\xff{{ 'b\xc3' }}", zeros[] = "a\0{{ 'b\0c'|length }}";
    struct rendered r = render_with(ill_formed, sizeof ill_formed - 1, "{}", NULL);
    assert_int_equal(r.status, VV_OK);
    assert_int_equal(r.rendering.text.length, 8);
    assert_memory_equal(r.rendering.text.at,
                        "a\xef\xbf\xbd"
                        "b\xef\xbf\xbd",
                        8);
    vv_jinja_rendering_free(&r.rendering);
    r = render_with(zeros, sizeof zeros - 1, "{}", NULL);
    assert_int_equal(r.status, VV_OK);
    assert_int_equal(r.rendering.text.length, 3);
    assert_memory_equal(r.rendering.text.at,
                        "a\0"
                        "3",
                        3);
    vv_jinja_rendering_free(&r.rendering);
}

static void a_dict_finds_keys_of_all_kinds(void **state) {
    (void)state;
    assert_true(renders("{% set d = {1: 'a', 'x': 'b', none: 'c', (1, 'y'): 'd', 2.5: 'e'} %}"
                        "{{ d[1.0] }}{{ d[true] }}{{ d['x'] }}{{ d[none] }}{{ d[(1, 'y')] }}"
                        "{{ d[2.5] }}{{ d[2] is defined }}{{ d[(1,)] is defined }}{{ d|length }}",
                        "{}", "aabcdeFalseFalse5"));
    char variables[40000] = "{\"d\": {", *at = variables + strlen(variables);
    for (int i = 0; i < 2000; i++) {
        at += sprintf(at, "%s\"k%d\": %d", i ? ", " : "", i * 7919 % 2000, i);
    }
    strcpy(at, "}}");
    assert_true(renders("{{ d.k0 }} {{ d.k7919 is defined }} {{ d['k1919'] }} {{ d|length }} "
                        "{{ (d|list)[1] }}",
                        variables, "0 False 1 2000 k1919"));
}

/* ---- Limits ---- */

static int status_within(struct vv_jinja_limits limits, const char *template,
                         const char *variables) {
    struct vv_jinja_options options = {.limits = limits};
    struct rendered r = render_with(template, strlen(template), variables, &options);
    vv_jinja_rendering_free(&r.rendering);
    return r.status;
}

static void work_is_limited(void **state) {
    (void)state;
    struct vv_jinja_limits few = {.steps = 100000};
    static const char *const endless[] = {
        "{% for i in range(1000) %}{% for j in range(1000) %}{% endfor %}{% endfor %}",
        "{% for i in range(100000) %}{{ 'x' }}{% endfor %}",
        "{% set n = namespace(t='x') %}{% for i in range(40) %}{% set n.t = n.t * 2 %}{% endfor %}",
        "{% for i in range(1000) %}{{ ('x' * 100000)|upper|length }}{% endfor %}",
        "{% for i in range(1000) %}{{ range(100000)|length }}{% endfor %}",
        "{% for i in range(1000) %}{{ 'a' in 'b' * 100000 }}{% endfor %}",
        "{% for i in range(1000) %}{{ range(10000)|list == range(10000)|list }}{% endfor %}",
        "{{ (range(100000)|list * 100)|sort|length }}",
        "{% macro f() %}{{ f() }}{{ f() }}{% endmacro %}{{ f() }}",
        "{{ 'x'.center(1000000) }}",
        "{% for i in range(1000) %}{{ ('é' * 10000)[5000] }}{% endfor %}",
    };
    for (size_t i = 0; i < sizeof endless / sizeof *endless; i++) {
        assert_int_equal(status_within(few, endless[i], "{}"), VV_ERROR_INVALID);
    }
}

static void memory_is_limited(void **state) {
    (void)state;
    struct vv_jinja_limits little = {.memory = 1000000};
    assert_int_equal(status_within(little, "{{ 'x' * 10000000 }}", "{}"), VV_ERROR_INVALID);
    assert_int_equal(status_within(little, "{{ [1] * 10000000 }}", "{}"), VV_ERROR_INVALID);
    assert_int_equal(status_within(little, "{{ [[]] * 4611686018427387904 }}", "{}"),
                     VV_ERROR_INVALID);
    assert_int_equal(status_within(little, "{{ 'x' * 4611686018427387904 }}", "{}"),
                     VV_ERROR_INVALID);
    assert_int_equal(status_within(little,
                                   "{% set n = namespace(l=[]) %}{% for i in range(99999) %}"
                                   "{% set n.l = [n.l, i] %}{% endfor %}",
                                   "{}"),
                     VV_ERROR_INVALID);
    assert_int_equal(status_within(little, "{{ 'abc' * 1000 }}", "{}"), VV_OK);
    assert_int_equal(
        status_within((struct vv_jinja_limits){.output = 1000}, "{{ 'x' * 1001 }}", "{}"),
        VV_ERROR_INVALID);
    assert_int_equal(
        status_within((struct vv_jinja_limits){.output = 1000}, "{{ 'x' * 1000 }}", "{}"), VV_OK);
}

/* Wherever memory ends, the rendering is refused, and nothing is lost or broken. */
static void memory_may_end_anywhere(void **state) {
    (void)state;
    static const char template[] =
        "{% macro f(a, b='z') %}{{ a }}{{ kwargs }}{{ varargs }}{{ caller() if caller }}"
        "{% endmacro %}{% set ns = namespace(t='', l=[]) %}"
        "{% for k, v in d.items() if k != 'q' %}{% set ns.t = ns.t ~ k ~ v %}"
        "{% set ns.l = ns.l + [v] %}{{ loop.nextitem }}{% endfor %}{{ f(1, 2, 3, x=4) }}"
        "{% call f(2) %}c{% endcall %}{% filter upper %}{{ ns.t }}{% endfilter %}"
        "{{ d|tojson(indent=2, sort_keys=true) }}{{ '[1, {\"a\": \"b\"}]'|from_json }}{{ ns }}"
        "{{ ns.l|map('string')|sort|unique|join(',') }}{{ [d, d]|groupby('a') }}"
        "{{ [1, 2]|batch(2)|list }}{{ d.a.split('e')|reverse|list }}"
        "{{ 'a%s'|format(d.a|title) }}{{ '{}'.format(1) }}{{ d.a[::-1] }}"
        "{{ d.a|replace('e', 'ee')|indent|truncate(5)|center(9) }}{{ {d.a: 1}|dictsort }}"
        "{{ 'x' * 9 }}{{ dict(d, z=1)|items|list }}{{ d.l|selectattr('x')|list }}"
        "{{ d.l|sum(attribute='x') }}";
    static const char variables[] = "{\"d\": {\"a\": \"text\", \"l\": [{\"x\": 1}, {\"x\": 2}]}}";
    size_t limit = 16;
    while (status_within((struct vv_jinja_limits){.memory = limit}, template, variables) != VV_OK) {
        limit += 48;
        assert_true(limit < 1000000);
    }
    assert_true(limit > 10000);
}

/* A template of `count` times `open`, `middle`, and as often `close`. */
static char *nested(size_t count, const char *open, const char *middle, const char *close) {
    char *text = malloc(count * (strlen(open) + strlen(close)) + strlen(middle) + 1), *at = text;
    assert_non_null(text);
    for (size_t i = 0; i < count; i++) {
        at = stpcpy(at, open);
    }
    at = stpcpy(at, middle);
    for (size_t i = 0; i < count; i++) {
        at = stpcpy(at, close);
    }
    return text;
}

static void depth_is_limited(void **state) {
    (void)state;
    static const char *const shapes[][3] = {
        {"{% if x %}", "", "{% endif %}"},
        {"{% for i in x %}", "", "{% endfor %}"},
        {"{% macro f() %}", "", "{% endmacro %}"},
        {"{{ ", "(((((((((((", ""},
        {"{{ [", "", ""},
        {"{{ -", "1", ""},
        {"{{ not ", "1", ""},
        {"{{ {1:", "", ""},
        {"{{ f(", "", ""},
        {"{{ x[", "", ""},
        {"{{ 1 if 1 else ", "", ""},
        {"{{ x|f(", "", ""},
        {"{{ x is f(", "", ""},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        bool tag = shapes[i][0][1] == '%';
        char *text =
            nested(20000, tag ? shapes[i][0] : shapes[i][0] + 3, shapes[i][1], shapes[i][2]);
        char *whole = malloc(strlen(text) + 4);
        assert_non_null(whole);
        sprintf(whole, "%s%s", tag ? "" : "{{ ", text);
        assert_int_equal(render(whole, "{}").status, VV_ERROR_INVALID);
        free(text);
        free(whole);
    }
    char *chain = nested(20000, ".a", "}}", "");
    char *whole = malloc(strlen(chain) + 5);
    assert_non_null(whole);
    sprintf(whole, "{{ x%s", chain);
    assert_int_equal(render(whole, "{\"x\": 1}").status, VV_ERROR_INVALID);
    free(chain);
    free(whole);
}

static void depth_of_values_and_calls_is_limited(void **state) {
    (void)state;
    static const char build[] = "{% set n = namespace(l=[], k=[]) %}{% for i in range(2000) %}"
                                "{% set n.l = [n.l] %}{% set n.k = [n.k] %}{% endfor %}";
    static const char *const uses[] = {
        "{{ n.l }}",          "{{ n.l|tojson }}", "{{ n.l == n.k }}",      "{{ n.l < n.k }}",
        "{{ n.l in [n.k] }}", "{{ n.l|string }}", "{{ [n.l, n.k]|sort }}", "{{ '%s' % [n.l] }}"};
    char template[400];
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++) {
        snprintf(template, sizeof template, "%s%s", build, uses[i]);
        assert_int_equal(render(template, "{}").status, VV_ERROR_INVALID);
    }
    assert_int_equal(render("{% set n = namespace() %}{% set n.n = n %}{{ n }}", "{}").status,
                     VV_ERROR_INVALID);
    assert_int_equal(render("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "{}").status,
                     VV_ERROR_INVALID);
    assert_int_equal(render("{% for i in [1] recursive %}{{ loop([1]) }}{% endfor %}", "{}").status,
                     VV_ERROR_INVALID);
    assert_true(renders("{% macro f(n) %}{% if n %}{{ f(n - 1) }}{% else %}end{% endif %}"
                        "{% endmacro %}{{ f(50) }}",
                        "{}", "end"));
}

/* ---- Time and memory grow with the conversation, not with its square (C173) ---- */

/* Pairs of a call and its result. */
static char *call_pairs(size_t count) {
    static const char pair[] =
        "{\"role\": \"assistant\", \"content\": \"\", \"tool_calls\": [{\"function\": {\"name\": "
        "\"f\", \"arguments\": {\"a\": 1, \"b\": \"two\"}}}]}, {\"role\": \"tool\", \"content\": "
        "\"a result of some length\"}";
    char *text = malloc(count * (sizeof pair + 2) + 100), *at = text;
    assert_non_null(text);
    at = stpcpy(at, "{\"messages\": [{\"role\": \"user\", \"content\": \"go\"}");
    for (size_t i = 0; i < count; i++) {
        at = stpcpy(stpcpy(at, ", "), pair);
    }
    stpcpy(at, "]}");
    return text;
}

static void c173_many_tool_calls_take_linear_time(void **state) {
    (void)state;
    /* Goes backwards, looks at neighbours, and collects all of it in one text and one list. */
    static const char template[] =
        "{% macro show(c) %}{{ c|trim }}{% endmacro %}"
        "{% set ns = namespace(last=0, all='', list=[]) %}{% for m in messages[::-1] %}"
        "{% if m.role == 'user' %}{% set ns.last = loop.index0 %}{% endif %}{% endfor %}"
        "{% for m in messages %}{% set text = show(m.content) %}"
        "{% if loop.previtem and loop.previtem.role == m.role %}again{% endif %}"
        "{% set ns.all = ns.all ~ '<' ~ m.role ~ '>' + text %}"
        "{% set ns.list = ns.list + [text] %}{% for call in m.tool_calls or [] %}"
        "{{ call.function.name }}{% for k, v in call.function.arguments.items() %}{{ k }}"
        "={{ v|tojson }};{% endfor %}{% endfor %}{{ messages[loop.index0 - 1].role }}"
        "{% endfor %}{{ ns.all }}{{ ns.list|join(',') }}";
    for (size_t count = 64; count <= 4096; count *= 8) {
        char *variables = call_pairs(count);
        struct vv_jinja_limits limits = {.steps = 300 * count + 2000,
                                         .memory = 14000 * count + 100000};
        assert_int_equal(status_within(limits, template, variables), VV_OK);
        free(variables);
    }
}

static void long_messages_take_linear_time(void **state) {
    (void)state;
    static const char template[] =
        "{{ m|trim }}{{ m.split('</think>')[-1]|length }}{{ m[::-1]|length }}"
        "{{ m|tojson|length }}{{ m|replace('a', 'bb')|length }}{{ m.split()|length }}"
        "{{ m|upper|length }}{{ 'x' in m }}{{ m|e|length }}{{ m.splitlines()|length }}"
        "{{ m[50:-50]|length }}{{ [m]|string|length }}{{ m.find('zzz') }}"
        "{{ m.rstrip('\\n') == m }}";
    char *variables = malloc(400100), *at = stpcpy(variables, "{\"m\": \"");
    assert_non_null(variables);
    for (int i = 0; i < 25000; i++) {
        at = stpcpy(at, i % 10 ? "aé b" : "a\\n b");
    }
    stpcpy(at, "\"}");
    struct vv_jinja_limits limits = {.steps = 1000000, .memory = 100000000};
    assert_int_equal(status_within(limits, template, variables), VV_OK);
    free(variables);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_reference_renders_the_same),
        cmocka_unit_test(a_refusal_names_line_and_column),
        cmocka_unit_test(batches_of_nothing_are_refused),
        cmocka_unit_test(a_refusal_names_the_item_that_loops_stand_at),
        cmocka_unit_test(there_is_no_clock_unless_given),
        cmocka_unit_test(integers_beyond_64_bits_pass_through),
        cmocka_unit_test(ill_formed_bytes_are_repaired),
        cmocka_unit_test(a_dict_finds_keys_of_all_kinds),
        cmocka_unit_test(work_is_limited),
        cmocka_unit_test(memory_is_limited),
        cmocka_unit_test(memory_may_end_anywhere),
        cmocka_unit_test(depth_is_limited),
        cmocka_unit_test(depth_of_values_and_calls_is_limited),
        cmocka_unit_test(c173_many_tool_calls_take_linear_time),
        cmocka_unit_test(long_messages_take_linear_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Every character of a rendering is the template's or the data's. The data here have the letters x,
 * y and z and the digit 9 alone, the templates' texts the others, so that a wrong mark shows.
 */
#include "support/jinja_render.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const char variables[] =
    "{\"x\": \"xyz <zy> yx\", \"y\": \"\\n Zyx\\t\\nyy zz\\\"'&\\n\", \"n\": 99, \"f\": 9.9, "
    "\"z\": {\"x\": \"y\", \"zz\": [\"x\", 9, {\"yy\": \"zx\"}]}, \"l\": [\"zy\", \"xx\", \"y\"], "
    "\"j\": \"{\\\"x\\\": [\\\"y\\\", 9]}\", \"yes\": true, \"big\": 99999999999999999999, "
    "\"messages\": [{\"zx\": \"xy\", \"yx\": \"zz\"}, {\"zx\": \"z\", \"yx\": \"y\"}]}";

/* Whether a character can only come from the data: +1, only from the template: -1, else 0. */
static int owner(char c) {
    int lower = tolower((unsigned char)c);
    if (lower == 'x' || lower == 'y' || lower == 'z' || c == '9') {
        return 1;
    }
    return isalnum((unsigned char)c) ? -1 : 0;
}

/* Behind the escapes at `at`, "\n" or "&lt;", whose letters are those of neither. */
static size_t skip_escapes(struct vv_text text, size_t at) {
    while (at < text.length && (text.at[at] == '\\' || text.at[at] == '&')) {
        const char *end = memchr(text.at + at, ';', text.length - at);
        at = text.at[at] == '\\' ? at + 2 : end ? (size_t)(end - text.at) + 1 : text.length;
    }
    return at;
}

static void assert_marks(const char *template) {
    struct rendered r = render(template, variables);
    if (r.status != VV_OK) {
        fail_msg("%s: %s", template, r.error.message);
    }
    bool any = false;
    for (size_t i = 0; i < r.rendering.count; i++) {
        struct vv_jinja_piece piece = r.rendering.pieces[i];
        assert_true(piece.text.length > 0);
        assert_true(i == 0 || r.rendering.pieces[i - 1].data != piece.data);
        for (size_t k = 0; (k = skip_escapes(piece.text, k)) < piece.text.length; k++) {
            int of = owner(piece.text.at[k]);
            any = any || of > 0;
            if (of != 0 && (of > 0) != piece.data) {
                fail_msg("%s: '%.*s' is marked as %s", template, (int)piece.text.length,
                         piece.text.at, piece.data ? "data" : "the template's");
            }
        }
    }
    if (!any) {
        fail_msg("%s shows no data", template);
    }
    vv_jinja_rendering_free(&r.rendering);
}

static void operators_keep_marks(void **state) {
    (void)state;
    static const char *const templates[] = {
        "abc{{ x }}def{{ 'gh' }}{{ y }}{{ n }}{{ f }}{{ big }}",
        "{{ 'a' + x + 'b' ~ y ~ 12 }}",
        "{{ x ~ x }}{{ (x ~ 'a') ~ (x ~ 'a') }}{{ 'a' ~ x ~ 'b' }}",
        "{% set a = x ~ 'a' %}{% set b = a ~ 'b' %}{% set c = a ~ y %}{{ a }}{{ b }}{{ c }}{{ a }}",
        "{{ x * 3 }}{{ 'a' * 3 }}{{ ('a' ~ x) * 2 }}",
        "{{ x[1:] }}{{ x[::-1] }}{{ x[::2] }}{{ ('ab' ~ x ~ 'cd')[1:-1] }}{{ x[0] }}{{ x[-1] }}",
        "{{ 'a%sb%rc' % (x, y) }}{{ '%d' % n }}{{ '%(a)s' % {'a': x} }}{{ '%5.1fab' % f }}",
        "{{ n + 0 }}{{ n * 1 }}{{ n - 0 }}{{ n // 1 }}{{ f + 0 }}{{ n|int }}{{ n|string }}",
        "{{ x if yes else 'a' }}{{ nothing or x }}{{ x and y }}",
        "{{ [x, 'a'] }}{{ (y, 'b') }}{{ {'a': x, x: 'b'} }}{{ z }}{{ l }}",
        "{{ z.items()|list }}{{ z.keys()|list }}",
    };
    for (size_t i = 0; i < sizeof templates / sizeof *templates; i++) {
        assert_marks(templates[i]);
    }
}

static void filters_keep_marks(void **state) {
    (void)state;
    static const char *const templates[] = {
        "{{ x|upper }}{{ ('ab' ~ x ~ 'cd')|upper }}{{ ('ab' ~ x)|title }}{{ (x ~ 'AB')|lower }}"
        "{{ ('a' ~ x)|capitalize }}",
        "{{ y|trim }}{{ (' a ' ~ y)|trim }}{{ x|trim('x') }}{{ y|indent(2) }}"
        "{{ ('a\\nb' ~ y)|indent }}",
        "{{ x|replace('z', 'a') }}{{ x|replace('z', x) }}{{ ('abc' ~ x)|replace('b', y) }}"
        "{{ 'abc'|replace('', x) }}{{ 'abc'|replace('b', x, 1) }}",
        "{{ l|join('a') }}{{ ['a', x]|join(y) }}{{ messages|join('a', attribute='yx') }}",
        "{{ x|e }}{{ ('<a>' ~ y)|escape }}{{ x|safe }}{{ x|string }}{{ x|center(30) }}",
        "{{ z|tojson }}{{ {'a': x, 'b': [y, 1, 2.5, none]}|tojson }}{{ z|tojson(indent=2) }}"
        "{{ (x ~ 'a')|tojson }}{{ y|tojson(ensure_ascii=true) }}{{ {'a': 1, x: 'c'}|tojson }}",
        "{{ j|from_json }}{{ (j|from_json).x[0] }}{{ j|from_json|tojson }}",
        "{{ x|truncate(5) }}{{ ('abc ' ~ x)|truncate(8, true, '') }}"
        "{{ 'abcdefghijk'|truncate(4, true, 'z' if 0 else x[:1], 0) }}",
        "{{ x|first }}{{ x|last }}{{ x|list }}{{ x|reverse }}{{ l|sort }}{{ l|unique|list }}"
        "{{ l|reverse|list }}",
        "{{ l|map('upper')|join }}{{ l|map('replace', 'y', 'a')|list }}"
        "{{ messages|map(attribute='zx')|list }}{{ l|select('ne', 'y')|list }}"
        "{{ messages|selectattr('zx', 'eq', 'z')|list }}",
        "{{ l|batch(2, 'a')|list }}{{ l|slice(2)|list }}{{ messages|groupby('zx') }}"
        "{{ z|dictsort }}{{ z|items|list }}{{ l|min }}{{ l|max }}{{ l + ['a'] }}",
        "{{ 'a%sb'|format(x) }}{{ x|default('a') }}{{ nothing|default(x) }}{{ [n]|sum }}"
        "{{ f|round(1) }}{{ n|abs }}",
        "{{ [n, 1]|max }}{{ x|attr('upper')() }}{{ l|tojson|replace('\"', 'a') }}{{ z|string }}"
        "{{ z|list }}",
    };
    for (size_t i = 0; i < sizeof templates / sizeof *templates; i++) {
        assert_marks(templates[i]);
    }
}

static void methods_keep_marks(void **state) {
    (void)state;
    static const char *const templates[] = {
        "{{ x.strip('x') }}{{ y.lstrip() }}{{ y.rstrip() }}{{ x.upper() }}{{ ('ab' ~ x).title() }}",
        "{{ ('ab,' ~ x ~ ',cd').split(',') }}{{ y.split() }}{{ ('a b' ~ y).rsplit(' ', 1) }}"
        "{{ y.splitlines() }}",
        "{{ x.partition('<') }}{{ ('ab' ~ x).rpartition('z') }}{{ x.replace('x', 'a', 1) }}"
        "{{ 'a'.join(l) }}{{ x.join(['a', 'b']) }}",
        "{{ ('ab' ~ x).removeprefix('a') }}{{ (x ~ 'ab').removesuffix('b') }}"
        "{{ 'a'.ljust(3, 'y' if 0 else x[:1]) }}{{ x.rjust(15) }}",
        "{{ 'a{}b{}'.format(x, 'c') }}{{ '{a}'.format(a=x) }}{{ ('{}' ~ x).format('ab') }}"
        "{{ x.capitalize() }}",
        "{{ z.get('x') }}{{ z.values()|list }}{{ z['zz'][2]['yy'] }}{{ messages[0].yx }}"
        "{{ messages[-1]['zx'] }}",
    };
    for (size_t i = 0; i < sizeof templates / sizeof *templates; i++) {
        assert_marks(templates[i]);
    }
}

static void statements_keep_marks(void **state) {
    (void)state;
    static const char *const templates[] = {
        "{% for m in messages %}a{{ m.zx }}b{{ m.yx }}c{% endfor %}{% for c in x %}{{ c }}"
        "a{% endfor %}",
        "{% for k, v in z.items() %}{{ k }}a{{ v }}{% endfor %}{% for k in z %}{{ k }}{% endfor %}",
        "{% set a %}ab{{ x }}cd{% endset %}{{ a }}{{ a|upper }}{% set b | upper %}ab{{ y }}"
        "{% endset %}{{ b }}",
        "{% macro f(p, q='ab') %}cd{{ p }}{{ q }}{{ varargs }}{{ kwargs }}{% endmacro %}"
        "{{ f(x) }}{{ f('a', y, x, a=x) }}{{ f(x)|upper }}",
        "{% macro f() %}a{{ caller(x) }}b{% endmacro %}{% call(p) f() %}c{{ p }}d{{ y }}"
        "{% endcall %}",
        "{% filter upper %}ab{{ x }}{% endfilter %}{% with a = x ~ 'b' %}{{ a }}{% endwith %}",
        "{% set ns = namespace(t='') %}{% for i in l %}{% set ns.t = ns.t ~ i ~ 'a' %}"
        "{% endfor %}{{ ns.t }}",
        "{% set ns = namespace(t=[]) %}{% for i in l %}{% set ns.t = ns.t + [i, 'a'] %}"
        "{% endfor %}{{ ns.t }}",
        "{% generation %}a{{ x }}{% endgeneration %}{% for i in l %}{{ loop.cycle('a', x) }}"
        "{{ loop.previtem }}{% endfor %}",
        /* Names that come from the data. */
        "{% macro f() %}{{ kwargs }}{{ kwargs|tojson }}{% for k in kwargs %}{{ k }}{% endfor %}"
        "{% endmacro %}{{ f(**z) }}",
        "{{ dict(z) }}{{ dict(**z) }}{{ dict(z, a=1).keys()|list }}{{ dict([(x, 'a')]) }}",
        "{% for k, v in (j|from_json)|items %}{{ k }}a{{ v }}{% endfor %}",
    };
    for (size_t i = 0; i < sizeof templates / sizeof *templates; i++) {
        assert_marks(templates[i]);
    }
}

static void names_in_a_namespace_are_no_way_out(void **state) {
    (void)state;
    assert_marks("{{ namespace(z) }}{{ namespace(**z) }}");
    assert_marks("{{ namespace(a=x, b=1) }}");
}

/* Two texts that begin alike share a buffer; what is behind one must not show in the other. */
static void texts_with_one_beginning_stay_apart(void **state) {
    (void)state;
    assert_true(renders("{% set a = 'a' ~ x %}{% set b = a ~ 'b' %}{% set c = a ~ 'c' %}"
                        "{% set d = b ~ 'd' %}{{ a }} {{ b }} {{ c }} {{ d }} {{ a|length }}"
                        "{{ d[1:] }}{{ (d[2:] ~ 'e') ~ d }}",
                        "{\"x\": \"é\"}", "aé aéb aéc aébd 2ébdbdeaébd"));
    assert_true(renders("{% set a = [1] + l %}{% set b = a + [2] %}{% set c = a + [3] %}"
                        "{% set d = b[1:] + b %}{{ a }}{{ b }}{{ c }}{{ d }}{{ l }}",
                        "{\"l\": [7]}", "[1, 7][1, 7, 2][1, 7, 3][7, 2, 1, 7, 2][7]"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_keep_marks),
        cmocka_unit_test(filters_keep_marks),
        cmocka_unit_test(methods_keep_marks),
        cmocka_unit_test(statements_keep_marks),
        cmocka_unit_test(names_in_a_namespace_are_no_way_out),
        cmocka_unit_test(texts_with_one_beginning_stay_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "text/jinja/builtins.h"

static int answer(struct vv_value *out, bool holds) {
    *out = vv_value_bool(holds, false);
    return VV_OK;
}

/* ---- What a value is ---- */

#define TEST_TYPE(name, holds)                                                                     \
    int vv_jinja_test_##name(struct vv_jinja_run *run, const struct vv_jinja_call *call,           \
                             struct vv_value *out) {                                               \
        const struct vv_value *value = &call->values[0];                                           \
        (void)run;                                                                                 \
        return answer(out, holds);                                                                 \
    }

TEST_TYPE(defined, value->type != VV_VALUE_UNDEFINED)
TEST_TYPE(undefined, value->type == VV_VALUE_UNDEFINED)
TEST_TYPE(none, value->type == VV_VALUE_NONE)
TEST_TYPE(boolean, value->type == VV_VALUE_BOOL)
TEST_TYPE(true, value->type == VV_VALUE_BOOL && value->of.truth)
TEST_TYPE(false, value->type == VV_VALUE_BOOL && !value->of.truth)
TEST_TYPE(integer, value->type == VV_VALUE_INTEGER || value->type == VV_VALUE_BIG)
TEST_TYPE(float, value->type == VV_VALUE_REAL)
TEST_TYPE(number, vv_value_is_number(value) || value->type == VV_VALUE_BIG)
TEST_TYPE(string, value->type == VV_VALUE_STRING)
TEST_TYPE(mapping, value->type == VV_VALUE_DICT)
TEST_TYPE(sequence, value->type == VV_VALUE_STRING || value->type == VV_VALUE_DICT ||
                        value->type == VV_VALUE_LIST || value->type == VV_VALUE_TUPLE ||
                        value->type == VV_VALUE_RANGE || value->type == VV_VALUE_UNDEFINED)
TEST_TYPE(iterable, value->type == VV_VALUE_STRING || value->type == VV_VALUE_DICT ||
                        value->type == VV_VALUE_UNDEFINED || value->type == VV_VALUE_ITERATOR ||
                        vv_jinja_is_list(value))
/* Python's undefined values can be called; they fail when they are. */
TEST_TYPE(callable, value->type == VV_VALUE_MACRO || value->type == VV_VALUE_FUNCTION ||
                        value->type == VV_VALUE_METHOD || value->type == VV_VALUE_LOOP ||
                        value->type == VV_VALUE_UNDEFINED)

int vv_jinja_test_upper(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                        struct vv_value *out) {
    return vv_jinja_is_upper(run, call, out);
}

int vv_jinja_test_lower(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                        struct vv_value *out) {
    return vv_jinja_is_lower(run, call, out);
}

/* ---- Comparisons ---- */

#define TEST_OPERATOR(name, op)                                                                    \
    int vv_jinja_test_##name(struct vv_jinja_run *run, const struct vv_jinja_call *call,           \
                             struct vv_value *out) {                                               \
        bool holds = false;                                                                        \
        int status = vv_jinja_compare(run, op, &call->values[0], &call->values[1], &holds);        \
        answer(out, holds);                                                                        \
        return status;                                                                             \
    }

TEST_OPERATOR(equal, VV_EQUAL)
TEST_OPERATOR(not_equal, VV_NOT_EQUAL)
TEST_OPERATOR(less, VV_LESS)
TEST_OPERATOR(less_equal, VV_LESS_EQUAL)
TEST_OPERATOR(greater, VV_GREATER)
TEST_OPERATOR(greater_equal, VV_GREATER_EQUAL)
TEST_OPERATOR(in, VV_IN)

/* The same value: of the small ones that means an equal one of the same type. */
int vv_jinja_test_sameas(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                         struct vv_value *out) {
    const struct vv_value *a = &call->values[0], *b = &call->values[1];
    bool same = a->type == b->type;
    int status = same ? vv_jinja_compare(run, VV_EQUAL, a, b, &same) : VV_OK;
    if (a->type >= VV_VALUE_LIST && a->type <= VV_VALUE_ITEMS) {
        same = same && a->of.list == b->of.list;
    }
    answer(out, same);
    return status;
}

/* ---- Numbers ---- */

/* Whether the value leaves `rest` when it is divided by `by`. */
static int leaves(struct vv_jinja_run *run, const struct vv_value *value, const struct vv_value *by,
                  int64_t rest, struct vv_value *out) {
    struct vv_value left, wanted = vv_value_integer(rest, false);
    bool holds = false;
    int status = vv_jinja_operate(run, VV_REMAINDER, value, by, &left);
    status = status == VV_OK ? vv_jinja_compare(run, VV_EQUAL, &left, &wanted, &holds) : status;
    answer(out, holds);
    return status;
}

int vv_jinja_test_odd(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                      struct vv_value *out) {
    struct vv_value two = vv_value_integer(2, false);
    return leaves(run, &call->values[0], &two, 1, out);
}

int vv_jinja_test_even(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                       struct vv_value *out) {
    struct vv_value two = vv_value_integer(2, false);
    return leaves(run, &call->values[0], &two, 0, out);
}

int vv_jinja_test_divisibleby(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                              struct vv_value *out) {
    return leaves(run, &call->values[0], &call->values[1], 0, out);
}

/* ---- Names ---- */

static int is_name_in(const struct vv_jinja_builtin *table, const struct vv_value *name,
                      struct vv_value *out) {
    return answer(out, name->type == VV_VALUE_STRING &&
                           vv_jinja_find_builtin(table, vv_marked_text(name->of.text)));
}

int vv_jinja_test_filter(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                         struct vv_value *out) {
    (void)run;
    return is_name_in(vv_jinja_filters, &call->values[0], out);
}

int vv_jinja_test_test(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                       struct vv_value *out) {
    (void)run;
    return is_name_in(vv_jinja_tests, &call->values[0], out);
}

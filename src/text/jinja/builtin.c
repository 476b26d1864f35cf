#include "text/jinja/run.h"

#include <string.h>

const struct vv_jinja_builtin *vv_jinja_find_builtin(const struct vv_jinja_builtin *table,
                                                     struct vv_text name) {
    while (table->name && !vv_text_is(name, table->name)) {
        table++;
    }
    return table->name ? table : NULL;
}

/* Which of the names in `parameters` `name` is, or -1. */
static int position_of(const char *parameters, struct vv_text name) {
    int position = 0;
    while (*parameters) {
        size_t length = strcspn(parameters, " ");
        if (length == name.length && memcmp(parameters, name.at, length) == 0) {
            return position;
        }
        position++;
        parameters += length;
        parameters += *parameters == ' ';
    }
    return -1;
}

static size_t count_words(const char *words) {
    size_t count = *words != 0;
    for (; *words; words++) {
        count += *words == ' ';
    }
    return count;
}

/* Puts the arguments in their places behind the first value. */
static int bind(struct vv_jinja_run *run, const struct vv_jinja_builtin *builtin,
                const struct vv_jinja_call *call, struct vv_value values[VV_JINJA_PARAMETERS]) {
    size_t most = 1 + count_words(builtin->parameters);
    if (call->count > most) {
        return vv_jinja_refuse(run, "'%s' is given %zu arguments and takes %zu", builtin->name,
                               call->count - 1, most - 1);
    }
    for (size_t i = 0; i < VV_JINJA_PARAMETERS; i++) {
        values[i] = i < call->count ? call->values[i] : (struct vv_value){.type = VV_VALUE_ABSENT};
    }
    for (size_t i = 0; i < call->named_count; i++) {
        int position = position_of(builtin->parameters, call->named[i].name);
        if (position < 0 || vv_is_given(&values[position + 1])) {
            return vv_jinja_refuse(run, "'%s' has no argument '%.*s', or it is given twice",
                                   builtin->name, VV_JINJA_SHOW(call->named[i].name));
        }
        values[position + 1] = call->named[i].value;
    }
    for (size_t i = 0; i < builtin->least; i++) {
        if (!vv_is_given(&values[i + 1])) {
            return vv_jinja_refuse(run, "'%s' needs more arguments than it is given",
                                   builtin->name);
        }
    }
    return VV_OK;
}

int vv_jinja_call_builtin(struct vv_jinja_run *run, const struct vv_jinja_builtin *builtin,
                          const struct vv_jinja_call *call, struct vv_value *out) {
    if (!builtin->parameters) {
        return builtin->call(run, call, out);
    }
    struct vv_value values[VV_JINJA_PARAMETERS];
    struct vv_jinja_call bound = {values, VV_JINJA_PARAMETERS, NULL, 0};
    int status = bind(run, builtin, call, values);
    return status == VV_OK ? builtin->call(run, &bound, out) : status;
}

int vv_jinja_apply_filter(struct vv_jinja_run *run, struct vv_text name,
                          const struct vv_jinja_call *call, struct vv_value *out) {
    const struct vv_jinja_builtin *filter = vv_jinja_find_builtin(vv_jinja_filters, name);
    return filter ? vv_jinja_call_builtin(run, filter, call, out)
                  : vv_jinja_refuse(run, "there is no filter '%.*s'", VV_JINJA_SHOW(name));
}

int vv_jinja_apply_test(struct vv_jinja_run *run, struct vv_text name,
                        const struct vv_jinja_call *call, bool *out) {
    const struct vv_jinja_builtin *test = vv_jinja_find_builtin(vv_jinja_tests, name);
    struct vv_value result = {0};
    int status = test ? vv_jinja_call_builtin(run, test, call, &result)
                      : vv_jinja_refuse(run, "there is no test '%.*s'", VV_JINJA_SHOW(name));
    *out = status == VV_OK && vv_jinja_truth(&result);
    return status;
}

int vv_jinja_want_integer(struct vv_jinja_run *run, const struct vv_value *value, int64_t otherwise,
                          int64_t *out) {
    if (!vv_is_given(value)) {
        *out = otherwise;
        return VV_OK;
    }
    if (value->type == VV_VALUE_UNDEFINED) {
        return vv_jinja_refuse_undefined(run, value);
    }
    return vv_value_as_integer(value, out)
               ? VV_OK
               : vv_jinja_refuse(run, "an integer is needed here, not %s",
                                 vv_jinja_type_name(value));
}

int vv_jinja_want_text(struct vv_jinja_run *run, const struct vv_value *value,
                       const struct vv_marked **out) {
    *out = value->of.text;
    return value->type == VV_VALUE_STRING
               ? VV_OK
               : vv_jinja_refuse(run, "a text is needed here, not %s", vv_jinja_type_name(value));
}

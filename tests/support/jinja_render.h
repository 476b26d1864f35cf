/* For tests: a template rendered with variables written as JSON. */
#pragma once
#include "text/jinja/jinja.h"

#include <string.h>

struct rendered {
    int status;
    struct vv_error error;
    struct vv_jinja_rendering rendering; /* {0} unless `status` is VV_OK */
};

/* `variables` is the text of an object, all of which is data. `options` may be NULL. */
static inline struct rendered render_with(const char *template, size_t length,
                                          const char *variables,
                                          const struct vv_jinja_options *options) {
    struct rendered r = {.status = VV_OK};
    struct vv_arena arena = {0};
    struct vv_value dict;
    struct vv_jinja *jinja = NULL;
    struct vv_text source = {template, length}, json = {variables, strlen(variables)};
    r.status = vv_value_json(&arena, json, true, &dict, &r.error);
    r.status = r.status == VV_OK ? vv_jinja_compile(source, &jinja, &r.error) : r.status;
    r.status = r.status == VV_OK ? vv_jinja_render(jinja, &dict, options, &r.rendering, &r.error)
                                 : r.status;
    vv_jinja_free(jinja);
    vv_arena_free(&arena);
    return r;
}

static inline struct rendered render(const char *template, const char *variables) {
    return render_with(template, strlen(template), variables, NULL);
}

static inline bool renders(const char *template, const char *variables, const char *wanted) {
    struct rendered r = render(template, variables);
    bool same = r.status == VV_OK && r.rendering.text.length == strlen(wanted) &&
                memcmp(r.rendering.text.at, wanted, strlen(wanted)) == 0;
    vv_jinja_rendering_free(&r.rendering);
    return same;
}

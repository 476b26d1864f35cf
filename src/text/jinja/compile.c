#include "text/jinja/compile.h"

#include "text/jinja/jinja.h"
#include "text/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * A copy of the source, well-formed and with '\n' for every line end, without the last one: as
 * Jinja reads it.
 */
static int copy_source(struct vv_jinja *template, struct vv_text source, struct vv_error *error) {
    struct vv_utf8_stream stream = {0};
    struct vv_bytes bytes = {0};
    int status = vv_utf8_feed(&stream, source.at, source.length, &bytes, error);
    status = status == VV_OK ? vv_utf8_end(&stream, &bytes, error) : status;
    char *copy =
        status == VV_OK ? vv_arena_take(&template->arena, bytes.length + 1, 1, error) : NULL;
    size_t length = 0;
    for (size_t i = 0; copy && i < bytes.length; i++) {
        bool pair = bytes.at[i] == '\r' && i + 1 < bytes.length && bytes.at[i + 1] == '\n';
        if (!pair) {
            copy[length++] = bytes.at[i] == '\r' ? '\n' : bytes.at[i];
        }
    }
    length -= length > 0 && copy[length - 1] == '\n';
    template->source = (struct vv_text){copy, length};
    vv_bytes_free(&bytes);
    return copy ? VV_OK : error->code;
}

int vv_jinja_compile(struct vv_text source, struct vv_jinja **out, struct vv_error *error) {
    struct vv_jinja *template = calloc(1, sizeof *template);
    if (!template) {
        return vv_fail_memory(error, sizeof *template, "a chat template");
    }
    int status = copy_source(template, source, error);
    if (status == VV_OK) {
        size_t wrong = 0;
        status = vv_jinja_parse(template, &wrong, error);
        if (status == VV_ERROR_INVALID) {
            vv_jinja_locate(template, wrong, "", error);
        }
    }
    if (status != VV_OK) {
        vv_jinja_free(template);
        return status;
    }
    *out = template;
    return VV_OK;
}

void vv_jinja_free(struct vv_jinja *template) {
    if (template) {
        vv_arena_free(&template->arena);
        free(template);
    }
}

void vv_jinja_locate(const struct vv_jinja *template, size_t at, const char *where,
                     struct vv_error *error) {
    struct vv_error reason = *error;
    const char *source = template->source.at;
    size_t line = 1, begin = 0;
    at = at < template->source.length ? at : template->source.length;
    for (size_t i = 0; i < at; i++) {
        if (source[i] == '\n') {
            line++;
            begin = i + 1;
        }
    }
    vv_fail(error, reason.code, "chat template, line %zu, column %zu%s: %.850s", line,
            vv_count_characters(source + begin, at - begin) + 1, where, reason.message);
}

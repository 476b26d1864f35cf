/* Inside of the interpreter: the last step of compiling, and places in a template. */
#pragma once
#include "text/jinja/tree.h"

/* Fills template->body from template->source. On failure `*wrong` is the byte where it went wrong.
 */
int vv_jinja_parse(struct vv_jinja *template, size_t *wrong, struct vv_error *error);

/* Puts the line and column of that byte, and `where` behind it, in front of the sentence. */
void vv_jinja_locate(const struct vv_jinja *template, size_t at, const char *where,
                     struct vv_error *error);

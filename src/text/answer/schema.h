/* The tools that a model may call: which types their parameters have. */
#pragma once
#include "base/error.h"
#include "base/text.h"
#include "text/json.h"

#include <stddef.h>

enum {
    VV_TYPE_STRING = 1,
    VV_TYPE_INTEGER = 2,
    VV_TYPE_REAL = 4,
    VV_TYPE_NUMBER = 6, /* the two before */
    VV_TYPE_BOOLEAN = 8,
    VV_TYPE_ARRAY = 16,
    VV_TYPE_OBJECT = 32,
    VV_TYPE_NULL = 64,
    VV_TYPE_ANY = 127,
};

/* The type of the value that a part of JSON begins; 0 if it begins none. */
unsigned vv_type_of_json(enum vv_json_part part);

struct vv_tools;
struct vv_tool;

/*
 * Reads a JSON array of tools: {"name", "parameters": a JSON schema}, or that as the value of
 * "function"; "input_schema" means the same as "parameters". VV_ERROR_INVALID: it is not that.
 *
 * The types of a parameter are those that its schema names by "type" (one or several), by the
 * values of "enum" or "const", or in any member of "anyOf" or "oneOf"; all, if it names none.
 */
int vv_tools_read(struct vv_text json, struct vv_tools **tools, struct vv_error *error);
void vv_tools_free(struct vv_tools *tools); /* NULL is let be */
size_t vv_tools_count(const struct vv_tools *tools);

/* The (first) tool of a name; NULL if there is none, or `tools` is NULL. */
const struct vv_tool *vv_tools_find(const struct vv_tools *tools, struct vv_text name);

/* VV_TYPE_… of a parameter; VV_TYPE_ANY if the tool is NULL or doesn't describe it. */
unsigned vv_tool_types(const struct vv_tool *tool, struct vv_text key);

/* An argument's value, as a model writes it, to JSON text. */
#pragma once
#include "text/grow.h"

#include <stdbool.h>

/* Begin with {.types = …}; vv_bytes_free(&argument.held) at the end. */
struct vv_argument {
    unsigned types;       /* VV_TYPE_… that the value may have */
    bool begun;           /* there was a byte that is no white space */
    bool string;          /* it is a string: its opening quote is written */
    struct vv_bytes held; /* text that may be JSON, or a string after all */
};

/*
 * Takes the next piece of the value and appends to `out` what is certain of its JSON. A string is
 * certain at once where the types allow nothing else, or the first byte begins none of the others.
 */
int vv_argument_add(struct vv_argument *argument, const char *text, size_t length,
                    struct vv_bytes *out, struct vv_error *error);

/*
 * The value is complete: appends the rest of its JSON. If the types include strings, JSON of one of
 * the other types is that, and all else a string. If they don't, any JSON is taken, and what is no
 * JSON is a string. Python's True, False and None count as JSON; all other JSON stays as written.
 */
int vv_argument_end(struct vv_argument *argument, struct vv_bytes *out, struct vv_error *error);

/* Appends text escaped for the inside of a JSON string. */
int vv_json_escape(const char *text, size_t length, struct vv_bytes *out, struct vv_error *error);

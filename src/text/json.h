/*
 * Reading JSON (RFC 8259) piece by piece: nothing is built, memory is that of the longest string.
 * Strict, and linear in the text.
 */
#pragma once
#include "base/text.h"
#include "text/grow.h"

#include <stdbool.h>
#include <stddef.h>

enum { VV_JSON_DEPTH = 256 }; /* arrays and objects within one another, at most */

enum vv_json_part {
    VV_JSON_END, /* of the text, which is complete */
    VV_JSON_NULL,
    VV_JSON_FALSE,
    VV_JSON_TRUE,
    VV_JSON_INTEGER, /* `number` is digits, perhaps behind a minus */
    VV_JSON_REAL,    /* `number` has a point or an exponent */
    VV_JSON_STRING,  /* `string`; of a lone surrogate it has U+FFFD */
    VV_JSON_KEY,     /* `string`; the value is the next part */
    VV_JSON_OBJECT,
    VV_JSON_OBJECT_END,
    VV_JSON_ARRAY,
    VV_JSON_ARRAY_END,
};

/* Begin with {.text = …}; vv_bytes_free(&json.string) at the end. */
struct vv_json {
    struct vv_text text;
    size_t at;                  /* bytes read */
    struct vv_text number;      /* of the last part, within `text` */
    struct vv_bytes string;     /* of the last part; may hold zeros */
    unsigned depth;             /* open arrays and objects */
    unsigned char expect;       /* inside of json.c */
    bool object[VV_JSON_DEPTH]; /* whether each of the open ones is an object */
};

/*
 * The next part. A text that is not JSON, or nested deeper than VV_JSON_DEPTH, is
 * VV_ERROR_INVALID; the sentence names the byte.
 */
int vv_json_next(struct vv_json *json, enum vv_json_part *part, struct vv_error *error);

/* How the families write an answer: the tags, and the newlines that their templates put at them. */
#pragma once
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>

enum { VV_ANSWER_TAILS = 3 };

/* What may stand behind a parameter's key, and which types its value has then (0: its schema's). */
struct vv_answer_tail {
    struct vv_text text;
    unsigned types; /* VV_TYPE_… */
};

/*
 * A call is, with white space between the parts,
 *     block { call NAME call_tail { parameter KEY tail VALUE parameter_end } call_end } block_end
 */
struct vv_answer_syntax {
    const char *family;
    struct vv_text think, think_end;
    struct vv_text block, block_end;
    struct vv_text call, call_tail, call_end;
    struct vv_text parameter, parameter_end;
    struct vv_answer_tail tails[VV_ANSWER_TAILS]; /* empty ones at the end */
    /* Newlines that belong to the tag, at most: */
    unsigned think_newlines;   /* behind `think`, before `think_end` */
    unsigned content_newlines; /* behind `think_end` */
    unsigned block_newlines;   /* before `block` */
    unsigned value_newlines;   /* on either side of a value */
    bool calls_in_thinking;    /* a call within the thoughts is one; else it is thought */
};

/* The syntax of a family, "qwen4exp" or "deepseek4"; NULL if there is none of that name. */
const struct vv_answer_syntax *vv_answer_syntax_of(const char *family);

/*
 * A model's answer, taken apart while it streams: thoughts, text, calls of tools. docs/answers.md
 * has the rules. The events' texts, joined, are the same for every way of cutting an answer into
 * pieces; what is held back is only what may still become markup, at most a few hundred bytes.
 */
#pragma once
#include "base/error.h"
#include "base/text.h"

#include <stddef.h>

struct vv_answer;

/* Where an answer begins: what the template's rendering ended with. */
enum vv_thinking {
    VV_THINKING_NONE,   /* neither: the answer may begin with the tag that opens its thoughts */
    VV_THINKING_OPEN,   /* the tag that opens the thoughts */
    VV_THINKING_CLOSED, /* the tag that closes them: there are none */
};

/* By the last tag of a rendered prompt, which white space may follow. */
enum vv_thinking vv_thinking_of(struct vv_text prompt);

enum vv_answer_kind {
    VV_ANSWER_REASONING, /* text of the thoughts */
    VV_ANSWER_CONTENT,   /* text of the answer */
    VV_ANSWER_MARKUP,    /* no text, only `raw` */
    VV_ANSWER_CALL,      /* a call begins; `text` is the tool's name */
    VV_ANSWER_ARGUMENTS, /* of this call: the next piece of a JSON object's text */
    VV_ANSWER_CALL_END,  /* the call is complete, and so is that object */
    /* The answer ended within a call, whose arguments are left incomplete so that nobody runs it.
     * Where the name wasn't complete, there was no VV_ANSWER_CALL. */
    VV_ANSWER_UNFINISHED,
    VV_ANSWER_END, /* of the answer; always the last */
};

struct vv_answer_event {
    enum vv_answer_kind kind;
    size_t call;         /* of the events of calls: 0, 1, … */
    struct vv_text text; /* valid during the call of the sink, as is `raw` */
    struct vv_text raw;  /* the bytes of the answer that this is for; all of them, joined, are it */
};

/* Takes an event. A status other than VV_OK ends the work and is returned. */
typedef int (*vv_answer_sink)(void *context, const struct vv_answer_event *event,
                              struct vv_error *error);

/*
 * `family`: "qwen4exp" or "deepseek4" (else VV_ERROR_UNSUPPORTED). `tools`: the JSON array that the
 * template was given (text/answer/schema.h); NULL: not known, any call is recognised; an empty one:
 * there are none, so nothing is a call. The text is not kept.
 */
int vv_answer_new(const char *family, enum vv_thinking thinking, const struct vv_text *tools,
                  struct vv_answer **answer, struct vv_error *error);
void vv_answer_free(struct vv_answer *answer); /* NULL is let be */

/*
 * Takes the next piece of the answer: UTF-8, without the token that ended it. Cuts within
 * characters are fine. After an error, whoever's, the answer can only be freed.
 */
int vv_answer_push(struct vv_answer *answer, struct vv_text piece, vv_answer_sink sink,
                   void *context, struct vv_error *error);

/* The answer is over: what was held back is decided. No push may follow. */
int vv_answer_end(struct vv_answer *answer, vv_answer_sink sink, void *context,
                  struct vv_error *error);

/*
 * The chat formats of the families for plain conversations, without a template: system, user and
 * assistant messages, thinking on or off. What the layout itself writes may hold control tokens;
 * what comes from a message never becomes one.
 */
#pragma once
#include "text/tokenizer.h"

enum vv_chat_role { VV_CHAT_SYSTEM, VV_CHAT_USER, VV_CHAT_ASSISTANT };

struct vv_chat_message {
    enum vv_chat_role role;
    struct vv_text content;
    struct vv_text reasoning; /* of an assistant's message: what it thought before it spoke */
};

struct vv_chat_options {
    bool think;
    struct vv_text effort; /* the model's own sentence on how hard to think, to come first; empty:
                              none. Without `think` it is left out. */
    bool keep_reasoning;   /* of all assistant turns, not only of those after the last question */
    bool answer;           /* end with the opening of the assistant's next turn */
};

/* {0} is empty. Free with vv_spans_free; the texts belong to the messages, or are constant. */
struct vv_spans {
    struct vv_span *at;
    size_t count, capacity;
};

/* Appends the conversation as spans for vv_tokenize, which point into the messages and `options`.
 */
typedef int vv_chat_layout(const struct vv_chat_message *messages /* [count] */, size_t count,
                           const struct vv_chat_options *options, struct vv_spans *out,
                           struct vv_error *error);

/* Qwen3.8: white space around contents is left out. VV_ERROR_INVALID: a system message that is not
 * the first, or no user message with a question (one that is only a tool's answer is none). */
vv_chat_layout vv_chat_layout_qwen4exp;

/* DeepSeek V4 (spec of deepseek4, 6.2): texts stay as they are; system messages come first wherever
 * they stand, user messages in a row are one turn. */
vv_chat_layout vv_chat_layout_deepseek4;

struct vv_chat_family {
    const char *architecture; /* general.architecture */
    vv_chat_layout *layout;
    bool thinks, keeps_reasoning; /* where the caller doesn't say */
};

/* The family of that name, or NULL: no layout is known. */
const struct vv_chat_family *vv_chat_family(struct vv_text architecture);
void vv_spans_free(struct vv_spans *spans);

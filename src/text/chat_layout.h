/*
 * The chat format of Qwen3.8 for plain conversations, without a template: system, user and
 * assistant messages, thinking on or off. What the layout itself writes may hold control tokens;
 * what comes from a message never becomes one.
 */
#pragma once
#include "text/tokenizer.h"

enum vv_chat_role { VV_CHAT_SYSTEM, VV_CHAT_USER, VV_CHAT_ASSISTANT };

struct vv_chat_message {
    enum vv_chat_role role;
    struct vv_text content;   /* white space around it is left out */
    struct vv_text reasoning; /* of an assistant's message: what it thought before it spoke */
};

struct vv_chat_options {
    bool think;
    struct vv_text effort; /* the model's own sentence on how hard to think, to head the system
                              turn; empty: none. Without `think` it is left out. */
    bool keep_reasoning;   /* of all assistant turns, not only of those after the last question */
    bool answer;           /* end with the opening of the assistant's next turn */
};

/* {0} is empty. Free with vv_spans_free; the texts belong to the messages, or are constant. */
struct vv_spans {
    struct vv_span *at;
    size_t count, capacity;
};

/*
 * Appends the conversation as spans for vv_tokenize, which point into the messages and `options`.
 * VV_ERROR_INVALID: a system message that is not the first, or no user message with a question (one
 * that is only a tool's answer is none).
 */
int vv_chat_layout_qwen4exp(const struct vv_chat_message *messages /* [count] */, size_t count,
                            const struct vv_chat_options *options, struct vv_spans *out,
                            struct vv_error *error);
void vv_spans_free(struct vv_spans *spans);

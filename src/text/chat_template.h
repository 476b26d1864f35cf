/*
 * Conversations to the text that a model was trained on: by the chat template of its file, or, if
 * the file has none, by the documented layout of its family.
 */
#pragma once
#include "text/jinja/value.h"
#include "text/tokenizer.h"

#include <time.h>

struct vv_chat_template;
struct vv_gguf;

/*
 * The template of a model file (tokenizer.chat_template). Without one: the family's layout, which
 * plain conversations are enough for, or VV_ERROR_UNSUPPORTED where there is none.
 */
int vv_chat_template_open(const struct vv_gguf *gguf, struct vv_chat_template **out,
                          struct vv_error *error);

/* A template that is given: `bos` and `eos` are what it sees as bos_token and eos_token. */
int vv_chat_template_new(struct vv_text source, struct vv_text bos, struct vv_text eos,
                         struct vv_chat_template **out, struct vv_error *error);
void vv_chat_template_free(struct vv_chat_template *template); /* NULL is let be */

/* All of it comes from the data: see text/jinja/value.h. */
struct vv_chat {
    struct vv_value messages; /* a list of dicts, as in the chat API of OpenAI: role, content (a
                                 text, or a list of parts), reasoning_content, tool_calls … */
    struct vv_value tools;    /* a list of dicts, or none */
    struct vv_value options; /* a dict of what else the template may ask for: add_generation_prompt,
                                enable_thinking, reasoning_effort …; or none */
    const struct tm *now;    /* for strftime_now, or NULL */
};

/* A rendered conversation, to be given to vv_tokenize. It begins with a BOS if the template wants
 * one: none is to be added. */
struct vv_prompt {
    struct vv_text text; /* all of it */
    struct vv_span
        *spans; /* [count]: the template's own, with special tokens; and the data, without */
    size_t count;
};

/*
 * Before the template sees the messages: what is null in one is left out; parts that are all text
 * become one text; arguments of a tool call that are a text become what this says as JSON, if that
 * is an object. VV_ERROR_INVALID: the template refuses; the sentence names line and column, and the
 * message, counted from 0, that it stood at.
 */
int vv_chat_template_render(const struct vv_chat_template *template, const struct vv_chat *chat,
                            struct vv_prompt *out, struct vv_error *error);
void vv_prompt_free(struct vv_prompt *prompt);

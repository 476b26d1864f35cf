#include "text/chat_layout.h"

#include "text/letter.h"
#include "text/utf8.h"

#include <stdlib.h>
#include <string.h>

/* Appends spans; after a failure it does nothing more. */
struct writer {
    struct vv_spans *out;
    struct vv_error *error;
    int status;
};

static void write_span(struct writer *w, struct vv_text text, enum vv_special special) {
    if (w->status != VV_OK || text.length == 0) {
        return;
    }
    struct vv_spans *out = w->out;
    w->status = vv_grow(&out->at, &out->capacity, out->count + 1, sizeof *out->at,
                        "the parts of a conversation", w->error);
    if (w->status == VV_OK) {
        out->at[out->count++] = (struct vv_span){text, special};
    }
}

/* What the format itself says. */
static void write_own(struct writer *w, const char *text) {
    write_span(w, (struct vv_text){text, strlen(text)}, VV_SPECIAL_ALL);
}

/* The length of the white space character that is all of `text` [length], or 0. */
static size_t space(const char *text, size_t length) {
    size_t at = 0;
    if (vv_utf8_length(text, length) != length || length == 0) {
        return 0;
    }
    return vv_is_space(vv_utf8_next(text, &at)) ? at : 0; /* as the templates' trim has it */
}

/* `text` without the white space around it. */
static struct vv_text trim(struct vv_text text) {
    size_t n = 1;
    while (text.length > 0 && (n = vv_utf8_length(text.at, text.length)) > 0 && space(text.at, n)) {
        text = (struct vv_text){text.at + n, text.length - n};
    }
    for (n = 1; n <= 3 && n <= text.length; n++) { /* no white space is longer */
        if (space(text.at + text.length - n, n)) {
            text.length -= n;
            n = 0;
        }
    }
    return text;
}

static bool is_tool_answer(struct vv_text text) {
    static const char begin[] = "<tool_response>", end[] = "</tool_response>";
    size_t a = sizeof begin - 1, b = sizeof end - 1;
    return text.length >= b && memcmp(text.at, begin, a) == 0 &&
           memcmp(text.at + text.length - b, end, b) == 0;
}

/* The system turn, if there is anything to say in it. */
static void write_system(struct writer *w, struct vv_text effort, struct vv_text own) {
    if (effort.length > 0 || own.length > 0) {
        write_own(w, "<|im_start|>system\n");
        write_span(w, effort, VV_SPECIAL_ALL);
        write_own(w, effort.length > 0 && own.length > 0 ? "\n\n" : "");
        write_span(w, own, VV_SPECIAL_NONE);
        write_own(w, "<|im_end|>\n");
    }
}

static void write_user(struct writer *w, struct vv_text content) {
    write_own(w, "<|im_start|>user\n");
    write_span(w, content, VV_SPECIAL_NONE);
    write_own(w, "<|im_end|>\n");
}

/* A kept think block is written even if it is empty. */
static void write_assistant(struct writer *w, const struct vv_chat_message *message,
                            bool with_reasoning) {
    write_own(w, "<|im_start|>assistant\n");
    if (with_reasoning) {
        write_own(w, "<think>\n");
        write_span(w, trim(message->reasoning), VV_SPECIAL_NONE);
        write_own(w, "\n</think>\n\n");
    }
    write_span(w, trim(message->content), VV_SPECIAL_NONE);
    write_own(w, "<|im_end|>\n");
}

/* Index of the last question, or an error. */
static int find_question(const struct vv_chat_message *messages, size_t count, size_t *question,
                         struct vv_error *error) {
    *question = SIZE_MAX;
    for (size_t i = 0; i < count; i++) {
        if (messages[i].role == VV_CHAT_SYSTEM && i > 0) {
            return vv_fail(error, VV_ERROR_INVALID,
                           "message %zu is a system message: this model's format has one only at "
                           "the beginning",
                           i);
        }
        if (messages[i].role == VV_CHAT_USER && !is_tool_answer(trim(messages[i].content))) {
            *question = i;
        }
    }
    return *question != SIZE_MAX
               ? VV_OK
               : vv_fail(error, VV_ERROR_INVALID,
                         "the conversation has no question: this model's format needs a user "
                         "message that is not a tool's answer");
}

int vv_chat_layout_qwen4exp(const struct vv_chat_message *messages, size_t count,
                            const struct vv_chat_options *options, struct vv_spans *out,
                            struct vv_error *error) {
    size_t question;
    int status = find_question(messages, count, &question, error);
    if (status != VV_OK) {
        return status;
    }
    struct writer w = {out, error, VV_OK};
    struct vv_text none = {"", 0};
    bool has_system = messages[0].role == VV_CHAT_SYSTEM;
    write_system(&w, options->think ? options->effort : none,
                 has_system ? trim(messages[0].content) : none);
    for (size_t i = has_system ? 1 : 0; i < count; i++) {
        if (messages[i].role == VV_CHAT_USER) {
            write_user(&w, trim(messages[i].content));
        } else {
            write_assistant(&w, &messages[i], options->keep_reasoning || i > question);
        }
    }
    if (options->answer) {
        write_own(&w, "<|im_start|>assistant\n<think>\n");
        write_own(&w, options->think ? "" : "\n</think>\n\n");
    }
    return w.status;
}

void vv_spans_free(struct vv_spans *spans) {
    free(spans->at);
    *spans = (struct vv_spans){0};
}

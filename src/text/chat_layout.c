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

/* ---- Qwen3.8 ---- */

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

/* ---- DeepSeek V4 ---- */

#define TOKEN(name) "<\xef\xbd\x9c" name "\xef\xbd\x9c>" /* between two U+FF5C */
#define BLANK "\xe2\x96\x81"                             /* U+2581 */

/* What is told before the first turn. */
static void write_instructions(struct writer *w, const struct vv_chat_message *messages,
                               size_t count) {
    bool first = true;
    for (size_t i = 0; i < count; i++) {
        if (messages[i].role == VV_CHAT_SYSTEM) {
            write_own(w, first ? "" : "\n\n");
            write_span(w, messages[i].content, VV_SPECIAL_NONE);
            first = false;
        }
    }
}

static void write_answer(struct writer *w, const struct vv_chat_message *message,
                         bool with_reasoning) {
    write_own(w, TOKEN("Assistant"));
    if (with_reasoning) {
        write_own(w, "<think>");
        write_span(w, message->reasoning, VV_SPECIAL_NONE);
    }
    write_own(w, "</think>");
    write_span(w, message->content, VV_SPECIAL_NONE);
    write_own(w, TOKEN("end" BLANK "of" BLANK "sentence"));
}

int vv_chat_layout_deepseek4(const struct vv_chat_message *messages, size_t count,
                             const struct vv_chat_options *options, struct vv_spans *out,
                             struct vv_error *error) {
    struct writer w = {out, error, VV_OK};
    size_t answered = 0; /* messages up to the last question */
    bool in_turn = false;
    for (size_t i = 0; i < count; i++) {
        answered = messages[i].role == VV_CHAT_USER ? i + 1 : answered;
    }
    write_own(&w, TOKEN("begin" BLANK "of" BLANK "sentence"));
    if (options->think && count > 0) {
        write_span(&w, options->effort, VV_SPECIAL_ALL);
    }
    write_instructions(&w, messages, count);
    for (size_t i = 0; i < count; i++) {
        if (messages[i].role == VV_CHAT_USER) {
            write_own(&w, in_turn ? "\n\n" : TOKEN("User"));
            write_span(&w, messages[i].content, VV_SPECIAL_NONE);
        } else if (messages[i].role == VV_CHAT_ASSISTANT) {
            write_answer(&w, &messages[i],
                         options->think && (options->keep_reasoning || i >= answered));
        }
        in_turn = messages[i].role == VV_CHAT_SYSTEM ? in_turn : messages[i].role == VV_CHAT_USER;
    }
    if (options->answer) {
        write_own(&w, TOKEN("Assistant"));
        write_own(&w, options->think ? "<think>" : "</think>");
    }
    return w.status;
}

const struct vv_chat_family *vv_chat_family(struct vv_text architecture) {
    static const struct vv_chat_family families[] = {
        {"qwen4exp", vv_chat_layout_qwen4exp, true, true},
        {"deepseek4", vv_chat_layout_deepseek4, false, false},
    };
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        if (strlen(families[i].architecture) == architecture.length &&
            memcmp(families[i].architecture, architecture.at, architecture.length) == 0) {
            return &families[i];
        }
    }
    return NULL;
}

void vv_spans_free(struct vv_spans *spans) {
    free(spans->at);
    *spans = (struct vv_spans){0};
}

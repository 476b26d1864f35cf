#include "text/answer/answer.h"

#include "text/answer/argument.h"
#include "text/answer/code.h"
#include "text/answer/match.h"
#include "text/answer/schema.h"

#include <stdlib.h>
#include <string.h>

/*
 * `rest` is the text that no event has told of yet. A step takes some of it, or finds that more is
 * needed. All decisions are made by match.c on the beginning of `rest`, or by one byte.
 */
struct vv_answer {
    const struct vv_answer_syntax *syntax;
    struct vv_tools *tools; /* NULL: not known */
    bool calls;             /* there may be calls */

    enum state {
        BEGINNING,   /* perhaps the tag that opens the thoughts */
        TEXT,        /* thoughts or content */
        VALUE,       /* of an argument */
        AFTER_CALL,  /* in a block */
        AFTER_BLOCK, /* white space is a part of the markup, if another block follows, or the end */
    } state;
    bool thinking;       /* text is thoughts */
    unsigned newlines;   /* that belong to the tag before, at most */
    struct vv_code code; /* of the text; begun anew behind a block of calls */

    size_t call;                /* the call's number, or the next one's */
    const struct vv_tool *tool; /* NULL: not known */
    size_t arguments;           /* of the call so far */
    struct vv_argument argument;

    struct vv_bytes held; /* its end, from `taken` on, is `rest` */
    size_t taken;
    struct vv_bytes out; /* text of an event */
    vv_answer_sink sink;
    void *context;
};

/* ---- Events ---- */

static struct vv_text rest(const struct vv_answer *a) {
    return a->held.at ? (struct vv_text){a->held.at + a->taken, a->held.length - a->taken}
                      : (struct vv_text){"", 0};
}

/* Takes the next `length` bytes for an event of the text. */
static int emit(struct vv_answer *a, enum vv_answer_kind kind, struct vv_text text, size_t length,
                struct vv_error *error) {
    struct vv_answer_event event = {
        .kind = kind, .call = a->call, .text = text, .raw = {rest(a).at, length}};
    a->taken += length;
    return a->sink(a->context, &event, error);
}

static int emit_markup(struct vv_answer *a, size_t length, struct vv_error *error) {
    return emit(a, VV_ANSWER_MARKUP, (struct vv_text){"", 0}, length, error);
}

static int emit_text(struct vv_answer *a, size_t length, struct vv_error *error) {
    struct vv_text text = {rest(a).at, length};
    enum vv_answer_kind kind = a->thinking ? VV_ANSWER_REASONING : VV_ANSWER_CONTENT;
    return length > 0 ? emit(a, kind, text, length, error) : VV_OK;
}

/* What is in `out`, a piece of the arguments, or nothing yet. */
static int emit_arguments(struct vv_answer *a, size_t length, struct vv_error *error) {
    struct vv_text text = {a->out.at, a->out.length};
    a->out.length = 0;
    return text.length > 0 ? emit(a, VV_ANSWER_ARGUMENTS, text, length, error)
           : length > 0    ? emit_markup(a, length, error)
                           : VV_OK;
}

/* ---- Calls ---- */

static int write_own(struct vv_answer *a, const char *text, struct vv_error *error) {
    return vv_bytes_append(&a->out, text, strlen(text), error);
}

/* What follows a call's tag or a value: the next key, or the end; `length` bytes with what is in
 * `out` already. */
static int follow(struct vv_answer *a, const struct vv_markup *markup, size_t length,
                  struct vv_error *error) {
    bool first = a->arguments == 0;
    if (!markup->parameter) {
        int status = write_own(a, first ? "{}" : "}", error);
        status = status == VV_OK ? emit_arguments(a, length, error) : status;
        status = status == VV_OK ? emit(a, VV_ANSWER_CALL_END, (struct vv_text){"", 0}, 0, error)
                                 : status;
        a->state = AFTER_CALL;
        a->call++;
        return status;
    }
    unsigned types = markup->types ? markup->types : vv_tool_types(a->tool, markup->key);
    a->argument = (struct vv_argument){.types = types};
    a->arguments++;
    a->newlines = a->syntax->value_newlines;
    a->state = VALUE;
    int status = write_own(a, first ? "{\"" : ",\"", error);
    status = status == VV_OK ? vv_json_escape(markup->key.at, markup->key.length, &a->out, error)
                             : status;
    status = status == VV_OK ? write_own(a, "\":", error) : status;
    return status == VV_OK ? emit_arguments(a, length, error) : status;
}

static int begin_call(struct vv_answer *a, const struct vv_markup *markup, struct vv_error *error) {
    a->tool = vv_tools_find(a->tools, markup->name);
    a->arguments = 0;
    return emit(a, VV_ANSWER_CALL, markup->name, markup->name_end, error);
}

static int begin_and_follow(struct vv_answer *a, const struct vv_markup *markup,
                            struct vv_error *error) {
    int status = begin_call(a, markup, error);
    return status == VV_OK ? follow(a, markup, markup->length - markup->name_end, error) : status;
}

/* ---- What may begin at a place, by state ---- */

static bool is_shown(const struct vv_answer *a, char byte) {
    struct vv_code code = a->code;
    if (byte == '\n') {
        vv_code_feed(&code, byte);
    }
    return vv_code_inside(&code);
}

static enum vv_match match_in_text(struct vv_answer *a, struct vv_text text,
                                   struct vv_markup *markup) {
    enum vv_match match = VV_MATCH_NO;
    if (a->thinking) {
        match = vv_match_think_end(a->syntax, text, markup);
    }
    if (match == VV_MATCH_NO && a->calls && (!a->thinking || a->syntax->calls_in_thinking) &&
        !is_shown(a, text.at[0])) {
        match = vv_match_call(a->syntax, text, VV_CALL_IN_TEXT, markup);
    }
    return match;
}

static enum vv_match match_in_value(struct vv_answer *a, struct vv_text text,
                                    struct vv_markup *markup) {
    return vv_match_value_end(a->syntax, text, markup);
}

/*
 * How much of `rest` comes before the first place where markup begins, or may begin; all of it if
 * there is none.
 */
static enum vv_match scan(struct vv_answer *a,
                          enum vv_match (*match_at)(struct vv_answer *, struct vv_text,
                                                    struct vv_markup *),
                          size_t *before, struct vv_markup *markup) {
    struct vv_text text = rest(a);
    for (size_t at = 0; at < text.length; at++) {
        char byte = text.at[at];
        if (byte == '<' || byte == '\n') {
            *markup = (struct vv_markup){0};
            enum vv_match match =
                match_at(a, (struct vv_text){text.at + at, text.length - at}, markup);
            if (match != VV_MATCH_NO) {
                *before = at;
                return match;
            }
        }
        vv_code_feed(&a->code, byte);
    }
    *before = text.length;
    return VV_MATCH_NO;
}

/* ---- Steps ---- */

static int step_beginning(struct vv_answer *a, bool *waits, struct vv_error *error) {
    struct vv_markup markup = {0};
    enum vv_match match = vv_match_think(a->syntax, rest(a), &markup);
    *waits = match == VV_MATCH_MORE;
    if (match == VV_MATCH_YES) {
        a->thinking = true;
        a->newlines = a->syntax->think_newlines;
    }
    if (match != VV_MATCH_MORE) {
        a->state = TEXT;
    }
    return match == VV_MATCH_YES ? emit_markup(a, markup.length, error) : VV_OK;
}

static int step_text(struct vv_answer *a, bool *waits, struct vv_error *error) {
    struct vv_markup markup;
    size_t before;
    enum vv_match match = scan(a, match_in_text, &before, &markup);
    int status = emit_text(a, before, error);
    *waits = match == VV_MATCH_MORE;
    if (status != VV_OK || match != VV_MATCH_YES) {
        return status;
    }
    if (markup.name_end > 0) {
        return begin_and_follow(a, &markup, error);
    }
    a->thinking = false;
    a->newlines = a->syntax->content_newlines;
    a->code = (struct vv_code){0};
    return emit_markup(a, markup.length, error);
}

static int step_value(struct vv_answer *a, bool *waits, struct vv_error *error) {
    struct vv_markup markup;
    size_t before;
    enum vv_match match = scan(a, match_in_value, &before, &markup);
    int status = vv_argument_add(&a->argument, rest(a).at, before, &a->out, error);
    status = status == VV_OK ? emit_arguments(a, before, error) : status;
    *waits = match == VV_MATCH_MORE;
    if (status != VV_OK || match != VV_MATCH_YES) {
        return status;
    }
    status = vv_argument_end(&a->argument, &a->out, error);
    return status == VV_OK ? follow(a, &markup, markup.length, error) : status;
}

static int step_after_call(struct vv_answer *a, bool *waits, struct vv_error *error) {
    struct vv_markup call = {0}, end = {0};
    enum vv_match another = vv_match_call(a->syntax, rest(a), VV_CALL_IN_BLOCK, &call);
    enum vv_match ends = vv_match_block_end(a->syntax, rest(a), &end);
    if (another == VV_MATCH_YES) {
        return begin_and_follow(a, &call, error);
    }
    *waits = another == VV_MATCH_MORE || ends == VV_MATCH_MORE;
    if (!*waits) {
        a->state = AFTER_BLOCK; /* also where the block's end is missing */
    }
    return ends == VV_MATCH_YES ? emit_markup(a, end.length, error) : VV_OK;
}

static int step_after_block(struct vv_answer *a, bool *waits, struct vv_error *error) {
    struct vv_markup markup = {0};
    enum vv_match match = vv_match_call(a->syntax, rest(a), VV_CALL_AFTER_BLOCK, &markup);
    *waits = match == VV_MATCH_MORE;
    if (match == VV_MATCH_NO) {
        a->code = (struct vv_code){0};
        a->state = TEXT;
    }
    return match == VV_MATCH_YES ? begin_and_follow(a, &markup, error) : VV_OK;
}

static int skip_newlines(struct vv_answer *a, struct vv_error *error) {
    size_t count = 0;
    struct vv_text text = rest(a);
    while (count < text.length && count < a->newlines && text.at[count] == '\n') {
        count++;
    }
    a->newlines = count < text.length ? 0 : a->newlines - (unsigned)count;
    return count > 0 ? emit_markup(a, count, error) : VV_OK;
}

static int step(struct vv_answer *a, bool *waits, struct vv_error *error) {
    static int (*const steps[])(struct vv_answer *, bool *, struct vv_error *) = {
        [BEGINNING] = step_beginning,
        [TEXT] = step_text,
        [VALUE] = step_value,
        [AFTER_CALL] = step_after_call,
        [AFTER_BLOCK] = step_after_block,
    };
    return a->newlines > 0 ? skip_newlines(a, error) : steps[a->state](a, waits, error);
}

/* ---- The end ---- */

/* The answer broke off in a call, of which `rest` has the beginning or some more. */
static int break_off(struct vv_answer *a, const struct vv_markup *markup, struct vv_error *error) {
    int status = markup->name_end > 0 ? begin_call(a, markup, error) : VV_OK;
    return status == VV_OK
               ? emit(a, VV_ANSWER_UNFINISHED, (struct vv_text){"", 0}, rest(a).length, error)
               : status;
}

static bool is_space(struct vv_text text) {
    size_t length = 0;
    while (length < text.length && strchr(" \n\t\r", text.at[length]) && text.at[length]) {
        length++;
    }
    return length == text.length;
}

/* Decides on what was held back because it might have become markup. */
static int finish(struct vv_answer *a, struct vv_error *error) {
    struct vv_markup markup = {0};
    struct vv_text text = rest(a);
    if (a->state == VALUE) {
        return break_off(a, &markup, error);
    }
    if (text.length == 0) {
        return VV_OK;
    }
    if (a->state == TEXT) {
        match_in_text(a, text, &markup);
    } else if (a->state != BEGINNING) {
        vv_match_call(a->syntax, text,
                      a->state == AFTER_CALL ? VV_CALL_IN_BLOCK : VV_CALL_AFTER_BLOCK, &markup);
    }
    if (markup.begun) {
        return break_off(a, &markup, error);
    }
    bool belongs = a->state == AFTER_CALL || (a->state == AFTER_BLOCK && is_space(text));
    return belongs ? emit_markup(a, text.length, error) : emit_text(a, text.length, error);
}

int vv_answer_end(struct vv_answer *answer, vv_answer_sink sink, void *context,
                  struct vv_error *error) {
    answer->sink = sink;
    answer->context = context;
    int status = finish(answer, error);
    return status == VV_OK ? emit(answer, VV_ANSWER_END, (struct vv_text){"", 0}, 0, error)
                           : status;
}

/* ---- The way in ---- */

enum vv_thinking vv_thinking_of(struct vv_text prompt) {
    static const char open[] = "<think>", closed[] = "</think>";
    size_t end = prompt.length, o = sizeof open - 1, c = sizeof closed - 1;
    while (end > 0 && (prompt.at[end - 1] == '\n' || prompt.at[end - 1] == ' ')) {
        end--;
    }
    return end >= o && memcmp(prompt.at + end - o, open, o) == 0     ? VV_THINKING_OPEN
           : end >= c && memcmp(prompt.at + end - c, closed, c) == 0 ? VV_THINKING_CLOSED
                                                                     : VV_THINKING_NONE;
}

int vv_answer_new(const char *family, enum vv_thinking thinking, const struct vv_text *tools,
                  struct vv_answer **answer, struct vv_error *error) {
    const struct vv_answer_syntax *syntax = vv_answer_syntax_of(family);
    if (!syntax) {
        return vv_fail(error, VV_ERROR_UNSUPPORTED,
                       "answers of the family \"%s\" can't be taken apart: qwen4exp and deepseek4 "
                       "are known",
                       family);
    }
    struct vv_tools *read = NULL;
    int status = tools ? vv_tools_read(*tools, &read, error) : VV_OK;
    if (status != VV_OK) {
        return status;
    }
    struct vv_answer *a = calloc(1, sizeof *a);
    if (!a) {
        vv_tools_free(read);
        return vv_fail_memory(error, sizeof *a, "an answer");
    }
    a->syntax = syntax;
    a->tools = read;
    a->calls = !read || vv_tools_count(read) > 0;
    a->state = thinking == VV_THINKING_NONE ? BEGINNING : TEXT;
    a->thinking = thinking == VV_THINKING_OPEN;
    *answer = a;
    return VV_OK;
}

void vv_answer_free(struct vv_answer *answer) {
    if (answer) {
        vv_tools_free(answer->tools);
        vv_bytes_free(&answer->argument.held);
        vv_bytes_free(&answer->held);
        vv_bytes_free(&answer->out);
        free(answer);
    }
}

int vv_answer_push(struct vv_answer *answer, struct vv_text piece, vv_answer_sink sink,
                   void *context, struct vv_error *error) {
    bool waits = false;
    int status = vv_bytes_append(&answer->held, piece.at, piece.length, error);
    answer->sink = sink;
    answer->context = context;
    while (status == VV_OK && !waits && rest(answer).length > 0) {
        status = step(answer, &waits, error);
    }
    if (answer->taken > 0) {
        size_t kept = answer->held.length - answer->taken;
        memmove(answer->held.at, answer->held.at + answer->taken, kept);
        answer->held.length = kept;
        answer->taken = 0;
    }
    return status;
}

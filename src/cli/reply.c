#include "reply.h"
#include "json.h"
#include "output.h"
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REASONING, CONTENT, NAME, ARGUMENTS };

static const char no_memory[] = "no memory for an answer";

int reply_open(struct reply *reply, const struct opened *opened,
               const struct conversation *conversation, enum varve_thinking thinking) {
    struct varve_error error;
    const struct text *tools = &conversation->tools;
    reply->calls = json_array();
    if (!reply->calls) {
        return fail(no_memory);
    }
    return varve_answer_new(opened->info.architecture, thinking, tools->at ? tools->at : "[]",
                            tools->at ? tools->length : 2, &reply->answer, &error) == VARVE_OK
               ? EXIT_DONE
               : fail("%s", error.message);
}

void reply_close(struct reply *reply) {
    varve_answer_free(reply->answer);
    json_decref(reply->calls);
    free(reply->reasoning.at);
    free(reply->content.at);
    free(reply->name.at);
    free(reply->arguments.at);
    *reply = (struct reply){0};
}

/* ---- keeping ---- */

static int keep(struct reply *reply, int which, const char *text, size_t length) {
    struct text *const texts[] = {&reply->reasoning, &reply->content, &reply->name,
                                  &reply->arguments};
    return text_append(texts[which], &reply->room[which], text, length);
}

/* ---- showing ---- */

/* A text of any bytes as JSON, on standard output. */
static int write_json_text(const struct text *text) {
    json_t *value = json_text(text->at ? text->at : "", text->length);
    char *dumped = value ? json_dumps(value, JSON_ENCODE_ANY) : NULL;
    json_decref(value);
    if (!dumped) {
        return fail(no_memory);
    }
    output_write(dumped, strlen(dumped));
    free(dumped);
    return EXIT_DONE;
}

static void begin_thoughts(struct reply *reply) {
    if (!reply->thinks && reply->form == REPLY_DIMMED) {
        output_write("\033[2m", 4);
    }
    reply->thinks = true;
}

/* `closed`: the model did so. */
static void end_thoughts(struct reply *reply, bool closed) {
    static const char dimmed[] = "\033[22m", gap[] = "\n\n", mark[] = "\n</think>\n\n";
    if (reply->thinks && reply->form == REPLY_DIMMED) {
        output_write(dimmed, sizeof dimmed - 1);
    }
    if (reply->thinks && closed) {
        bool dim = reply->form == REPLY_DIMMED;
        output_write(dim ? gap : mark, dim ? sizeof gap - 1 : sizeof mark - 1);
    }
    reply->thinks = false;
}

static int show_text(struct reply *reply, bool thoughts, const char *text, size_t length) {
    if (thoughts && reply->hide) {
        return EXIT_DONE;
    }
    if (reply->form == REPLY_JSON) {
        return json_line(json_pack("{s:s, s:o}", "event", thoughts ? "reasoning" : "content",
                                   "text", json_text(text, length)));
    }
    if (thoughts) {
        begin_thoughts(reply);
    } else {
        end_thoughts(reply, true);
    }
    output_write(text, length);
    return EXIT_DONE;
}

/* Arguments are shown as the model wrote them, but on one line: a line break in JSON stands between
 * its parts, never within a text. */
static int show_call(struct reply *reply) {
    static const char name[] = "\"name\":", arguments[] = ",\"arguments\":";
    if (reply->form == REPLY_JSON) {
        output_format("{\"event\":\"tool_call\",\"index\":%zu,", json_array_size(reply->calls));
    } else {
        end_thoughts(reply, true);
        if (!output_ends_line()) {
            output_write("\n", 1);
        }
        output_write("{", 1);
    }
    output_write(name, sizeof name - 1);
    int code = write_json_text(&reply->name);
    output_write(arguments, sizeof arguments - 1);
    for (size_t i = 0; i < reply->arguments.length; i++) {
        char c = reply->arguments.at[i];
        output_write(c == '\n' || c == '\r' ? " " : &c, 1);
    }
    output_write("}\n", 2);
    return code;
}

/* ---- events ---- */

static int end_call(struct reply *reply) {
    int code = show_call(reply);
    json_t *call = json_pack("{s:s, s:{s:o, s:o}}", "type", "function", "function", "name",
                             json_text(reply->name.at, reply->name.length), "arguments",
                             json_text(reply->arguments.at, reply->arguments.length));
    return code != EXIT_DONE                                ? code
           : json_array_append_new(reply->calls, call) == 0 ? EXIT_DONE
                                                            : fail(no_memory);
}

static int tell_unfinished(const struct reply *reply) {
    struct text none = {0};
    const struct text *name = reply->name.length ? &reply->name : &none;
    if (reply->form != REPLY_JSON) {
        report("the answer ended within a call of the tool \"%.100s\", which is left out",
               name->at ? name->at : "");
        return EXIT_DONE;
    }
    return json_line(json_pack("{s:s, s:o}", "event", "unfinished_call", "name",
                               json_text(name->at ? name->at : "", name->length)));
}

static int take(void *context, const struct varve_answer_event *event, struct varve_error *error) {
    struct reply *reply = context;
    (void)error;
    int code = EXIT_DONE;
    switch (event->kind) {
    case VARVE_ANSWER_REASONING:
    case VARVE_ANSWER_CONTENT: {
        bool thoughts = event->kind == VARVE_ANSWER_REASONING;
        code = keep(reply, thoughts ? REASONING : CONTENT, event->text, event->length);
        return code == EXIT_DONE ? show_text(reply, thoughts, event->text, event->length) : code;
    }
    case VARVE_ANSWER_CALL:
        reply->name.length = reply->arguments.length = 0;
        return keep(reply, NAME, event->text, event->length);
    case VARVE_ANSWER_ARGUMENTS:
        return keep(reply, ARGUMENTS, event->text, event->length);
    case VARVE_ANSWER_CALL_END:
        code = end_call(reply);
        reply->name.length = 0;
        return code;
    case VARVE_ANSWER_UNFINISHED:
        return tell_unfinished(reply);
    case VARVE_ANSWER_MARKUP:
    case VARVE_ANSWER_END:
        break;
    }
    return code;
}

/* A failure of `take` is told already; one of the parser is not. */
static int told(int code, const struct varve_error *error) {
    return code >= 0 ? code : fail("%s", error->message);
}

int reply_push(struct reply *reply, const char *text, size_t length) {
    struct varve_error error;
    return told(varve_answer_push(reply->answer, text, length, take, reply, &error), &error);
}

int reply_end(struct reply *reply) {
    struct varve_error error;
    int code = told(varve_answer_end(reply->answer, take, reply, &error), &error);
    end_thoughts(reply, false);
    return code;
}

bool reply_begun(const struct reply *reply) {
    return reply->reasoning.length || reply->content.length || json_array_size(reply->calls);
}

json_t *reply_message(const struct reply *reply) {
    json_t *message =
        json_pack("{s:s, s:o}", "role", "assistant", "content",
                  json_text(reply->content.at ? reply->content.at : "", reply->content.length));
    if (message && reply->reasoning.length) {
        json_object_set_new(message, "reasoning_content",
                            json_text(reply->reasoning.at, reply->reasoning.length));
    }
    if (message && json_array_size(reply->calls)) {
        json_object_set(message, "tool_calls", reply->calls);
    }
    return message;
}

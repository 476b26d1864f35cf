/* The commands within a conversation. */
#include "chat.h"
#include "output.h"
#include "report.h"
#include "utf8.h"

#include <stdio.h>
#include <string.h>

typedef int chat_function(struct chat *chat, const char *argument);
static chat_function help, reset, set_system, set_tools, result, run_tool, save, load, stats, quit;

static const struct {
    const char *name, *argument, *help;
    bool needed; /* the argument is */
    chat_function *function;
} commands[] = {
    {"/help", "", "list these commands", false, help},
    {"/reset", "", "forget the conversation; the system message and the tools stay", false, reset},
    {"/system", "TEXT", "set the system message; without TEXT there is none", false, set_system},
    {"/tools", "FILE", "let the model call the tools of a JSON list; without FILE there are none",
     false, set_tools},
    {"/result", "TEXT", "give the result of the tool that the answer calls", false, result},
    {"/run", "COMMAND", "let a shell's command make it, which may read the call's arguments", true,
     run_tool},
    {"/save", "FILE", "write the messages as a JSON list", true, save},
    {"/load", "FILE", "go on from the messages of a JSON list", true, load},
    {"/stats", "", "tokens and speeds of the last answer and of all", false, stats},
    {"/quit", "", "leave", false, quit},
};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

static int help(struct chat *chat, const char *argument) {
    (void)chat;
    (void)argument;
    for (size_t i = 0; i < COMMANDS; i++) {
        output_format("%-8s %-8s %s\n", commands[i].name, commands[i].argument, commands[i].help);
    }
    output_format(
        "A line that ends in \\ goes on in the next one; so does all between two \"\"\", which may "
        "also stand\nbehind a command. A message that begins with a slash is typed with two. "
        "Ctrl-C "
        "ends an answer.\n");
    return EXIT_DONE;
}

static bool has_system(const struct chat *chat) {
    const char *role =
        json_string_value(json_object_get(json_array_get(chat->conversation.messages, 0), "role"));
    return role && strcmp(role, "system") == 0;
}

static int reset(struct chat *chat, const char *argument) {
    (void)argument;
    conversation_cut(&chat->conversation, has_system(chat) ? 1 : 0);
    return EXIT_DONE;
}

static int set_system(struct chat *chat, const char *argument) {
    if (has_system(chat)) {
        json_array_remove(chat->conversation.messages, 0);
    }
    return conversation_add(&chat->conversation, 0, "system", argument[0] ? argument : NULL,
                            strlen(argument));
}

static int set_tools(struct chat *chat, const char *argument) {
    if (argument[0]) {
        return conversation_load_tools(&chat->conversation, argument);
    }
    conversation_no_tools(&chat->conversation);
    return EXIT_DONE;
}

static int result(struct chat *chat, const char *argument) {
    return chat_take_result(chat, argument);
}

static int run_tool(struct chat *chat, const char *argument) {
    return chat_run_tool(chat, argument);
}

static int save(struct chat *chat, const char *argument) {
    int code = conversation_save(&chat->conversation, argument);
    if (code == EXIT_DONE) {
        report("%zu messages are in %s", json_array_size(chat->conversation.messages), argument);
    }
    return code;
}

static int load(struct chat *chat, const char *argument) {
    int code = conversation_load(&chat->conversation, argument);
    if (code == EXIT_DONE) {
        report("the conversation has %zu messages", json_array_size(chat->conversation.messages));
        chat_tell_waiting(chat);
    }
    return code;
}

static double rate(size_t tokens, double seconds) {
    return seconds > 0 ? (double)tokens / seconds : 0;
}

static void print_count(const char *what, const struct chat_count *c) {
    output_format("%s: read %zu tokens (%.1f/s), reused %zu, wrote %zu (%.1f/s)\n", what, c->read,
                  rate(c->read, c->read_seconds), c->reused, c->written,
                  rate(c->written, c->write_seconds));
}

/* Where the last prompt differs from what was read before, and how it goes on there. */
static int print_change(const struct run *run) {
    enum { SHOWN = 8 };
    char shown[200] = "";
    struct varve_error error;
    struct varve_detokenizer *stream;
    if (varve_detokenizer_new(varve_model_tokenizer(run->opened.model), true, &stream, &error) !=
        VARVE_OK) {
        return fail("%s", error.message);
    }
    for (size_t i = run->changed_at, used = 0; i < run->changed_at + SHOWN && i < run->ids.count;
         i++) {
        const char *text;
        size_t length;
        if (varve_detokenizer_push(stream, run->ids.at[i], &text, &length, &error) == VARVE_OK &&
            used + length < sizeof shown) {
            memcpy(shown + used, text, length);
            used += length;
        }
    }
    varve_detokenizer_free(stream);
    utf8_printable(shown);
    output_format("The last text differs from what was read before from token %zu on: \"%s\"\n",
                  run->changed_at, shown);
    return EXIT_DONE;
}

static int stats(struct chat *chat, const char *argument) {
    int code = EXIT_DONE;
    (void)argument;
    print_count("last answer", &chat->last);
    print_count("all answers", &chat->total);
    output_format("answers: %zu; the context holds %zu of %u tokens\n", chat->turns,
                  varve_session_length(chat->run.session, 0), chat->run.options.context);
    if (chat->run.changed_at < chat->run.prompt_count) {
        code = print_change(&chat->run);
    }
    output_format("Tokens are reused up to where a turn's text differs from what was read: from "
                  "the last copy of the state before that (--keep).\n");
    return code;
}

static int quit(struct chat *chat, const char *argument) {
    (void)argument;
    chat->leave = true;
    return EXIT_DONE;
}

static int unknown(const char *line, size_t length) {
    char list[200];
    size_t used = 0;
    for (size_t i = 0; i < COMMANDS && used < sizeof list; i++) {
        int n = snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", commands[i].name);
        used += n > 0 ? (size_t)n : 0;
    }
    return fail("there is no command %.*s; there are %s (// begins a message with a slash)",
                (int)(length < 60 ? length : 60), line, list);
}

int chat_command(struct chat *chat, const char *line) {
    size_t length = strcspn(line, " \t");
    const char *argument = line + length + strspn(line + length, " \t");
    for (size_t i = 0; i < COMMANDS; i++) {
        if (strlen(commands[i].name) == length && memcmp(commands[i].name, line, length) == 0) {
            if (commands[i].needed && !argument[0]) {
                return fail("%s needs %s", commands[i].name, commands[i].argument);
            }
            if (!commands[i].argument[0] && argument[0]) {
                return fail("%s takes nothing behind it", commands[i].name);
            }
            return commands[i].function(chat, argument);
        }
    }
    return unknown(line, length);
}

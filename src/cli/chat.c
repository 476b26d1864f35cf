/* A conversation in a terminal or through a pipe. */
#include "chat.h"
#include "commands.h"
#include "interrupt.h"
#include "kept.h"
#include "output.h"
#include "report.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- one turn ---- */

/* Of a full context a quarter is for the answer. */
static bool is_long(const struct run *run, size_t count) {
    return count > run->options.context / 4 * 3;
}

/* The conversation's ids for the prompt. Where they are too many and the context may shift, the
 * oldest questions and answers are let go until it is not. */
static int set_prompt(struct chat *chat, enum varve_thinking *thinking) {
    struct run *run = &chat->run;
    struct conversation *conversation = &chat->conversation;
    bool shifts = choice_of(run->arguments, OPTION_context_full) == CONTEXT_SHIFT;
    size_t before = json_array_size(conversation->messages);
    int code;
    do {
        varve_ids_free(&run->ids);
        code = conversation_ids(conversation, &run->opened, &run->ids, thinking);
    } while (code == EXIT_DONE && shifts && is_long(run, run->ids.count) &&
             conversation_drop_oldest(conversation));
    size_t after = json_array_size(conversation->messages);
    if (after < before) {
        report("the context of %u tokens is nearly full: the %zu oldest messages behind the system "
               "message have left it",
               run->options.context, before - after);
    }
    if (code == EXIT_DONE) {
        run->marks = conversation_marks(conversation, &run->opened, &run->ids);
    }
    return code;
}

static void add_count(struct chat_count *to, const struct chat_count *c) {
    to->read += c->read;
    to->reused += c->reused;
    to->written += c->written;
    to->read_seconds += c->read_seconds;
    to->write_seconds += c->write_seconds;
}

static void count_turn(struct chat *chat) {
    const struct run *run = &chat->run;
    chat->last = (struct chat_count){.read = run->read_count,
                                     .reused = run->held_count,
                                     .written = run_written(run),
                                     .read_seconds = run->prompt_seconds,
                                     .write_seconds = run->answer_seconds};
    add_count(&chat->total, &chat->last);
    chat->turns++;
}

/* Reads the prompt and writes the answer through `reply`. */
static int generate(struct chat *chat, struct reply *reply) {
    struct run *run = &chat->run;
    enum varve_thinking thinking = VARVE_THINKING_NONE;
    int code = set_prompt(chat, &thinking);
    if (code == EXIT_DONE) {
        code = run_check_prompt(run);
    }
    if (code == EXIT_DONE) {
        code = run_open_streams(run);
    }
    if (code == EXIT_DONE) {
        code = reply_open(reply, &run->opened, &chat->conversation, thinking);
    }
    if (code == EXIT_DONE) {
        run->reply = reply;
        run->answer_seconds = 0;
        code = run_generate(run);
        run->reply = NULL;
        count_turn(chat);
    }
    run_close_streams(run);
    return code;
}

int chat_answer(struct chat *chat, size_t count) {
    int shown = choice_of(chat->run.arguments, OPTION_thinking);
    struct reply reply = {.form = isatty(STDOUT_FILENO) ? REPLY_DIMMED : REPLY_TEXT,
                          .hide = shown != THINKING_ON};
    int code = generate(chat, &reply);
    int number = interrupt_take();
    if ((code == EXIT_DONE || code == EXIT_INTERRUPTED) && reply_begun(&reply)) {
        int appended = conversation_append(&chat->conversation, reply_message(&reply));
        code = appended == EXIT_DONE ? code : appended;
    } else {
        conversation_cut(&chat->conversation, count);
    }
    reply_close(&reply);
    chat->leave |= chat->run.finish == FINISH_UNREAD || (number && number != SIGINT);
    chat_tell_waiting(chat);
    return code == EXIT_INTERRUPTED && !chat->leave ? EXIT_DONE : code;
}

static int answer_message(struct chat *chat, const char *text, size_t length) {
    size_t count = json_array_size(chat->conversation.messages);
    int code = conversation_add(&chat->conversation, SIZE_MAX, "user", text, length);
    return code == EXIT_DONE ? chat_answer(chat, count) : code;
}

/* ---- messages ---- */

static const char quotes[] = "\"\"\"";
enum { QUOTES = sizeof quotes - 1 };

static bool ends_with_quotes(const char *text, size_t length) {
    return length >= QUOTES && memcmp(text + length - QUOTES, quotes, QUOTES) == 0;
}

/* A message or a command, while its lines are read. */
struct typed {
    struct text text;
    size_t room;
    bool quoted; /* up to the closing quotes */
    bool more;   /* lines belong to it */
    bool plain;  /* a message whatever it begins with: all of it was quoted */
};

/* Where in a first line quotes may open: at its beginning, or behind the name of a command. */
static size_t opening_of(const char *line) {
    size_t name = line[0] == '/' && line[1] != '/' ? strcspn(line, " \t") : 0;
    return name + strspn(line + name, " \t") * (name > 0);
}

static int add_line(struct typed *typed, const char *line, size_t length) {
    size_t opening = typed->more ? 0 : opening_of(line);
    if (!typed->more && length >= opening + QUOTES && memcmp(line + opening, quotes, QUOTES) == 0) {
        int code = text_append(&typed->text, &typed->room, line, opening);
        line += opening + QUOTES;
        length -= opening + QUOTES;
        typed->quoted = true;
        typed->plain = opening == 0;
        if (code != EXIT_DONE || length == 0) {
            typed->more = true;
            return code;
        }
    }
    typed->more =
        typed->quoted ? !ends_with_quotes(line, length) : length && line[length - 1] == '\\';
    size_t cut = typed->quoted ? (typed->more ? 0 : QUOTES) : typed->more;
    int code = text_append(&typed->text, &typed->room, line, length - cut);
    return code == EXIT_DONE && typed->more ? text_append(&typed->text, &typed->room, "\n", 1)
                                            : code;
}

/* The next message or command, perhaps of several lines. */
static enum line_end read_message(struct chat *chat, struct typed *typed, int *code) {
    size_t length;
    const char *line;
    *typed = (struct typed){0};
    do {
        enum line_end end = lines_read(chat->lines, typed->more ? ". " : "> ", &line, &length);
        if (end == LINE_INTERRUPTED || (end == LINE_ENDED && !typed->more)) {
            return end;
        }
        if (end == LINE_ENDED) {
            break;
        }
        *code = add_line(typed, line, length);
    } while (*code == EXIT_DONE && typed->more);
    struct text *text = &typed->text;
    if (typed->quoted && text->length && text->at[text->length - 1] == '\n') {
        text->at[--text->length] = 0;
    }
    return LINE_READ;
}

static int take_message(struct chat *chat, const struct typed *typed) {
    const struct text *text = &typed->text;
    bool blank = text->length == strspn(text->at, " \t\r\n");
    if (blank) {
        return EXIT_DONE;
    }
    lines_remember(chat->lines, text->at);
    if (text->at[0] != '/' || typed->plain) {
        return answer_message(chat, text->at, text->length);
    }
    return text->at[1] == '/' ? answer_message(chat, text->at + 1, text->length - 1)
                              : chat_command(chat, text->at);
}

/* Ctrl-C at the prompt takes the line away; a second one behind it leaves. True: leave. */
static bool ends_at_prompt(const struct chat *chat, bool *again) {
    if (interrupt_take() != SIGINT || !chat->terminal || *again) {
        return true;
    }
    report("once more, or Ctrl-D, to leave");
    *again = true;
    return false;
}

/* Messages until there are no more. A failed one does not end the conversation. */
static int talk(struct chat *chat) {
    bool again = false;
    while (!chat->leave && output_flush()) {
        struct typed typed;
        int code = EXIT_DONE;
        enum line_end end = read_message(chat, &typed, &code);
        if (end == LINE_READ) {
            again = false;
            code = code == EXIT_DONE ? take_message(chat, &typed) : code;
            chat->failed |= code != EXIT_DONE;
        }
        free(typed.text.at);
        if (code == EXIT_INTERRUPTED) {
            return code;
        }
        if (end != LINE_READ && chat->terminal) {
            output_write("\n", 1); /* what follows begins a line */
            output_flush();
        }
        if (end == LINE_INTERRUPTED && ends_at_prompt(chat, &again)) {
            return EXIT_INTERRUPTED;
        }
        if (end == LINE_ENDED) {
            break;
        }
    }
    return chat->failed && !chat->terminal ? EXIT_FAILED : EXIT_DONE;
}

/* ---- beginning ---- */

/* Goes on from the file of --session, if there is one already. */
static int resume_chat(struct chat *chat) {
    json_t *note;
    int code = kept_load(&chat->run, &note);
    if (code == EXIT_DONE) {
        code = kept_conversation(&chat->run, note, &chat->conversation);
    }
    if (code == EXIT_DONE && note) {
        report("the conversation has %zu messages; %zu tokens of it are read already",
               json_array_size(chat->conversation.messages),
               varve_session_length(chat->run.session, 0));
    }
    json_decref(note);
    return code;
}

static int begin(struct chat *chat) {
    int code = open_model(chat->run.arguments, &chat->run.opened);
    if (code == EXIT_DONE) {
        code = run_prepare(&chat->run);
    }
    if (code == EXIT_DONE) {
        code = conversation_begin(&chat->conversation, chat->run.arguments);
    }
    if (code == EXIT_DONE) {
        code = run_open_session(&chat->run);
    }
    if (code == EXIT_DONE) {
        code = resume_chat(chat);
    }
    chat->lines = code == EXIT_DONE ? lines_open(chat->terminal) : NULL;
    return code == EXIT_DONE && !chat->lines ? fail("no memory for a conversation") : code;
}

int command_chat(const struct arguments *arguments) {
    struct chat chat = {.run = {.arguments = arguments, .quiet = true},
                        .terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)};
    interrupt_gently();
    int code = begin(&chat);
    if (code == EXIT_DONE && chat.terminal) {
        report("%s; /help lists the commands, Ctrl-D leaves",
               chat.run.opened.info.name[0] ? chat.run.opened.info.name : "a model without a name");
        chat_tell_waiting(&chat);
    }
    if (code == EXIT_DONE) {
        code = talk(&chat);
        int kept = kept_save(&chat.run, kept_conversation_note(&chat.conversation));
        code = kept == EXIT_DONE ? code : kept;
    }
    lines_close(chat.lines);
    conversation_free(&chat.conversation);
    run_close(&chat.run);
    return code;
}

/* One call of `varve chat`: what its parts share. */
#pragma once
#include "line.h"
#include "run.h"

struct chat_count {
    size_t read, reused, written; /* tokens */
    double read_seconds, write_seconds;
};

struct chat {
    struct run run;
    struct conversation conversation;
    struct lines *lines;
    bool terminal; /* a person types: there is a prompt */
    bool failed;   /* a message or a command did */
    bool leave;
    size_t turns;
    struct chat_count last, total;
};

/* Exit codes, after an error on standard error, here and below. */

/* Answers the conversation. What was written before Ctrl-C stays in it; if there is no answer at
 * all, the messages from `count` on are taken back. */
int chat_answer(struct chat *chat, size_t count);

/* Carries out a line that begins with a slash. */
int chat_command(struct chat *chat, const char *line);

/* The result of the first call of the last answer that has none: a text, or what a command of the
 * shell prints, which gets the call's arguments on its standard input. The model goes on when all
 * calls have theirs. */
int chat_take_result(struct chat *chat, const char *text);
int chat_run_tool(struct chat *chat, const char *command);

/* Tells a person which call waits for a result, if one does. */
void chat_tell_waiting(const struct chat *chat);

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

/* Carries out a line that begins with a slash. Exit code, after an error on standard error. */
int chat_command(struct chat *chat, const char *line);

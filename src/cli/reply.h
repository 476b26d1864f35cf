/* An answer that is taken apart while it comes: what is shown of it, and the message that it makes.
 * Functions return an exit code, after an error on standard error. */
#pragma once
#include "conversation.h"

enum reply_form {
    REPLY_TEXT,   /* thoughts end with their mark */
    REPLY_DIMMED, /* for a terminal: thoughts are dimmed */
    REPLY_JSON,   /* events */
};

struct reply {
    struct varve_answer *answer;
    enum reply_form form;
    bool hide;   /* thoughts are not shown */
    bool thinks; /* thoughts were shown, and their end was not */
    struct text reasoning, content, name, arguments;
    size_t room[4]; /* of these */
    json_t *calls;
};

int reply_open(struct reply *reply, const struct opened *opened,
               const struct conversation *conversation, enum varve_thinking thinking);
int reply_push(struct reply *reply, const char *text, size_t length);
int reply_end(struct reply *reply);
/* Whether there is anything of it. */
bool reply_begun(const struct reply *reply);
/* The assistant's message; NULL: no memory. The caller takes it. */
json_t *reply_message(const struct reply *reply);
void reply_close(struct reply *reply);

/* A conversation: messages and tools as JSON, rendered by the model's template. Functions return an
 * exit code, after an error on standard error. */
#pragma once
#include "input.h"
#include "opened.h"

#include <jansson.h>

struct conversation {
    json_t *messages;  /* a list of objects */
    struct text tools; /* a list, as it was written; NULL: none */
    bool thinking;
    int64_t now; /* seconds since 1970, so that every rendering has the same time */
};

/* A new one, as the options say: --messages, --tools, --system, --thinking. Free it in any case. */
int conversation_begin(struct conversation *conversation, const struct arguments *arguments);
void conversation_free(struct conversation *conversation);

/* A message at place `at`, or behind the others; `text` may be NULL: then there is none. */
int conversation_add(struct conversation *conversation, size_t at, const char *role,
                     const char *text, size_t length);
/* Takes a message, behind the others. NULL: no memory. */
int conversation_append(struct conversation *conversation, json_t *message);

/* Takes the messages from `count` on away. */
void conversation_cut(struct conversation *conversation, size_t count);

/* In place of the messages or the tools that there are, which stay on a failure. */
int conversation_load(struct conversation *conversation, const char *path);
int conversation_load_tools(struct conversation *conversation, const char *path);
void conversation_no_tools(struct conversation *conversation);
int conversation_save(const struct conversation *conversation, const char *path);

/* Takes the messages of a list in place of those that there are. */
void conversation_take(struct conversation *conversation, json_t *messages);
/* Takes the oldest question and what came of it away, but not the newest one. False: there is none.
 */
bool conversation_drop_oldest(struct conversation *conversation);

/* The ids of the rendering, ready for an answer, and where that begins. */
int conversation_ids(const struct conversation *conversation, const struct opened *opened,
                     struct varve_ids *ids, enum varve_thinking *thinking);

/* Places in those ids. */
struct conversation_marks {
    size_t stable; /* a later rendering begins with so many, if messages are only appended */
    size_t system; /* every conversation with this system message and these tools does */
};
struct conversation_marks conversation_marks(const struct conversation *conversation,
                                             const struct opened *opened,
                                             const struct varve_ids *ids);

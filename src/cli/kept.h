/* What --session keeps in a file: the state, and a note in JSON beside it: of a conversation
 * {"messages": […]}, of a raw text {"tail": [ids that the state lacks]}. Exit codes, after an error
 * on standard error. */
#pragma once
#include "run.h"

/* Loads the file, if there is one, into the session, which is open. `*note` is its note, to be
 * freed with json_decref; NULL: it is begun. */
int kept_load(struct run *run, json_t **note);
/* Writes the file, if there is to be one, with what the session holds and `note`, which it frees.
 */
int kept_save(struct run *run, json_t *note);

/* The conversation goes on from the note's messages; options that would begin another are refused.
 */
int kept_conversation(const struct run *run, const json_t *note, struct conversation *conversation);
json_t *kept_conversation_note(const struct conversation *conversation);

/* The ids of a text that goes on: those of the session, and the note's. */
int kept_text(struct run *run, const json_t *note);
json_t *kept_text_note(const struct run *run);

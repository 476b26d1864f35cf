#include "kept.h"
#include "report.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int kept_load(struct run *run, json_t **note) {
    struct varve_error error;
    struct varve_note text;
    const char *path = text_of(run->arguments, OPTION_session);
    *note = NULL;
    if (!path || access(path, F_OK) != 0) {
        return EXIT_DONE;
    }
    if (varve_session_load(run->session, 0, path, &text, &error) != VARVE_OK) {
        return fail("%s", error.message);
    }
    *note = json_loadb(text.text, text.length, JSON_ALLOW_NUL, NULL);
    varve_note_free(&text);
    return json_is_object(*note)
               ? EXIT_DONE
               : fail("%s is a session of another program: its note is not varve's", path);
}

int kept_save(struct run *run, json_t *note) {
    struct varve_error error;
    const char *path = text_of(run->arguments, OPTION_session);
    int code = EXIT_DONE;
    if (path) {
        char *text = note ? json_dumps(note, JSON_COMPACT) : NULL;
        if (!text) {
            code = fail("no memory for the note of %s", path);
        } else if (varve_session_save(run->session, 0, path, text, strlen(text), &error) !=
                   VARVE_OK) {
            code = fail("%s", error.message);
        }
        free(text);
    }
    json_decref(note);
    return code;
}

/* The list that a note must have: it may be one of the other kind. */
static int list_of_note(const struct run *run, const json_t *note, const char *key, json_t **list) {
    const char *path = text_of(run->arguments, OPTION_session);
    *list = json_object_get(note, key);
    if (json_is_array(*list)) {
        return EXIT_DONE;
    }
    return strcmp(key, "tail") == 0 ? fail("%s holds a conversation: leave out --raw", path)
                                    : fail("%s holds a raw text: give --raw", path);
}

int kept_conversation(const struct run *run, const json_t *note,
                      struct conversation *conversation) {
    static const enum option_id beginnings[] = {OPTION_system, OPTION_messages, OPTION_COUNT};
    json_t *messages;
    if (!note) {
        return EXIT_DONE;
    }
    int code = list_of_note(run, note, "messages", &messages);
    if (code == EXIT_DONE) {
        code = refuse_given(run->arguments, beginnings,
                            "begins a conversation, and the file of --session has one already");
    }
    if (code == EXIT_DONE) {
        conversation_take(conversation, json_incref(messages));
    }
    return code;
}

json_t *kept_conversation_note(const struct conversation *conversation) {
    return json_pack("{s:O}", "messages", conversation->messages);
}

int kept_text(struct run *run, const json_t *note) {
    struct varve_error error;
    json_t *tail, *id;
    size_t i;
    int code = note ? list_of_note(run, note, "tail", &tail) : EXIT_DONE;
    if (code != EXIT_DONE || !note) {
        return code;
    }
    size_t count = varve_session_length(run->session, 0);
    const int32_t *tokens = varve_session_tokens(run->session, 0);
    int failed = VARVE_OK;
    for (i = 0; failed == VARVE_OK && i < count; i++) {
        failed = varve_ids_append(&run->ids, tokens[i], &error);
    }
    for (i = 0; failed == VARVE_OK && (id = json_array_get(tail, i)); i++) {
        failed = varve_ids_append(&run->ids, (int32_t)json_integer_value(id), &error);
    }
    return failed == VARVE_OK ? EXIT_DONE : fail("%s", error.message);
}

json_t *kept_text_note(const struct run *run) {
    json_t *tail = json_array();
    for (size_t i = varve_session_length(run->session, 0); tail && i < run->ids.count; i++) {
        json_array_append_new(tail, json_integer(run->ids.at[i]));
    }
    return json_pack("{s:o}", "tail", tail);
}

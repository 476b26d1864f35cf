#include "conversation.h"
#include "json.h"
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int no_memory(void) {
    return fail("no memory for a conversation");
}

static int begin_empty(struct conversation *conversation, bool thinking) {
    *conversation = (struct conversation){
        .messages = json_array(), .thinking = thinking, .now = (int64_t)time(NULL)};
    return conversation->messages ? EXIT_DONE : no_memory();
}

void conversation_free(struct conversation *conversation) {
    json_decref(conversation->messages);
    free(conversation->tools.at);
    *conversation = (struct conversation){0};
}

int conversation_append(struct conversation *conversation, json_t *message) {
    return json_array_append_new(conversation->messages, message) == 0 ? EXIT_DONE : no_memory();
}

int conversation_add(struct conversation *conversation, size_t at, const char *role,
                     const char *text, size_t length) {
    if (!text) {
        return EXIT_DONE;
    }
    json_t *message = json_pack("{s:s, s:o}", "role", role, "content", json_text(text, length));
    size_t count = json_array_size(conversation->messages);
    return json_array_insert_new(conversation->messages, at < count ? at : count, message) == 0
               ? EXIT_DONE
               : no_memory();
}

void conversation_cut(struct conversation *conversation, size_t count) {
    while (json_array_size(conversation->messages) > count) {
        json_array_remove(conversation->messages, json_array_size(conversation->messages) - 1);
    }
}

/* ---- files ---- */

/* Reads a file that holds a JSON list: its text, and its value. */
static int read_list(const char *path, struct text *text, json_t **list) {
    json_error_t error;
    int code = input_read(path, text);
    if (code != EXIT_DONE) {
        return code;
    }
    *list = json_loadb(text->at, text->length, JSON_ALLOW_NUL, &error);
    if (!*list) {
        code = fail("%s is no JSON: line %d, column %d: %s", path, error.line, error.column,
                    error.text);
    } else if (!json_is_array(*list)) {
        code = fail("%s holds no JSON list: [{…}, …] is expected", path);
    }
    if (code != EXIT_DONE) {
        json_decref(*list);
        free(text->at);
    }
    return code;
}

int conversation_load(struct conversation *conversation, const char *path) {
    struct text text;
    json_t *list;
    int code = read_list(path, &text, &list);
    if (code == EXIT_DONE) {
        json_decref(conversation->messages);
        conversation->messages = list;
        free(text.at);
    }
    return code;
}

int conversation_load_tools(struct conversation *conversation, const char *path) {
    struct text text;
    json_t *list;
    int code = read_list(path, &text, &list);
    if (code == EXIT_DONE) {
        json_decref(list);
        free(conversation->tools.at);
        conversation->tools = text;
    }
    return code;
}

void conversation_no_tools(struct conversation *conversation) {
    free(conversation->tools.at);
    conversation->tools = (struct text){0};
}

int conversation_begin(struct conversation *conversation, const struct arguments *arguments) {
    const char *messages = text_of(arguments, OPTION_messages);
    const char *tools = text_of(arguments, OPTION_tools);
    const char *system = text_of(arguments, OPTION_system);
    int code = begin_empty(conversation, choice_of(arguments, OPTION_thinking) != THINKING_OFF);
    if (code == EXIT_DONE && messages) {
        code = conversation_load(conversation, messages);
    }
    if (code == EXIT_DONE && tools) {
        code = conversation_load_tools(conversation, tools);
    }
    return code == EXIT_DONE
               ? conversation_add(conversation, 0, "system", system, system ? strlen(system) : 0)
               : code;
}

int conversation_save(const struct conversation *conversation, const char *path) {
    struct varve_error error;
    struct varve_output *output;
    char *text = json_dumps(conversation->messages, JSON_INDENT(2));
    if (!text) {
        return no_memory();
    }
    int code = varve_output_open(path, &output, &error);
    if (code == VARVE_OK) {
        bool written = varve_output_write(output, text, strlen(text), &error) == VARVE_OK &&
                       varve_output_write(output, "\n", 1, &error) == VARVE_OK;
        code = written ? varve_output_finish(output, &error) : error.code;
        if (!written) {
            varve_output_abandon(output);
        }
    }
    free(text);
    return code == VARVE_OK ? EXIT_DONE : fail("%s", error.message);
}

/* ---- rendering ---- */

/* The request for varve_prompt_new; the caller frees. The tools go in as they were written. */
static char *make_request(const struct conversation *conversation, const json_t *messages,
                          bool answer) {
    char *request = NULL, *text = json_dumps(messages, JSON_COMPACT);
    if (text && asprintf(&request,
                         "{\"messages\":%s,\"tools\":%s,\"add_generation_prompt\":%s,"
                         "\"enable_thinking\":%s,\"now\":%lld}",
                         text, conversation->tools.at ? conversation->tools.at : "null",
                         answer ? "true" : "false", conversation->thinking ? "true" : "false",
                         (long long)conversation->now) < 0) {
        request = NULL;
    }
    free(text);
    return request;
}

/* Ids of `messages` in the conversation's place. `answer`: ready for one, and where that begins. */
static int render(const struct conversation *conversation, const json_t *messages, bool answer,
                  const struct opened *opened, struct varve_ids *ids, enum varve_thinking *thinking,
                  struct varve_error *error) {
    struct varve_prompt *prompt = NULL;
    char *request = make_request(conversation, messages, answer);
    int code = VARVE_ERROR_MEMORY;
    snprintf(error->message, sizeof error->message, "no memory for a conversation");
    if (request) {
        code = varve_prompt_new(opened->file, NULL, 0, request, strlen(request), &prompt, error);
    }
    free(request);
    if (code == VARVE_OK) {
        size_t length;
        const char *text = varve_prompt_text(prompt, &length);
        *thinking = varve_prompt_thinking(text, length);
        code = varve_prompt_tokens(prompt, varve_model_tokenizer(opened->model), ids, error);
    }
    varve_prompt_free(prompt);
    return code;
}

int conversation_ids(const struct conversation *conversation, const struct opened *opened,
                     struct varve_ids *ids, enum varve_thinking *thinking) {
    struct varve_error error;
    return render(conversation, conversation->messages, true, opened, ids, thinking, &error) ==
                   VARVE_OK
               ? EXIT_DONE
               : fail("%s", error.message);
}

/* How many ids another rendering begins with alike; 0 where the template refuses it. */
static size_t common(const struct conversation *conversation, const json_t *messages,
                     const struct opened *opened, const struct varve_ids *ids) {
    struct varve_error error;
    struct varve_ids other = {0};
    enum varve_thinking ignored;
    size_t count = 0;
    if (messages && render(conversation, messages, false, opened, &other, &ignored, &error) == 0) {
        while (count < other.count && count < ids->count && other.at[count] == ids->at[count]) {
            count++;
        }
    }
    varve_ids_free(&other);
    return count;
}

static const char *role_of(const struct conversation *conversation, size_t index) {
    const char *role =
        json_string_value(json_object_get(json_array_get(conversation->messages, index), "role"));
    return role ? role : "";
}

struct conversation_marks conversation_marks(const struct conversation *conversation,
                                             const struct opened *opened,
                                             const struct varve_ids *ids) {
    json_t *shortest = json_array();
    if (strcmp(role_of(conversation, 0), "system") == 0) {
        json_array_append(shortest, json_array_get(conversation->messages, 0));
    }
    json_array_append_new(shortest, json_pack("{s:s, s:s}", "role", "user", "content", "\n?"));
    struct conversation_marks marks = {common(conversation, conversation->messages, opened, ids),
                                       common(conversation, shortest, opened, ids)};
    json_decref(shortest);
    return marks;
}

/* ---- shorter and other ones ---- */

void conversation_take(struct conversation *conversation, json_t *messages) {
    json_decref(conversation->messages);
    conversation->messages = messages;
}

bool conversation_drop_oldest(struct conversation *conversation) {
    size_t first = strcmp(role_of(conversation, 0), "system") == 0, next = first + 1;
    size_t count = json_array_size(conversation->messages);
    while (next < count && strcmp(role_of(conversation, next), "user") != 0) {
        next++;
    }
    for (size_t i = first; next < count && i < next; i++) {
        json_array_remove(conversation->messages, first);
    }
    return next < count;
}

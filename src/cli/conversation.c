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
static char *make_request(const struct conversation *conversation) {
    char *request = NULL, *messages = json_dumps(conversation->messages, JSON_COMPACT);
    if (messages &&
        asprintf(&request,
                 "{\"messages\":%s,\"tools\":%s,\"add_generation_prompt\":true,"
                 "\"enable_thinking\":%s,\"now\":%lld}",
                 messages, conversation->tools.at ? conversation->tools.at : "null",
                 conversation->thinking ? "true" : "false", (long long)conversation->now) < 0) {
        request = NULL;
    }
    free(messages);
    return request;
}

int conversation_ids(const struct conversation *conversation, const struct opened *opened,
                     struct varve_ids *ids, enum varve_thinking *thinking) {
    struct varve_error error;
    struct varve_prompt *prompt = NULL;
    char *request = make_request(conversation);
    if (!request) {
        return no_memory();
    }
    int code = varve_prompt_new(opened->file, NULL, 0, request, strlen(request), &prompt, &error);
    free(request);
    if (code == VARVE_OK) {
        size_t length;
        const char *text = varve_prompt_text(prompt, &length);
        *thinking = varve_prompt_thinking(text, length);
        code = varve_prompt_tokens(prompt, varve_model_tokenizer(opened->model), ids, &error);
    }
    varve_prompt_free(prompt);
    return code == VARVE_OK ? EXIT_DONE : fail("%s", error.message);
}

/* Conversations given as JSON, rendered by a chat template. */
#include "api/render.h"

#include <stdlib.h>
#include <string.h>

struct varve_prompt {
    struct vv_prompt rendered;
};

int vv_render(const struct varve_file *file, const struct vv_text *source,
              const struct vv_chat *chat, struct vv_prompt *out, struct vv_error *error) {
    struct vv_chat_template *template = NULL;
    int code = source ? vv_chat_template_replace(file->gguf, *source, &template, error)
                      : vv_chat_template_open(file->gguf, &template, error);
    if (code == VV_OK) {
        code = vv_chat_template_render(template, chat, out, error);
    }
    vv_chat_template_free(template);
    return code;
}

int vv_render_tokens(const struct vv_prompt *prompt, const struct varve_tokenizer *tokenizer,
                     struct varve_ids *ids, struct vv_error *error) {
    struct vv_ids out = vv_ids_of(ids);
    int code = vv_tokenize(vv_tokenizer_of(tokenizer), prompt->spans, prompt->count, &out, error);
    vv_ids_return(ids, &out);
    return code;
}

int vv_render_string(struct vv_arena *arena, const char *text, struct vv_value *out,
                     struct vv_error *error) {
    return vv_value_string(arena, (struct vv_text){text, strlen(text)}, true, out, error);
}

/* ---- requests ---- */

/* A conversation being read from a request. */
struct request {
    struct vv_arena arena;
    struct vv_chat chat;
    struct tm now;
};

static bool is_key(const struct vv_pair *pair, const char *name) {
    struct vv_text key = vv_marked_text(pair->key.of.text);
    return key.length == strlen(name) && memcmp(key.at, name, key.length) == 0;
}

static int read_now(struct request *request, const struct vv_value *value, struct vv_error *error) {
    time_t seconds = value->type == VV_VALUE_INTEGER ? (time_t)value->of.integer : 0;
    if (value->type != VV_VALUE_INTEGER || !gmtime_r(&seconds, &request->now)) {
        return vv_fail(error, VV_ERROR_INVALID,
                       "\"now\" is no time: give whole seconds since 1970");
    }
    request->chat.now = &request->now;
    return VV_OK;
}

/* The members of the request that are neither messages nor tools, and those of its "options". */
static int read_members(struct request *request, const struct vv_dict *members,
                        struct vv_pair *options, size_t *count, struct vv_error *error) {
    for (size_t i = 0; i < members->count; i++) {
        const struct vv_pair *pair = &members->pairs[i];
        if (is_key(pair, "messages")) {
            request->chat.messages = pair->value;
        } else if (is_key(pair, "tools")) {
            request->chat.tools = pair->value;
        } else if (is_key(pair, "now")) {
            int code = read_now(request, &pair->value, error);
            if (code != VV_OK) {
                return code;
            }
        } else if (!is_key(pair, "options")) {
            options[(*count)++] = *pair;
        }
    }
    return VV_OK;
}

static int read_options(struct request *request, const struct vv_dict *members,
                        struct vv_error *error) {
    static const struct vv_dict none = {0};
    const struct vv_value *nested = vv_dict_find_text(members, (struct vv_text){"options", 7});
    if (nested && nested->type != VV_VALUE_DICT && nested->type != VV_VALUE_NONE) {
        return vv_fail(error, VV_ERROR_INVALID, "the \"options\" of the request are no object");
    }
    const struct vv_dict *more = nested && nested->type == VV_VALUE_DICT ? nested->of.dict : &none;
    struct vv_pair *pairs =
        vv_arena_take(&request->arena, members->count + more->count, sizeof *pairs, error);
    size_t count = 0;
    int code = pairs ? read_members(request, members, pairs, &count, error) : error->code;
    for (size_t i = 0; code == VV_OK && i < more->count; i++) {
        pairs[count++] = more->pairs[i];
    }
    return code == VV_OK
               ? vv_value_dict(&request->arena, pairs, count, true, &request->chat.options, error)
               : code;
}

static int read_request(struct request *request, struct vv_text json, struct vv_error *error) {
    struct vv_value value;
    int code = vv_value_json(&request->arena, json, true, &value, error);
    if (code != VV_OK) {
        return code;
    }
    if (value.type != VV_VALUE_DICT ||
        !vv_dict_find_text(value.of.dict, (struct vv_text){"messages", 8})) {
        return vv_fail(error, VV_ERROR_INVALID,
                       "the request is no object with \"messages\": give "
                       "{\"messages\": [{\"role\": \"user\", \"content\": \"…\"}]}");
    }
    request->chat.tools = vv_value_none(true);
    return read_options(request, value.of.dict, error);
}

int varve_prompt_new(const struct varve_file *file, const char *template, size_t template_length,
                     const char *request, size_t length, struct varve_prompt **prompt,
                     struct varve_error *error) {
    struct vv_error *e = vv_internal(error);
    struct vv_text source = {template, template_length};
    struct request read = {0};
    struct varve_prompt *made = calloc(1, sizeof *made);
    int code = made ? VV_OK : vv_fail_memory(e, sizeof *made, "a rendered conversation");
    if (code == VV_OK) {
        code = read_request(&read, (struct vv_text){request, length}, e);
    }
    if (code == VV_OK) {
        code = vv_render(file, template ? &source : NULL, &read.chat, &made->rendered, e);
    }
    vv_arena_free(&read.arena);
    if (code != VV_OK) {
        free(made);
        return code;
    }
    *prompt = made;
    return VV_OK;
}

void varve_prompt_free(struct varve_prompt *prompt) {
    if (prompt) {
        vv_prompt_free(&prompt->rendered);
        free(prompt);
    }
}

const char *varve_prompt_text(const struct varve_prompt *prompt, size_t *length) {
    *length = prompt->rendered.text.length;
    return prompt->rendered.text.at;
}

int varve_prompt_tokens(const struct varve_prompt *prompt, const struct varve_tokenizer *tokenizer,
                        struct varve_ids *ids, struct varve_error *error) {
    return vv_render_tokens(&prompt->rendered, tokenizer, ids, vv_internal(error));
}

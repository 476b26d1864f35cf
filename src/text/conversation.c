#include "text/conversation.h"

#include <stdlib.h>
#include <string.h>

/* ---- Looking into messages ---- */

static struct vv_text text_of(const char *word) {
    return (struct vv_text){word, strlen(word)};
}

/* The value under a key of a dict, or NULL; `value` may be NULL or anything else. */
static const struct vv_value *member(const struct vv_value *value, const char *key) {
    return value && value->type == VV_VALUE_DICT ? vv_dict_find_text(value->of.dict, text_of(key))
                                                 : NULL;
}

static bool is_text(const struct vv_value *value, const char *word) {
    return value && value->type == VV_VALUE_STRING &&
           vv_text_order(vv_marked_text(value->of.text), text_of(word)) == 0;
}

static bool is_key(const struct vv_pair *pair, const char *key) {
    return is_text(&pair->key, key);
}

/* ---- Normalising ---- */

typedef int change_value(struct vv_arena *arena, const struct vv_pair *pair, struct vv_value *out,
                         struct vv_error *error);

/* A copy of a dict whose values went through `change`; with `drop`, without those that are none. */
static int change_dict(struct vv_arena *arena, const struct vv_value *dict, bool drop,
                       change_value *change, struct vv_value *out, struct vv_error *error) {
    size_t count = dict->of.dict->count, kept = 0;
    struct vv_pair *pairs = vv_arena_take(arena, count, sizeof *pairs, error);
    int status = pairs ? VV_OK : error->code;
    for (size_t i = 0; status == VV_OK && i < count; i++) {
        const struct vv_pair *pair = &dict->of.dict->pairs[i];
        if (drop && pair->value.type == VV_VALUE_NONE) {
            continue;
        }
        pairs[kept].key = pair->key;
        status = change(arena, pair, &pairs[kept++].value, error);
    }
    return status == VV_OK ? vv_value_dict(arena, pairs, kept, dict->data, out, error) : status;
}

static bool is_text_part(const struct vv_value *part) {
    const struct vv_value *text = member(part, "text");
    return is_text(member(part, "type"), "text") && text && text->type == VV_VALUE_STRING;
}

/* A list of parts, all of them text, as one text. */
static int join_parts(struct vv_arena *arena, const struct vv_value *content, struct vv_value *out,
                      struct vv_error *error) {
    *out = *content;
    bool texts = content->type == VV_VALUE_LIST;
    for (size_t i = 0; texts && i < content->of.list->count; i++) {
        texts = is_text_part(&vv_list_items(content->of.list)[i]);
    }
    if (!texts) {
        return VV_OK;
    }
    struct vv_buffer *buffer = vv_buffer_new(arena, 0, error);
    int status = buffer ? VV_OK : error->code;
    for (size_t i = 0; status == VV_OK && i < content->of.list->count; i++) {
        const struct vv_value *text = member(&vv_list_items(content->of.list)[i], "text");
        status = vv_buffer_add_marked(buffer, text->of.text, error);
    }
    const struct vv_marked *joined =
        status == VV_OK ? vv_buffer_text(arena, buffer, 0, NULL, error) : NULL;
    *out = (struct vv_value){.type = VV_VALUE_STRING, .data = content->data, .of.text = joined};
    return joined ? VV_OK : error->code;
}

/* Arguments that are the text of a JSON object as that object; what is no such text stays, and the
 * template says what it makes of it. */
static int read_arguments(struct vv_arena *arena, const struct vv_pair *pair, struct vv_value *out,
                          struct vv_error *error) {
    struct vv_error reason;
    struct vv_value read;
    *out = pair->value;
    if (!is_key(pair, "arguments") || pair->value.type != VV_VALUE_STRING) {
        return VV_OK;
    }
    int status =
        vv_value_json(arena, vv_marked_text(pair->value.of.text), pair->value.data, &read, &reason);
    if (status == VV_ERROR_MEMORY) {
        *error = reason;
        return status;
    }
    *out = status == VV_OK && read.type == VV_VALUE_DICT ? read : pair->value;
    return VV_OK;
}

/* Within a tool call: its "function", or the arguments of a call that has none. */
static int change_call(struct vv_arena *arena, const struct vv_pair *pair, struct vv_value *out,
                       struct vv_error *error) {
    return is_key(pair, "function") && pair->value.type == VV_VALUE_DICT
               ? change_dict(arena, &pair->value, false, read_arguments, out, error)
               : read_arguments(arena, pair, out, error);
}

/* The dicts of a list, each changed. */
static int change_list(struct vv_arena *arena, const struct vv_value *list, bool drop,
                       change_value *change, struct vv_value *out, struct vv_error *error) {
    size_t count = list->of.list->count;
    struct vv_value *items = vv_arena_take(arena, count, sizeof *items, error);
    int status = items ? VV_OK : error->code;
    for (size_t i = 0; status == VV_OK && i < count; i++) {
        items[i] = vv_list_items(list->of.list)[i];
        if (items[i].type == VV_VALUE_DICT) {
            struct vv_value dict = items[i];
            status = change_dict(arena, &dict, drop, change, &items[i], error);
        }
    }
    return status == VV_OK
               ? vv_value_list(arena, VV_VALUE_LIST, items, count, list->data, out, error)
               : status;
}

static int change_message(struct vv_arena *arena, const struct vv_pair *pair, struct vv_value *out,
                          struct vv_error *error) {
    if (is_key(pair, "content")) {
        return join_parts(arena, &pair->value, out, error);
    }
    if (is_key(pair, "tool_calls") && pair->value.type == VV_VALUE_LIST) {
        return change_list(arena, &pair->value, false, change_call, out, error);
    }
    *out = pair->value;
    return VV_OK;
}

int vv_conversation_normalise(struct vv_arena *arena, const struct vv_value *messages,
                              struct vv_value *out, struct vv_error *error) {
    if (messages->type != VV_VALUE_LIST) {
        return vv_fail(error, VV_ERROR_INVALID, "the messages of a conversation are not a list");
    }
    for (size_t i = 0; i < messages->of.list->count; i++) {
        if (vv_list_items(messages->of.list)[i].type != VV_VALUE_DICT) {
            return vv_fail(error, VV_ERROR_INVALID,
                           "message %zu is no object: it needs a role and a content", i);
        }
    }
    return change_list(arena, messages, true, change_message, out, error);
}

/* ---- Without a template ---- */

/* The truth of the first of some options that is there, else `usual`. The templates of different
 * families call one thing by different names. */
static bool option(const struct vv_chat *chat, const char *const *names, bool usual) {
    for (; *names; names++) {
        const struct vv_value *value = member(&chat->options, *names);
        if (value && value->type == VV_VALUE_BOOL) {
            return value->of.truth;
        }
    }
    return usual;
}
#define NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})

/* The text under a key, empty where there is none; false if it is no text. */
static bool read_text(const struct vv_value *message, const char *key, struct vv_text *out) {
    const struct vv_value *value = member(message, key);
    *out = (struct vv_text){"", 0};
    if (value && value->type == VV_VALUE_STRING) {
        *out = vv_marked_text(value->of.text);
    }
    return !value || value->type == VV_VALUE_STRING;
}

static bool read_plain(const struct vv_value *message, struct vv_chat_message *out) {
    static const char *const roles[] = {"system", "user", "assistant"};
    const struct vv_value *calls = member(message, "tool_calls");
    bool known = false;
    for (int i = 0; i < 3 && !known; i++) {
        known = is_text(member(message, "role"), roles[i]);
        out->role = (enum vv_chat_role)i;
    }
    bool no_calls = !calls || (calls->type == VV_VALUE_LIST && calls->of.list->count == 0);
    return known && no_calls && read_text(message, "content", &out->content) &&
           read_text(message, "reasoning_content", &out->reasoning);
}

static bool has_items(const struct vv_value *list) {
    return list->type != VV_VALUE_NONE && (list->type != VV_VALUE_LIST || list->of.list->count > 0);
}

static int read_plain_messages(const struct vv_value *messages, struct vv_chat_message *out,
                               struct vv_error *error) {
    for (size_t i = 0; i < messages->of.list->count; i++) {
        if (!read_plain(&vv_list_items(messages->of.list)[i], &out[i])) {
            return vv_fail(error, VV_ERROR_UNSUPPORTED,
                           "message %zu is more than the text of a system, user or assistant turn, "
                           "which needs a chat template, and this file has none",
                           i);
        }
    }
    return VV_OK;
}

int vv_conversation_layout(const struct vv_chat_family *family, const struct vv_value *messages,
                           const struct vv_chat *chat, struct vv_prompt *out,
                           struct vv_error *error) {
    bool drop = option(chat, NAMES("drop_thinking"), !family->keeps_reasoning);
    struct vv_chat_options options = {
        .think = option(chat, NAMES("thinking", "enable_thinking"), family->thinks),
        .keep_reasoning = option(chat, NAMES("preserve_thinking"), !drop),
        .answer = option(chat, NAMES("add_generation_prompt"), false),
    };
    if (has_items(&chat->tools)) {
        return vv_fail(error, VV_ERROR_UNSUPPORTED,
                       "tools need a chat template, and this file has none");
    }
    size_t count = messages->of.list->count;
    struct vv_chat_message *plain = calloc(count + 1, sizeof *plain);
    struct vv_spans spans = {0};
    if (!plain) {
        return vv_fail_memory(error, count * sizeof *plain, "the messages of a conversation");
    }
    int status = read_plain_messages(messages, plain, error);
    status = status == VV_OK ? family->layout(plain, count, &options, &spans, error) : status;
    status = status == VV_OK ? vv_prompt_new(spans.at, spans.count, out, error) : status;
    vv_spans_free(&spans);
    free(plain);
    return status;
}

/* Conversations given message by message. */
#include "api/render.h"

#include <stdlib.h>
#include <string.h>

/* A dict of the data; `names` [count] are its keys. */
static int make_dict(struct vv_arena *arena, const char *const *names,
                     const struct vv_value *values, size_t count, struct vv_value *out,
                     struct vv_error *error) {
    struct vv_pair *pairs = vv_arena_take(arena, count, sizeof *pairs, error);
    int code = pairs ? VV_OK : error->code;
    for (size_t i = 0; code == VV_OK && i < count; i++) {
        pairs[i].value = values[i];
        code = vv_render_string(arena, names[i], &pairs[i].key, error);
    }
    return code == VV_OK ? vv_value_dict(arena, pairs, count, true, out, error) : code;
}

static int make_message(struct vv_arena *arena, const struct varve_message *message,
                        struct vv_value *out, struct vv_error *error) {
    static const char *const names[] = {"role", "content"};
    struct vv_value values[2];
    int code = vv_render_string(arena, message->role, &values[0], error);
    if (code == VV_OK) {
        code = vv_value_string(arena, (struct vv_text){message->text, message->length}, true,
                               &values[1], error);
    }
    return code == VV_OK ? make_dict(arena, names, values, 2, out, error) : code;
}

static int make_chat(struct vv_arena *arena, const struct varve_message *messages, size_t count,
                     bool thinking, struct vv_chat *chat, struct vv_error *error) {
    static const char *const names[] = {"add_generation_prompt", "enable_thinking"};
    const struct vv_value options[] = {vv_value_bool(true, true), vv_value_bool(thinking, true)};
    struct vv_value *list = vv_arena_take(arena, count, sizeof *list, error);
    int code = list ? VV_OK : error->code;
    for (size_t i = 0; code == VV_OK && i < count; i++) {
        code = make_message(arena, &messages[i], &list[i], error);
    }
    if (code == VV_OK) {
        code = vv_value_list(arena, VV_VALUE_LIST, list, count, true, &chat->messages, error);
    }
    chat->tools = vv_value_none(true);
    return code == VV_OK ? make_dict(arena, names, options, 2, &chat->options, error) : code;
}

int varve_chat_tokens(const struct varve_model *model, const struct varve_message *messages,
                      size_t count, bool thinking, struct varve_ids *ids,
                      struct varve_error *error) {
    struct vv_error *e = vv_internal(error);
    const struct varve_file *file = vv_model_file(model);
    const struct varve_tokenizer *tokenizer = varve_model_tokenizer(model);
    if (!tokenizer) {
        return vv_fail(e, VV_ERROR_UNSUPPORTED,
                       "%s has no vocabulary, so text can't be read or written with it",
                       vv_gguf_path(file->gguf, 0));
    }
    struct vv_arena arena = {0};
    struct vv_chat chat = {0};
    struct vv_prompt prompt = {0};
    int code = make_chat(&arena, messages, count, thinking, &chat, e);
    code = code == VV_OK ? vv_render(file, NULL, &chat, &prompt, e) : code;
    code = code == VV_OK ? vv_render_tokens(&prompt, tokenizer, ids, e) : code;
    vv_prompt_free(&prompt);
    vv_arena_free(&arena);
    return code;
}

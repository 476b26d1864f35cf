/* Conversations in the family's documented layout. */
#include "api/internal.h"
#include "text/chat_layout.h"

#include <stdlib.h>
#include <string.h>

static int role_of(const struct varve_message *message, size_t index, enum vv_chat_role *role,
                   struct vv_error *error) {
    static const struct {
        const char *name;
        enum vv_chat_role role;
    } roles[] = {{"system", VV_CHAT_SYSTEM},
                 {"user", VV_CHAT_USER},
                 {"assistant", VV_CHAT_ASSISTANT}};
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
        if (strcmp(message->role, roles[i].name) == 0) {
            *role = roles[i].role;
            return VV_OK;
        }
    }
    return vv_fail(error, VV_ERROR_INVALID,
                   "message %zu has the role \"%s\"; roles are system, user and assistant", index,
                   message->role);
}

int varve_chat_tokens(const struct varve_model *model, const struct varve_message *messages,
                      size_t count, bool thinking, struct varve_ids *ids,
                      struct varve_error *error) {
    struct vv_error *e = vv_internal(error);
    if (!model->tokenizer) {
        return vv_fail(e, VV_ERROR_UNSUPPORTED,
                       "%s has no vocabulary, so text can't be read or written with it",
                       vv_gguf_path(model->file->gguf, 0));
    }
    struct vv_chat_message *list = calloc(count + 1, sizeof *list);
    struct vv_spans spans = {0};
    struct vv_chat_options options = {.think = thinking, .keep_reasoning = true, .answer = true};
    int code = list ? VV_OK : vv_fail_memory(e, count * sizeof *list, "messages");
    for (size_t i = 0; code == VV_OK && i < count; i++) {
        list[i].content = (struct vv_text){messages[i].text, messages[i].length};
        code = role_of(&messages[i], i, &list[i].role, e);
    }
    if (code == VV_OK) {
        code = vv_chat_layout_qwen4exp(list, count, &options, &spans, e);
    }
    if (code == VV_OK) {
        struct vv_ids out = vv_ids_of(ids);
        code = vv_tokenize(vv_tokenizer_of(model->tokenizer), spans.at, spans.count, &out, e);
        vv_ids_return(ids, &out);
    }
    vv_spans_free(&spans);
    free(list);
    return code;
}

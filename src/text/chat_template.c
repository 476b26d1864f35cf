#include "text/chat_template.h"

#include "gguf/gguf.h"
#include "text/conversation.h"
#include "text/jinja/jinja.h"

#include <stdlib.h>
#include <string.h>

struct vv_chat_template {
    struct vv_jinja *jinja; /* NULL: the layout of the family */
    const struct vv_chat_family *family;
    struct vv_arena arena;
    struct vv_value bos, eos; /* texts of the template's own */
};

int vv_chat_template_new(struct vv_text source, struct vv_text bos, struct vv_text eos,
                         struct vv_chat_template **out, struct vv_error *error) {
    struct vv_chat_template *template = calloc(1, sizeof *template);
    if (!template) {
        return vv_fail_memory(error, sizeof *template, "a chat template");
    }
    int status = vv_value_string(&template->arena, bos, false, &template->bos, error);
    status = status == VV_OK ? vv_value_string(&template->arena, eos, false, &template->eos, error)
                             : status;
    if (status == VV_OK && source.at) {
        status = vv_jinja_compile(source, &template->jinja, error);
    }
    if (status != VV_OK) {
        vv_chat_template_free(template);
        return status;
    }
    *out = template;
    return VV_OK;
}

void vv_chat_template_free(struct vv_chat_template *template) {
    if (template) {
        vv_jinja_free(template->jinja);
        vv_arena_free(&template->arena);
        free(template);
    }
}

/* The text of the token whose id is under `key`; empty if there is no such key. */
static int read_token(const struct vv_gguf *g, const char *key, struct vv_text *out,
                      struct vv_error *error) {
    const struct vv_gguf_entry *tokens;
    struct vv_string token = {"", 0};
    uint32_t id;
    int status = VV_OK;
    if (vv_gguf_has(g, key)) {
        status = vv_gguf_get_u32(g, key, &id, error);
        status = status == VV_OK ? vv_gguf_get_array(g, "tokenizer.ggml.tokens", &tokens, error)
                                 : status;
        if (status == VV_OK && id >= tokens->count) {
            return vv_fail(error, VV_ERROR_INVALID, "%s: %s is %u, which is no token id",
                           vv_gguf_path(g, 0), key, (unsigned)id);
        }
        status = status == VV_OK ? vv_gguf_entry_string(g, tokens, id, &token, error) : status;
    }
    *out = (struct vv_text){token.at, token.length};
    return status;
}

/* The file's template, or its family's layout. Fails if there is neither. */
static int read_source(const struct vv_gguf *g, struct vv_text *out,
                       const struct vv_chat_family **family, struct vv_error *error) {
    struct vv_string text = {"", 0};
    *out = (struct vv_text){NULL, 0};
    *family = NULL;
    if (vv_gguf_has(g, "tokenizer.chat_template")) {
        int status = vv_gguf_get_string(g, "tokenizer.chat_template", &text, error);
        *out = (struct vv_text){text.at, text.length};
        return status;
    }
    if (vv_gguf_has(g, "general.architecture")) {
        int status = vv_gguf_get_string(g, "general.architecture", &text, error);
        if (status != VV_OK) {
            return status;
        }
    }
    *family = vv_chat_family((struct vv_text){text.at, text.length});
    return *family
               ? VV_OK
               : vv_fail(error, VV_ERROR_UNSUPPORTED,
                         "%s: there is no tokenizer.chat_template in this file, and no layout of "
                         "its family is known: give a template",
                         vv_gguf_path(g, 0));
}

int vv_chat_template_replace(const struct vv_gguf *gguf, struct vv_text source,
                             struct vv_chat_template **out, struct vv_error *error) {
    struct vv_text bos, eos;
    int status = read_token(gguf, "tokenizer.ggml.bos_token_id", &bos, error);
    status =
        status == VV_OK ? read_token(gguf, "tokenizer.ggml.eos_token_id", &eos, error) : status;
    return status == VV_OK ? vv_chat_template_new(source, bos, eos, out, error) : status;
}

int vv_chat_template_open(const struct vv_gguf *gguf, struct vv_chat_template **out,
                          struct vv_error *error) {
    struct vv_text source;
    const struct vv_chat_family *family;
    int status = read_source(gguf, &source, &family, error);
    status = status == VV_OK ? vv_chat_template_replace(gguf, source, out, error) : status;
    if (status == VV_OK) {
        (*out)->family = family;
    }
    return status;
}

/* ---- Rendering ---- */

/* What the template sees: the options, and what no option can replace. */
static int make_variables(struct vv_arena *arena, const struct vv_chat_template *template,
                          const struct vv_chat *chat, const struct vv_value *messages,
                          struct vv_value *out, struct vv_error *error) {
    const struct {
        const char *name;
        struct vv_value value;
    } own[] = {{"messages", *messages},
               {"tools", chat->tools},
               {"bos_token", template->bos},
               {"eos_token", template->eos}};
    enum { OWN = sizeof own / sizeof *own };
    if (chat->options.type != VV_VALUE_DICT && chat->options.type != VV_VALUE_NONE) {
        return vv_fail(error, VV_ERROR_INVALID, "the options of a conversation are no object");
    }
    const struct vv_dict *options =
        chat->options.type == VV_VALUE_DICT ? chat->options.of.dict : NULL;
    size_t count = options ? options->count : 0;
    struct vv_pair *pairs = vv_arena_take(arena, count + OWN, sizeof *pairs, error);
    if (!pairs) {
        return error->code;
    }
    for (size_t i = 0; i < count; i++) {
        pairs[i] = options->pairs[i];
    }
    for (size_t i = 0; i < OWN; i++) {
        struct vv_text name = {own[i].name, strlen(own[i].name)};
        int status = vv_value_string(arena, name, false, &pairs[count + i].key, error);
        pairs[count + i].value = own[i].value;
        if (status != VV_OK) {
            return status;
        }
    }
    return vv_value_dict(arena, pairs, count + OWN, false, out, error);
}

int vv_prompt_new(const struct vv_span *spans, size_t count, struct vv_prompt *out,
                  struct vv_error *error) {
    size_t length = 0, at = 0;
    for (size_t i = 0; i < count; i++) {
        length += spans[i].text.length;
    }
    char *text = malloc(length + 1);
    struct vv_span *copy = malloc((count + 1) * sizeof *copy);
    if (!text || !copy) {
        free(text);
        free(copy);
        return vv_fail_memory(error, length, "a rendered conversation");
    }
    for (size_t i = 0; i < count; i++) {
        memcpy(text + at, spans[i].text.at, spans[i].text.length);
        copy[i] = (struct vv_span){{text + at, spans[i].text.length}, spans[i].special};
        at += spans[i].text.length;
    }
    *out = (struct vv_prompt){{text, length}, copy, count};
    return VV_OK;
}

void vv_prompt_free(struct vv_prompt *prompt) {
    free((char *)(uintptr_t)prompt->text.at);
    free(prompt->spans);
    *prompt = (struct vv_prompt){0};
}

static int render(const struct vv_chat_template *template, const struct vv_chat *chat,
                  const struct vv_value *messages, const struct vv_value *variables,
                  struct vv_prompt *out, struct vv_error *error) {
    struct vv_jinja_options options = {
        .now = chat->now, .counted = *messages, .counted_name = "message"};
    struct vv_jinja_rendering rendering;
    int status = vv_jinja_render(template->jinja, variables, &options, &rendering, error);
    if (status != VV_OK) {
        return status;
    }
    struct vv_span *spans = malloc((rendering.count + 1) * sizeof *spans);
    if (!spans) {
        vv_jinja_rendering_free(&rendering);
        return vv_fail_memory(error, rendering.count * sizeof *spans, "a rendered conversation");
    }
    for (size_t i = 0; i < rendering.count; i++) {
        bool data = rendering.pieces[i].data;
        spans[i] =
            (struct vv_span){rendering.pieces[i].text, data ? VV_SPECIAL_NONE : VV_SPECIAL_ALL};
    }
    *out = (struct vv_prompt){rendering.text, spans, rendering.count};
    free(rendering.pieces);
    return VV_OK;
}

static int check_tools(const struct vv_value *tools, struct vv_error *error) {
    if (tools->type == VV_VALUE_NONE) {
        return VV_OK;
    }
    if (tools->type != VV_VALUE_LIST) {
        return vv_fail(error, VV_ERROR_INVALID, "the tools of a conversation are not a list");
    }
    for (size_t i = 0; i < tools->of.list->count; i++) {
        if (vv_list_items(tools->of.list)[i].type != VV_VALUE_DICT) {
            return vv_fail(error, VV_ERROR_INVALID,
                           "tool %zu is no object: it needs a type and a function", i);
        }
    }
    return VV_OK;
}

int vv_chat_template_render(const struct vv_chat_template *template, const struct vv_chat *chat,
                            struct vv_prompt *out, struct vv_error *error) {
    struct vv_arena arena = {0};
    struct vv_value messages, variables;
    int status = check_tools(&chat->tools, error);
    status = status == VV_OK ? vv_conversation_normalise(&arena, &chat->messages, &messages, error)
                             : status;
    if (status == VV_OK && !template->jinja) {
        status = vv_conversation_layout(template->family, &messages, chat, out, error);
    } else if (status == VV_OK) {
        status = make_variables(&arena, template, chat, &messages, &variables, error);
        status =
            status == VV_OK ? render(template, chat, &messages, &variables, out, error) : status;
    }
    vv_arena_free(&arena);
    return status;
}

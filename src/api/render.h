/* Conversations to ids, for the two ways of giving one; for src/api alone. */
#pragma once
#include "api/common.h"
#include "text/chat_template.h"

/* Renders with the file's template, or with `source` unless it is NULL. */
int vv_render(const struct varve_file *file, const struct vv_text *source,
              const struct vv_chat *chat, struct vv_prompt *out, struct vv_error *error);

/* Appends the ids of a rendering. */
int vv_render_tokens(const struct vv_prompt *prompt, const struct varve_tokenizer *tokenizer,
                     struct varve_ids *ids, struct vv_error *error);

/* A value of the data from a C string. */
int vv_render_string(struct vv_arena *arena, const char *text, struct vv_value *out,
                     struct vv_error *error);

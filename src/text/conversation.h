/* Inside of src/text: messages as templates expect them, and without a template. */
#pragma once
#include "text/chat_layout.h"
#include "text/chat_template.h"

/* The messages as chat_template.h describes, in `arena`. */
int vv_conversation_normalise(struct vv_arena *arena, const struct vv_value *messages,
                              struct vv_value *out, struct vv_error *error);

/* The family's layout of a normalised conversation without tools. */
int vv_conversation_layout(const struct vv_chat_family *family, const struct vv_value *messages,
                           const struct vv_chat *chat, struct vv_prompt *out,
                           struct vv_error *error);

/* The texts of the spans, one behind the other, and the spans as stretches of it. */
int vv_prompt_new(const struct vv_span *spans /* [count] */, size_t count, struct vv_prompt *out,
                  struct vv_error *error);

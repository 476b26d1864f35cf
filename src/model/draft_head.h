/* A draft block in a file of its own. */
#pragma once
#include "gguf/gguf.h"

/*
 * Makes the draft block that `head` holds a part of the model `file`, which has none, and takes
 * `head` over: to be called before a family opens `file`. It has to be of the same architecture (a
 * head of another kind is refused by its name), to count one block more, and to agree with the file
 * in every other number of that architecture. Tables of embeddings and the output matrix, which
 * such a file may repeat, are the model's own. VV_ERROR_INVALID: nothing has changed.
 */
int vv_draft_head_join(struct vv_gguf *file, struct vv_gguf *head, struct vv_error *error);

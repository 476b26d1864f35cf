/* What all of src/api shares: open files, errors, tokenizers and ids under their two names. */
#pragma once
#include "base/error.h"
#include "gguf/gguf.h"
#include "text/tokenizer.h"
#include "varve.h"

struct varve_file {
    struct vv_gguf *gguf;
    char architecture[64]; /* printable; "" if the file names none */
    bool *used;            /* [tensors] by the family's forward pass; NULL: not known */
};

/* Makes it a public handle, which owns it; closes it on failure. */
int vv_file_of(struct vv_gguf *gguf, struct varve_file **file, struct vv_error *error);

/* The file that a model was opened from. */
const struct varve_file *vv_model_file(const struct varve_model *model);

/* The public error is the internal one under another name. */
_Static_assert(sizeof(struct varve_error) == sizeof(struct vv_error), "two forms of one error");

static inline struct vv_error *vv_internal(struct varve_error *error) {
    return (struct vv_error *)(void *)error;
}

/* A public tokenizer is the library's own under another name; so are lists of ids. */
static inline const struct vv_tokenizer *vv_tokenizer_of(const struct varve_tokenizer *tokenizer) {
    return (const struct vv_tokenizer *)tokenizer;
}
static inline struct vv_ids vv_ids_of(const struct varve_ids *ids) {
    return (struct vv_ids){ids->at, ids->count, ids->room};
}
static inline void vv_ids_return(struct varve_ids *ids, const struct vv_ids *from) {
    *ids = (struct varve_ids){from->at, from->count, from->capacity};
}

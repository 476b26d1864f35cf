/* What the public handles hold; for src/api alone. */
#pragma once
#include "base/error.h"
#include "gguf/gguf.h"
#include "model/model.h"
#include "session/session.h"
#include "varve.h"

struct varve_file {
    struct vv_gguf *gguf;
};

struct varve_model {
    const struct varve_file *file;
    const struct vv_family *family;
    void *geometry;
    struct vv_model_facts facts;
    struct vv_weights *weights; /* names and shapes only */
    void *bound;
    struct varve_tokenizer *tokenizer; /* NULL: the file has no vocabulary */
    char name[200];
};

/* The public error is the internal one under another name. */
_Static_assert(sizeof(struct varve_error) == sizeof(struct vv_error), "two forms of one error");

static inline struct vv_error *vv_internal(struct varve_error *error) {
    return (struct vv_error *)(void *)error;
}

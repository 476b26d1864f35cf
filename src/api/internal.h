/* What the public handles hold; for src/api alone. */
#pragma once
#include "api/common.h"
#include "model/model.h"
#include "session/session.h"

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

/* A session's options with what 0 stands for filled in. */
int vv_translate_options(const struct varve_model *model, const struct varve_session_options *from,
                         struct vv_session_options *to, struct vv_error *error);

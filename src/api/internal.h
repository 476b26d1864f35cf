/* What the public handles hold; for src/api alone. */
#pragma once
#include "api/common.h"
#include "draft/decoder.h"
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

struct varve_session {
    struct vv_session *session;
    size_t slots, window, outputs, vocabulary;
    struct vv_row *rows; /* [window] */
};

/* A decoder's options with what 0 stands for filled in. */
struct vv_decoder_options vv_translate_drafts(const struct varve_decoder_options *options);

/* The session within a public one. */
struct vv_session *vv_session_of(const struct varve_session *session);

/* The lines of varve_session_plan. */
size_t vv_plan_lines(const struct varve_model *model, const struct vv_session_options *options,
                     struct varve_plan_line *lines, size_t room);

/* A session's options with what 0 stands for filled in. */
int vv_translate_options(const struct varve_model *model, const struct varve_session_options *from,
                         struct vv_session_options *to, struct vv_error *error);

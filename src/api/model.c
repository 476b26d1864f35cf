#include "api/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int bind_names(struct varve_model *m, struct vv_error *error) {
    int code = vv_weights_new(m->file->gguf, NULL, &m->weights, error);
    if (code == VV_OK) {
        m->bound = m->family->bind(m->geometry, m->weights);
        code = m->bound ? vv_weights_end(m->weights, error)
                        : vv_fail_memory(error, sizeof *m, "the model's weights");
    }
    return code;
}

static int open_tokenizer(struct varve_model *m, struct varve_error *error) {
    if (!vv_gguf_has(m->file->gguf, "tokenizer.ggml.tokens")) {
        return VV_OK;
    }
    return varve_tokenizer_open(m->file, &m->tokenizer, error);
}

int varve_model_open(const struct varve_file *file, varve_progress progress, void *context,
                     struct varve_model **model, struct varve_error *error) {
    struct vv_error *e = vv_internal(error);
    const struct vv_family *family = vv_family_of(file->gguf, e);
    if (!family) {
        return e->code;
    }
    if (progress && !progress(context, "opening", 0, 1)) {
        return vv_fail(e, VV_ERROR_CANCELLED, "opening the model was cancelled");
    }
    struct varve_model *m = calloc(1, sizeof *m);
    if (!m) {
        return vv_fail_memory(e, sizeof *m, "a model");
    }
    m->file = file;
    m->family = family;
    int code = family->open(file->gguf, &m->geometry, e);
    code = code == VV_OK ? bind_names(m, e) : code;
    code = code == VV_OK ? open_tokenizer(m, error) : code;
    if (code != VV_OK) {
        varve_model_close(m);
        return code;
    }
    family->facts(m->geometry, &m->facts);
    struct vv_string name;
    struct vv_error ignored;
    if (vv_gguf_has(file->gguf, "general.name") &&
        vv_gguf_get_string(file->gguf, "general.name", &name, &ignored) == VV_OK) {
        snprintf(m->name, sizeof m->name, "%.*s", (int)(name.length < 199 ? name.length : 199),
                 name.at);
    }
    if (progress) {
        progress(context, "opening", 1, 1);
    }
    *model = m;
    return VV_OK;
}

void varve_model_close(struct varve_model *model) {
    if (model) {
        model->family->unbind(model->bound);
        vv_weights_free(model->weights);
        model->family->close(model->geometry);
        varve_tokenizer_close(model->tokenizer);
        free(model);
    }
}

void varve_model_info(const struct varve_model *model, struct varve_model_info *info) {
    *info = (struct varve_model_info){.architecture = model->family->architecture,
                                      .name = model->name,
                                      .layers = model->facts.layers,
                                      .mtp_layers = model->facts.mtp_layers,
                                      .vocabulary = model->facts.vocabulary,
                                      .context = model->facts.context,
                                      .width = model->facts.width,
                                      .parameters = vv_weights_values(model->weights),
                                      .weight_bytes = vv_weights_bytes(model->weights),
                                      .stop_ids = model->facts.stop,
                                      .stop_count = model->facts.stop_count,
                                      .temperature = model->facts.temperature};
}

const struct varve_tokenizer *varve_model_tokenizer(const struct varve_model *model) {
    return model->tokenizer;
}

const struct varve_file *vv_model_file(const struct varve_model *model) {
    return model->file;
}

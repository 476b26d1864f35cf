/* Between the parts of tune/geometry.c. */
#pragma once
#include "gguf/writer.h"
#include "tune/geometry.h"

/* Each declares all keys and tensors of a released model, `_mtp` with its draft block. */
int vv_geometry_qwen4exp(struct vv_gguf_writer *w, const char *types, struct vv_error *error);
int vv_geometry_qwen4exp_mtp(struct vv_gguf_writer *w, const char *types, struct vv_error *error);
int vv_geometry_deepseek4(struct vv_gguf_writer *w, const char *types, struct vv_error *error);
int vv_geometry_deepseek4_mtp(struct vv_gguf_writer *w, const char *types, struct vv_error *error);

/* What such a model is declared from: lists that end with an element of zeros. */
struct vv_geometry_tensor {
    const char *name;
    int role;       /* of its family's mixes of types */
    uint64_t ne[3]; /* 0: no such dimension */
};
struct vv_geometry_number {
    const char *key; /* without the architecture */
    uint32_t value;
};

/* The type that a mix has for a role in a layer, -1: outside of all layers. */
typedef int (*vv_geometry_type)(const void *mix, int role, int layer);

/* Declares the tensors of a layer, or with `layer` -1 those of the model. Where blocks of the mix's
 * type don't fill the rows, another one stands in, as quantisers do. */
int vv_geometry_tensors(struct vv_gguf_writer *w, const struct vv_geometry_tensor *list, int layer,
                        vv_geometry_type type, const void *mix, struct vv_error *error);
int vv_geometry_numbers(struct vv_gguf_writer *w, const char *architecture,
                        const struct vv_geometry_number *list, struct vv_error *error);
/* What the model is called, in which mix of types, and its layers; `drafts` more draft (0 or 1). */
int vv_geometry_head(struct vv_gguf_writer *w, const char *architecture, const char *name,
                     const char *types, uint32_t layers, uint32_t drafts, struct vv_error *error);

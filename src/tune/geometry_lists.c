/* Lists of keys and tensors, written as the header of a file. */
#include "tune/geometry_internal.h"

#include <stdio.h>
#include <string.h>

enum { TEXT_MOST = 100 };

static int fitting(int type, uint64_t width) {
    return width % vv_type_info(type)->block_values == 0 ? type
           : type == VV_TYPE_IQ3_S                       ? VV_TYPE_IQ4_NL
                                                         : VV_TYPE_Q8_0;
}

int vv_geometry_tensors(struct vv_gguf_writer *w, const struct vv_geometry_tensor *list, int layer,
                        vv_geometry_type type, const void *mix, struct vv_error *error) {
    int code = VV_OK;
    for (const struct vv_geometry_tensor *t = list; code == VV_OK && t->name; t++) {
        char name[TEXT_MOST];
        uint32_t dimensions = 0;
        while (dimensions < 3 && t->ne[dimensions]) {
            dimensions++;
        }
        if (layer >= 0) {
            snprintf(name, sizeof name, "blk.%d.%s", layer, t->name);
        } else {
            snprintf(name, sizeof name, "%s", t->name);
        }
        code = vv_gguf_writer_tensor(w, name, fitting(type(mix, t->role, layer), t->ne[0]),
                                     dimensions, t->ne, error);
    }
    return code;
}

int vv_geometry_numbers(struct vv_gguf_writer *w, const char *architecture,
                        const struct vv_geometry_number *list, struct vv_error *error) {
    int code = VV_OK;
    for (const struct vv_geometry_number *n = list; code == VV_OK && n->key; n++) {
        char key[TEXT_MOST];
        snprintf(key, sizeof key, "%s.%s", architecture, n->key);
        code = vv_gguf_writer_u32(w, key, n->value, error);
    }
    return code;
}

int vv_geometry_head(struct vv_gguf_writer *w, const char *architecture, const char *name,
                     const char *types, uint32_t layers, uint32_t drafts, struct vv_error *error) {
    const struct vv_geometry_number counts[] = {
        {"block_count", layers + drafts}, {drafts ? "nextn_predict_layers" : NULL, drafts}, {0}};
    const struct vv_string kind = {architecture, strlen(architecture)};
    char text[TEXT_MOST];
    snprintf(text, sizeof text, "%s, %s, random weights", name, types);
    int code = vv_gguf_writer_string(w, "general.architecture", kind, error);
    code = code == VV_OK ? vv_gguf_writer_string(w, "general.name",
                                                 (struct vv_string){text, strlen(text)}, error)
                         : code;
    return code == VV_OK ? vv_geometry_numbers(w, architecture, counts, error) : code;
}

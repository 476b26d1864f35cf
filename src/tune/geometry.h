/*
 * Models that are only described: the metadata and the shapes of a file, without its weights, which
 * are made up then (memory/synthetic.h). For measuring a model that isn't here, or as much of one
 * as there is room for.
 */
#pragma once
#include "gguf/gguf.h"

/* All layers of a released model, by name: "qwen3.8-flash-next", "deepseek-v4-flash", with "-mtp"
 * behind it with its draft block. `types` is the mix of formats that its matrices have: "q3", "q4",
 * "q8", of the second also "q2" and "mxfp4". VV_ERROR_INVALID: an unknown name or mix; the sentence
 * lists the known ones. */
int vv_geometry_named(const char *name, const char *types, struct vv_gguf **out,
                      struct vv_error *error);
/* Whether there is a released model of that name. */
bool vv_geometry_is_named(const char *name);

struct vv_geometry_part {
    uint32_t layers; /* the first ones of the trunk, or fewer; 0: all, with the draft block */
    uint64_t room;   /* bytes that the weights may take */
};
/*
 * A part of a model. The n-gram table, of which a token reads a few rows, is cut down to a quarter
 * of the room that the others leave if it doesn't fit whole. VV_ERROR_MEMORY: the others alone are
 * too large; the sentence has their bytes, the room, and how many layers would fit.
 */
int vv_geometry_part(const struct vv_gguf *file, const struct vv_geometry_part *part,
                     struct vv_gguf **out, struct vv_error *error);

/* Which model a session computes with, in two numbers. */
#pragma once
#include "gguf/gguf.h"

struct vv_identity {
    uint64_t geometry; /* checksum of the metadata of its architecture */
    uint64_t weights;  /* of its tensors' names, types and shapes, and of samples of their data */
};

/* Reads a few hundred bytes of every tensor, never the whole file. Needs vv_has_checksum. */
int vv_identify(const struct vv_gguf *file, const char *architecture, struct vv_identity *identity,
                struct vv_error *error);

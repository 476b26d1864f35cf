/* Between the parts of tune/geometry.c. */
#pragma once
#include "gguf/writer.h"
#include "tune/geometry.h"

/* Declares all keys and tensors of the released model. */
int vv_geometry_qwen4exp(struct vv_gguf_writer *w, const char *types, struct vv_error *error);
/* With its draft block. */
int vv_geometry_qwen4exp_mtp(struct vv_gguf_writer *w, const char *types, struct vv_error *error);

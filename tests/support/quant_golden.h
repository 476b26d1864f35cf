/* Blocks and the values they decode to, for every format. */
#pragma once
#include "quant/format.h"
#include "support/golden.h"

/* One verdict for each row of `folder`/NAME.gguf of every format but the fork's Q2_0. */
void quant_golden_run(struct golden *g, const char *folder);

/* Rows of 256 values as raw blocks, and how many, from `folder`/NAME.gguf, left open in `g`. */
const uint8_t *quant_golden_blocks(struct golden *g, const char *folder,
                                   const struct vv_format *format, size_t *rows);

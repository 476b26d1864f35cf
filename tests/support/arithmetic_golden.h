/*
 * The goldens of the arithmetic contract that quantised products, float products and elementwise
 * functions have to meet, on every variant that this machine can run.
 */
#pragma once
#include "support/golden.h"

/* `folder` has quantize_rows.gguf, quant_dot.gguf, float_dot.gguf and elementwise.gguf. */
void arithmetic_golden_run(struct golden *g, const char *folder);

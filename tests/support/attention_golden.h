/* The goldens of the arithmetic contract that attention and the gated delta rule have to meet, on
 * every variant that this machine can run. */
#pragma once
#include "support/golden.h"

/* `folder` has attention.gguf and gated_delta.gguf. */
void attention_golden_run(struct golden *g, const char *folder);

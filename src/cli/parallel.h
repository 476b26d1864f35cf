/* --parallel: the lines of a text are prompts, answered together. */
#pragma once
#include "run.h"

/* Answers every line of `prompts` that isn't blank; what is written stands in their order. The
 * model is open and `run` prepared. Exit code. */
int parallel_run(struct run *run, const struct text *prompts);

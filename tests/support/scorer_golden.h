/* The index scorer's goldens, on every variant of every arithmetic that this machine can run. */
#pragma once
#include "support/golden.h"

void scorer_golden_run(struct golden *g, const char *path);

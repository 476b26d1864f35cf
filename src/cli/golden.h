/* `varve logits --golden`: a model against the tensors that a container holds of it. */
#pragma once
#include "opened.h"

/* Compares every sequence of the container, or the one named. Exit code: EXIT_FAILED if something
 * departs beyond the tolerance. */
int golden_compare(const struct arguments *arguments, const struct opened *opened);

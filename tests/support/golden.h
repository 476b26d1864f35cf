/* Golden data in GGUF containers, and counts of what agrees with them. */
#pragma once
#include "gguf/gguf.h"

#include <stdbool.h>
#include <stddef.h>

struct golden {
    struct vv_gguf *file; /* NULL: could not be opened */
    const char *path;     /* for messages; the caller's */
    size_t passed, failed;
};

/* Counts go on from one file to the next. A file that cannot be opened is a failure. */
void golden_open(struct golden *g, const char *path);
void golden_close(struct golden *g);

/* The data of a tensor that must have this type and as many elements; else NULL, and a failure. */
const void *golden_tensor(struct golden *g, const char *name, int type, size_t elements);

/* One verdict; `what` (printf) names it if it failed. */
void golden_verdict(struct golden *g, bool passed, const char *what, ...) VV_PRINTF(3, 4);

/* Equal bits, or both NaN. */
bool golden_same_floats(const float *a, const float *b, size_t n);

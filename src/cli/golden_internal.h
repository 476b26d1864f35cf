/* Shared by the parts of `varve logits --golden`. */
#pragma once
#include "opened.h"

/* A tensor of the container, decoded: [rows][width] floats or integers; all zero if it has none of
 * that name. */
struct golden_table {
    size_t rows, width;
    float *f32; /* one of the two */
    int64_t *i64;
};

/* Read tensor "SEQUENCE.NAME". Exit codes. */
int golden_floats(const struct varve_file *container, const char *sequence, const char *name,
                  struct golden_table *table);
int golden_integers(const struct varve_file *container, const char *sequence, const char *name,
                    struct golden_table *table);
/* Positions of golden drafts: all but the last one of a container by names. */
int golden_draft_rows(const struct varve_file *container, const char *sequence, bool named,
                      struct golden_table *table);
/* Integers 0, 1 … as a table of `rows`. */
int golden_numbers(size_t rows, struct golden_table *table);
void golden_free(struct golden_table *table);

/* One inner tensor, compared window by window. */
struct golden_comparison {
    char name[40]; /* in the container, without its sequence */
    const struct golden_kind *kind;
    size_t layer;
    struct golden_table golden;
    const struct golden_table *rows; /* positions of its rows; NULL: 0, 1, … */
    double difference, size;         /* sums of squares */
    size_t compared;                 /* rows */
    size_t unequal;                  /* of them, rows of integers that differ */
};

struct golden_inner {
    struct golden_comparison *at; /* in the order of the forward pass */
    size_t count;
    struct golden_table rows, mtp_rows; /* positions: of the trunk's tensors, of the draft head's */
};

/* What there is to compare. */
struct golden_shape {
    bool named; /* containers of deepseek4: sequences by their names, tensors by other ones */
    size_t layers, ple_layer; /* the n-gram embedding comes before layer `ple_layer` */
    bool mtp;                 /* the draft head, too */
};

/* Loads the inner tensors of a sequence. Close in either case. */
int golden_inner_open(struct golden_inner *inner, const struct varve_file *container,
                      const char *sequence, const struct golden_shape *shape);
void golden_inner_close(struct golden_inner *inner);

/* Compares the session's last window, of `rows` rows from position `first` on. */
int golden_inner_window(struct golden_inner *inner, const struct varve_session *session,
                        size_t first, size_t rows);

/* Root mean square of the difference over that of the golden tensor. */
double golden_relative(const struct golden_comparison *comparison);

/* What most commands begin with: the file that -m names, and its model. Each function returns an
 * exit code, after an error on standard error. */
#pragma once
#include "options.h"

#include <varve.h>

int open_file(const struct arguments *arguments, struct varve_file **file);

struct opened {
    struct varve_file *file;
    struct varve_model *model;
    struct varve_model_info info;
};
int open_model(const struct arguments *arguments, struct opened *opened);
/* The same for a second file, of a name that another option gives. */
int open_model_at(const struct arguments *arguments, const char *path, struct opened *opened);
/* A model that is only described (varve_geometry_open). */
int open_geometry(const char *what, const struct varve_geometry_options *options,
                  struct opened *opened);
void close_model(struct opened *opened);

/* Opens the file's vocabulary alone; the caller closes both. */
int open_tokenizer(const struct arguments *arguments, struct varve_file **file,
                   struct varve_tokenizer **tokenizer);

/* The name that --device gives it. */
const char *device_name(const struct arguments *arguments);

/* What the options say about a session. `tokens` is the context where the command has no option for
 * it, and the window that "all" stands for. */
struct varve_session_options session_options(const struct arguments *arguments, size_t tokens);

/* What --numa says. */
enum varve_numa numa_of(const struct arguments *arguments);

/* Rows of a window all of whose logits are wanted: what was asked for, else as many as keep their
 * logits within some memory; not more than there are tokens. */
uint32_t logits_window(const struct varve_session_options *options, size_t tokens,
                       size_t vocabulary);

/* What the draft head computes in a window of `rows` rows from position `first` on: its row j pairs
 * position j with token j + 1, so it begins one position earlier, but not before 0. */
struct mtp_window {
    size_t first, rows;
};
struct mtp_window mtp_window(size_t first, size_t rows);

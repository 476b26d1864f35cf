/* The layers of a model, as the names of its tensors tell: blk.N.… belongs to layer N. */
#pragma once
#include <varve.h>

enum mixer { MIXER_NONE, MIXER_DELTA, MIXER_SPARSE, MIXER_ATTENTION, MIXER_COUNT };

/* "gated delta net" … */
extern const char *const mixer_names[MIXER_COUNT];

struct layer {
    size_t tensors; /* 0: the file has no such layer */
    enum mixer mixer;
    bool ngram, draft;
    uint64_t experts, bytes;
    const char *formats[3]; /* of the experts' gate, up and down; "" where there is none */
};

/* The layers [*count]; free them. NULL with a count of 0 if there are none, or no memory. */
struct layer *layers_of(const struct varve_file *file, size_t *count);

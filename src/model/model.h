/*
 * A family of models: how a file's metadata become a geometry, which weights and which state it
 * has, and its forward pass as a list of operations. Everything else in the engine is the same for
 * all.
 */
#pragma once
#include "gguf/gguf.h"
#include "memory/state.h"
#include "memory/weights.h"
#include "model/forward.h"

/* What the engine must know of any model. */
struct vv_model_facts {
    size_t layers, mtp_layers, vocabulary, context, width, streams;
    int32_t stop[8]; /* tokens that end an answer */
    size_t stop_count;
    float temperature;  /* that the publisher advises, if any; else 0 */
    bool rounded_cache; /* trained with cache entries of few bits (--cache-precision model) */
};

struct vv_family {
    const char *architecture; /* general.architecture */

    /* Geometry from metadata: every key, its range and what it implies for others is checked. */
    int (*open)(const struct vv_gguf *file, void **geometry, struct vv_error *error);
    void (*close)(void *geometry);
    void (*facts)(const void *geometry, struct vv_model_facts *facts);

    /* Asks for all weights, in the order of the forward pass. NULL: no memory; other failures are
     * kept in `weights`. */
    void *(*bind)(const void *geometry, struct vv_weights *weights);
    void (*unbind)(void *bound);

    /* Declares the parts of a sequence's state; returns how many. `parts` NULL: only count. */
    size_t (*state)(const void *geometry, const struct vv_state_options *options,
                    struct vv_state_part *parts);

    /* Records the trunk over a window. */
    void (*trunk)(const void *geometry, const void *bound, struct vv_forward *forward);
    /* Records the first `keep` rows of each sequence of a verified window becoming part of it. */
    void (*commit)(const void *geometry, const void *bound, struct vv_forward *forward);
    /* Records the MTP block; `wide` is the trunk's buffer of streams, [rows][streams][width]. */
    void (*mtp)(const void *geometry, const void *bound, struct vv_forward *forward);
};

/* The family of a file, or NULL with a sentence that lists the known ones. */
const struct vv_family *vv_family_of(const struct vv_gguf *file, struct vv_error *error);

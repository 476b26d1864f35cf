/*
 * `varve tune`: which variant of each operation is fastest on a model's own shapes, for each class
 * of rows. The registry's rule stays unless another variant is faster twice: in a first measurement
 * of all, and in a second one of the two alone, alternated, beyond chance.
 */
#pragma once
#include "session/session.h"

struct vv_tune_line {
    const char *operation, *shape;
    uint32_t rows; /* the one that stands for its class (registry/tuning.h) */
    const char *rule, *variant;
    double rule_us, us; /* median times of a call; of the second measurement if there was one */
    double p;           /* of that one; 1: there was none */
    bool kept;          /* `variant` is to be taken; else it lost, or is the rule's */
};

struct vv_tune_options {
    const struct vv_session_options *session; /* slots, context, window, outputs are set here */
    uint32_t rounds;                          /* of the first measurement, 1 to VV_SAMPLES_MAX */
    uint64_t seed;
    bool (*progress)(void *context, const char *what, uint64_t done, uint64_t total);
    /* For every operation, shape and class that has more than one variant; the texts are valid
     * during the call. */
    void (*line)(void *context, const struct vv_tune_line *line);
    void *context;
};

/* On the steps of the model's program, with its weights and with activations of random tokens. */
int vv_tune_variants(const struct vv_gguf *file, const struct vv_family *family,
                     const void *geometry, const struct vv_tune_options *options,
                     struct vv_error *error);

/* Whether all CPUs that this process may use, or half of the physical cores, are better than the
 * physical cores: `*threads`, or 0 where nothing is faster beyond chance at generating. */
int vv_tune_threads(const struct vv_gguf *file, const struct vv_family *family,
                    const void *geometry, const struct vv_tune_options *options, uint32_t *threads,
                    struct vv_error *error);

/* What tells this machine from others: its CPU, what varve uses of it, its threads. */
enum { VV_MACHINE_TEXT = 200 };
void vv_machine_text(char out[VV_MACHINE_TEXT]);

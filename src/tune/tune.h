/*
 * `varve tune`: which variant of each operation is fastest on a model's own shapes, for each class
 * of rows. The registry's rule stays unless another variant is faster twice: in a first measurement
 * of all, and in a second one of the two alone, alternated, beyond chance.
 */
#pragma once
#include "device/cpu/topology.h"
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

/* A team that may be better than the physical cores placed by VV_NUMA_AUTO. */
struct vv_tune_team {
    unsigned threads; /* 0: the default */
    enum vv_numa numa;
};
enum { VV_TUNE_TEAMS_MOST = 5 };
/* Those that a machine offers: all CPUs that this process may use, siblings of one core too; half
 * of the cores; the cores of one NUMA node; the fastest kind of cores alone; the cores as the
 * system places them. */
size_t vv_tune_teams(const struct vv_topology *topology,
                     struct vv_tune_team teams[VV_TUNE_TEAMS_MOST]);

/* Which of them generates fastest, beyond chance: `*team`, or that of zeros. */
int vv_tune_threads(const struct vv_gguf *file, const struct vv_family *family,
                    const void *geometry, const struct vv_tune_options *options,
                    struct vv_tune_team *team, struct vv_error *error);

/* What tells this machine from others: its CPU, what varve uses of it, its threads. */
enum { VV_MACHINE_TEXT = 200 };
void vv_machine_text(char out[VV_MACHINE_TEXT]);

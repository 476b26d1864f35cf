/* The mixture of experts that families share: its weights, its buffers, its steps. Choosing the
 * experts is the family's. */
#pragma once
#include "memory/weights.h"
#include "model/forward.h"

struct vv_moe_sizes {
    size_t width, experts, used, expert_width, shared_width;
    bool weight_first; /* a pair's weight is taken into its hidden values, not into the sum */
};

struct vv_moe_weights {
    struct vv_weight *router, *gate, *up, *down; /* fused: gate and up are one */
    bool fused;
    struct vv_weight *shared_gate, *shared_up, *shared_down;
    float limit, shared_limit; /* of the values that silu joins; 0: none */
};

/* Asks for `PREFIX.ffn_*` ("blk.3"), the router's matrix included. */
struct vv_moe_weights vv_moe_bind(struct vv_weights *weights, const struct vv_moe_sizes *sizes,
                                  const char *prefix);

/* The buffers of a pass, which all layers share. */
struct vv_moe {
    struct vv_moe_sizes sizes;
    float *router;   /* [rows][experts] logits */
    int32_t *expert; /* [rows][used] chosen, ascending */
    float *weight;   /* [rows][used] */
    int32_t *active, *begin, *pair;
    struct vv_input hidden, shared_hidden;
    float *out;                              /* [rows · used][width] */
    float *shared_gate, *shared_up, *shared; /* of the shared expert */
};
struct vv_moe vv_moe_buffers(struct vv_forward *f, const struct vv_moe_sizes *sizes);

/* out = the chosen experts' outputs for u. */
void vv_moe_routed(struct vv_forward *f, struct vv_moe *m, const struct vv_moe_weights *w,
                   const struct vv_planes *u, size_t layer);
/* shared = the shared expert's output for u. */
void vv_moe_shared(struct vv_forward *f, struct vv_moe *m, const struct vv_moe_weights *w,
                   const struct vv_planes *u, size_t layer);
/* o [rows][width] = their sum; shared_gate [rows] before the sigmoid, or NULL. */
void vv_moe_sum(struct vv_forward *f, const struct vv_moe *m, const float *shared_gate, float *o,
                size_t layer);

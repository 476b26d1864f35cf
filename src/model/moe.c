#include "model/moe.h"
#include "gguf/types.h"
#include "op/experts/contract.h"
#include "op/route/contract.h"
#include "op/swiglu/contract.h"

struct vv_moe_weights vv_moe_bind(struct vv_weights *w, const struct vv_moe_sizes *s,
                                  const char *prefix) {
    struct vv_moe_weights m = {
        .router = vv_weights_matrix(w, s->width, s->experts, 1, "%s.ffn_gate_inp", prefix),
        .fused = vv_weights_has(w, "%s.ffn_gate_up_exps", prefix),
    };
    if (m.fused) { /* gate rows first */
        m.gate = m.up = vv_weights_matrix(w, s->width, 2 * s->expert_width, s->experts,
                                          "%s.ffn_gate_up_exps", prefix);
    } else {
        m.gate =
            vv_weights_matrix(w, s->width, s->expert_width, s->experts, "%s.ffn_gate_exps", prefix);
        m.up =
            vv_weights_matrix(w, s->width, s->expert_width, s->experts, "%s.ffn_up_exps", prefix);
    }
    m.down =
        vv_weights_matrix(w, s->expert_width, s->width, s->experts, "%s.ffn_down_exps", prefix);
    m.shared_gate = vv_weights_matrix(w, s->width, s->shared_width, 1, "%s.ffn_gate_shexp", prefix);
    m.shared_up = vv_weights_matrix(w, s->width, s->shared_width, 1, "%s.ffn_up_shexp", prefix);
    m.shared_down = vv_weights_matrix(w, s->shared_width, s->width, 1, "%s.ffn_down_shexp", prefix);
    return m;
}

struct vv_moe vv_moe_buffers(struct vv_forward *f, const struct vv_moe_sizes *s) {
    return (struct vv_moe){
        .sizes = *s,
        .router = vv_row_floats(f, s->experts),
        .expert = vv_row_integers(f, s->used),
        .weight = vv_row_floats(f, s->used),
        .active = vv_program_memory(f->program, (1 + s->experts) * sizeof(int32_t)),
        .begin = vv_program_memory(f->program, (1 + s->experts) * sizeof(int32_t)),
        .pair = vv_row_integers(f, s->used),
        .hidden = vv_input(f, s->expert_width, vv_all_rows(f, s->used), f->rows * s->used),
        .out = vv_row_floats(f, s->used * s->width),
        .shared_gate = vv_row_floats(f, s->shared_width),
        .shared_up = vv_row_floats(f, s->shared_width),
        .shared_hidden = vv_input(f, s->shared_width, vv_all_rows(f, 1), f->rows),
        .shared = vv_row_floats(f, s->width),
    };
}

void vv_moe_routed(struct vv_forward *f, struct vv_moe *m, const struct vv_moe_weights *w,
                   const struct vv_planes *u, size_t layer) {
    const struct vv_moe_sizes *s = &m->sizes;
    struct vv_rows rows = vv_all_rows(f, 1);
    struct vv_route_group group = {.expert = m->expert,
                                   .rows = rows,
                                   .experts = s->experts,
                                   .used = s->used,
                                   .active = m->active,
                                   .begin = m->begin,
                                   .pair = m->pair};
    vv_step(f, &vv_route_group, &group, "blk.%zu.ffn_gate_inp", layer);
    struct vv_expert_up up = {.u = *u,
                              .gate = w->gate,
                              .up = w->up,
                              .up_row = w->fused ? s->expert_width : 0,
                              .hidden = s->expert_width,
                              .active = m->active,
                              .begin = m->begin,
                              .pair = m->pair,
                              .used = s->used,
                              .h = m->hidden.x,
                              .rows = rows,
                              .limit = w->limit,
                              .weight = s->weight_first ? m->weight : NULL};
    vv_step(f, &vv_expert_up, &up, "blk.%zu.ffn_up_exps", layer);
    struct vv_expert_down down = {
        .h = vv_prepare(f, &m->hidden, &w->down, 1, "blk.%zu.ffn_up_exps", layer),
        .down = w->down,
        .active = m->active,
        .begin = m->begin,
        .pair = m->pair,
        .y = m->out,
        .width = s->width,
        .rows = rows,
        .used = s->used};
    vv_step(f, &vv_expert_down, &down, "blk.%zu.ffn_down_exps", layer);
}

void vv_moe_shared(struct vv_forward *f, struct vv_moe *m, const struct vv_moe_weights *w,
                   const struct vv_planes *u, size_t layer) {
    struct vv_rows rows = vv_all_rows(f, 1);
    vv_product(f, u, rows, w->shared_gate, m->shared_gate, "blk.%zu.ffn_gate_shexp", layer);
    vv_product(f, u, rows, w->shared_up, m->shared_up, "blk.%zu.ffn_up_shexp", layer);
    struct vv_swiglu swiglu = {.gate = m->shared_gate,
                               .up = m->shared_up,
                               .h = m->shared_hidden.x,
                               .rows = rows,
                               .width = m->sizes.shared_width,
                               .limit = w->shared_limit};
    vv_step(f, &vv_swiglu, &swiglu, "blk.%zu.ffn_up_shexp", layer);
    struct vv_planes hidden =
        vv_prepare(f, &m->shared_hidden, &w->shared_down, 1, "blk.%zu.ffn_up_shexp", layer);
    vv_product(f, &hidden, rows, w->shared_down, m->shared, "blk.%zu.ffn_down_shexp", layer);
}

void vv_moe_sum(struct vv_forward *f, const struct vv_moe *m, const float *shared_gate, float *o,
                size_t layer) {
    const struct vv_moe_sizes *s = &m->sizes;
    struct vv_expert_sum sum = {.y = m->out,
                                .weight = s->weight_first ? NULL : m->weight,
                                .shared = m->shared,
                                .shared_gate = shared_gate,
                                .o = o,
                                .rows = vv_all_rows(f, 1),
                                .used = s->used,
                                .width = s->width};
    vv_step(f, &vv_expert_sum, &sum, "blk.%zu.ffn_sum", layer);
    vv_observe(f, m->router, VV_TYPE_F32, s->experts, "router_logits.%zu", layer);
    vv_observe(f, m->expert, VV_TYPE_I32, s->used, "experts.%zu", layer);
    vv_observe(f, m->weight, VV_TYPE_F32, s->used, "expert_weights.%zu", layer);
    vv_observe(f, o, VV_TYPE_F32, s->width, "moe.%zu", layer);
}

/*
 * The forward pass of DeepSeek V4 Flash (GGUF architecture `deepseek4`), in the order and terms of
 * its specification, which section numbers refer to. Shapes: rows of the window first; J streams of
 * d values are the residual state X of a row.
 */
#include "model/deepseek4.h"
#include "gguf/types.h"
#include "op/attend_window/contract.h"
#include "op/cache_round/contract.h"
#include "op/cache_write/contract.h"
#include "op/compress/contract.h"
#include "op/experts/contract.h"
#include "op/group_rows/contract.h"
#include "op/hash_route/contract.h"
#include "op/index_score/contract.h"
#include "op/mtp_join/contract.h"
#include "op/mtp_sum/contract.h"
#include "op/mtp_wide/contract.h"
#include "op/rms_norm/contract.h"
#include "op/rope_pairs/contract.h"
#include "op/round_half/contract.h"
#include "op/sinkhorn/contract.h"
#include "op/top_k/contract.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What one contraction reads and leaves: the window's, or a head's on the rows it is wanted for. */
struct streams {
    struct vv_input x; /* [rows][J][d] */
    float *mix, *pre, *u;
    float *post, *to;  /* NULL: a head's */
    struct vv_input a; /* [rows][d] the normed contraction */
};

/* The buffers of a forward pass; every layer uses the same ones. */
struct pass {
    const struct deepseek4 *g;
    const struct deepseek4_weights *w;
    struct vv_forward *f;
    struct deepseek4_state *map;

    struct streams s;
    float *o;           /* [rows][d] output of a sub-block */
    struct vv_input qr; /* [rows][query_rank] */
    float *q, *kv;
    float *pool_k[2], *pool_gate[2]; /* [rows][channels] of keys, of index keys */
    float *pooled;                   /* [rows][head_width] */
    float *index_q, *index_weight, *index_key, *score;
    uint8_t *index_codes; /* index_q in four bits; NULL: the cache is not rounded */
    int32_t *list, *listed;
    struct vv_input attended;       /* [rows][groups][heads / groups · head_width] */
    struct vv_input grouped;        /* [rows][groups][group_rank] */
    int32_t *active, *begin, *pair; /* every row in every group */

    struct vv_moe moe;
    float *score_of_expert;
};

static const struct vv_state_view *state(const struct pass *p, size_t part) {
    return &p->f->state[part];
}

static size_t wide(const struct deepseek4 *g) {
    return g->streams * g->width;
}

/* y = x normed, groups of `width` values that lie one behind another; no gaps. */
static void norm(struct pass *p, const float *x, float *y, struct vv_rows rows, size_t groups,
                 size_t width, const float *weight, const char *what, size_t layer) {
    struct vv_rms_norm args = {.x = x, .y = y, .weight = weight, .rows = rows, .eps = p->g->eps};
    args.groups = groups;
    args.width = args.x_group = args.y_group = width;
    args.x_row = args.y_row = groups * width;
    vv_step(p->f, &vv_rms_norm, &args, "blk.%zu.%s_norm", layer, what);
}

/* Rotates the last values of each head, or back. */
static void rotate(struct pass *p, float *x, size_t heads, size_t width, bool back,
                   const char *what, size_t layer) {
    const struct deepseek4 *g = p->g;
    struct vv_rope_pairs args = {.x = x + width - g->rotated,
                                 .rows = vv_all_rows(p->f, 1),
                                 .window = p->f->window,
                                 .heads = heads,
                                 .row_stride = heads * width,
                                 .head_stride = width,
                                 .dims = g->rotated,
                                 .turn = g->ratio[layer] ? p->w->turn_stretched : p->w->turn,
                                 .back = back};
    vv_step(p->f, &vv_rope_pairs, &args, "blk.%zu.%s_rope", layer, what);
}

/* ---- 3.2 hyper-connections ---- */

/* The contraction of s->x, normed. */
static void read_streams(struct pass *p, struct streams *s, const struct deepseek4_hyper *hc,
                         const float *weight, const char *what, size_t layer) {
    const struct deepseek4 *g = p->g;
    struct vv_rows rows = s->x.rows;
    struct vv_weight *mix = hc->mix;
    struct vv_planes x = vv_prepare(p->f, &s->x, &mix, 1, "blk.%zu.%s", layer, what);
    vv_product(p->f, &x, rows, mix, s->mix, "blk.%zu.%s_fn", layer, what);
    struct vv_sinkhorn sinkhorn = {.x = s->x.x,
                                   .mix = s->mix,
                                   .scale = hc->scale,
                                   .base = hc->base,
                                   .pre = s->pre,
                                   .post = s->post,
                                   .to = s->to,
                                   .rows = rows,
                                   .streams = g->streams,
                                   .width = g->width,
                                   .rounds = g->rounds,
                                   .eps = g->eps,
                                   .floor = g->hc_floor};
    vv_step(p->f, &vv_sinkhorn, &sinkhorn, "blk.%zu.%s", layer, what);
    struct vv_stream_read read = {s->x.x, s->pre, s->u, rows, g->streams, g->width};
    vv_step(p->f, &vv_stream_read, &read, "blk.%zu.%s_read", layer, what);
    norm(p, s->u, s->a.x, rows, 1, g->width, weight, what, layer);
}

static void write_streams(struct pass *p, const char *what, size_t layer) {
    const struct streams *s = &p->s;
    struct vv_stream_write write = {.x = s->x.x,
                                    .post = s->post,
                                    .to = s->to,
                                    .y = p->o,
                                    .rows = s->x.rows,
                                    .streams = p->g->streams,
                                    .width = p->g->width};
    vv_step(p->f, &vv_stream_write, &write, "blk.%zu.%s_write", layer, what);
}

/* ---- 3.4 compressor ---- */

/* Rows of the blocks that end in the window: of keys, or of index keys. The two have buffers of
 * their own, so that their products go with all others of the layer's input. */
static void compress(struct pass *p, const struct deepseek4_compressor *w,
                     const struct vv_planes *a, bool index, float *row, size_t ring,
                     const char *what, size_t layer) {
    const struct deepseek4 *g = p->g;
    struct vv_forward *f = p->f;
    struct vv_rows rows = vv_all_rows(f, 1);
    size_t ratio = g->ratio[layer], width = index ? g->index_width : g->head_width;
    float *k = p->pool_k[index], *gate = p->pool_gate[index];
    vv_product(f, a, rows, w->k, k, "blk.%zu.%s_kv", layer, what);
    vv_product(f, a, rows, w->gate, gate, "blk.%zu.%s_gate", layer, what);
    struct vv_compress_rows args = {.k = k,
                                    .g = gate,
                                    .ring = *state(p, ring),
                                    .ape = w->ape,
                                    .norm = w->norm,
                                    .turn = p->w->turn_stretched,
                                    .y = row,
                                    .window = f->window,
                                    .rows = rows,
                                    .ratio = ratio,
                                    .width = width,
                                    .dims = g->rotated,
                                    .eps = g->eps,
                                    .overlap = ratio == DEEPSEEK4_CSA};
    vv_step(f, &vv_compress_rows, &args, "blk.%zu.%s", layer, what);
    struct vv_cache_write keep = {.from = k,
                                  .row_stride = w->k->rows,
                                  .to = *state(p, ring),
                                  .window = f->window,
                                  .rows = rows,
                                  .second = gate};
    vv_step(f, &vv_cache_write, &keep, "blk.%zu.%s", layer, what);
}

/* Rows that were pooled become part of the state. */
static void store(struct pass *p, const float *row, size_t width, size_t part, const char *what,
                  size_t layer) {
    struct vv_cache_write args = {.from = row,
                                  .row_stride = width,
                                  .to = *state(p, part),
                                  .window = p->f->window,
                                  .rows = vv_all_rows(p->f, 1),
                                  .every = (int32_t)p->g->ratio[layer]};
    vv_step(p->f, &vv_cache_write, &args, "blk.%zu.%s", layer, what);
}

/* 3.3.2: what isn't rotated of rows that are kept, as the weights were trained with it. */
static void round_rows(struct pass *p, float *row, size_t ratio, const char *what, size_t layer) {
    const struct deepseek4 *g = p->g;
    struct vv_round_fp8 args = {.x = row,
                                .stride = g->head_width,
                                .width = g->head_width - g->rotated,
                                .ratio = ratio,
                                .window = p->f->window,
                                .rows = vv_all_rows(p->f, 1)};
    if (p->f->rounded_cache && args.width > 0) {
        vv_step(p->f, &vv_round_fp8, &args, "blk.%zu.%s_round", layer, what);
    }
}

/* ---- 3.5 indexer ---- */

/* 3.3.3: index vectors, `heads` a row, to four bits; those of blocks go to the state. */
static void round_vectors(struct pass *p, const float *x, size_t heads, uint8_t *y, size_t part,
                          const char *what, size_t layer) {
    struct vv_round_fp4 args = {.x = x,
                                .stride = heads * p->g->index_width,
                                .heads = heads,
                                .width = p->g->index_width,
                                .y = y,
                                .ratio = y ? 1 : p->g->ratio[layer],
                                .window = p->f->window,
                                .rows = vv_all_rows(p->f, 1)};
    if (!y) {
        args.to = *state(p, part);
    }
    vv_step(p->f, &vv_round_fp4, &args, "blk.%zu.%s_round", layer, what);
}

static void indexer(struct pass *p, const struct deepseek4_attention *w, const struct vv_planes *qr,
                    const struct vv_planes *a, size_t layer) {
    const struct deepseek4 *g = p->g;
    struct vv_forward *f = p->f;
    struct vv_rows rows = vv_all_rows(f, 1);
    size_t stride = f->context / DEEPSEEK4_CSA + 1, indexed = p->map->layer[layer].indexed;
    vv_product(f, qr, rows, w->index_q, p->index_q, "blk.%zu.indexer.attn_q_b", layer);
    rotate(p, p->index_q, g->index_heads, g->index_width, false, "indexer.q", layer);
    vv_product(f, a, rows, w->index_weight, p->index_weight, "blk.%zu.indexer.proj", layer);
    compress(p, &w->index, a, true, p->index_key, p->map->layer[layer].index, "indexer_compressor",
             layer);
    if (f->rounded_cache) {
        round_vectors(p, p->index_q, g->index_heads, p->index_codes, 0, "indexer.q", layer);
        round_vectors(p, p->index_key, 1, NULL, indexed, "indexer_compressor", layer);
    } else {
        store(p, p->index_key, g->index_width, indexed, "indexer_compressor", layer);
    }
    struct vv_index_score score = {
        .q = f->rounded_cache ? (const void *)p->index_codes : p->index_q,
        .q_type = f->rounded_cache ? VV_TYPE_MXFP4 : VV_TYPE_F32,
        .pooled = *state(p, indexed),
        .weight = p->index_weight,
        .score = p->score,
        .stride = stride,
        .heads = g->index_heads,
        .width = g->index_width,
        .ratio = DEEPSEEK4_CSA,
        .keep = f->observe ? 0 : g->keep, /* seen whole */
        .scale = (float)(1 / sqrt((double)g->index_heads * (double)g->index_width)),
        .window = f->window,
        .rows = rows};
    vv_step(f, vv_index_score_by(f->index_score), &score, "blk.%zu.indexer.score", layer);
    struct vv_top_k top = {.score = p->score,
                           .stride = stride,
                           .ratio = DEEPSEEK4_CSA,
                           .keep = g->keep,
                           .list = p->list,
                           .listed = p->listed,
                           .window = f->window,
                           .rows = rows};
    vv_step(f, &vv_top_k, &top, "blk.%zu.indexer.top_k", layer);
    vv_observe(f, p->index_key, VV_TYPE_F32, g->index_width, "index_keys.%zu", layer);
    vv_observe(f, p->score, VV_TYPE_F32, stride, "index_scores.%zu", layer);
    vv_observe(f, p->list, VV_TYPE_I32, g->keep, "blocks.%zu", layer);
}

/* ---- 3.3 attention ---- */

/* 3.3.5: each group of heads by itself, then all. */
static void output(struct pass *p, const struct deepseek4_attention *w, size_t layer) {
    const struct deepseek4 *g = p->g;
    struct vv_forward *f = p->f;
    struct vv_expert_down groups = {
        .h = vv_prepare(f, &p->attended, &w->output_a, 1, "blk.%zu.attend", layer),
        .down = w->output_a,
        .active = p->active,
        .begin = p->begin,
        .pair = p->pair,
        .y = p->grouped.x,
        .width = g->group_rank,
        .rows = vv_all_rows(f, 1),
        .used = g->groups};
    vv_step(f, &vv_expert_down, &groups, "blk.%zu.attn_output_a", layer);
    struct vv_planes z =
        vv_prepare(f, &p->grouped, &w->output_b, 1, "blk.%zu.attn_output_a", layer);
    vv_product(f, &z, vv_all_rows(f, 1), w->output_b, p->o, "blk.%zu.attn_output_b", layer);
    vv_observe(f, p->o, VV_TYPE_F32, g->width, "attn.%zu", layer);
}

static void attend(struct pass *p, const struct deepseek4_attention *w, size_t layer) {
    const struct deepseek4 *g = p->g;
    size_t ratio = g->ratio[layer];
    bool selects = ratio == DEEPSEEK4_CSA;
    struct vv_attend_window args = {.q = p->q,
                                    .own = p->kv,
                                    .ring = *state(p, p->map->layer[layer].newest),
                                    .list = selects ? p->list : NULL,
                                    .listed = selects ? p->listed : NULL,
                                    .keep = selects ? g->keep : 0,
                                    .ratio = ratio,
                                    .span = g->span,
                                    .sink = w->sink,
                                    .y = p->attended.x,
                                    .heads = g->heads,
                                    .width = g->head_width,
                                    .scale = (float)(1 / sqrt((double)g->head_width)),
                                    .window = p->f->window,
                                    .rows = vv_all_rows(p->f, 1)};
    if (ratio > 0) {
        args.pooled = *state(p, p->map->layer[layer].pooled);
    }
    vv_step(p->f, &vv_attend_window, &args, "blk.%zu.attend", layer);
    rotate(p, p->attended.x, g->heads, g->head_width, true, "attend", layer);
}

static void attention(struct pass *p, const struct deepseek4_attention *w, size_t layer) {
    const struct deepseek4 *g = p->g;
    struct vv_forward *f = p->f;
    struct vv_rows rows = vv_all_rows(f, 1);
    size_t ratio = g->ratio[layer];
    const struct vv_state_view *newest = state(p, p->map->layer[layer].newest);
    struct vv_weight *readers[] = {w->q_a,     w->kv,         w->pooled.k,    w->pooled.gate,
                                   w->index.k, w->index.gate, w->index_weight};
    struct vv_planes a = vv_prepare(f, &p->s.a, readers, 7, "blk.%zu.attn_norm", layer);
    vv_product(f, &a, rows, w->q_a, p->qr.x, "blk.%zu.attn_q_a", layer);
    vv_product(f, &a, rows, w->kv, p->kv, "blk.%zu.attn_kv", layer);
    norm(p, p->qr.x, p->qr.x, rows, 1, g->query_rank, w->q_norm, "attn_q_a", layer);
    struct vv_weight *query_readers[] = {w->q_b, w->index_q};
    struct vv_planes qr = vv_prepare(f, &p->qr, query_readers, 2, "blk.%zu.attn_q_a", layer);
    vv_product(f, &qr, rows, w->q_b, p->q, "blk.%zu.attn_q_b", layer);
    norm(p, p->q, p->q, rows, g->heads, g->head_width, p->w->ones, "attn_q_b", layer);
    rotate(p, p->q, g->heads, g->head_width, false, "attn_q_b", layer);
    norm(p, p->kv, p->kv, rows, 1, g->head_width, w->kv_norm, "attn_kv", layer);
    rotate(p, p->kv, 1, g->head_width, false, "attn_kv", layer);
    round_rows(p, p->kv, 1, "attn_kv", layer);
    if (newest->type == VV_TYPE_F16) {
        struct vv_round_half half = {p->kv, g->head_width, rows};
        vv_step(f, &vv_round_half, &half, "blk.%zu.attn_kv", layer);
    }
    if (ratio > 0) {
        compress(p, &w->pooled, &a, false, p->pooled, p->map->layer[layer].pool, "attn_compressor",
                 layer);
        round_rows(p, p->pooled, ratio, "attn_compressor", layer);
        store(p, p->pooled, g->head_width, p->map->layer[layer].pooled, "attn_compressor", layer);
        vv_observe(f, p->pooled, VV_TYPE_F32, g->head_width, "pooled.%zu", layer);
    }
    if (ratio == DEEPSEEK4_CSA) {
        indexer(p, w, &qr, &a, layer);
    }
    attend(p, w, layer);
    vv_keep(f, p->kv, g->head_width, newest, "blk.%zu.attn_kv", layer);
    output(p, w, layer);
}

/* ---- 3.6 mixture of experts ---- */

static void mixture(struct pass *p, const struct deepseek4_layer *w, size_t layer) {
    const struct deepseek4 *g = p->g;
    struct vv_forward *f = p->f;
    struct vv_moe *m = &p->moe;
    const struct vv_moe_weights *x = &w->moe;
    struct vv_weight *readers[] = {x->router, x->gate, x->up, x->shared_gate, x->shared_up};
    struct vv_planes u = vv_prepare(f, &p->s.a, readers, 5, "blk.%zu.ffn_norm", layer);
    vv_product(f, &u, vv_all_rows(f, 1), x->router, m->router, "blk.%zu.ffn_gate_inp", layer);
    struct vv_hash_route route = {.logits = m->router,
                                  .bias = w->bias,
                                  .table = w->table,
                                  .tokens = g->vocabulary,
                                  .window = f->window,
                                  .score = w->hashed ? NULL : p->score_of_expert,
                                  .expert = m->expert,
                                  .weight = m->weight,
                                  .rows = vv_all_rows(f, 1),
                                  .experts = g->moe.experts,
                                  .used = g->moe.used,
                                  .scale = g->expert_scale};
    vv_step(f, &vv_hash_route, &route, "blk.%zu.ffn_gate_inp", layer);
    vv_moe_routed(f, m, x, &u, layer);
    vv_moe_shared(f, m, x, &u, layer);
    vv_moe_sum(f, m, NULL, p->o, layer);
}

static void layer(struct pass *p, size_t i) {
    const struct deepseek4_layer *w = &p->w->layers[i];
    read_streams(p, &p->s, &w->attention_hc, w->attention_norm, "hc_attn", i);
    attention(p, &w->attention, i);
    write_streams(p, "hc_attn", i);
    read_streams(p, &p->s, &w->ffn_hc, w->ffn_norm, "hc_ffn", i);
    mixture(p, w, i);
    write_streams(p, "hc_ffn", i);
    if (i < p->g->layers) {
        vv_observe(p->f, p->s.x.x, VV_TYPE_F32, wide(p->g), "hidden.%zu", i);
    } else {
        vv_observe(p->f, p->s.x.x, VV_TYPE_F32, wide(p->g), "mtp.hidden");
    }
}

/* ---- buffers ---- */

static struct streams stream_buffers(struct pass *p, struct vv_rows rows, size_t capacity,
                                     bool head) {
    const struct deepseek4 *g = p->g;
    struct vv_program *program = p->f->program;
    size_t mixes = head ? g->streams : g->streams * (2 + g->streams),
           row = sizeof(float) * capacity;
    return (struct streams){
        .x = vv_input(p->f, wide(g), rows, capacity),
        .mix = vv_program_memory(program, mixes * row),
        .pre = vv_program_memory(program, g->streams * row),
        .u = vv_program_memory(program, g->width * row),
        .post = head ? NULL : vv_program_memory(program, g->streams * row),
        .to = head ? NULL : vv_program_memory(program, g->streams * g->streams * row),
        .a = vv_input(p->f, g->width, rows, capacity),
    };
}

static void attention_buffers(struct pass *p) {
    const struct deepseek4 *g = p->g;
    struct vv_forward *f = p->f;
    size_t q = g->heads * g->head_width, groups = g->groups;
    p->qr = vv_input(f, g->query_rank, vv_all_rows(f, 1), f->rows);
    p->q = vv_row_floats(f, q);
    p->kv = vv_row_floats(f, g->head_width);
    for (int index = 0; index < 2; index++) {
        size_t channels = 2 * (index ? g->index_width : g->head_width);
        p->pool_k[index] = vv_row_floats(f, channels);
        p->pool_gate[index] = vv_row_floats(f, channels);
    }
    p->pooled = vv_row_floats(f, g->head_width);
    p->index_q = vv_row_floats(f, g->index_heads * g->index_width);
    p->index_weight = vv_row_floats(f, g->index_heads);
    if (f->rounded_cache) {
        size_t row = g->index_heads * vv_state_entry_bytes(VV_TYPE_MXFP4, g->index_width);
        p->index_codes = vv_program_memory(f->program, f->rows * row);
    }
    p->index_key = vv_row_floats(f, g->index_width);
    p->score = vv_row_floats(f, f->context / DEEPSEEK4_CSA + 1);
    p->list = vv_row_integers(f, g->keep);
    p->listed = vv_row_integers(f, 1);
    p->attended = vv_input(f, q / groups, vv_all_rows(f, groups), f->rows * groups);
    p->grouped = vv_input(f, groups * g->group_rank, vv_all_rows(f, 1), f->rows);
    p->active = vv_program_memory(f->program, (1 + groups) * sizeof *p->active);
    p->begin = vv_program_memory(f->program, (1 + groups) * sizeof *p->begin);
    p->pair = vv_row_integers(f, groups);
}

/* False: no memory for the map of the state, which the program is told. */
static bool begin(struct pass *p, const void *geometry, const void *bound, struct vv_forward *f) {
    struct deepseek4_state *map = deepseek4_state_map(geometry);
    if (!map) {
        vv_program_fail(f->program, VV_ERROR_MEMORY, "no memory for the map of the model's state");
        return false;
    }
    *p = (struct pass){.g = geometry, .w = bound, .f = f, .map = map};
    p->s = stream_buffers(p, vv_all_rows(f, 1), f->rows, false);
    p->o = vv_row_floats(f, p->g->width);
    attention_buffers(p);
    p->moe = vv_moe_buffers(f, &p->g->moe);
    p->score_of_expert = vv_row_floats(f, p->g->moe.experts);
    struct vv_group_rows groups = {vv_all_rows(f, 1), p->g->groups, p->active, p->begin, p->pair};
    vv_step(f, &vv_group_rows, &groups, "attn_output_a");
    return true;
}

/* ---- 3.7 head ---- */

static void head(struct pass *p, const struct deepseek4_head *w, const char *prefix, size_t i) {
    const struct deepseek4 *g = p->g;
    struct vv_forward *f = p->f;
    struct vv_rows rows = vv_output_rows(f, 1);
    struct vv_weight *matrix = p->w->output;
    struct streams s = stream_buffers(p, rows, f->outputs, true);
    vv_gather_outputs(f, p->s.x.x, wide(g), s.x.x, "%shead", prefix);
    read_streams(p, &s, &w->hc, w->norm, "head_hc", i);
    vv_observe_outputs(f, s.u, VV_TYPE_F32, g->width, "%smix", prefix);
    struct vv_planes planes = vv_prepare(f, &s.a, &matrix, 1, "%shead", prefix);
    f->logits = vv_output_floats(f, g->vocabulary);
    vv_product(f, &planes, rows, matrix, f->logits, "%soutput", prefix);
}

/* ---- whole passes ---- */

static void keep_streams(struct pass *p, const float *x, const struct vv_window *window,
                         int32_t shift) {
    vv_keep_streams(p->f, x, wide(p->g), window, shift, state(p, p->map->wide), "mtp.hidden");
}

static void trunk(const void *geometry, const void *bound, struct vv_forward *f) {
    struct pass p;
    if (!begin(&p, geometry, bound, f)) {
        return;
    }
    vv_embedding(f, p.w->embedding, p.s.x.x, p.g->streams); /* 3.1 */
    for (size_t i = 0; i < p.g->layers; i++) {
        layer(&p, i);
    }
    f->wide = p.s.x.x;
    f->wide_rows = f->rows;
    if (f->mtp && f->mode == VV_VERIFY) {
        keep_streams(&p, p.s.x.x, f->window, 0);
    }
    head(&p, &p.w->head, "", p.g->layers);
    free(p.map);
}

/* Nothing to do: all state is by position, so what was verified is there. */
static void commit(const void *geometry, const void *bound, struct vv_forward *f) {
    (void)geometry;
    (void)bound;
    (void)f;
}

/* The two projections side by side, on embedding and stream joined. */
static void project_joined(struct pass *p, const struct vv_input *e, const struct vv_input *h) {
    const struct deepseek4 *g = p->g;
    struct vv_forward *f = p->f;
    struct vv_weight *matrix = p->w->mtp.join;
    struct vv_input joined = vv_input(f, 2 * g->width, h->rows, h->capacity);
    struct vv_mtp_join join = {e->x, h->x, joined.x, e->rows, g->streams, g->width};
    vv_step(f, &vv_mtp_join, &join, "blk.%zu.nextn.eh_proj", g->layers);
    struct vv_planes planes =
        vv_prepare(f, &joined, &matrix, 1, "blk.%zu.nextn.eh_proj", g->layers);
    vv_product(f, &planes, h->rows, matrix, p->s.x.x, "blk.%zu.nextn.eh_proj", g->layers);
}

/* The two apart, each on its own. */
static void project_apart(struct pass *p, struct vv_input *e, struct vv_input *h) {
    const struct deepseek4 *g = p->g;
    struct vv_forward *f = p->f;
    struct vv_weight *of_e = p->w->mtp.e, *of_h = p->w->mtp.h;
    struct vv_planes planes = vv_prepare(f, e, &of_e, 1, "blk.%zu.nextn.e_proj", g->layers);
    vv_product(f, &planes, e->rows, of_e, p->o, "blk.%zu.nextn.e_proj", g->layers);
    planes = vv_prepare(f, h, &of_h, 1, "blk.%zu.nextn.h_proj", g->layers);
    vv_product(f, &planes, h->rows, of_h, p->s.x.x, "blk.%zu.nextn.h_proj", g->layers);
    struct vv_mtp_sum sum = {p->o, p->s.x.x, e->rows, g->streams, g->width};
    vv_step(f, &vv_mtp_sum, &sum, "blk.%zu.nextn.e_proj", g->layers);
}

/* 3.8: Y_j = e_proj · norm(embedding) + h_proj · norm(X_j). */
static void mtp_streams(struct pass *p) {
    const struct deepseek4 *g = p->g;
    struct vv_forward *f = p->f;
    struct vv_rows rows = vv_all_rows(f, 1), streams = vv_all_rows(f, g->streams);
    struct vv_input e = vv_input(f, g->width, rows, f->rows);
    struct vv_input h = vv_input(f, g->width, streams, f->rows * g->streams);
    struct vv_mtp_wide from = {.wide = f->wide,
                               .wide_rows = f->wide_rows,
                               .ring = *state(p, p->map->wide),
                               .h = h.x,
                               .window = f->window,
                               .rows = rows,
                               .width = wide(g)};
    vv_embedding(f, p->w->embedding, e.x, 1);
    norm(p, e.x, e.x, rows, 1, g->width, p->w->mtp.embedding_norm, "nextn.e", g->layers);
    vv_step(f, &vv_mtp_wide, &from, "blk.%zu.nextn.hidden", g->layers);
    norm(p, h.x, h.x, rows, g->streams, g->width, p->w->mtp.hidden_norm, "nextn.h", g->layers);
    if (p->w->mtp.join) {
        project_joined(p, &e, &h);
    } else {
        project_apart(p, &e, &h);
    }
}

static void mtp(const void *geometry, const void *bound, struct vv_forward *f) {
    struct pass p;
    if (!begin(&p, geometry, bound, f)) {
        return;
    }
    mtp_streams(&p);
    layer(&p, p.g->layers);
    if (f->draft) { /* the next draft's row reads this as its hidden state */
        keep_streams(&p, p.s.x.x, f->window, 1);
    }
    if (f->trunk) {
        keep_streams(&p, f->wide, f->trunk, 0);
    }
    head(&p, &p.w->mtp.head, "mtp.", p.g->layers);
    free(p.map);
}

static void facts(const void *geometry, struct vv_model_facts *facts) {
    const struct deepseek4 *g = geometry;
    *facts = (struct vv_model_facts){.layers = g->layers,
                                     .mtp_layers = g->mtp_layers,
                                     .vocabulary = g->vocabulary,
                                     .context = g->context,
                                     .width = g->width,
                                     .streams = g->streams,
                                     .stop_count = g->stops.count,
                                     .temperature = 1,
                                     .rounded_cache = true};
    memcpy(facts->stop, g->stops.id, sizeof facts->stop);
}

const struct vv_family vv_family_deepseek4 = {
    .architecture = "deepseek4",
    .open = deepseek4_open,
    .close = deepseek4_close,
    .facts = facts,
    .bind = deepseek4_bind,
    .unbind = deepseek4_unbind,
    .state = deepseek4_state,
    .trunk = trunk,
    .commit = commit,
    .mtp = mtp,
};

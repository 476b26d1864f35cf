/*
 * The forward pass of Qwen3.8-Flash-Next (GGUF architecture `qwen4exp`), in the order and terms of
 * its specification, which section numbers refer to. Shapes: rows of the window first; R streams of
 * N values are the residual state X of a row.
 */
#include "model/qwen4exp.h"
#include "gguf/types.h"
#include "op/attend/contract.h"
#include "op/cache_write/contract.h"
#include "op/conv1d/contract.h"
#include "op/gather_rows/contract.h"
#include "op/gdn_step/contract.h"
#include "op/hyper_read/contract.h"
#include "op/hyper_write/contract.h"
#include "op/index_pool/contract.h"
#include "op/index_score/contract.h"
#include "op/mtp_join/contract.h"
#include "op/mtp_wide/contract.h"
#include "op/ngram_embed/contract.h"
#include "op/ngram_gate/contract.h"
#include "op/rms_norm/contract.h"
#include "op/rope/contract.h"
#include "op/route/contract.h"
#include "op/top_k/contract.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The buffers of a forward pass; every layer uses the same ones. */
struct pass {
    const struct qwen4exp *g;
    const struct qwen4exp_weights *w;
    struct vv_forward *f;
    struct qwen4exp_state *map;

    struct vv_input h; /* [rows][R][N] normed streams */
    struct vv_input a; /* [rows][rank] */
    struct vv_input u; /* [rows][N] input of a sub-block */
    float *x;          /* [rows][R][N] */
    float *gamma;      /* [rows][R] */
    float *o;          /* [rows][N] output of a sub-block */
    bool unwritten;    /* o and gamma still have to be written onto x */

    float *projected; /* attention: queries and gates; gated delta net: q, k, v */
    float *q, *k, *v, *index_q, *index_k, *score;
    int32_t *list, *listed;
    float *z, *alpha, *beta, *work;
    struct vv_input attended, recurred; /* outputs of attention and of the gated delta net */

    struct vv_moe moe;
    float *shared_router;
};

static const struct vv_state_view *state(const struct pass *p, size_t part) {
    return &p->f->state[part];
}

static size_t wide(const struct qwen4exp *g) {
    return g->streams * g->width;
}

static void keep(struct pass *p, const void *from, size_t stride, size_t part, const char *what,
                 size_t layer) {
    vv_keep(p->f, from, stride, state(p, part), "blk.%zu.%s", layer, what);
}

/* ---- 4.3 hyper-connections ---- */

/* Steps 1 to 5 on `rows` rows of x; the previous block's write is folded into step 1. */
static void hyper_read(struct pass *p, const struct hyper *hc, struct vv_rows rows, float *x,
                       struct vv_input *h, struct vv_input *a, float *u, const char *what,
                       size_t layer) {
    const struct qwen4exp *g = p->g;
    struct vv_hyper_norm norm = {.x = x,
                                 .o = p->unwritten ? p->o : NULL,
                                 .gamma = p->unwritten ? p->gamma : NULL,
                                 .weight = hc->norm,
                                 .h = h->x,
                                 .rows = rows,
                                 .streams = g->streams,
                                 .width = g->width,
                                 .eps = g->eps};
    vv_step(p->f, &vv_hyper_norm, &norm, "blk.%zu.%s_norm", layer, what);
    p->unwritten = false;

    struct vv_weight *readers[] = {hc->down, hc->inject};
    struct vv_hyper_down down = {
        .h = vv_prepare(p->f, h, readers, 2, "blk.%zu.%s_norm", layer, what),
        .down = hc->down,
        .inject = hc->inject,
        .a = a->x,
        .gamma = p->gamma,
        .rows = rows,
        .streams = g->streams};
    vv_step(p->f, &vv_hyper_down, &down, "blk.%zu.%s_down", layer, what);

    struct vv_hyper_up up = {.a = vv_prepare(p->f, a, &hc->up, 1, "blk.%zu.%s_down", layer, what),
                             .up = hc->up,
                             .h = h->x,
                             .u = u,
                             .rows = rows,
                             .streams = g->streams,
                             .width = g->width};
    vv_step(p->f, &vv_hyper_up, &up, "blk.%zu.%s_up", layer, what);
}

static void read_streams(struct pass *p, const struct hyper *hc, const char *what, size_t layer) {
    hyper_read(p, hc, vv_all_rows(p->f, 1), p->x, &p->h, &p->a, p->u.x, what, layer);
}

/* The sub-block's output waits in o; the next read folds it in. */
static void write_streams(struct pass *p) {
    p->unwritten = true;
}

/* For readers of x other than the next read. */
static void settle(struct pass *p, size_t layer) {
    if (p->unwritten) {
        struct vv_hyper_write args = {p->x,          p->o,       p->gamma, vv_all_rows(p->f, 1),
                                      p->g->streams, p->g->width};
        vv_step(p->f, &vv_hyper_write, &args, "blk.%zu.hc_write", layer);
        p->unwritten = false;
    }
}

/* ---- 4.5 n-gram embedding ---- */

static void group_norm(struct pass *p, float *x, const float *weight, const char *what) {
    const struct qwen4exp *g = p->g;
    struct vv_rms_norm args = {.x = x,
                               .weight = weight,
                               .y = x,
                               .rows = vv_all_rows(p->f, 1),
                               .groups = g->streams,
                               .width = g->width,
                               .x_row = wide(g),
                               .x_group = g->width,
                               .y_row = wide(g),
                               .y_group = g->width,
                               .weight_group = g->width,
                               .eps = g->eps};
    vv_step(p->f, &vv_rms_norm, &args, "blk.%zu.%s", g->ple_layer, what);
}

static void ngram_rows(struct pass *p, const struct vv_input *e) {
    const struct qwen4exp *g = p->g;
    const struct ple *w = &p->w->ple;
    int64_t *row_ids =
        p->f->observe
            ? vv_program_memory(p->f->program, p->f->rows * g->ngram_heads * sizeof(int64_t))
            : NULL;
    struct vv_ngram_embed args = {.window = p->f->window,
                                  .rows = vv_all_rows(p->f, 1),
                                  .history = *state(p, p->map->ids),
                                  .table = w->table,
                                  .e = e->x,
                                  .row_ids = row_ids,
                                  .multipliers = w->multiplier,
                                  .vocab = w->vocabulary,
                                  .offset = w->offset,
                                  .order = g->ngram,
                                  .heads_per = g->ngram_heads_per,
                                  .separator = g->separator};
    vv_step(p->f, &vv_ngram_embed, &args, "per_layer_token_embd");
    keep(p, p->f->window->token, 1, p->map->ids, "ids", g->ple_layer);
    vv_observe(p->f, row_ids, VV_TYPE_I64, g->ngram_heads, "ngram_rows");
}

static void ngram_embedding(struct pass *p) {
    const struct qwen4exp *g = p->g;
    const struct ple *w = &p->w->ple;
    struct vv_forward *f = p->f;
    size_t layer = g->ple_layer;
    struct vv_input e = vv_input(f, g->ngram_heads * g->ngram_width, vv_all_rows(f, 1), f->rows);
    float *key = vv_row_floats(f, wide(g)), *value = vv_row_floats(f, g->width);
    float *gated = vv_row_floats(f, wide(g)), *normed = vv_row_floats(f, wide(g));

    settle(p, layer);
    struct vv_tap *before = vv_observe(f, p->x, VV_TYPE_F32, wide(g), "ple.before");
    void *was = before ? before->at : NULL;
    ngram_rows(p, &e); /* step 1 */
    struct vv_weight *readers[] = {w->key, w->value};
    struct vv_planes planes = vv_prepare(f, &e, readers, 2, "blk.%zu.ple", layer); /* step 2 */
    vv_product(f, &planes, e.rows, w->key, key, "blk.%zu.ple_key", layer);
    vv_product(f, &planes, e.rows, w->value, value, "blk.%zu.ple_value", layer);
    group_norm(p, key, w->norm_key, "ple_norm_key");
    struct vv_gather_rows copy = {.from = p->x,
                                  .to = normed,
                                  .row_bytes = wide(g) * sizeof(float),
                                  .rows = e.rows,
                                  .from_rows = e.rows};
    vv_step(f, &vv_gather_rows, &copy, "blk.%zu.ple_query", layer);
    group_norm(p, normed, w->norm_query, "ple_norm_query");
    struct vv_ngram_gate gate = {.k = key, /* steps 3 and 4 */
                                 .q = normed,
                                 .v = value,
                                 .p = gated,
                                 .rows = e.rows,
                                 .streams = g->streams,
                                 .width = g->width};
    vv_step(f, &vv_ngram_gate, &gate, "blk.%zu.ple_gate", layer);
    copy.from = gated;
    vv_step(f, &vv_gather_rows, &copy, "blk.%zu.ple_conv1d", layer);
    group_norm(p, normed, w->norm_conv, "ple_norm_conv"); /* step 5 */
    struct vv_conv1d conv = {.x = normed,                 /* steps 6 and 7 */
                             .history = *state(p, p->map->ple_conv),
                             .weight = w->conv,
                             .p = gated,
                             .onto = p->x,
                             .window = f->window,
                             .rows = e.rows,
                             .channels = wide(g),
                             .kernel = g->ple_kernel,
                             .dilation = g->ngram};
    vv_step(f, &vv_conv1d, &conv, "blk.%zu.ple_conv1d", layer);
    keep(p, normed, wide(g), p->map->ple_conv, "ple_conv1d", layer);
    struct vv_tap *added = vv_observe(f, p->x, VV_TYPE_F32, wide(g), "ple");
    if (added) {
        added->form = VV_TAP_DIFFERENCE;
        added->other = was;
    }
}

/* ---- 4.6 gated delta net ---- */

static size_t delta_channels(const struct qwen4exp *g) {
    return 2 * g->key_heads * g->key_width + g->value_heads * g->value_width;
}

static void gdn_state(struct pass *p, const struct delta_net *w, size_t layer,
                      struct vv_gdn_step *args) {
    const struct qwen4exp *g = p->g;
    *args = (struct vv_gdn_step){.conv = w->conv,
                                 .a = w->a,
                                 .dt_bias = w->dt_bias,
                                 .norm = w->norm,
                                 .state = *state(p, p->map->layer[layer].delta),
                                 .conv_ring = *state(p, p->map->layer[layer].conv),
                                 .gate_ring = *state(p, p->map->layer[layer].gates),
                                 .window = p->f->window,
                                 .key_heads = g->key_heads,
                                 .value_heads = g->value_heads,
                                 .key_dim = g->key_width,
                                 .value_dim = g->value_width,
                                 .kernel = g->kernel,
                                 .eps = g->eps};
}

/* An entry of the ring holds alpha, then beta. */
static void keep_gates(struct pass *p, size_t layer) {
    struct vv_cache_write args = {.from = p->alpha,
                                  .row_stride = p->g->value_heads,
                                  .to = *state(p, p->map->layer[layer].gates),
                                  .window = p->f->window,
                                  .rows = vv_all_rows(p->f, 1),
                                  .second = p->beta};
    vv_step(p->f, &vv_cache_write, &args, "blk.%zu.gdn_gates", layer);
}

static void delta_net(struct pass *p, const struct delta_net *w, size_t layer) {
    const struct qwen4exp *g = p->g;
    struct vv_forward *f = p->f;
    struct vv_rows rows = vv_all_rows(f, 1);
    size_t channels = delta_channels(g);

    struct vv_weight *readers[] = {w->qkv, w->gate, w->alpha, w->beta}; /* step 1 */
    struct vv_planes u = vv_prepare(f, &p->u, readers, 4, "blk.%zu.hc_attn_up", layer);
    vv_product(f, &u, rows, w->qkv, p->projected, "blk.%zu.attn_qkv", layer);
    vv_product(f, &u, rows, w->gate, p->z, "blk.%zu.attn_gate", layer);
    vv_product(f, &u, rows, w->alpha, p->alpha, "blk.%zu.ssm_alpha", layer);
    vv_product(f, &u, rows, w->beta, p->beta, "blk.%zu.ssm_beta", layer);

    struct vv_gdn_step args; /* steps 2 to 6 */
    gdn_state(p, w, layer, &args);
    args.qkv = p->projected;
    args.z = p->z;
    args.alpha = p->alpha;
    args.beta = p->beta;
    args.work = p->work;
    args.y = p->recurred.x;
    args.mode = f->mode == VV_VERIFY ? VV_GDN_VERIFY : VV_GDN_ADVANCE;
    vv_step(f, &vv_gdn_step, &args, "blk.%zu.gdn", layer);

    keep(p, p->projected, channels, p->map->layer[layer].conv, "gdn_conv", layer);
    keep_gates(p, layer);

    struct vv_planes y = vv_prepare(f, &p->recurred, &w->output, 1, "blk.%zu.gdn", layer);
    vv_product(f, &y, rows, w->output, p->o, "blk.%zu.ssm_out", layer); /* step 7 */
    vv_observe(f, p->o, VV_TYPE_F32, g->width, "gdn.%zu", layer);
}

/* ---- 4.7 sparse attention ---- */

/* y [rows][heads][width] = rope(rms(x)), head by head. */
static void head_norm(struct pass *p, const float *x, size_t x_row, size_t x_head, float *y,
                      size_t heads, size_t width, const float *weight, const char *what,
                      size_t layer) {
    struct vv_rms_norm norm = {.x = x,
                               .weight = weight,
                               .y = y,
                               .rows = vv_all_rows(p->f, 1),
                               .groups = heads,
                               .width = width,
                               .x_row = x_row,
                               .x_group = x_head,
                               .y_row = heads * width,
                               .y_group = width,
                               .eps = p->g->eps};
    vv_step(p->f, &vv_rms_norm, &norm, "blk.%zu.%s_norm", layer, what);
    struct vv_rope rope = {.x = y,
                           .rows = vv_all_rows(p->f, 1),
                           .window = p->f->window,
                           .heads = heads,
                           .row_stride = heads * width,
                           .head_stride = width,
                           .dims = p->g->rotated,
                           .turn = p->w->turn};
    vv_step(p->f, &vv_rope, &rope, "blk.%zu.%s_rope", layer, what);
}

/* 4.7.2: the blocks' keys. */
static void pool_keys(struct pass *p, const struct attention *w, size_t layer) {
    const struct qwen4exp *g = p->g;
    struct vv_forward *f = p->f;
    struct vv_index_pool pool = {.k = p->index_k,
                                 .ring = *state(p, p->map->layer[layer].index_raw),
                                 .pooled = *state(p, p->map->layer[layer].index_pooled),
                                 .norm = w->index_k_norm,
                                 .turn = p->w->turn,
                                 .dims = g->rotated,
                                 .width = g->index_width,
                                 .window = f->window,
                                 .rows = vv_all_rows(f, 1),
                                 .ratio = g->ratio[layer],
                                 .eps = g->eps};
    vv_step(f, &vv_index_pool, &pool, "blk.%zu.indexer.pool", layer);
    keep(p, p->index_k, g->index_width, p->map->layer[layer].index_raw, "indexer.k", layer);
}

/* 4.7.2: which blocks each row attends. */
static void indexer(struct pass *p, const struct attention *w, size_t layer) {
    const struct qwen4exp *g = p->g;
    struct vv_forward *f = p->f;
    struct vv_rows rows = vv_all_rows(f, 1);
    size_t ratio = g->ratio[layer], blocks = g->index_tokens / ratio;
    size_t stride = f->context / ratio + 1;
    size_t row = g->index_heads * g->index_width;
    head_norm(p, p->index_q, row, g->index_width, p->index_q, g->index_heads, g->index_width,
              w->index_q_norm, "indexer.q", layer);
    struct vv_index_score score = {.q = p->index_q,
                                   .pooled = *state(p, p->map->layer[layer].index_pooled),
                                   .score = p->score,
                                   .stride = stride,
                                   .heads = g->index_heads,
                                   .width = g->index_width,
                                   .ratio = ratio,
                                   .keep = blocks,
                                   .scale = (float)(1 / sqrt((double)g->index_width)),
                                   .window = f->window,
                                   .rows = rows};
    vv_step(f, vv_index_score_by(f->index_score), &score, "blk.%zu.indexer.score", layer);
    struct vv_top_k top = {.score = p->score,
                           .stride = stride,
                           .ratio = ratio,
                           .keep = blocks,
                           .list = p->list,
                           .listed = p->listed,
                           .window = f->window,
                           .rows = rows};
    vv_step(f, &vv_top_k, &top, "blk.%zu.indexer.top_k", layer);
}

static void observe_selected(struct pass *p, size_t layer) {
    size_t ratio = p->g->ratio[layer];
    size_t blocks = ratio ? p->g->index_tokens / ratio : 1;
    struct vv_tap *listed = vv_observe(p->f, ratio ? p->listed : p->f->window->position,
                                       VV_TYPE_I32, 1, "listed.%zu", layer);
    void *counts = listed ? listed->at : NULL;
    struct vv_tap *tap =
        ratio ? vv_observe(p->f, p->list, VV_TYPE_I32, blocks, "selected.%zu", layer) : NULL;
    if (tap) {
        tap->form = VV_TAP_SELECTED;
        tap->ratio = ratio;
        tap->other = counts;
    }
}

/* What a layer's rows leave to those that come after them, from their projections. */
static void keep_keys(struct pass *p, const struct attention *w, size_t layer) {
    const struct qwen4exp *g = p->g;
    size_t kv = g->kv_heads * g->head_width;
    head_norm(p, p->k, kv, g->head_width, p->k, g->kv_heads, g->head_width, w->k_norm, "attn_k",
              layer);
    keep(p, p->k, kv, p->map->layer[layer].k, "attn_k", layer);
    keep(p, p->v, kv, p->map->layer[layer].v, "attn_v", layer);
    if (g->ratio[layer] > 0) {
        pool_keys(p, w, layer);
    }
}

/* That alone, where nobody wants what the rows themselves would give. */
static void attention_keys(struct pass *p, const struct attention *w, size_t layer) {
    struct vv_forward *f = p->f;
    struct vv_rows rows = vv_all_rows(f, 1);
    struct vv_weight *readers[] = {w->k, w->v, w->index_k};
    struct vv_planes u = vv_prepare(f, &p->u, readers, 3, "blk.%zu.hc_attn_up", layer);
    vv_product(f, &u, rows, w->k, p->k, "blk.%zu.attn_k", layer);
    vv_product(f, &u, rows, w->v, p->v, "blk.%zu.attn_v", layer);
    if (p->g->ratio[layer] > 0) {
        vv_product(f, &u, rows, w->index_k, p->index_k, "blk.%zu.indexer.k_proj", layer);
    }
    keep_keys(p, w, layer);
}

static void attention(struct pass *p, const struct attention *w, size_t layer) {
    const struct qwen4exp *g = p->g;
    struct vv_forward *f = p->f;
    struct vv_rows rows = vv_all_rows(f, 1);
    bool sparse = g->ratio[layer] > 0;
    size_t pair = 2 * g->head_width;

    struct vv_weight *readers[] = {w->q, w->k, w->v, w->index_q, w->index_k}; /* 4.7.1 */
    struct vv_planes u = vv_prepare(f, &p->u, readers, 5, "blk.%zu.hc_attn_up", layer);
    vv_product(f, &u, rows, w->q, p->projected, "blk.%zu.attn_q", layer);
    vv_product(f, &u, rows, w->k, p->k, "blk.%zu.attn_k", layer);
    vv_product(f, &u, rows, w->v, p->v, "blk.%zu.attn_v", layer);
    if (sparse) {
        vv_product(f, &u, rows, w->index_q, p->index_q, "blk.%zu.indexer.q_proj", layer);
        vv_product(f, &u, rows, w->index_k, p->index_k, "blk.%zu.indexer.k_proj", layer);
    }
    head_norm(p, p->projected, g->heads * pair, pair, p->q, g->heads, g->head_width, w->q_norm,
              "attn_q", layer); /* a head's query, then its gate */
    keep_keys(p, w, layer);
    if (sparse) {
        indexer(p, w, layer);
    }
    observe_selected(p, layer);

    struct vv_attend attend = {.q = p->q, /* 4.7.3 */
                               .gate = p->projected + g->head_width,
                               .gate_row = g->heads * pair,
                               .gate_head = pair,
                               .k = *state(p, p->map->layer[layer].k),
                               .v = *state(p, p->map->layer[layer].v),
                               .list = sparse ? p->list : NULL,
                               .listed = sparse ? p->listed : NULL,
                               .keep = sparse ? g->index_tokens / g->ratio[layer] : 0,
                               .ratio = g->ratio[layer],
                               .y = p->attended.x,
                               .heads = g->heads,
                               .kv_heads = g->kv_heads,
                               .width = g->head_width,
                               .scale = (float)(1 / sqrt((double)g->head_width)),
                               .window = f->window,
                               .rows = rows};
    vv_step(f, &vv_attend, &attend, "blk.%zu.attend", layer);
    struct vv_planes y = vv_prepare(f, &p->attended, &w->output, 1, "blk.%zu.attend", layer);
    vv_product(f, &y, rows, w->output, p->o, "blk.%zu.attn_output", layer);
    vv_observe(f, p->o, VV_TYPE_F32, g->width, "attn.%zu", layer);
}

/* ---- 4.8 mixture of experts ---- */

static void mixture(struct pass *p, const struct moe *w, size_t layer) {
    const struct qwen4exp *g = p->g;
    struct vv_forward *f = p->f;
    struct vv_moe *m = &p->moe;
    const struct vv_moe_weights *x = &w->experts;
    struct vv_rows rows = vv_all_rows(f, 1);
    struct vv_weight *readers[] = {x->router,      x->gate,      x->up,
                                   x->shared_gate, x->shared_up, w->shared_router};
    struct vv_planes u = vv_prepare(f, &p->u, readers, 6, "blk.%zu.hc_ffn_up", layer);
    vv_product(f, &u, rows, x->router, m->router, "blk.%zu.ffn_gate_inp", layer);
    struct vv_route route = {m->router, m->expert, m->weight, rows, g->experts, g->experts_used};
    vv_step(f, &vv_route, &route, "blk.%zu.ffn_gate_inp", layer);
    vv_moe_routed(f, m, x, &u, layer);
    vv_product(f, &u, rows, w->shared_router, p->shared_router, "blk.%zu.ffn_gate_inp_shexp",
               layer);
    vv_moe_shared(f, m, x, &u, layer);
    vv_moe_sum(f, m, p->shared_router, p->o, layer);
}

/* ---- 4.4 a layer ---- */

static void layer(struct pass *p, size_t i) {
    const struct qwen4exp_layer *w = &p->w->layers[i];
    read_streams(p, &w->attention_hc, "hc_attn", i);
    if (w->recurrent) {
        delta_net(p, &w->delta_net, i);
    } else {
        attention(p, &w->attention, i);
    }
    write_streams(p);
    read_streams(p, &w->ffn_hc, "hc_ffn", i);
    mixture(p, &w->moe, i);
    write_streams(p);
    if (p->f->observe) {
        settle(p, i);
        if (i < p->g->layers) {
            vv_observe(p->f, p->x, VV_TYPE_F32, wide(p->g), "hidden.%zu", i);
        } else {
            vv_observe(p->f, p->x, VV_TYPE_F32, wide(p->g), "mtp.hidden");
        }
    }
}

/* The last contraction and the output matrix, on the rows whose logits are wanted. */
static void head(struct pass *p, const struct hyper *hc, struct vv_weight *output,
                 const char *prefix, size_t i) {
    const struct qwen4exp *g = p->g;
    struct vv_forward *f = p->f;
    struct vv_rows rows = vv_output_rows(f, 1);
    float *x = vv_output_floats(f, wide(g));
    struct vv_input h = vv_input(f, wide(g), rows, f->outputs);
    struct vv_input a = vv_input(f, g->rank, rows, f->outputs);
    struct vv_input u = vv_input(f, g->width, rows, f->outputs);
    settle(p, i);
    vv_gather_outputs(f, p->x, wide(g), x, "%shead", prefix);
    hyper_read(p, hc, rows, x, &h, &a, u.x, "head_hc", i);
    vv_observe_outputs(f, u.x, VV_TYPE_F32, g->width, "%smix", prefix);
    struct vv_planes planes = vv_prepare(f, &u, &output, 1, "%shead", prefix);
    f->logits = vv_output_floats(f, g->vocabulary);
    vv_product(f, &planes, rows, output, f->logits, "%soutput", prefix);
}

/* ---- whole passes ---- */

static size_t largest(size_t a, size_t b) {
    return a > b ? a : b;
}

static void key_buffers(struct pass *p) {
    const struct qwen4exp *g = p->g;
    size_t kv = g->kv_heads * g->head_width;
    p->k = vv_row_floats(p->f, kv);
    p->v = vv_row_floats(p->f, kv);
    p->index_k = vv_row_floats(p->f, g->index_width);
}

static void mixer_buffers(struct pass *p) {
    const struct qwen4exp *g = p->g;
    struct vv_forward *f = p->f;
    size_t inner = g->value_heads * g->value_width;
    size_t ratio = 0, blocks = 1;
    for (size_t i = 0; i < g->layers + g->mtp_layers; i++) {
        if (g->ratio[i] > 0 && (ratio == 0 || g->ratio[i] < ratio)) {
            ratio = g->ratio[i];
            blocks = g->index_tokens / ratio;
        }
    }
    p->projected = vv_row_floats(f, largest(2 * g->heads * g->head_width, delta_channels(g)));
    p->q = vv_row_floats(f, g->heads * g->head_width);
    p->attended = vv_input(f, g->heads * g->head_width, vv_all_rows(f, 1), f->rows);
    p->recurred = vv_input(f, inner, vv_all_rows(f, 1), f->rows);
    key_buffers(p);
    p->index_q = vv_row_floats(f, g->index_heads * g->index_width);
    p->score = ratio ? vv_row_floats(f, f->context / ratio + 1) : NULL;
    p->list = vv_row_integers(f, blocks);
    p->listed = vv_row_integers(f, 1);
    p->z = vv_row_floats(f, inner);
    p->alpha = vv_row_floats(f, g->value_heads);
    p->beta = vv_row_floats(f, g->value_heads);
    p->work =
        f->mode == VV_VERIFY
            ? vv_program_memory(f->program, f->sequences * inner * g->key_width * sizeof(float))
            : NULL;
}

/* False: no memory for the map of the state, which the program is told. */
static bool begin(struct pass *p, const void *geometry, const void *bound, struct vv_forward *f) {
    const struct qwen4exp *g = geometry;
    *p = (struct pass){.g = g, .w = bound, .f = f, .map = qwen4exp_state_map(g)};
    if (!p->map) {
        vv_program_fail(f->program, VV_ERROR_MEMORY, "no memory for the map of the model's state");
        return false;
    }
    return true;
}

static void stream_buffers(struct pass *p) {
    const struct qwen4exp *g = p->g;
    struct vv_forward *f = p->f;
    p->x = vv_row_floats(f, wide(g));
    p->h = vv_input(f, wide(g), vv_all_rows(f, 1), f->rows);
    p->a = vv_input(f, g->rank, vv_all_rows(f, 1), f->rows);
    p->u = vv_input(f, g->width, vv_all_rows(f, 1), f->rows);
    p->gamma = vv_row_floats(f, g->streams);
    p->o = vv_row_floats(f, g->width);
}

static void buffers(struct pass *p) {
    stream_buffers(p);
    mixer_buffers(p);
    struct vv_moe_sizes sizes = qwen4exp_moe_sizes(p->g);
    p->moe = vv_moe_buffers(p->f, &sizes);
    p->shared_router = vv_row_floats(p->f, 1);
}

static void keep_streams(struct pass *p, const float *x, const struct vv_window *window,
                         int32_t shift) {
    vv_keep_streams(p->f, x, wide(p->g), window, shift, state(p, p->map->wide),
                    "blk.%zu.nextn.hidden", p->g->layers);
}

static void trunk(const void *geometry, const void *bound, struct vv_forward *f) {
    struct pass p;
    if (!begin(&p, geometry, bound, f)) {
        return;
    }
    const struct qwen4exp *g = p.g;
    buffers(&p);
    vv_embedding(f, p.w->embedding, p.x, g->streams); /* 4.2: every stream starts as a copy */
    for (size_t i = 0; i < g->layers; i++) {
        if (i == g->ple_layer) {
            ngram_embedding(&p);
        }
        layer(&p, i);
    }
    settle(&p, g->layers - 1);
    f->wide = p.x;
    f->wide_rows = f->rows;
    if (f->mtp && f->mode == VV_VERIFY) { /* after advancing, the draft block does it */
        keep_streams(&p, p.x, f->window, 0);
    }
    head(&p, &p.w->head, p.w->output, "", g->layers - 1);
    free(p.map);
}

/* Rows that were verified become part of the state: all of it is in rings and rows by position, but
 * for the recurrent matrices. */
static void commit(const void *geometry, const void *bound, struct vv_forward *f) {
    struct pass p;
    if (!begin(&p, geometry, bound, f)) {
        return;
    }
    for (size_t i = 0; i < p.g->layers; i++) {
        if (p.g->recurrent[i]) {
            struct vv_gdn_step args;
            gdn_state(&p, &p.w->layers[i].delta_net, i, &args);
            args.mode = VV_GDN_COMMIT;
            vv_step(f, &vv_gdn_step, &args, "blk.%zu.gdn", i);
        }
    }
    free(p.map);
}

/* 5.2 steps 1 to 3: the streams that the draft block starts from. */
static void mtp_streams(struct pass *p) {
    const struct qwen4exp *g = p->g;
    struct vv_forward *f = p->f;
    float *e = vv_row_floats(f, g->width), *h = vv_row_floats(f, wide(g));
    struct vv_rows rows = vv_all_rows(f, 1), streams = vv_all_rows(f, g->streams);
    struct vv_input joined = vv_input(f, 2 * g->width, streams, f->rows * g->streams);

    vv_embedding(f, p->w->mtp.embedding, e, 1);
    struct vv_rms_norm norm = {.x = e,
                               .weight = p->w->mtp.embedding_norm,
                               .y = e,
                               .rows = rows,
                               .groups = 1,
                               .width = g->width,
                               .x_row = g->width,
                               .y_row = g->width,
                               .eps = g->eps};
    vv_step(f, &vv_rms_norm, &norm, "blk.%zu.nextn.enorm", g->layers);

    struct vv_mtp_wide from = {.wide = f->wide,
                               .wide_rows = f->wide_rows,
                               .ring = *state(p, p->map->wide),
                               .h = h,
                               .window = f->window,
                               .rows = rows,
                               .width = wide(g)};
    vv_step(f, &vv_mtp_wide, &from, "blk.%zu.nextn.hidden", g->layers);
    norm.x = norm.y = h; /* one statistic over all streams */
    norm.weight = p->w->mtp.hidden_norm;
    norm.width = norm.x_row = norm.y_row = wide(g);
    vv_step(f, &vv_rms_norm, &norm, "blk.%zu.nextn.hnorm", g->layers);

    struct vv_mtp_join join = {e, h, joined.x, rows, g->streams, g->width};
    vv_step(f, &vv_mtp_join, &join, "blk.%zu.nextn.eh_proj", g->layers);
    struct vv_planes planes =
        vv_prepare(f, &joined, &p->w->mtp.join, 1, "blk.%zu.nextn.eh_proj", g->layers);
    vv_product(f, &planes, streams, p->w->mtp.join, p->x, "blk.%zu.nextn.eh_proj", g->layers);
}

/* The draft block over rows whose drafts are wanted. */
static void mtp_drafts(struct pass *p) {
    buffers(p);
    mtp_streams(p);
    layer(p, p->g->layers);
    settle(p, p->g->layers);
    if (p->f->draft) { /* the next draft's row reads this as its hidden state */
        keep_streams(p, p->x, p->f->window, 1);
    }
    head(p, &p->w->mtp.head, p->w->mtp.output, "mtp.", p->g->layers);
}

/* 5.3: over rows that only those after them will attend. */
static void mtp_keys(struct pass *p) {
    const struct qwen4exp_layer *w = &p->w->layers[p->g->layers];
    stream_buffers(p);
    key_buffers(p);
    mtp_streams(p);
    read_streams(p, &w->attention_hc, "hc_attn", p->g->layers);
    attention_keys(p, &w->attention, p->g->layers);
}

static void mtp(const void *geometry, const void *bound, struct vv_forward *f) {
    struct pass p;
    if (!begin(&p, geometry, bound, f)) {
        return;
    }
    if (f->draft || f->observe) {
        mtp_drafts(&p);
    } else {
        mtp_keys(&p);
    }
    if (f->trunk) {
        keep_streams(&p, f->wide, f->trunk, 0);
    }
    free(p.map);
}

static void facts(const void *geometry, struct vv_model_facts *facts) {
    const struct qwen4exp *g = geometry;
    *facts = (struct vv_model_facts){.layers = g->layers,
                                     .mtp_layers = g->mtp_layers,
                                     .vocabulary = g->vocabulary,
                                     .context = g->context,
                                     .width = g->width,
                                     .streams = g->streams,
                                     .stop_count = g->stops.count};
    memcpy(facts->stop, g->stops.id, sizeof facts->stop);
}

const struct vv_family vv_family_qwen4exp = {
    .architecture = "qwen4exp",
    .open = qwen4exp_open,
    .close = qwen4exp_close,
    .facts = facts,
    .bind = qwen4exp_bind,
    .unbind = qwen4exp_unbind,
    .state = qwen4exp_state,
    .trunk = trunk,
    .commit = commit,
    .mtp = mtp,
};

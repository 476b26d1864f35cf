#include "support/scorer_golden.h"
#include "op/index_score/contract.h"
#include "op/top_k/contract.h"
#include "quant/format.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADS = 64, WIDTH = 128, RATIO = 4, ROWS_MAX = 16, KEYS_MAX = 48, KEEP_MAX = 8 };
static const float alpha = 0.011048543456039806f; /* 1 / sqrt(HEADS · WIDTH) */

/* A case of the file; `q` and `k` as floats and, where they are of FP4, as blocks. */
struct scored {
    const char *name;
    int32_t rows, keys, keep, position[ROWS_MAX], slot[ROWS_MAX];
    const float *q, *k, *w, *fma;
    const double *exact, *half;
    const int32_t *topk;
    bool fp4;
    uint8_t *q4, *k4;
};

static const void *tensor(struct golden *g, const struct scored *c, const char *what, int type,
                          size_t elements) {
    char name[32];
    snprintf(name, sizeof name, "%s.%s", c->name, what);
    return golden_tensor(g, name, type, elements);
}

static size_t dimension(const struct golden *g, const char *name, const char *what, int axis) {
    char full[32];
    snprintf(full, sizeof full, "%s.%s", name, what);
    const struct vv_gguf_tensor *t = vv_gguf_find_tensor(g->file, full);
    return t ? (size_t)t->ne[axis] : 0;
}

/* Blocks of FP4 values, which must decode to them again. */
static uint8_t *encode(struct golden *g, const struct scored *c, const float *x, size_t values) {
    const struct vv_format *format = vv_format(VV_TYPE_MXFP4);
    uint8_t *blocks = malloc(values / 32 * 17);
    float *back = malloc(values * sizeof *back);
    if (blocks && back) {
        format->encode(x, blocks, values);
        format->decode(blocks, back, values);
        bool same = true;
        for (size_t i = 0; i < values; i++) {
            same = same && back[i] == x[i];
        }
        golden_verdict(g, same, "%s: vectors are not of FP4", c->name);
    }
    free(back);
    return blocks;
}

static bool load(struct golden *g, struct scored *c) {
    size_t rows = dimension(g, c->name, "vis", 0), keys = dimension(g, c->name, "k", 1);
    size_t keep = dimension(g, c->name, "topk", 0);
    if (rows == 0 || rows > ROWS_MAX || keys == 0 || keys > KEYS_MAX || keep > KEEP_MAX) {
        golden_verdict(g, false, "%s: no case of its size is known", c->name);
        return false;
    }
    c->rows = (int32_t)rows;
    c->keys = (int32_t)keys;
    c->keep = (int32_t)keep;
    c->q = tensor(g, c, "q", VV_TYPE_F32, rows * HEADS * WIDTH);
    c->k = tensor(g, c, "k", VV_TYPE_F32, keys * WIDTH);
    c->w = tensor(g, c, "w", VV_TYPE_F32, rows * HEADS);
    c->fma = tensor(g, c, "s32_fma", VV_TYPE_F32, rows * keys);
    c->exact = tensor(g, c, "s64", VV_TYPE_F64, rows * keys);
    c->half = tensor(g, c, "s64_half", VV_TYPE_F64, rows * keys);
    c->topk = tensor(g, c, "topk", VV_TYPE_I32, rows * keep);
    const int32_t *first = tensor(g, c, "pos0", VV_TYPE_I32, 1);
    const int32_t *visible = tensor(g, c, "vis", VV_TYPE_I32, rows);
    if (!c->q || !c->k || !c->w || !c->fma || !c->exact || !c->half || !c->topk || !first ||
        !visible) {
        return false;
    }
    for (int32_t r = 0; r < c->rows; r++) {
        c->position[r] = *first + r;
        golden_verdict(g, (*first + r + 1) / RATIO == visible[r], "%s: row %d sees %d", c->name, r,
                       visible[r]);
    }
    c->q4 = c->fp4 ? encode(g, c, c->q, rows * HEADS * WIDTH) : NULL;
    c->k4 = c->fp4 ? encode(g, c, c->k, keys * WIDTH) : NULL;
    return !c->fp4 || (c->q4 && c->k4);
}

static struct vv_index_score args_of(const struct scored *c, const struct vv_window *w, bool packed,
                                     float *score) {
    size_t entry = vv_state_entry_bytes(packed ? VV_TYPE_MXFP4 : VV_TYPE_F32, WIDTH);
    return (struct vv_index_score){
        .q = packed ? (const void *)c->q4 : c->q,
        .q_type = packed ? VV_TYPE_MXFP4 : VV_TYPE_F32,
        .pooled = {.base = (uint8_t *)(uintptr_t)(packed ? (const void *)c->k4 : c->k),
                   .slot_stride = (size_t)c->keys * entry,
                   .entry_stride = entry,
                   .type = packed ? VV_TYPE_MXFP4 : VV_TYPE_F32,
                   .width = WIDTH,
                   .bytes = (size_t)c->keys * entry},
        .weight = c->w,
        .score = score,
        .stride = (size_t)c->keys,
        .heads = HEADS,
        .width = WIDTH,
        .ratio = RATIO,
        .keep = (size_t)c->keep,
        .scale = alpha,
        .window = w,
        .rows = {&w->rows, 1},
    };
}

/* Of FP4 values every dot is exact in any order: the bits are one. Else the limit is that of the
 * goldens, 2e-6 of the largest score. */
static void compare(struct golden *g, const struct scored *c, const float *score,
                    const double *truth, const char *what) {
    double far = 0, largest = 0;
    bool same = true;
    for (int32_t r = 0; r < c->rows; r++) {
        for (int32_t i = r * c->keys; i < r * c->keys + (c->position[r] + 1) / RATIO; i++) {
            same = same && memcmp(&score[i], &c->fma[i], sizeof *score) == 0;
            far = fmax(far, fabs((double)score[i] - truth[i]));
            largest = fmax(largest, fabs(truth[i]));
        }
    }
    golden_verdict(g, far <= 2e-6 * fmax(largest, 1), "%s on %s: off by %g", what, c->name, far);
    if (c->fp4) {
        golden_verdict(g, same, "%s on %s: other bits", what, c->name);
    }
}

static void compare_choice(struct golden *g, const struct scored *c, const struct vv_window *w,
                           const float *score) {
    int32_t list[ROWS_MAX * KEEP_MAX], listed[ROWS_MAX];
    const struct vv_top_k a = {score, (size_t)c->keys, RATIO, (size_t)c->keep,
                               list,  listed,          w,     {&w->rows, 1}};
    for (const struct vv_variant *v = vv_top_k.variants; v->name; v++) {
        if (v->run && (v->needs & ~vv_cpu_features()) == 0) {
            int code = v->run(&a, 0, (size_t)c->rows);
            size_t bytes = (size_t)c->rows * (size_t)c->keep * sizeof *list;
            golden_verdict(g, code == VV_OK && memcmp(list, c->topk, bytes) == 0,
                           "%s on %s: another choice", v->name, c->name);
        }
    }
}

static void run_operation(struct golden *g, struct scored *c, const struct vv_operation *operation,
                          bool packed) {
    const struct vv_window w = {
        .rows = c->rows, .sequences = 1, .position = c->position, .slot = c->slot};
    float score[ROWS_MAX * KEYS_MAX];
    const struct vv_index_score a = args_of(c, &w, packed, score);
    for (const struct vv_variant *v = operation->variants; v->name; v++) {
        if (v->run && (v->needs & ~vv_cpu_features()) == 0) {
            memset(score, 0xff, sizeof score);
            golden_verdict(g, v->run(&a, 0, operation->units(&a)) == VV_OK, "%s fails", v->name);
            compare(g, c, score, operation == &vv_index_score_half ? c->half : c->exact, v->name);
        }
    }
    if (c->fp4) {
        compare_choice(g, c, &w, score);
    }
}

void scorer_golden_run(struct golden *g, const char *path) {
    struct scored cases[] = {{.name = "a"}, {.name = "b", .fp4 = true}, {.name = "c", .fp4 = true}};
    golden_open(g, path);
    for (size_t i = 0; g->file && i < sizeof cases / sizeof *cases; i++) {
        struct scored *c = &cases[i];
        if (load(g, c)) {
            run_operation(g, c, &vv_index_score, false);
            run_operation(g, c, &vv_index_score_half, false);
        }
        if (c->q4 && c->k4) {
            run_operation(g, c, &vv_index_score, true);
            run_operation(g, c, &vv_index_score_half, true);
            run_operation(g, c, &vv_index_score_integer, true);
        }
        free(c->q4);
        free(c->k4);
    }
    golden_close(g);
}

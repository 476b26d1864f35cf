#include "support/attention_golden.h"
#include "base/math.h"
#include "op/attend/internal.h"
#include "op/gdn_step/internal.h"

#include <stdio.h>
#include <string.h>

/* ---- attention ---- */

enum { WIDTH = 64, KEYS = 700, QUERIES = 4, LIST = 150 };

static const struct {
    const char *name;
    bool list;
    size_t first, count;   /* keys, which are slots; or a list of `count` */
    size_t second, others; /* then keys from `second` on as slots 0, 1, …: another run */
    const float *sink;
} cases[] = {
    {.name = "dense 1", .count = 1},
    {.name = "dense 3", .count = 3},
    {.name = "dense 15", .count = 15},
    {.name = "dense 63", .count = 63},
    {.name = "dense 64", .count = 64},
    {.name = "dense 65", .count = 65},
    {.name = "dense 128", .count = 128},
    {.name = "dense 200", .count = 200},
    {.name = "dense 700", .count = 700},
    {.name = "list of 150", .list = true, .count = LIST},
    {.name = "window 450..577", .first = 450, .count = 128},
    {.name = "window 450..577, then compressed rows 600..632 as slots 0..32, sink 1.5",
     .first = 450,
     .count = 128,
     .second = 600,
     .others = 33,
     .sink = (const float[]){1.5f, 1.5f, 1.5f, 1.5f}},
    {.name = "dense 3, sink 40", .count = 3, .sink = (const float[]){40, 40, 40, 40}},
    {.name = "dense 65, sink -40", .count = 65, .sink = (const float[]){-40, -40, -40, -40}},
};
enum { CASES = sizeof cases / sizeof *cases };

static const struct {
    uint32_t needs;
    int (*attend)(const struct vv_attend_heads *h);
    void (*delta)(const struct vv_gdn_block *b);
} variants[] = {
    {VV_CPU_ANY, vv_attend_core_reference, NULL},
    {VV_CPU_ANY, vv_attend_core_portable, vv_gdn_delta_portable},
#ifdef __x86_64__
    {VV_CPU_AVX2, vv_attend_core_portable_avx2, vv_gdn_delta_portable_avx2},
    {VV_CPU_AVX512, vv_attend_core_portable_avx512, vv_gdn_delta_portable_avx512},
#endif
};

static struct vv_attend_run keys(const float *k, const float *v, size_t slot, size_t first,
                                 size_t count) {
    return (struct vv_attend_run){.k = (const uint8_t *)k,
                                  .v = (const uint8_t *)v,
                                  .k_stride = WIDTH * sizeof *k,
                                  .v_stride = WIDTH * sizeof *v,
                                  .k_type = VV_TYPE_F32,
                                  .v_type = VV_TYPE_F32,
                                  .slot = slot,
                                  .count = count,
                                  .ratio = 1,
                                  .next = first};
}

/* All queries as heads of one key head, then each alone. */
static void attention_case(struct golden *g, size_t c, const float *q, const float *k,
                           const float *v, const int32_t *list, const float *want) {
    struct vv_attend_run runs[2] = {keys(k, v, cases[c].first, cases[c].first, cases[c].count),
                                    keys(k, v, 0, cases[c].second, cases[c].others)};
    if (cases[c].list) {
        runs[0].block = list;
        runs[0].blocks = LIST;
    }
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
        if (variants[i].needs & ~vv_cpu_features()) {
            continue;
        }
        float y[QUERIES * WIDTH];
        struct vv_attend_heads h = {
            q, QUERIES, WIDTH, 0.125f, runs, cases[c].others ? 2 : 1, cases[c].sink, y};
        int error = variants[i].attend(&h);
        golden_verdict(g, error == VV_OK && golden_same_floats(y, want, QUERIES * WIDTH),
                       "attention %zu, \"%s\"", i, cases[c].name);
        for (size_t head = 0; head < QUERIES; head++) {
            h.heads = 1;
            h.q = q + head * WIDTH;
            error = variants[i].attend(&h);
            golden_verdict(g, error == VV_OK && golden_same_floats(y, want + head * WIDTH, WIDTH),
                           "attention %zu, \"%s\", query %zu alone", i, cases[c].name, head);
        }
    }
}

static void attention(struct golden *g) {
    const float *q = golden_tensor(g, "q", VV_TYPE_F32, QUERIES * WIDTH);
    const float *k = golden_tensor(g, "k", VV_TYPE_F32, KEYS * WIDTH);
    const float *v = golden_tensor(g, "v", VV_TYPE_F32, KEYS * WIDTH);
    const float *y = golden_tensor(g, "y", VV_TYPE_F32, CASES * QUERIES * WIDTH);
    const int32_t *list = golden_tensor(g, "list", VV_TYPE_I32, LIST);
    if (!q || !k || !v || !y || !list) {
        return;
    }
    for (size_t c = 0; c < CASES; c++) {
        struct vv_string name = {"", 0};
        struct vv_error error;
        const struct vv_gguf_entry *names = vv_gguf_find(g->file, "golden.cases");
        bool known = names && vv_gguf_entry_string(g->file, names, c, &name, &error) == VV_OK &&
                     name.length == strlen(cases[c].name) &&
                     !memcmp(name.at, cases[c].name, name.length);
        golden_verdict(g, known, "case %zu is not \"%s\"", c, cases[c].name);
        attention_case(g, c, q, k, v, list, y + c * QUERIES * WIDTH);
    }
}

/* ---- gated delta rule ---- */

enum { DIM = 128, TOKENS = 8 };

struct delta {
    const float *state, *q, *k, *v, *g, *beta;      /* inputs */
    const float *y, *state_after_1, *state_after_8; /* results */
    float decay[TOKENS];
};

static void delta_reference(struct golden *g, const struct delta *d) {
    static float state[DIM * DIM];
    float y[DIM];
    memcpy(state, d->state, sizeof state);
    for (size_t t = 0; t < TOKENS; t++) {
        vv_gdn_delta_reference(state, DIM, DIM, d->q + t * DIM, d->k + t * DIM, d->v + t * DIM,
                               d->decay[t], d->beta[t], y);
        golden_verdict(g, golden_same_floats(y, d->y + t * DIM, DIM), "delta rule, token %zu", t);
        const float *after = t == 0 ? d->state_after_1 : d->state_after_8;
        if (t == 0 || t == TOKENS - 1) {
            golden_verdict(g, golden_same_floats(state, after, DIM * DIM),
                           "delta rule, state after token %zu", t);
        }
    }
}

/* Tokens `first` .. `first` + n - 1 on blocks of columns, at most `width` of them. */
static void delta_blocks(const struct delta *d, void (*run)(const struct vv_gdn_block *),
                         size_t first, size_t n, size_t width, float *state, float *y) {
    static float q[TOKENS][VV_GDN_SLOTS], k[TOKENS][VV_GDN_SLOTS];
    for (size_t t = 0; t < n; t++) {
        for (size_t i = 0; i < DIM; i++) {
            q[t][vv_gdn_slot(i)] = d->q[(first + t) * DIM + i];
            k[t][vv_gdn_slot(i)] = d->k[(first + t) * DIM + i];
        }
    }
    for (size_t at = 0; at < DIM; at += width) {
        size_t columns = DIM - at < width ? DIM - at : width;
        float v[TOKENS * VV_GDN_COLUMNS] = {0}, out[TOKENS * VV_GDN_COLUMNS];
        for (size_t t = 0; t < n; t++) {
            memcpy(v + t * VV_GDN_COLUMNS, d->v + (first + t) * DIM + at, columns * sizeof *v);
        }
        struct vv_gdn_block b = {.from = state + at,
                                 .to = state + at,
                                 .from_stride = DIM,
                                 .to_stride = DIM,
                                 .columns = columns,
                                 .key_dim = DIM,
                                 .rows = n,
                                 .q = q[0],
                                 .k = k[0],
                                 .v = v,
                                 .decay = d->decay + first,
                                 .beta = d->beta + first,
                                 .y = out};
        run(&b);
        for (size_t t = 0; t < n; t++) {
            memcpy(y + (first + t) * DIM + at, out + t * VV_GDN_COLUMNS, columns * sizeof *y);
        }
    }
}

/* The tokens at once, and cut in two after the first. */
static void delta_variant(struct golden *g, const struct delta *d, size_t i, size_t width) {
    static float state[DIM * DIM], y[TOKENS * DIM];
    memcpy(state, d->state, sizeof state);
    delta_blocks(d, variants[i].delta, 0, TOKENS, width, state, y);
    golden_verdict(g, golden_same_floats(y, d->y, TOKENS * DIM), "delta rule %zu, y", i);
    golden_verdict(g, golden_same_floats(state, d->state_after_8, DIM * DIM),
                   "delta rule %zu, state after 8", i);
    memcpy(state, d->state, sizeof state);
    memset(y, 0, sizeof y);
    delta_blocks(d, variants[i].delta, 0, 1, width, state, y);
    golden_verdict(g, golden_same_floats(state, d->state_after_1, DIM * DIM),
                   "delta rule %zu, state after 1", i);
    delta_blocks(d, variants[i].delta, 1, TOKENS - 1, width, state, y);
    golden_verdict(g, golden_same_floats(y, d->y, TOKENS * DIM), "delta rule %zu, y in two", i);
    golden_verdict(g, golden_same_floats(state, d->state_after_8, DIM * DIM),
                   "delta rule %zu, state after 1 and 7", i);
}

static void gated_delta(struct golden *g) {
    size_t failed = g->failed;
    struct delta d = {golden_tensor(g, "state", VV_TYPE_F32, DIM * DIM),
                      golden_tensor(g, "q", VV_TYPE_F32, TOKENS * DIM),
                      golden_tensor(g, "k", VV_TYPE_F32, TOKENS * DIM),
                      golden_tensor(g, "v", VV_TYPE_F32, TOKENS * DIM),
                      golden_tensor(g, "g", VV_TYPE_F32, TOKENS),
                      golden_tensor(g, "beta", VV_TYPE_F32, TOKENS),
                      golden_tensor(g, "y", VV_TYPE_F32, TOKENS * DIM),
                      golden_tensor(g, "state_after_1", VV_TYPE_F32, DIM * DIM),
                      golden_tensor(g, "state_after_8", VV_TYPE_F32, DIM * DIM),
                      {0}};
    if (g->failed > failed) {
        return;
    }
    for (size_t t = 0; t < TOKENS; t++) {
        d.decay[t] = vv_exp(d.g[t]);
    }
    delta_reference(g, &d);
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
        if (variants[i].delta && (variants[i].needs & ~vv_cpu_features()) == 0) {
            delta_variant(g, &d, i, VV_GDN_COLUMNS);
            delta_variant(g, &d, i, 19);
        }
    }
}

void attention_golden_run(struct golden *g, const char *folder) {
    char path[4096];
    snprintf(path, sizeof path, "%s/attention.gguf", folder);
    golden_open(g, path);
    attention(g);
    golden_close(g);
    snprintf(path, sizeof path, "%s/gated_delta.gguf", folder);
    golden_open(g, path);
    gated_delta(g);
    golden_close(g);
}

#include "support/deepseek4_golden.h"
#include "gguf/types.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAYERS_MAX = 64, NAME = 80 };

struct run {
    struct golden *g;
    const char *what;
    struct varve_file *file;
    struct varve_model *model;
    struct varve_model_info info;
    struct varve_session_options options;
    const struct deepseek4_limits *limits;
};

/* A sequence, and what of it was compared so far. */
struct sequence {
    char name[32];
    size_t length;
    const int32_t *tokens;
    const float *logits;
    double *worst; /* [length] largest difference of each position's logits */
    double divergence;
};

static const struct vv_gguf_tensor *find(const struct run *r, const struct sequence *s,
                                         const char *name) {
    char full[2 * NAME];
    snprintf(full, sizeof full, "%s.%s", s->name, name);
    return vv_gguf_find_tensor(r->g->file, full);
}

static const void *data(const struct run *r, const struct vv_gguf_tensor *t) {
    return t ? vv_gguf_tensor_data(r->g->file, t) : NULL;
}

/* ---- logits ---- */

static double divergence(const float *p, const float *q, size_t n) {
    double most_p = (double)p[0], most_q = (double)q[0], sum_p = 0, sum_q = 0, kl = 0;
    for (size_t i = 1; i < n; i++) {
        most_p = fmax(most_p, (double)p[i]);
        most_q = fmax(most_q, (double)q[i]);
    }
    for (size_t i = 0; i < n; i++) {
        sum_p += exp((double)p[i] - most_p);
        sum_q += exp((double)q[i] - most_q);
    }
    for (size_t i = 0; i < n; i++) {
        double log_p = (double)p[i] - most_p - log(sum_p);
        kl += exp(log_p) * (log_p - ((double)q[i] - most_q - log(sum_q)));
    }
    return kl;
}

static double largest_difference(const float *a, const float *b, size_t n) {
    double most = 0;
    for (size_t i = 0; i < n; i++) {
        double d = fabs((double)a[i] - (double)b[i]);
        most = isnan(d) ? (double)INFINITY : fmax(most, d);
    }
    return most;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void judge(const struct run *r, struct sequence *s) {
    size_t n = s->length;
    qsort(s->worst, n, sizeof *s->worst, ascending);
    double each = s->worst[n - 1], median = s->worst[n / 2], kl = s->divergence / (double)n;
    bool good =
        each <= r->limits->each && median <= r->limits->median && kl <= r->limits->divergence;
    golden_verdict(r->g, good, "%s, %s: logits off by %.1e, median %.1e, KL %.1e", r->what, s->name,
                   each, median, kl);
}

/* ---- inner tensors ---- */

/* A golden tensor's rows beside the session's. `at` [rows]: the position of each, NULL: 0, 1, … */
struct inner {
    const char *golden, *seen; /* formats with the layer */
    enum { BY_POSITION, KEPT, BLOCKS, DRAFTS } rows;
    bool choices; /* integers, as sets */
};

static const struct inner inner[] = {
    {"l%zu.streams", "hidden.%zu", KEPT, false},
    {"l%zu.router_ids", "experts.%zu", BY_POSITION, true},
    {"l%zu.router_weights", "expert_weights.%zu", BY_POSITION, false},
    {"l%zu.comp_rows", "pooled.%zu", BLOCKS, false},
    {"l%zu.index_keys", "index_keys.%zu", BLOCKS, false},
    {"l%zu.index_scores", "index_scores.%zu", BY_POSITION, false},
    {"l%zu.topk", "blocks.%zu", BY_POSITION, true},
    {"hc_head", "mix", KEPT, false},
    {"mtp.streams", "mtp.hidden", DRAFTS, false},
    {"mtp.logits_trunk_head", "mtp.logits", DRAFTS, false},
};

static double deviation(const float *x, size_t n) {
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++) {
        sum += (double)x[i] / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        squares += ((double)x[i] - sum) * ((double)x[i] - sum) / (double)n;
    }
    return squares > 0 ? sqrt(squares) : 1;
}

static int64_t position_of(const struct run *r, const struct sequence *s, const struct inner *i,
                           size_t row, size_t ratio) {
    const int32_t *kept = data(r, find(r, s, "pos"));
    switch (i->rows) {
    case KEPT:
        return kept ? kept[row] : (int64_t)row;
    case BLOCKS:
        return (int64_t)((row + 1) * ratio - 1);
    case DRAFTS: /* made of the position before, as the window of its own row goes on */
        return (int64_t)row + 1;
    default:
        return (int64_t)row;
    }
}

/* Scores of blocks that a row doesn't see were not made. */
static size_t counted(const struct inner *i, size_t width, int64_t position, size_t ratio) {
    size_t seen = (size_t)(position + 1) / ratio;
    return strstr(i->golden, "index_scores") && seen < width ? seen : width;
}

static void compare_inner(const struct run *r, const struct sequence *s, const struct inner *i,
                          size_t layer, struct varve_session *session, size_t first, size_t rows) {
    char name[NAME], seen_name[NAME], other[NAME];
    struct varve_observed seen;
    struct varve_error error;
    snprintf(name, sizeof name, i->golden, layer);
    snprintf(seen_name, sizeof seen_name, i->seen, layer);
    snprintf(other, sizeof other, "l%zu.index_keys", layer);
    const struct vv_gguf_tensor *t = find(r, s, name);
    if (!t) {
        return; /* not in this layer, or no row yet */
    }
    size_t width = (size_t)t->ne[0] * (strstr(name, "streams") ? (size_t)t->ne[1] : 1);
    size_t count = (size_t)t->elements / width, ratio = find(r, s, other) ? 4 : 128;
    double off = 0, limit = i->choices ? 0 : 1e-3 * deviation(data(r, t), (size_t)t->elements);
    limit = strstr(name, "logits") ? r->limits->each : limit;
    if (varve_session_observed(session, seen_name, &seen, &error) != VARVE_OK) {
        golden_verdict(r->g, false, "%s, %s: %s", r->what, s->name, error.message);
        return;
    }
    for (size_t row = 0; row < count; row++) {
        int64_t position = position_of(r, s, i, row, ratio);
        if (position < (int64_t)first || position >= (int64_t)(first + rows)) {
            continue;
        }
        size_t from = (size_t)position - first, n = counted(i, width, position, ratio);
        from -= i->rows == DRAFTS && first == 0; /* the first position has no draft */
        const float *want = (const float *)data(r, t) + row * width;
        if (i->choices) { /* what the session lists beyond a golden row's width is -1 */
            off += memcmp(want, seen.i32 + from * seen.width, n * sizeof *seen.i32) != 0;
        } else {
            off = fmax(off, largest_difference(want, seen.f32 + from * seen.width, n));
        }
    }
    golden_verdict(r->g, off <= limit, "%s, %s.%s from %zu: off by %.1e, where %.1e is allowed",
                   r->what, s->name, name, first, off, limit);
}

/* ---- evaluating ---- */

static void compare_window(const struct run *r, struct sequence *s, struct varve_session *session,
                           size_t first, size_t rows) {
    size_t v = r->info.vocabulary;
    for (size_t i = 0; i < rows; i++) {
        const float *logits = varve_session_logits(session, i);
        const float *want = s->logits + (first + i) * v;
        s->worst[first + i] = largest_difference(want, logits, v);
        s->divergence += divergence(want, logits, v);
    }
    for (size_t i = 0; r->limits->strict && i < sizeof inner / sizeof *inner; i++) {
        bool layered = strchr(inner[i].golden, '%');
        for (size_t layer = 0; layer < (layered ? LAYERS_MAX : 1); layer++) {
            compare_inner(r, s, &inner[i], layer, session, first, rows);
        }
    }
}

static void evaluate(const struct run *r, struct sequence *s) {
    struct varve_session_options options = r->options;
    struct varve_session *session;
    struct varve_error error;
    size_t window = options.window ? options.window : s->length;
    struct varve_row *row = malloc(window * sizeof *row);
    options.window = options.logits = (uint32_t)window;
    options.context = (uint32_t)s->length + 1;
    options.observe = r->limits->strict;
    options.mtp = options.observe && r->info.mtp_layers > 0;
    if (!row || varve_session_open(r->model, &options, &session, &error) != VARVE_OK) {
        golden_verdict(r->g, false, "%s, %s: %s", r->what, s->name, error.message);
        free(row);
        return;
    }
    for (size_t first = 0, n; first < s->length; first += n) {
        n = s->length - first < window ? s->length - first : window;
        for (size_t i = 0; i < n; i++) {
            row[i] = (struct varve_row){.token = s->tokens[first + i], .logits = true};
        }
        if (varve_session_evaluate(session, row, n, VARVE_ADVANCE, NULL, NULL, &error) !=
            VARVE_OK) {
            golden_verdict(r->g, false, "%s, %s: %s", r->what, s->name, error.message);
            break;
        }
        compare_window(r, s, session, first, n);
    }
    judge(r, s);
    varve_session_close(session);
    free(row);
}

static bool wanted(const struct run *r, const char *name) {
    const char *list = r->limits->sequences, *at = list ? strstr(list, name) : NULL;
    size_t n = strlen(name);
    while (at && ((at > list && at[-1] != ' ') || (at[n] != ' ' && at[n] != 0))) {
        at = strstr(at + n, name);
    }
    return !list || at;
}

static void run_sequence(const struct run *r, const struct vv_gguf_tensor *tokens) {
    struct sequence s = {.length = (size_t)tokens->elements, .tokens = data(r, tokens)};
    int n = (int)(strlen(tokens->name) - strlen(".tokens"));
    snprintf(s.name, sizeof s.name, "%.*s", n, tokens->name);
    const struct vv_gguf_tensor *logits = find(r, &s, "logits");
    s.logits = data(r, logits);
    s.worst = calloc(s.length, sizeof *s.worst);
    if (!wanted(r, s.name)) {
        free(s.worst);
        return;
    }
    if (!s.worst || !logits || logits->elements != s.length * r->info.vocabulary) {
        golden_verdict(r->g, false, "%s, %s: no golden logits of %zu positions", r->what, s.name,
                       s.length);
    } else {
        evaluate(r, &s);
    }
    free(s.worst);
}

void deepseek4_golden_run(struct golden *g, const char *model, const char *container,
                          const struct varve_session_options *options,
                          const struct deepseek4_limits *limits, const char *what) {
    struct run r = {.g = g, .what = what, .options = *options, .limits = limits};
    struct varve_error error;
    size_t before = g->passed + g->failed;
    golden_open(g, container);
    if (!g->file || varve_file_open(model, false, &r.file, &error) != VARVE_OK ||
        varve_model_open(r.file, NULL, NULL, &r.model, &error) != VARVE_OK) {
        golden_verdict(g, false, "%s: %s", what, g->file ? error.message : "no container");
    } else {
        varve_model_info(r.model, &r.info);
        for (size_t i = 0; i < vv_gguf_tensor_count(g->file); i++) {
            const struct vv_gguf_tensor *t = vv_gguf_tensor_at(g->file, i);
            size_t n = strlen(t->name);
            if (n > 7 && strcmp(t->name + n - 7, ".tokens") == 0) {
                run_sequence(&r, t);
            }
        }
        golden_verdict(g, g->passed + g->failed > before, "%s: no sequence was compared", what);
    }
    varve_model_close(r.model);
    varve_file_close(r.file);
    golden_close(g);
}

/*
 * A model against golden tensors. Every sequence of the container is evaluated with its inner
 * tensors kept, window by window; then one line says how far it is off.
 */
#include "golden.h"
#include "golden_internal.h"
#include "golden_mtp.h"
#include "interrupt.h"
#include "json.h"
#include "metadata.h"
#include "output.h"
#include "progress.h"
#include "report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The largest difference allowed, in standard deviations, where floats alone are at work, the share
 * of it that is allowed to the root mean square, and the relative error of an inner tensor. */
#define TOLERANCE 2e-4
#define RMS_SHARE 0.15
#define INNER_TOLERANCE 1e-4

struct golden {
    const struct arguments *arguments;
    const struct opened *opened;
    struct varve_file *container;
    size_t sequences;
    struct golden_shape shape;
    const char *draft_logits; /* name of the tensor */
    double deviation;         /* of the golden logits */
    bool strict;              /* floats alone: any departure is an error */
    double tolerance;         /* INFINITY: none */
    size_t done, beyond;
};

struct sequence {
    char name[60], prefix[60]; /* of its tensors */
    struct golden_table tokens, logits, logit_rows, ties;
    struct golden_inner inner;
    struct golden_rows rows;
    struct golden_mtp mtp;
    /* The verdict. */
    const struct golden_comparison *departs; /* the first inner tensor that does, or NULL */
    double worst;                            /* of the relative errors of inner tensors */
    const char *worst_name;
    size_t unequal; /* rows of experts, attended tokens or n-gram rows that differ */
    bool ok;
};

/* ---- reading ---- */

static bool is_tied(const struct sequence *s, int64_t position) {
    for (size_t i = 0; i < s->ties.rows; i++) {
        if (s->ties.i64[i] == position) {
            return true;
        }
    }
    return false;
}

/* Positions of the golden logits. */
static int load_rows(const struct golden *g, struct sequence *s) {
    return g->shape.named ? golden_numbers(s->logits.rows, &s->logit_rows)
                          : golden_integers(g->container, s->prefix, "logit_rows", &s->logit_rows);
}

static int load(const struct golden *g, struct sequence *s) {
    int code;
    if ((code = golden_integers(g->container, s->prefix, "tokens", &s->tokens)) ||
        (code = golden_floats(g->container, s->prefix, "logits", &s->logits)) ||
        (code = load_rows(g, s)) ||
        (code = golden_integers(g->container, s->prefix, "tie_rows", &s->ties)) ||
        (code = golden_inner_open(&s->inner, g->container, s->prefix, &g->shape)) ||
        (g->shape.mtp && (code = golden_mtp_open(&s->mtp, g->container, s->prefix, g->shape.named,
                                                 g->draft_logits, g->opened->info.vocabulary)))) {
        return code;
    }
    if (s->tokens.rows == 0 || s->logits.rows == 0 || s->logits.rows != s->logit_rows.rows ||
        s->logits.width != g->opened->info.vocabulary) {
        return fail("sequence %s: golden logits [%zu][%zu] at %zu positions do not fit a model "
                    "with %zu tokens",
                    s->name, s->logits.rows, s->logits.width, s->logit_rows.rows,
                    g->opened->info.vocabulary);
    }
    return golden_rows_open(&s->rows, s->logits.rows) ? EXIT_DONE
                                                      : fail("no memory for %s", s->name);
}

static void close_sequence(struct sequence *s) {
    golden_free(&s->tokens);
    golden_free(&s->logits);
    golden_free(&s->logit_rows);
    golden_free(&s->ties);
    golden_inner_close(&s->inner);
    golden_mtp_close(&s->mtp);
    golden_rows_close(&s->rows);
}

/* ---- evaluating ---- */

static int compare_logits(const struct golden *g, struct sequence *s,
                          const struct varve_session *session, size_t first, size_t rows) {
    for (size_t r = 0; r < s->logits.rows; r++) {
        int64_t position = s->logit_rows.i64[r];
        if (position < (int64_t)first || position >= (int64_t)(first + rows)) {
            continue;
        }
        const float *logits = varve_session_logits(session, (size_t)position - first);
        if (!logits) {
            return fail("sequence %s: no logits at position %lld", s->name, (long long)position);
        }
        golden_rows_add(&s->rows, s->logits.f32 + r * s->logits.width, logits, s->logits.width,
                        g->deviation, is_tied(s, position));
    }
    return EXIT_DONE;
}

static int compare_window(const struct golden *g, struct sequence *s, struct varve_session *session,
                          size_t first, size_t rows, struct varve_row *row) {
    struct varve_error error;
    for (size_t i = 0; i < rows; i++) {
        row[i] = (struct varve_row){.token = (int32_t)s->tokens.i64[first + i], .logits = true};
    }
    if (varve_session_evaluate(session, row, rows, VARVE_ADVANCE, NULL, NULL, &error) != VARVE_OK) {
        return fail("sequence %s: %s", s->name, error.message);
    }
    int code = compare_logits(g, s, session, first, rows);
    if (code == EXIT_DONE) {
        code = golden_inner_window(&s->inner, session, first, rows);
    }
    if (code == EXIT_DONE && g->shape.mtp) {
        code = golden_mtp_window(&s->mtp, session, first, rows, g->deviation);
    }
    return code;
}

/* Where the window that begins at `first` ends: a golden chain of drafts starts two tokens before
 * the end of the sequence, so a window ends there. */
static size_t window_end(const struct golden *g, const struct sequence *s, size_t first,
                         size_t window) {
    size_t total = s->tokens.rows, end = total - first < window ? total : first + window;
    size_t chain = golden_mtp_has_chain(&s->mtp) && g->shape.mtp && total > 2 ? total - 2 : total;
    return first < chain && chain < end ? chain : end;
}

static int evaluate(const struct golden *g, struct sequence *s) {
    size_t total = s->tokens.rows;
    struct varve_session_options options = session_options(g->arguments, total);
    struct varve_session *session;
    struct varve_error error;
    if (options.window == 0 || options.window > total) {
        options.window = (uint32_t)total;
    }
    options.context += GOLDEN_CHAIN;
    options.logits = options.window;
    options.observe = true;
    options.mtp = g->shape.mtp;
    struct varve_row *row = malloc(options.window * sizeof *row);
    if (!row || varve_session_open(g->opened->model, &options, &session, &error) != VARVE_OK) {
        free(row);
        return fail("%s", row ? error.message : "no memory for a window");
    }
    int code = EXIT_DONE;
    for (size_t first = 0, end; code == EXIT_DONE && first < total; first = end) {
        end = window_end(g, s, first, options.window);
        code = compare_window(g, s, session, first, end - first, row);
        if (code == EXIT_DONE && g->shape.mtp && end + 2 == total) {
            code = golden_mtp_chain(&s->mtp, session, (int32_t)s->tokens.i64[end], g->deviation);
        }
        if (code == EXIT_DONE && !progress_tokens(NULL, s->name, end, total)) {
            code = EXIT_INTERRUPTED;
        }
    }
    progress_clear();
    varve_session_close(session);
    free(row);
    return code;
}

/* ---- judging ---- */

static bool within(const struct golden *g, const struct golden_rows *rows) {
    return rows->max <= g->tolerance && golden_rows_rms(rows) <= RMS_SHARE * g->tolerance;
}

static void judge(const struct golden *g, struct sequence *s) {
    for (size_t i = 0; i < s->inner.count; i++) {
        const struct golden_comparison *c = &s->inner.at[i];
        double relative = golden_relative(c);
        if (!(relative <= s->worst)) {
            s->worst = relative;
            s->worst_name = c->name;
        }
        s->unequal += c->unequal;
        if (!s->departs && (c->unequal > 0 || !(relative <= INNER_TOLERANCE))) {
            s->departs = c;
        }
    }
    s->unequal += s->mtp.unequal;
    if (g->strict) {
        s->ok = !s->departs && s->unequal == 0 && within(g, &s->rows) && within(g, &s->mtp.rows);
    } else {
        s->ok = golden_rows_median(&s->rows) <= g->tolerance;
    }
}

static void print_text(const struct golden *g, struct sequence *s) {
    const struct golden_rows *r = &s->rows;
    output_format("%-12s %4zu tokens: logits max %.1e, rms %.1e, median row %.1e, KL %.1e, top-1 "
                  "%zu of %zu",
                  s->name, s->tokens.rows, r->max, golden_rows_rms(r), golden_rows_median(&s->rows),
                  r->kl / (double)r->rows, r->top1, r->rows);
    if (s->worst_name) {
        output_format("; inner %.1e at %s", s->worst, s->worst_name);
    }
    if (s->mtp.rows.rows > 0) {
        output_format("; drafts max %.1e, rms %.1e, top-1 %zu of %zu", s->mtp.rows.max,
                      golden_rows_rms(&s->mtp.rows), s->mtp.rows.top1, s->mtp.rows.rows);
    }
    if (s->unequal > 0) {
        output_format(", %zu rows of choices differ", s->unequal);
    }
    if (s->departs) {
        output_format("; departs at %s", s->departs->name);
    }
    output_format("%s\n", s->ok ? (g->tolerance < INFINITY ? ": ok" : "") : ": BEYOND TOLERANCE");
}

/* Null where nothing was compared. */
static json_t *json_rows(struct golden_rows *r) {
    return r->rows == 0 ? json_null()
                        : json_pack("{s:f, s:f, s:f, s:f, s:I, s:I}", "max", r->max, "rms",
                                    golden_rows_rms(r), "median_row", golden_rows_median(r), "kl",
                                    r->kl / (double)r->rows, "top1", (json_int_t)r->top1, "rows",
                                    (json_int_t)r->rows);
}

static int print_json(struct sequence *s) {
    return json_line(json_pack("{s:o, s:I, s:o, s:o, s:f, s:s?, s:I, s:s?, s:b}", "sequence",
                               json_text(s->name, strlen(s->name)), "tokens",
                               (json_int_t)s->tokens.rows, "logits", json_rows(&s->rows), "drafts",
                               json_rows(&s->mtp.rows), "inner", s->worst, "inner_name",
                               s->worst_name, "unequal_rows", (json_int_t)s->unequal, "departs",
                               s->departs ? s->departs->name : NULL, "ok", (int)s->ok));
}

/* A golden row that was never met would pass unseen. */
static int check_complete(const struct sequence *s) {
    const char *left = s->rows.rows == s->logits.rows ? NULL : "logits";
    for (size_t i = 0; i < s->inner.count && !left; i++) {
        const struct golden_comparison *c = &s->inner.at[i];
        left = c->compared == c->golden.rows ? NULL : c->name;
    }
    if (!left && s->mtp.rows.rows != s->mtp.logits.rows + s->mtp.chain_tokens.rows) {
        left = "mtp.logits";
    }
    return left ? fail("sequence %s: golden rows of %s are at positions beyond its %zu tokens",
                       s->name, left, s->tokens.rows)
                : EXIT_DONE;
}

static int compare_sequence(struct golden *g, struct sequence *s) {
    int code = load(g, s);
    if (code == EXIT_DONE) {
        code = evaluate(g, s);
    }
    if (code == EXIT_DONE) {
        code = check_complete(s);
    }
    if (code != EXIT_DONE) {
        return code;
    }
    judge(g, s);
    g->done++;
    g->beyond += !s->ok;
    if (given(g->arguments, OPTION_json)) {
        return print_json(s);
    }
    print_text(g, s);
    return EXIT_DONE;
}

/* ---- the container ---- */

static bool has_quantised_tensor(const struct varve_file *file) {
    static const char *const exact[] = {"F32", "F16", "BF16", "F64", "I32"};
    enum { EXACT = sizeof exact / sizeof *exact };
    struct varve_file_info info;
    varve_file_info(file, &info);
    for (size_t i = 0; i < info.tensors; i++) {
        struct varve_tensor tensor;
        varve_file_tensor(file, i, &tensor);
        size_t f = 0;
        while (f < EXACT && strcmp(exact[f], tensor.type) != 0) {
            f++;
        }
        if (f == EXACT && tensor.used) {
            return true;
        }
    }
    return false;
}

static bool has_drafts(const struct varve_file *container) {
    struct varve_file_info info;
    varve_file_info(container, &info);
    for (size_t i = 0; i < info.tensors; i++) {
        struct varve_tensor tensor;
        varve_file_tensor(container, i, &tensor);
        if (strstr(tensor.name, ".mtp.logits")) {
            return true;
        }
    }
    return false;
}

/* The k-th tensor "NAME.tokens"; false: there are fewer. */
static bool token_tensor(const struct varve_file *container, size_t k,
                         struct varve_tensor *tensor) {
    struct varve_file_info info;
    varve_file_info(container, &info);
    for (size_t i = 0; i < info.tensors; i++) {
        varve_file_tensor(container, i, tensor);
        const char *dot = strrchr(tensor->name, '.');
        if (dot && strcmp(dot, ".tokens") == 0 && k-- == 0) {
            return true;
        }
    }
    return false;
}

/* Standard deviation of all golden logits, for containers that don't say it. */
static int find_deviation(struct golden *g) {
    double count = 0, sum = 0, squares = 0;
    struct varve_tensor tensor;
    for (size_t k = 0; token_tensor(g->container, k, &tensor); k++) {
        struct golden_table logits;
        char name[60];
        snprintf(name, sizeof name, "%.*s", (int)(strrchr(tensor.name, '.') - tensor.name),
                 tensor.name);
        int code = golden_floats(g->container, name, "logits", &logits);
        for (size_t i = 0; code == EXIT_DONE && i < logits.rows * logits.width; i++) {
            count++;
            sum += (double)logits.f32[i];
            squares += (double)logits.f32[i] * (double)logits.f32[i];
        }
        golden_free(&logits);
        if (code != EXIT_DONE) {
            return code;
        }
        g->sequences++;
    }
    g->deviation = count > 0 ? sqrt(squares / count - sum / count * (sum / count)) : 0;
    return EXIT_DONE;
}

/* Whether the draft block has a contraction of its own: else its logits are those by the trunk's.
 */
static bool has_own_head(const struct golden *g) {
    struct varve_error error;
    size_t index;
    char name[60];
    snprintf(name, sizeof name, "blk.%zu.nextn.hc_head_fn.weight", g->opened->info.layers);
    return varve_file_find(g->opened->file, name, &index, &error) == VARVE_OK ||
           varve_file_find(g->opened->file, "mtp.0.hc_head_fn.weight", &index, &error) == VARVE_OK;
}

/* What the container is and holds. */
static int open_shape(struct golden *g) {
    double count = 0, layers = 0, ple = 0;
    struct varve_tensor tensor;
    bool counted = file_number(g->container, "golden.sequence_count", &count);
    g->shape.named = !counted && token_tensor(g->container, 0, &tensor);
    if (g->shape.named) {
        g->shape.layers = g->opened->info.layers;
        g->draft_logits = has_own_head(g) ? "mtp.logits" : "mtp.logits_trunk_head";
        return find_deviation(g);
    }
    if (!counted || !file_number(g->container, "golden.layer_count", &layers) ||
        !file_number(g->container, "golden.logit_std", &g->deviation) || count < 1 || layers < 1 ||
        layers > 10000 || !(g->deviation > 0)) {
        return fail("%s is no container of golden tensors: it lacks golden.sequence_count, "
                    ".layer_count or .logit_std",
                    text_of(g->arguments, OPTION_golden));
    }
    file_number(g->opened->file, "qwen4exp.ple.layers", &ple);
    g->draft_logits = "mtp.logits";
    g->sequences = (size_t)count;
    g->shape.layers = (size_t)layers;
    g->shape.ple_layer = (size_t)ple;
    return EXIT_DONE;
}

static int open_container(struct golden *g) {
    struct varve_error error;
    if (varve_file_open(text_of(g->arguments, OPTION_golden), false, &g->container, &error) !=
        VARVE_OK) {
        return fail("%s", error.message);
    }
    int code = open_shape(g);
    if (code != EXIT_DONE) {
        return code;
    }
    g->shape.mtp = g->opened->info.mtp_layers > 0 && has_drafts(g->container);
    if (given(g->arguments, OPTION_mtp) && !g->shape.mtp) {
        return fail("there are no drafts to compare: the model has %zu draft layers, and the "
                    "container %s golden ones",
                    g->opened->info.mtp_layers, has_drafts(g->container) ? "has" : "has no");
    }
    g->strict =
        choice_of(g->arguments, OPTION_activations) == 1 || !has_quantised_tensor(g->opened->file);
    g->tolerance = given(g->arguments, OPTION_tolerance) ? real_of(g->arguments, OPTION_tolerance)
                   : g->strict                           ? TOLERANCE
                                                         : INFINITY;
    return EXIT_DONE;
}

/* Of sequence `k`: "golden.seq.K.name", or the number where it has none; and its tensors' prefix.
 */
static void sequence_name(const struct golden *g, size_t k, char name[60], char prefix[60]) {
    struct varve_value value;
    struct varve_tensor tensor;
    char key[40];
    if (g->shape.named && token_tensor(g->container, k, &tensor)) {
        snprintf(name, 60, "%.*s", (int)(strrchr(tensor.name, '.') - tensor.name), tensor.name);
        snprintf(prefix, 60, "%s", name);
        return;
    }
    snprintf(prefix, 60, "s%zu", k);
    snprintf(key, sizeof key, "golden.seq.%zu.name", k);
    if (file_value(g->container, key, &value) && value.kind == VARVE_STRING) {
        snprintf(name, 60, "%.*s", value.length < 60 ? (int)value.length : 59, value.text);
    } else {
        snprintf(name, 60, "%zu", k);
    }
}

static int unknown_sequence(const struct golden *g, const char *wanted) {
    char list[500] = "";
    size_t used = 0;
    for (size_t k = 0; k < g->sequences && used < sizeof list - 70; k++) {
        char name[60], prefix[60];
        sequence_name(g, k, name, prefix);
        used += (size_t)snprintf(list + used, sizeof list - used, " %s", name);
    }
    return fail("%s has no sequence \"%s\"; there are:%s", text_of(g->arguments, OPTION_golden),
                wanted, list);
}

static int compare_all(struct golden *g) {
    const char *only = text_of(g->arguments, OPTION_sequence);
    int code = EXIT_DONE;
    for (size_t k = 0; code == EXIT_DONE && k < g->sequences && output_flush(); k++) {
        struct sequence s = {0};
        sequence_name(g, k, s.name, s.prefix);
        if (!only || strcmp(only, s.name) == 0) {
            code = compare_sequence(g, &s);
        }
        close_sequence(&s);
    }
    if (code == EXIT_DONE && only && g->done == 0) {
        code = unknown_sequence(g, only);
    }
    return code;
}

static int print_summary(const struct golden *g) {
    if (given(g->arguments, OPTION_json)) {
        return json_line(json_pack("{s:I, s:I}", "sequences", (json_int_t)g->done, "beyond",
                                   (json_int_t)g->beyond));
    }
    output_format("%zu sequences, %zu beyond the tolerance", g->done, g->beyond);
    if (g->strict) {
        output_format(" (max %.1e, rms %.1e, choices equal)\n", g->tolerance,
                      RMS_SHARE * g->tolerance);
    } else if (g->tolerance < INFINITY) {
        output_format(" (median row %.1e)\n", g->tolerance);
    } else {
        output_format(" (none was given)\n");
    }
    return EXIT_DONE;
}

int golden_compare(const struct arguments *arguments, const struct opened *opened) {
    struct golden g = {.arguments = arguments, .opened = opened};
    int code = open_container(&g);
    if (code == EXIT_DONE) {
        code = compare_all(&g);
    }
    if (code == EXIT_DONE) {
        code = print_summary(&g);
    }
    varve_file_close(g.container);
    return code == EXIT_DONE && g.beyond > 0 ? EXIT_FAILED : code;
}

/*
 * How well a model foresees a text, and how far it is from another model.
 *
 * The text's tokens are cut into chunks of the context's size; each chunk is a sequence of its own,
 * and every token of it but the first is scored by the logits before it. So all of a text counts,
 * at the price that the first tokens of a chunk know little; programs that score only the second
 * half of a chunk report lower figures.
 */
#include "commands.h"
#include "input.h"
#include "interrupt.h"
#include "json.h"
#include "metadata.h"
#include "opened.h"
#include "output.h"
#include "progress.h"
#include "report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CONTEXT_USUAL = 4096 };

/* Mean and variance of figures that come one by one (Welford's recurrence). */
struct mean {
    size_t count;
    double mean, squares; /* sum of squared distances from the mean */
};

struct scoring {
    const struct arguments *arguments;
    struct opened ours, other; /* other.model NULL: none */
    struct varve_session *our_session, *other_session;
    struct varve_ids ids;
    size_t chunk, window, chunks; /* tokens of a chunk, rows of a window; chunks done */
    struct varve_row *rows;       /* [window] */
    struct mean loss, kl;
    size_t same_top;
};

static void mean_add(struct mean *m, double x) {
    double distance = x - m->mean;
    m->count++;
    m->mean += distance / (double)m->count;
    m->squares += distance * (x - m->mean);
}

/* Standard error of the mean, as if the figures were independent; 0 for a single one. */
static double mean_error(const struct mean *m) {
    return m->count < 2 ? 0 : sqrt(m->squares / (double)(m->count - 1) / (double)m->count);
}

static size_t likeliest(const float *logits, size_t count) {
    size_t best = 0;
    for (size_t i = 1; i < count; i++) {
        best = logits[i] > logits[best] ? i : best;
    }
    return best;
}

/* log sum_i exp(logits[i]) */
static double log_sum_exp(const float *logits, size_t count) {
    double largest = logits[likeliest(logits, count)], sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += exp(logits[i] - largest);
    }
    return largest + log(sum);
}

/* sum_i p_i (log p_i - log q_i), p and q being the distributions of two rows of logits. */
static double divergence(const float *p, const float *q, size_t count) {
    double p_total = log_sum_exp(p, count), q_total = log_sum_exp(q, count), sum = 0;
    for (size_t i = 0; i < count; i++) {
        double log_p = p[i] - p_total;
        sum += exp(log_p) * (log_p - (q[i] - q_total));
    }
    return sum;
}

static void score_row(struct scoring *s, size_t row, int32_t next) {
    size_t vocabulary = s->ours.info.vocabulary;
    const float *ours = varve_session_logits(s->our_session, row);
    mean_add(&s->loss, log_sum_exp(ours, vocabulary) - ours[next]);
    if (s->other_session) {
        const float *other = varve_session_logits(s->other_session, row);
        mean_add(&s->kl, divergence(other, ours, vocabulary));
        s->same_top += likeliest(other, vocabulary) == likeliest(ours, vocabulary);
    }
}

/* Tokens [at, at + count) of the text in both sessions, each scoring the one after it. */
static int score_window(struct scoring *s, size_t at, size_t count) {
    struct varve_error error;
    for (size_t i = 0; i < count; i++) {
        s->rows[i] = (struct varve_row){.token = s->ids.at[at + i], .logits = true};
    }
    if (varve_session_evaluate(s->our_session, s->rows, count, VARVE_ADVANCE, NULL, NULL, &error) ||
        (s->other_session && varve_session_evaluate(s->other_session, s->rows, count, VARVE_ADVANCE,
                                                    NULL, NULL, &error))) {
        return fail("%s", error.message);
    }
    for (size_t i = 0; i < count; i++) {
        score_row(s, i, s->ids.at[at + i + 1]);
    }
    return progress_tokens(NULL, "scoring", at + count, s->ids.count) ? EXIT_DONE
                                                                      : EXIT_INTERRUPTED;
}

static int score_chunk(struct scoring *s, size_t first, size_t tokens) {
    int code = EXIT_DONE;
    for (size_t at = 0; code == EXIT_DONE && at + 1 < tokens; at += s->window) {
        size_t rest = tokens - 1 - at;
        code = score_window(s, first + at, rest < s->window ? rest : s->window);
    }
    varve_session_clear(s->our_session, 0);
    if (s->other_session) {
        varve_session_clear(s->other_session, 0);
    }
    s->chunks++;
    return code;
}

static int score(struct scoring *s) {
    int code = EXIT_DONE;
    for (size_t at = 0; code == EXIT_DONE && at + 1 < s->ids.count; at += s->chunk) {
        size_t rest = s->ids.count - at;
        code = score_chunk(s, at, rest < s->chunk ? rest : s->chunk);
    }
    progress_clear();
    return code;
}

/* ---- what has to be there first ---- */

/* Refuses a second model whose tokens are others. */
static int same_vocabulary(const struct scoring *s, const char *path) {
    static const char tokens[] = "tokenizer.ggml.tokens";
    size_t ours, other;
    struct varve_key a = {0}, b = {0};
    if (s->ours.info.vocabulary != s->other.info.vocabulary) {
        return fail("%s has %zu tokens and the model of -m %zu: --kl compares models of one "
                    "vocabulary",
                    path, s->other.info.vocabulary, s->ours.info.vocabulary);
    }
    if (!find_key(s->other.file, tokens, &other)) {
        return fail("%s has no vocabulary: --kl compares models of one vocabulary", path);
    }
    find_key(s->ours.file, tokens, &ours); /* there: the text was tokenised with it */
    varve_file_key(s->ours.file, ours, &a);
    varve_file_key(s->other.file, other, &b);
    for (uint64_t i = 0; i < a.count && i < b.count; i++) {
        struct varve_value x, y;
        varve_file_value(s->ours.file, ours, i, &x);
        varve_file_value(s->other.file, other, i, &y);
        if (x.length != y.length || memcmp(x.text, y.text, x.length) != 0) {
            return fail("token %llu is \"%.*s\" in %s and \"%.*s\" in the model of -m: --kl "
                        "compares models of one vocabulary",
                        (unsigned long long)i, (int)y.length, y.text, path, (int)x.length, x.text);
        }
    }
    return EXIT_DONE;
}

static int read_text(struct scoring *s) {
    struct varve_error error;
    struct text text;
    const struct varve_tokenizer *tokenizer = varve_model_tokenizer(s->ours.model);
    const char *path = text_of(s->arguments, OPTION_file);
    if (!tokenizer) {
        return fail("%s has no vocabulary: a text can't be scored with it",
                    text_of(s->arguments, OPTION_model));
    }
    int code = input_read(path, &text);
    if (code != EXIT_DONE) {
        return code;
    }
    struct varve_span span = {text.at, text.length, VARVE_SPECIAL_NONE};
    if (varve_tokenize(tokenizer, &span, 1, &s->ids, &error) != VARVE_OK) {
        code = fail("%s", error.message);
    } else if (s->ids.count < 2) {
        code = fail("%s has %zu token%s, and a token can be scored only after another: give more "
                    "text",
                    path, s->ids.count, s->ids.count == 1 ? "" : "s");
    }
    free(text.at);
    return code;
}

static int open_sessions(struct scoring *s) {
    struct varve_error error;
    size_t context = s->ours.info.context;
    context = context && context < CONTEXT_USUAL ? context : CONTEXT_USUAL;
    struct varve_session_options options = session_options(s->arguments, context);
    s->chunk = options.context;
    if (s->chunk < 2) {
        return fail_use("--ctx-size takes 2 at least here: the first token of a chunk is not "
                        "scored");
    }
    s->window = logits_window(&options, s->chunk, s->ours.info.vocabulary);
    options.window = options.logits = (uint32_t)s->window;
    s->rows = calloc(s->window, sizeof *s->rows);
    if (!s->rows) {
        return fail("no memory for a window of %zu tokens", s->window);
    }
    if (varve_session_open(s->ours.model, &options, &s->our_session, &error) != VARVE_OK) {
        return fail("%s", error.message);
    }
    options.kv_f16 = options.exact_cache = options.float_activations = false;
    options.index_score = VARVE_INDEX_AUTO;
    return !s->other.model || varve_session_open(s->other.model, &options, &s->other_session,
                                                 &error) == VARVE_OK
               ? EXIT_DONE
               : fail("%s", error.message);
}

static int open_all(struct scoring *s) {
    const char *other = text_of(s->arguments, OPTION_kl);
    int code = open_model(s->arguments, &s->ours);
    if (code == EXIT_DONE) {
        code = read_text(s);
    }
    if (code == EXIT_DONE && other) {
        code = open_model_at(s->arguments, other, &s->other);
        if (code == EXIT_DONE) {
            code = same_vocabulary(s, other);
        }
    }
    return code == EXIT_DONE ? open_sessions(s) : code;
}

/* ---- the report ---- */

static void report_text(const struct scoring *s) {
    double perplexity = exp(s->loss.mean), error = mean_error(&s->loss);
    output_format("perplexity  %.4f ± %.4f\n", perplexity, perplexity * error);
    output_format("loss        %.6f ± %.6f nats a token\n", s->loss.mean, error);
    if (s->other_session) {
        output_format("KL          %.6f ± %.6f nats a token, from %s\n", s->kl.mean,
                      mean_error(&s->kl), text_of(s->arguments, OPTION_kl));
        output_format("same top-1  %.3f %%\n", 100.0 * (double)s->same_top / (double)s->loss.count);
    }
    output_format("scored      %zu of %zu tokens, %zu chunk%s of up to %zu\n", s->loss.count,
                  s->ids.count, s->chunks, s->chunks == 1 ? "" : "s", s->chunk);
}

static int report_json(const struct scoring *s) {
    double perplexity = exp(s->loss.mean), error = mean_error(&s->loss);
    json_t *object =
        json_pack("{s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:f}", "tokens", (json_int_t)s->ids.count,
                  "scored", (json_int_t)s->loss.count, "chunks", (json_int_t)s->chunks, "ctx_size",
                  (json_int_t)s->chunk, "loss", s->loss.mean, "loss_error", error, "perplexity",
                  perplexity, "perplexity_error", perplexity * error);
    if (object && s->other_session) {
        json_object_set_new(object, "kl", json_real(s->kl.mean));
        json_object_set_new(object, "kl_error", json_real(mean_error(&s->kl)));
        json_object_set_new(object, "top1", json_real((double)s->same_top / (double)s->loss.count));
    }
    return json_line(object);
}

int command_perplexity(const struct arguments *arguments) {
    struct scoring s = {.arguments = arguments};
    if (!given(arguments, OPTION_file)) {
        return fail_use("varve perplexity needs a text: -f FILE, or -f - for standard input");
    }
    interrupt_gently();
    int code = open_all(&s);
    if (code == EXIT_DONE) {
        code = score(&s);
    }
    if (code == EXIT_DONE) {
        if (given(arguments, OPTION_json)) {
            code = report_json(&s);
        } else {
            report_text(&s);
        }
    }
    free(s.rows);
    varve_session_close(s.other_session);
    varve_session_close(s.our_session);
    varve_ids_free(&s.ids);
    close_model(&s.other);
    close_model(&s.ours);
    return code;
}

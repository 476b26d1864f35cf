/* Logits of given tokens, to a file. */
#include "commands.h"
#include "golden.h"
#include "input.h"
#include "interrupt.h"
#include "npy.h"
#include "opened.h"
#include "profile.h"
#include "progress.h"
#include "report.h"

#include <stdlib.h>
#include <string.h>

static int contradictions(const struct arguments *arguments) {
    static const enum option_id of_file[] = {
        OPTION_tokens,       OPTION_tokens_file,   OPTION_out,  OPTION_profile,
        OPTION_profile_json, OPTION_profile_trace, OPTION_COUNT};
    static const enum option_id of_golden[] = {OPTION_sequence, OPTION_tolerance, OPTION_json,
                                               OPTION_COUNT};
    if (given(arguments, OPTION_golden)) {
        return refuse_given(arguments, of_file,
                            "has no use with --golden, which brings tokens and writes no file");
    }
    if (given(arguments, OPTION_tokens) == given(arguments, OPTION_tokens_file)) {
        return fail_use("give the tokens with --tokens or with --tokens-file%s",
                        given(arguments, OPTION_tokens) ? ", not both" : "");
    }
    if (!given(arguments, OPTION_out)) {
        return fail_use("say where the logits go: --out FILE");
    }
    return refuse_given(arguments, of_golden, "needs --golden");
}

static int read_tokens(const struct arguments *arguments, struct token_list *tokens) {
    const char *path = text_of(arguments, OPTION_tokens_file);
    struct text text = {0};
    int code = EXIT_DONE;
    if (path) {
        code = input_read(path, &text);
    } else {
        const char *list = text_of(arguments, OPTION_tokens);
        text = (struct text){strdup(list), strlen(list)};
    }
    if (code == EXIT_DONE) {
        code = text.at ? input_tokens(&text, path ? path : "--tokens", tokens)
                       : fail("no memory for the tokens");
    }
    free(text.at);
    if (code == EXIT_DONE && tokens->count == 0) {
        code = fail_use("%s holds no token", path ? path : "--tokens");
    }
    return code;
}

struct sink {
    struct varve_output *output;
    size_t vocabulary, rows;
};

static int write_row(void *context, size_t row, const float *logits, struct varve_error *error) {
    const struct sink *sink = context;
    int code = varve_output_write(sink->output, logits, sink->vocabulary * sizeof *logits, error);
    if (code == VARVE_OK && !progress_tokens(NULL, "evaluating", row + 1, sink->rows)) {
        code = VARVE_ERROR_CANCELLED;
    }
    return code;
}

/* Logits of every position, as they come. */
static int write_rows(struct varve_session *session, const struct varve_row *rows, size_t count,
                      struct sink *sink) {
    struct varve_error error;
    int code = varve_session_evaluate(session, rows, count, VARVE_ADVANCE, write_row, sink, &error);
    return code == VARVE_OK                ? EXIT_DONE
           : code == VARVE_ERROR_CANCELLED ? EXIT_INTERRUPTED
                                           : fail("%s", error.message);
}

/* The draft head's logits, window by window. */
static int write_drafts(struct varve_session *session, const struct varve_row *rows, size_t count,
                        size_t window, struct sink *sink) {
    struct varve_error error;
    struct varve_observed seen;
    for (size_t first = 0; first < count; first += window) {
        size_t n = count - first < window ? count - first : window;
        if (varve_session_evaluate(session, rows + first, n, VARVE_ADVANCE, NULL, NULL, &error) !=
            VARVE_OK) {
            return fail("%s", error.message);
        }
        if (mtp_window(first, n).rows == 0) {
            continue;
        }
        if (varve_session_observed(session, "mtp.logits", &seen, &error) != VARVE_OK ||
            varve_output_write(sink->output, seen.f32, seen.rows * seen.width * sizeof(float),
                               &error) != VARVE_OK) {
            return fail("%s", error.message);
        }
        if (!progress_tokens(NULL, "evaluating", first + n, count)) {
            return EXIT_INTERRUPTED;
        }
    }
    return EXIT_DONE;
}

static int evaluate(struct varve_session *session, const struct varve_session_options *options,
                    const struct token_list *tokens, struct sink *sink) {
    struct varve_row *rows = malloc(tokens->count * sizeof *rows);
    if (!rows) {
        return fail("no memory for %zu rows", tokens->count);
    }
    for (size_t i = 0; i < tokens->count; i++) {
        rows[i] = (struct varve_row){.token = tokens->at[i], .logits = !options->mtp};
    }
    int code = options->mtp ? write_drafts(session, rows, tokens->count, options->window, sink)
                            : write_rows(session, rows, tokens->count, sink);
    free(rows);
    progress_clear();
    return code;
}

static int write_logits(const struct arguments *arguments, const struct opened *opened,
                        const struct token_list *tokens) {
    struct varve_session_options options = session_options(arguments, tokens->count);
    struct varve_session *session;
    struct varve_error error;
    struct sink sink = {.vocabulary = opened->info.vocabulary, .rows = tokens->count};
    options.mtp = options.observe = given(arguments, OPTION_mtp);
    options.window = options.logits = logits_window(&options, tokens->count, sink.vocabulary);
    if (options.mtp && tokens->count < 2) {
        return fail("--mtp needs two tokens at least: a draft is made from a position and the "
                    "token after it");
    }
    if (varve_session_open(opened->model, &options, &session, &error) != VARVE_OK) {
        return fail("%s", error.message);
    }
    const uint64_t shape[2] = {sink.rows - options.mtp, sink.vocabulary};
    int code = npy_open(text_of(arguments, OPTION_out), shape, 2, &sink.output);
    if (code == EXIT_DONE) {
        code = evaluate(session, &options, tokens, &sink);
        if (code == EXIT_DONE) {
            code = npy_finish(sink.output);
        } else {
            varve_output_abandon(sink.output);
        }
    }
    if (code == EXIT_DONE) {
        code = profile_report(arguments, session);
    }
    varve_session_close(session);
    return code;
}

int command_logits(const struct arguments *arguments) {
    struct token_list tokens = {0};
    struct opened opened;
    bool golden = given(arguments, OPTION_golden);
    int code = contradictions(arguments);
    if (code == EXIT_DONE && !golden) {
        code = read_tokens(arguments, &tokens);
    }
    if (code == EXIT_DONE) {
        interrupt_gently();
        code = open_model(arguments, &opened);
    }
    if (code == EXIT_DONE) {
        code =
            golden ? golden_compare(arguments, &opened) : write_logits(arguments, &opened, &tokens);
        close_model(&opened);
    }
    free(tokens.at);
    return code;
}

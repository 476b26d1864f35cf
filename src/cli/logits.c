/* Logits of given tokens, to a file. */
#include "commands.h"
#include "golden.h"
#include "input.h"
#include "interrupt.h"
#include "npy.h"
#include "opened.h"
#include "progress.h"
#include "report.h"

#include <stdlib.h>
#include <string.h>

static int contradictions(const struct arguments *arguments) {
    static const enum option_id of_file[] = {OPTION_tokens, OPTION_tokens_file, OPTION_out,
                                             OPTION_COUNT};
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

static int evaluate(struct varve_session *session, const struct token_list *tokens,
                    struct sink *sink) {
    struct varve_error error;
    struct varve_row *rows = malloc(tokens->count * sizeof *rows);
    if (!rows) {
        return fail("no memory for %zu rows", tokens->count);
    }
    for (size_t i = 0; i < tokens->count; i++) {
        rows[i] = (struct varve_row){.token = tokens->at[i], .logits = true};
    }
    int code = varve_session_evaluate(session, rows, tokens->count, VARVE_ADVANCE, write_row, sink,
                                      &error);
    free(rows);
    progress_clear();
    return code == VARVE_OK ? EXIT_DONE
           : interrupted()  ? EXIT_INTERRUPTED
                            : fail("%s", error.message);
}

static int write_logits(const struct arguments *arguments, const struct opened *opened,
                        const struct token_list *tokens) {
    struct varve_session_options options = session_options(arguments, tokens->count);
    struct varve_session *session;
    struct varve_error error;
    struct sink sink = {.vocabulary = opened->info.vocabulary, .rows = tokens->count};
    if (varve_session_open(opened->model, &options, &session, &error) != VARVE_OK) {
        return fail("%s", error.message);
    }
    const uint64_t shape[2] = {sink.rows, sink.vocabulary};
    int code = npy_open(text_of(arguments, OPTION_out), shape, 2, &sink.output);
    if (code == EXIT_DONE) {
        code = evaluate(session, tokens, &sink);
        if (code == EXIT_DONE) {
            code = npy_finish(sink.output);
        } else {
            varve_output_abandon(sink.output);
        }
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

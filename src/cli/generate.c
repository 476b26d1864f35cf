/* The prompt into the session, the answer out of it. */
#include "interrupt.h"
#include "output.h"
#include "progress.h"
#include "report.h"
#include "run.h"

#include <stdlib.h>

/* Evaluates ids [from, from + count), which fit one window. */
static int evaluate(struct run *run, size_t from, size_t count, struct varve_row *rows) {
    struct varve_error error;
    for (size_t i = 0; i < count; i++) {
        rows[i] = (struct varve_row){.token = run->ids.at[from + i],
                                     .logits = from + i + 1 == run->ids.count};
    }
    return varve_session_evaluate(run->session, rows, count, VARVE_ADVANCE, NULL, NULL, &error) ==
                   VARVE_OK
               ? EXIT_DONE
               : fail("%s", error.message);
}

int run_read(struct run *run, const char *what, size_t *at) {
    struct varve_error error;
    struct varve_resumed resumed;
    size_t total = run->ids.count, stable = run->marks.stable, window = run->options.window;
    size_t before = varve_session_length(run->session, 0);
    struct varve_row *rows = malloc((window < total ? window : total) * sizeof *rows);
    if (!rows) {
        return fail("no memory for a window of %zu tokens", window);
    }
    int code = varve_session_resume(run->session, 0, run->ids.at, total, &resumed, &error) == 0
                   ? EXIT_DONE
                   : fail("%s", error.message);
    *at = run->held_count = code == EXIT_DONE ? resumed.held : 0;
    run->changed_at = code == EXIT_DONE && resumed.shared < before ? resumed.shared : total;
    while (code == EXIT_DONE && *at < total && progress_tokens(NULL, what, *at, total)) {
        size_t end = *at < stable && stable < total ? stable : total;
        size_t count = end - *at < window ? end - *at : window;
        code = evaluate(run, *at, count, rows);
        *at += count;
        if (code == EXIT_DONE && *at == stable) { /* without, more is read again next time */
            varve_session_checkpoint(run->session, 0, &error);
        }
    }
    progress_clear();
    free(rows);
    return code;
}

/* Reads the prompt, or up to Ctrl-C. */
static int read_prompt(struct run *run) {
    double began = seconds_now();
    size_t at;
    int code = run_read(run, "reading the prompt", &at);
    run->prompt_seconds = seconds_now() - began;
    run->read_count = at - run->held_count;
    run->finish = at < run->prompt_count ? FINISH_INTERRUPTED : FINISH_LENGTH;
    return code;
}

size_t run_written(const struct run *run) {
    return run->ids.count + run->dropped - run->prompt_count;
}

bool run_ends_answer(const struct run *run, int32_t id) {
    for (size_t i = 0; i < run->opened.info.stop_count; i++) {
        if (run->opened.info.stop_ids[i] == id) {
            return true;
        }
    }
    return false;
}

/* Tells what the token adds to the text; `stopped`: a stop text is complete. */
static int write_token(struct run *run, int32_t id, bool *stopped) {
    struct varve_error error;
    const char *text, *out;
    size_t length, out_length;
    if (varve_detokenizer_push(run->detokenizer, id, &text, &length, &error) != VARVE_OK ||
        varve_stopper_push(run->stopper, text, length, false, &out, &out_length, stopped, &error) !=
            VARVE_OK) {
        return fail("%s", error.message);
    }
    return event_token(run, id, out, out_length);
}

/* Draws a token and writes it. `*ended` with the reason in `finish` when it was the last. */
static int step(struct run *run, bool *ended) {
    struct varve_error error;
    int32_t id;
    bool stopped = false;
    if (varve_decoder_sample(run->decoder, run->sampler, run->ids.at, run->ids.count,
                             run->ids.count + run->dropped, &id, &error) != VARVE_OK) {
        return fail("%s", error.message);
    }
    *ended = true;
    if (run_ends_answer(run, id)) {
        run->finish = FINISH_EOS;
        return EXIT_DONE;
    }
    if (varve_ids_append(&run->ids, id, &error) != VARVE_OK) {
        return fail("%s", error.message);
    }
    int code = write_token(run, id, &stopped);
    if (code != EXIT_DONE) {
        return code;
    }
    run->finish = FINISH_LENGTH;
    if (!output_flush()) {
        run->finish = FINISH_UNREAD;
    } else if (stopped) {
        run->finish = FINISH_STOP;
    } else if (interrupted()) {
        run->finish = FINISH_INTERRUPTED;
    } else if (run_written(run) < run->limit) {
        *ended = false;
    }
    return EXIT_DONE;
}

/* Evaluates the newest token, with drafts of those that may follow. */
static int take(struct run *run) {
    struct varve_error error;
    size_t context = run->options.context - run->ids.count;
    size_t limit = run->limit - run_written(run);
    return varve_decoder_take(run->decoder, run->ids.at[run->ids.count - 1],
                              limit < context ? limit : context, &error) == VARVE_OK
               ? EXIT_DONE
               : fail("%s", error.message);
}

/* Steps until the answer ends. */
static int write_steps(struct run *run) {
    int code = EXIT_DONE;
    bool ended = run->limit == 0;
    while (code == EXIT_DONE && !ended) {
        bool room = run->ids.count < run->options.context;
        if (!room) {
            run->finish = FINISH_CONTEXT;
            code = run_shift(run, &room);
        }
        if (!room || code != EXIT_DONE) {
            break;
        }
        code = step(run, &ended);
        if (code == EXIT_DONE && !ended) {
            code = take(run);
        }
    }
    return code;
}

static int write_answer(struct run *run) {
    struct varve_error error;
    double began = seconds_now();
    if (varve_decoder_begin(run->decoder, run->ids.at, run->ids.count, &error) != VARVE_OK) {
        return fail("%s", error.message);
    }
    int code = write_steps(run);
    if (varve_decoder_settle(run->decoder, &error) != VARVE_OK && code == EXIT_DONE) {
        code = fail("%s", error.message);
    }
    run->answer_seconds = seconds_now() - began;
    return code;
}

/* What the streams still hold: the start of a stop text that did not come, half a character. */
static int write_rest(struct run *run) {
    struct varve_error error;
    const char *text = "", *out = "";
    size_t length = 0, out_length = 0;
    bool stopped;
    if (run->finish != FINISH_STOP) {
        if (varve_detokenizer_end(run->detokenizer, &text, &length, &error) != VARVE_OK ||
            varve_stopper_push(run->stopper, text, length, true, &out, &out_length, &stopped,
                               &error) != VARVE_OK) {
            return fail("%s", error.message);
        }
    }
    return event_done(run, out, out_length);
}

int run_generate(struct run *run) {
    run->dropped = 0;
    int code = event_start(run);
    if (code == EXIT_DONE) {
        code = read_prompt(run);
    }
    if (code == EXIT_DONE && run->finish != FINISH_INTERRUPTED) {
        code = event_prompt(run);
        if (code == EXIT_DONE) {
            code = write_answer(run);
        }
    }
    if (code == EXIT_DONE) {
        code = write_rest(run);
    }
    return code == EXIT_DONE && run->finish == FINISH_INTERRUPTED ? EXIT_INTERRUPTED : code;
}

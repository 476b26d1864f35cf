/* What has to be there before a model can answer. */
#include "drafts.h"
#include "interrupt.h"
#include "output.h"
#include "report.h"
#include "run.h"

#include <stdlib.h>

enum { CONTEXT_USUAL = 4096, WINDOW_USUAL = 512 };

static void set_sizes(struct run *run) {
    size_t context = run->opened.info.context;
    run->options = session_options(run->arguments, 0);
    if (!run->options.context) {
        run->options.context =
            context && context < CONTEXT_USUAL ? (uint32_t)context : CONTEXT_USUAL;
    }
    if (!given(run->arguments, OPTION_window)) {
        run->options.window = WINDOW_USUAL;
    } else if (!run->options.window) {
        run->options.window = run->options.context;
    }
    int64_t limit = integer_of(run->arguments, OPTION_max_tokens);
    run->limit = given(run->arguments, OPTION_max_tokens) && limit >= 0 ? (size_t)limit : SIZE_MAX;
    run->json = given(run->arguments, OPTION_json);
}

int run_prepare(struct run *run) {
    if (!varve_model_tokenizer(run->opened.model)) {
        return fail("%s has no vocabulary: text can't be read or written with it",
                    text_of(run->arguments, OPTION_model));
    }
    set_sizes(run);
    return run_sampling(run);
}

int run_open_session(struct run *run) {
    struct varve_error error;
    struct varve_decoder_options drafts = draft_options(run->arguments);
    struct varve_session_options options = run->options;
    options.window = options.window > drafts.most ? options.window : drafts.most + 1;
    if (run->options.kv_f16) {
        report("keys and values are kept as f16: half the memory, and other results than with f32");
    }
    if (varve_session_open(run->opened.model, &options, &run->session, &error) != VARVE_OK ||
        varve_decoder_open(run->session, &drafts, &run->decoder, &error) != VARVE_OK) {
        return interrupted() ? EXIT_INTERRUPTED : fail("%s", error.message);
    }
    char text[32];
    uint64_t tables = varve_session_host_tables(run->session);
    if (tables > 0) {
        report("the n-gram table, %s, lies in the host's memory", bytes_text(tables, text));
    }
    return EXIT_DONE;
}

int run_check_prompt(struct run *run) {
    run->prompt_count = run->ids.count;
    if (run->prompt_count == 0) {
        return fail("the prompt is empty: give at least one character");
    }
    if (run->prompt_count > run->options.context) {
        return fail("the prompt has %zu tokens and the context holds %u: shorten it, or give a "
                    "larger --ctx-size",
                    run->prompt_count, run->options.context);
    }
    return EXIT_DONE;
}

static int open_stopper(struct run *run) {
    struct varve_error error;
    size_t count = 0;
    while (text_at(run->arguments, OPTION_stop, count)) {
        count++;
    }
    const char **stops = calloc(count + 1, sizeof *stops);
    for (size_t i = 0; stops && i < count; i++) {
        stops[i] = text_at(run->arguments, OPTION_stop, i);
    }
    int code = !stops ? fail("no memory for %zu stop texts", count)
               : varve_stopper_new(stops, count, &run->stopper, &error) != VARVE_OK
                   ? fail("%s", error.message)
                   : EXIT_DONE;
    free(stops);
    return code;
}

int run_open_streams(struct run *run) {
    struct varve_error error;
    if (varve_sampler_new(run->opened.info.vocabulary, &run->sampling, &run->sampler, &error) !=
            VARVE_OK ||
        varve_detokenizer_new(varve_model_tokenizer(run->opened.model), false, &run->detokenizer,
                              &error) != VARVE_OK) {
        return fail("%s", error.message);
    }
    return open_stopper(run);
}

void run_close_streams(struct run *run) {
    varve_stopper_free(run->stopper);
    varve_detokenizer_free(run->detokenizer);
    varve_sampler_free(run->sampler);
    run->stopper = NULL;
    run->detokenizer = NULL;
    run->sampler = NULL;
}

void run_close(struct run *run) {
    run_close_streams(run);
    varve_decoder_close(run->decoder);
    varve_session_close(run->session);
    varve_ids_free(&run->ids);
    free((void *)run->sampling.bias);
    close_model(&run->opened);
}

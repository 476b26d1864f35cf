/* Writes text: the prompt, and everything that has to be there before the first token. */
#include "run.h"
#include "commands.h"
#include "input.h"
#include "interrupt.h"
#include "profile.h"
#include "report.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CONTEXT_USUAL = 4096, WINDOW_USUAL = 512 };

/* Reads the one prompt that there is. */
static int read_prompt(const struct arguments *arguments, struct text *prompt) {
    const char *path = text_of(arguments, OPTION_file);
    if (path && arguments->operand_count) {
        return fail_use("give the prompt as an argument or with -f, not both");
    }
    if (arguments->operand_count) {
        *prompt = (struct text){strdup(arguments->operands[0]), strlen(arguments->operands[0])};
        return prompt->at ? EXIT_DONE : fail("no memory for the prompt");
    }
    if (!path && isatty(STDIN_FILENO)) {
        return fail_use("varve run needs a prompt: an argument, a file with -f, or text on "
                        "standard input");
    }
    int code = input_read(path ? path : "-", prompt);
    if (code == EXIT_DONE && prompt->length && prompt->at[prompt->length - 1] == '\n') {
        prompt->length--;
    }
    return code;
}

static int contradictions(const struct arguments *arguments) {
    static const enum option_id of_chat[] = {OPTION_system, OPTION_thinking, OPTION_COUNT};
    static const enum option_id of_raw[] = {OPTION_special, OPTION_COUNT};
    return given(arguments, OPTION_raw)
               ? refuse_given(arguments, of_chat, "belongs to a conversation: leave out --raw")
               : refuse_given(arguments, of_raw,
                              "needs --raw: in a conversation a text has no special tokens");
}

/* The prompt's ids, in the model's layout or raw. */
static int tokenize_prompt(struct run *run, const struct text *prompt) {
    struct varve_error error;
    const char *system = text_of(run->arguments, OPTION_system);
    int code;
    if (given(run->arguments, OPTION_raw)) {
        struct varve_span span = {prompt->at, prompt->length,
                                  (enum varve_special)choice_of(run->arguments, OPTION_special)};
        code =
            varve_tokenize(varve_model_tokenizer(run->opened.model), &span, 1, &run->ids, &error);
    } else {
        struct varve_message messages[2] = {{"system", system, system ? strlen(system) : 0},
                                            {"user", prompt->at, prompt->length}};
        code =
            varve_chat_tokens(run->opened.model, system ? messages : messages + 1, system ? 2 : 1,
                              choice_of(run->arguments, OPTION_thinking) == 0, &run->ids, &error);
    }
    run->prompt_count = run->ids.count;
    if (code != VARVE_OK) {
        return fail("%s", error.message);
    }
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

static int open_session(struct run *run) {
    struct varve_error error;
    if (run->options.kv_f16) {
        report("keys and values are kept as f16: half the memory, and other results than with f32");
    }
    return varve_session_open(run->opened.model, &run->options, &run->session, &error) == VARVE_OK
               ? EXIT_DONE
               : fail("%s", error.message);
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

static int open_streams(struct run *run) {
    struct varve_error error;
    if (varve_sampler_new(run->opened.info.vocabulary, &run->sampling, &run->sampler, &error) !=
            VARVE_OK ||
        varve_detokenizer_new(varve_model_tokenizer(run->opened.model), false, &run->detokenizer,
                              &error) != VARVE_OK) {
        return fail("%s", error.message);
    }
    return open_stopper(run);
}

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
    run->ends_line = true;
}

static int run_with(struct run *run, const struct text *prompt) {
    if (!varve_model_tokenizer(run->opened.model)) {
        return fail("%s has no vocabulary: text can't be read or written with it",
                    text_of(run->arguments, OPTION_model));
    }
    set_sizes(run);
    int code = run_sampling(run);
    if (code == EXIT_DONE) {
        code = tokenize_prompt(run, prompt);
    }
    if (code == EXIT_DONE) {
        code = open_session(run);
    }
    if (code == EXIT_DONE) {
        code = open_streams(run);
    }
    if (code == EXIT_DONE) {
        code = run_generate(run);
    }
    if (run->session && run->options.profile) {
        profile_report(run->session);
    }
    return code;
}

static void close_run(struct run *run) {
    varve_stopper_free(run->stopper);
    varve_detokenizer_free(run->detokenizer);
    varve_sampler_free(run->sampler);
    varve_session_close(run->session);
    varve_ids_free(&run->ids);
    free((void *)run->sampling.bias);
    close_model(&run->opened);
}

int command_run(const struct arguments *arguments) {
    struct run run = {.arguments = arguments};
    struct text prompt = {0};
    int code = contradictions(arguments);
    if (code == EXIT_DONE) {
        code = read_prompt(arguments, &prompt);
    }
    if (code == EXIT_DONE) {
        interrupt_gently();
        code = open_model(arguments, &run.opened);
    }
    if (code == EXIT_DONE) {
        code = run_with(&run, &prompt);
    }
    if (code == EXIT_FAILED && given(arguments, OPTION_json)) {
        event_error(report_last());
    }
    free(prompt.at);
    close_run(&run);
    return code;
}

/* Writes text: the prompt, and everything that has to be there before the first token. */
#include "run.h"
#include "commands.h"
#include "drafts.h"
#include "input.h"
#include "interrupt.h"
#include "kept.h"
#include "parallel.h"
#include "profile.h"
#include "report.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Reads the one prompt that there is; messages of a file need none. */
static int read_prompt(const struct arguments *arguments, struct text *prompt) {
    const char *path = text_of(arguments, OPTION_file);
    if (path && arguments->operand_count) {
        return fail_use("give the prompt as an argument or with -f, not both");
    }
    if (arguments->operand_count) {
        *prompt = (struct text){strdup(arguments->operands[0]), strlen(arguments->operands[0])};
        return prompt->at ? EXIT_DONE : fail("no memory for the prompt");
    }
    if (!path && given(arguments, OPTION_messages)) {
        return EXIT_DONE;
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
    static const enum option_id of_chat[] = {OPTION_system, OPTION_thinking, OPTION_messages,
                                             OPTION_tools, OPTION_COUNT};
    static const enum option_id of_raw[] = {OPTION_special, OPTION_COUNT};
    return given(arguments, OPTION_raw)
               ? refuse_given(arguments, of_chat, "belongs to a conversation: leave out --raw")
               : refuse_given(arguments, of_raw,
                              "needs --raw: in a conversation a text has no special tokens");
}

/* Ids of the prompt as it stands. */
static int tokenize_raw(struct run *run, const struct text *prompt) {
    struct varve_error error;
    struct varve_span span = {prompt->at, prompt->length,
                              (enum varve_special)choice_of(run->arguments, OPTION_special)};
    return varve_tokenize(varve_model_tokenizer(run->opened.model), &span, 1, &run->ids, &error) ==
                   VARVE_OK
               ? EXIT_DONE
               : fail("%s", error.message);
}

static int answer_prompt(struct run *run) {
    int code = run_check_prompt(run);
    if (code == EXIT_DONE && !run->session) {
        code = run_open_session(run);
    }
    if (code == EXIT_DONE) {
        code = run_open_streams(run);
    }
    if (code == EXIT_DONE) {
        code = run_generate(run);
    }
    if (run->session && run->options.profile) {
        int reported = profile_report(run->arguments, run->session);
        draft_table(run->decoder);
        code = code == EXIT_DONE ? reported : code;
    }
    return code;
}

/* Whether an answer is to be kept: it came, or a part of it did. */
static bool is_to_keep(int code) {
    return code == EXIT_DONE || code == EXIT_INTERRUPTED;
}

static int answer_messages(struct run *run, struct conversation *conversation,
                           struct reply *reply) {
    const struct arguments *arguments = run->arguments;
    bool apart = given(arguments, OPTION_messages) || given(arguments, OPTION_tools) ||
                 given(arguments, OPTION_session) ||
                 choice_of(arguments, OPTION_thinking) == THINKING_HIDE;
    enum varve_thinking thinking;
    int code = conversation_ids(conversation, &run->opened, &run->ids, &thinking);
    if (code == EXIT_DONE && apart) {
        run->reply = reply;
        code = reply_open(reply, &run->opened, conversation, thinking);
    }
    if (code == EXIT_DONE) {
        run->marks = conversation_marks(conversation, &run->opened, &run->ids);
        code = answer_prompt(run);
    }
    if (is_to_keep(code) && given(arguments, OPTION_session)) {
        int kept = EXIT_DONE;
        if (reply_begun(reply)) {
            kept = conversation_append(conversation, reply_message(reply));
        } else { /* a question without an answer is asked anew */
            conversation_cut(conversation, json_array_size(conversation->messages) - 1);
        }
        kept = kept == EXIT_DONE ? kept_save(run, kept_conversation_note(conversation)) : kept;
        code = kept == EXIT_DONE ? code : kept;
    }
    return code;
}

/* Answers a conversation; the answer is taken apart where the caller can be interested in parts. */
static int answer_conversation(struct run *run, const json_t *note, const struct text *prompt) {
    int shown = choice_of(run->arguments, OPTION_thinking);
    struct conversation conversation;
    struct reply reply = {.form = run->json ? REPLY_JSON : REPLY_TEXT,
                          .hide = shown != THINKING_ON && !run->json};
    int code = conversation_begin(&conversation, run->arguments);
    if (code == EXIT_DONE) {
        code = kept_conversation(run, note, &conversation);
    }
    if (code == EXIT_DONE) {
        code = conversation_add(&conversation, SIZE_MAX, "user", prompt->at, prompt->length);
    }
    if (code == EXIT_DONE) {
        code = answer_messages(run, &conversation, &reply);
    }
    reply_close(&reply);
    conversation_free(&conversation);
    return code;
}

static int answer_raw(struct run *run, const json_t *note, const struct text *prompt) {
    int code = kept_text(run, note);
    if (code == EXIT_DONE) {
        code = tokenize_raw(run, prompt);
    }
    if (code == EXIT_DONE) {
        code = answer_prompt(run);
    }
    if (is_to_keep(code) && given(run->arguments, OPTION_session)) {
        int kept = kept_save(run, kept_text_note(run));
        code = kept == EXIT_DONE ? code : kept;
    }
    return code;
}

static int run_with(struct run *run, const struct text *prompt) {
    json_t *note = NULL;
    int code = run_prepare(run);
    if (code == EXIT_DONE && given(run->arguments, OPTION_parallel)) {
        return parallel_run(run, prompt);
    }
    if (code == EXIT_DONE && given(run->arguments, OPTION_session)) {
        code = run_open_session(run);
        code = code == EXIT_DONE ? kept_load(run, &note) : code;
    }
    if (code == EXIT_DONE) {
        code = given(run->arguments, OPTION_raw) ? answer_raw(run, note, prompt)
                                                 : answer_conversation(run, note, prompt);
    }
    json_decref(note);
    return code;
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
    run_close(&run);
    return code;
}

#include "parallel.h"
#include "drafts.h"
#include "interrupt.h"
#include "json.h"
#include "output.h"
#include "progress.h"
#include "report.h"

#include <stdlib.h>
#include <string.h>

/* One prompt and its answer. */
struct answer {
    struct run *run;
    struct varve_ids ids; /* prompt and answer */
    size_t prompt_count;
    struct varve_detokenizer *detokenizer;
    struct varve_stopper *stopper;
    struct text text;
    size_t room;
    const char *finish; /* NULL: not yet */
    char failure[1000];
};

struct parallel {
    struct run *run;
    struct answer *answers;
    size_t count;
    struct varve_schedule *schedule;
    double seconds;
    size_t rows, offered, accepted; /* evaluated; drafts, and those that were right */
};

/* ---- an answer's tokens ---- */

/* Adds text to the answer through the stop texts; `*stopped`: one is complete. */
static int add_text(struct answer *a, const char *text, size_t length, bool end, bool *stopped,
                    struct varve_error *error) {
    const char *out;
    size_t out_length;
    int code = varve_stopper_push(a->stopper, text, length, end, &out, &out_length, stopped, error);
    if (code == VARVE_OK && text_append(&a->text, &a->room, out, out_length) != EXIT_DONE) {
        *error = (struct varve_error){VARVE_ERROR_MEMORY, "no memory for the text of an answer"};
        code = error->code;
    }
    return code;
}

static int on_next(void *context, const float *logits, struct varve_next *next,
                   struct varve_error *error) {
    struct answer *a = context;
    struct run *run = a->run;
    const char *text;
    size_t length, written = a->ids.count - a->prompt_count;
    bool stopped = false;
    int32_t id = next->tokens[0]; /* as drawn */
    a->finish = "length";
    next->count = 0;
    (void)logits;
    if (written >= run->limit) {
        return VARVE_OK;
    }
    if (run_ends_answer(run, id)) {
        a->finish = "eos";
        return VARVE_OK;
    }
    int code = varve_ids_append(&a->ids, id, error);
    code = code ? code : varve_detokenizer_push(a->detokenizer, id, &text, &length, error);
    code = code ? code : add_text(a, text, length, false, &stopped, error);
    if (stopped) {
        a->finish = "stop";
    } else if (code == VARVE_OK && written + 1 < run->limit) {
        *next = (struct varve_next){{id}, 1};
    }
    return code;
}

static void on_ended(void *context, const int32_t *text, size_t count, int code,
                     const struct varve_error *failure) {
    struct answer *a = context;
    struct varve_error error;
    const char *rest;
    size_t length;
    bool stopped;
    (void)text;
    (void)count;
    a->finish = code == VARVE_OK                ? (a->finish ? a->finish : "length")
                : code == VARVE_ERROR_CANCELLED ? "interrupted"
                                                : "error";
    if (code != VARVE_OK && code != VARVE_ERROR_CANCELLED) {
        memcpy(a->failure, failure->message, sizeof a->failure);
    }
    if (strcmp(a->finish, "stop") != 0 &&
        varve_detokenizer_end(a->detokenizer, &rest, &length, &error) == VARVE_OK) {
        add_text(a, rest, length, true, &stopped, &error);
    }
}

/* ---- prompts ---- */

static int prompt_ids(struct run *run, const char *line, size_t length, struct varve_ids *ids) {
    struct varve_error error;
    struct conversation conversation;
    enum varve_thinking ignored;
    if (given(run->arguments, OPTION_raw)) {
        struct varve_span span = {line, length,
                                  (enum varve_special)choice_of(run->arguments, OPTION_special)};
        return varve_tokenize(varve_model_tokenizer(run->opened.model), &span, 1, ids, &error) == 0
                   ? EXIT_DONE
                   : fail("%s", error.message);
    }
    int code = conversation_begin(&conversation, run->arguments);
    if (code == EXIT_DONE) {
        code = conversation_add(&conversation, SIZE_MAX, "user", line, length);
    }
    if (code == EXIT_DONE) {
        code = conversation_ids(&conversation, &run->opened, ids, &ignored);
    }
    conversation_free(&conversation);
    return code;
}

/* The streams of an answer are run's own, taken from it. */
static int open_answer(struct parallel *p, const char *line, size_t length) {
    struct run *run = p->run;
    struct answer *a = &p->answers[p->count++];
    *a = (struct answer){.run = run};
    int code = prompt_ids(run, line, length, &a->ids);
    a->prompt_count = a->ids.count;
    varve_sampler_free(run->sampler);
    run->sampler = NULL;
    code = code == EXIT_DONE ? run_open_streams(run) : code;
    a->detokenizer = run->detokenizer;
    a->stopper = run->stopper;
    run->detokenizer = NULL;
    run->stopper = NULL;
    return code;
}

static int open_answers(struct parallel *p, const struct text *prompts) {
    size_t lines = 1;
    for (size_t i = 0; i < prompts->length; i++) {
        lines += prompts->at[i] == '\n';
    }
    p->answers = calloc(lines, sizeof *p->answers);
    int code = p->answers ? EXIT_DONE : fail("no memory for %zu prompts", lines);
    for (size_t at = 0; code == EXIT_DONE && at < prompts->length;) {
        const char *line = prompts->at + at;
        const char *end = memchr(line, '\n', prompts->length - at);
        size_t length = end ? (size_t)(end - line) : prompts->length - at;
        if (length > strspn(line, " \t\r")) {
            code = open_answer(p, line, length);
        }
        at += length + 1;
    }
    return code == EXIT_DONE && p->count == 0 ? fail("there is no prompt") : code;
}

static int add_requests(struct parallel *p) {
    struct varve_error error;
    uint64_t id;
    for (size_t i = 0; i < p->count; i++) {
        struct answer *a = &p->answers[i];
        const struct varve_request request = {.prompt = a->ids.at,
                                              .count = a->ids.count,
                                              .sampler = p->run->sampler,
                                              .next = on_next,
                                              .drafts = draft_options(p->run->arguments),
                                              .ended = on_ended,
                                              .context = a};
        if (varve_schedule_add(p->schedule, &request, &id, &error) != VARVE_OK) {
            return fail("prompt %zu: %s", i + 1, error.message);
        }
    }
    return EXIT_DONE;
}

/* ---- output ---- */

static int write_answer(const struct parallel *p, const struct answer *a) {
    size_t index = (size_t)(a - p->answers), written = a->ids.count - a->prompt_count;
    int code = EXIT_DONE;
    const char *text = a->text.at ? a->text.at : "";
    if (p->run->json) {
        code = json_line(json_pack("{s:s, s:I, s:o, s:s, s:{s:I, s:I}}", "event", "answer", "index",
                                   (json_int_t)index, "text", json_text(text, a->text.length),
                                   "finish_reason", a->finish, "usage", "prompt_tokens",
                                   (json_int_t)a->prompt_count, "completion_tokens",
                                   (json_int_t)written));
    } else {
        output_format("%s", index > 0 ? "---\n" : "");
        output_write(text, a->text.length);
        output_write("\n", output_ends_line() ? 0 : 1);
    }
    if (a->failure[0]) {
        code = fail("prompt %zu: %s", index + 1, a->failure);
    }
    return output_flush() ? code : EXIT_INTERRUPTED;
}

static int write_answers(const struct parallel *p) {
    int code = EXIT_DONE;
    for (size_t i = 0; code != EXIT_INTERRUPTED && i < p->count; i++) {
        int now = write_answer(p, &p->answers[i]);
        code = now == EXIT_DONE ? code : now;
    }
    return code;
}

/* ---- all of it ---- */

static int answer_all(struct parallel *p) {
    struct varve_error error;
    struct varve_schedule_step step = {0};
    double began = seconds_now();
    int code = EXIT_DONE;
    do {
        if (varve_schedule_step(p->schedule, &step, &error) != VARVE_OK) {
            code = fail("%s", error.message);
        }
        p->rows += step.rows;
        p->offered += step.offered;
        p->accepted += step.accepted;
    } while (code == EXIT_DONE && !step.idle && !interrupted());
    p->seconds = seconds_now() - began;
    return code == EXIT_DONE && interrupted() ? EXIT_INTERRUPTED : code;
}

static void report_all(const struct parallel *p) {
    size_t written = 0;
    for (size_t i = 0; i < p->count; i++) {
        written += p->answers[i].ids.count - p->answers[i].prompt_count;
    }
    report("%zu answers, %zu tokens, %.1f tokens/s in all; %zu rows evaluated", p->count, written,
           p->seconds > 0 ? (double)written / p->seconds : 0, p->rows);
    if (p->offered > 0) {
        report("drafts: %zu of %zu were right", p->accepted, p->offered);
    }
}

static void close_all(struct parallel *p) {
    for (size_t i = 0; i < p->count; i++) {
        struct answer *a = &p->answers[i];
        varve_ids_free(&a->ids);
        varve_detokenizer_free(a->detokenizer);
        varve_stopper_free(a->stopper);
        free(a->text.at);
    }
    free(p->answers);
}

static int contradictions(const struct arguments *arguments) {
    static const enum option_id alone[] = {OPTION_session, OPTION_profile, OPTION_profile_json,
                                           OPTION_profile_trace, OPTION_COUNT};
    int code = refuse_given(arguments, alone, "is for one answer: leave out --parallel");
    if (code == EXIT_DONE && choice_of(arguments, OPTION_context_full) == CONTEXT_SHIFT) {
        code = fail_use("--context-full shift is for one answer: leave out --parallel");
    }
    if (code == EXIT_DONE && choice_of(arguments, OPTION_thinking) == THINKING_HIDE) {
        code = fail_use("--thinking hide is for one answer: leave out --parallel");
    }
    return code;
}

int parallel_run(struct run *run, const struct text *prompts) {
    struct parallel p = {.run = run};
    struct varve_error error;
    int code = contradictions(run->arguments);
    run->options.slots = (uint32_t)integer_of(run->arguments, OPTION_parallel);
    run->options.logits = run->options.slots;
    code = code == EXIT_DONE ? open_answers(&p, prompts) : code;
    code = code == EXIT_DONE ? run_open_session(run) : code;
    if (code == EXIT_DONE &&
        varve_schedule_open(run->session, 0, &p.schedule, &error) != VARVE_OK) {
        code = fail("%s", error.message);
    }
    code = code == EXIT_DONE ? add_requests(&p) : code;
    code = code == EXIT_DONE ? answer_all(&p) : code;
    varve_schedule_close(p.schedule); /* what isn't over ends */
    if (code == EXIT_DONE || code == EXIT_INTERRUPTED) {
        int wrote = write_answers(&p);
        report_all(&p);
        code = code == EXIT_DONE ? wrote : code;
    }
    close_all(&p);
    return code;
}

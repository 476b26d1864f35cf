/* What is told of an answer. docs/cli.md describes the JSON lines. */
#include "drafts.h"
#include "json.h"
#include "metadata.h"
#include "output.h"
#include "report.h"
#include "run.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name; /* for programs */
    const char *why;  /* for people */
} finishes[] = {
    [FINISH_EOS] = {"eos", "ended by the model"},
    [FINISH_STOP] = {"stop", "ended by a stop text"},
    [FINISH_LENGTH] = {"length", "as long as -n allows"},
    [FINISH_CONTEXT] = {"length", "the context is full"},
    [FINISH_INTERRUPTED] = {"interrupted", "interrupted"},
    [FINISH_UNREAD] = {"interrupted", "interrupted"},
};

static double rate(size_t tokens, double seconds) {
    return seconds > 0 ? (double)tokens / seconds : 0;
}

/* Tokens of the answer that were paid for within its time: the first comes with the prompt. */
static double answer_rate(const struct run *run) {
    return run_written(run) > 1 ? rate(run_written(run) - 1, run->answer_seconds) : 0;
}

/* ---- for programs ---- */

static int line_now(json_t *event) {
    int code = json_line(event);
    output_flush();
    return code;
}

static json_t *json_sampling(const struct varve_sampling *s) {
    return json_pack("{s:f, s:i, s:f, s:f, s:f, s:f, s:f, s:i, s:I}", "temperature",
                     shortest((double)s->temperature), "top_k", s->top_k, "top_p",
                     shortest((double)s->top_p), "min_p", shortest((double)s->min_p),
                     "repetition_penalty", shortest((double)s->repetition_penalty),
                     "presence_penalty", shortest((double)s->presence_penalty), "frequency_penalty",
                     shortest((double)s->frequency_penalty), "penalty_last_n", s->penalty_last_n,
                     "seed", (json_int_t)s->seed);
}

int event_start(const struct run *run) {
    if (!run->json) {
        return EXIT_DONE;
    }
    const char *name = run->opened.info.name;
    return line_now(json_pack(
        "{s:s, s:s, s:s, s:o, s:i, s:o}", "event", "start", "version", varve_version(),
        "architecture", run->opened.info.architecture, "model", json_text(name, strlen(name)),
        "context", (int)run->options.context, "sampling", json_sampling(&run->sampling)));
}

int event_prompt(const struct run *run) {
    if (!run->json) {
        return EXIT_DONE;
    }
    return line_now(json_pack("{s:s, s:I, s:f}", "event", "prompt", "tokens",
                              (json_int_t)run->prompt_count, "seconds", run->prompt_seconds));
}

static int json_done(const struct run *run, const char *rest, size_t length) {
    json_t *usage = json_pack("{s:I, s:I, s:I}", "prompt_tokens", (json_int_t)run->read_count,
                              "completion_tokens", (json_int_t)run_written(run), "total_tokens",
                              (json_int_t)(run->read_count + run_written(run)));
    json_t *speed = json_pack("{s:f, s:f}", "prompt", rate(run->read_count, run->prompt_seconds),
                              "completion", answer_rate(run));
    return line_now(json_pack("{s:s, s:o, s:s, s:o, s:o, s:o}", "event", "done", "text",
                              json_text(rest, length), "finish_reason", finishes[run->finish].name,
                              "usage", usage, "tokens_per_second", speed, "drafts",
                              draft_json(run->decoder)));
}

int event_error(const char *message) {
    return line_now(
        json_pack("{s:s, s:o}", "event", "error", "message", json_text(message, strlen(message))));
}

/* ---- for people ---- */

static void report_done(const struct run *run) {
    if (run->finish == FINISH_CONTEXT) {
        report("the context of %u tokens is full: --ctx-size makes it larger",
               run->options.context);
    }
    if (run->quiet) {
        return;
    }
    char seed[40] = "";
    if (run->sampling.temperature > 0) {
        snprintf(seed, sizeof seed, "; seed %llu", (unsigned long long)run->sampling.seed);
    }
    report("prompt %zu tokens, %.1f tokens/s; answer %zu tokens, %.1f tokens/s; %s%s",
           run->read_count, rate(run->read_count, run->prompt_seconds), run_written(run),
           answer_rate(run), finishes[run->finish].why, seed);
    draft_report(run->decoder);
}

/* ---- both ---- */

/* Text of the answer: to who takes it apart, or to people. */
static int write_text(struct run *run, const char *text, size_t length) {
    if (run->reply) {
        return reply_push(run->reply, text, length);
    }
    if (!run->json) {
        output_write(text, length);
    }
    return EXIT_DONE;
}

int event_token(struct run *run, int32_t id, const char *text, size_t length) {
    int code = run->json ? line_now(json_pack("{s:s, s:i, s:o}", "event", "token", "id", (int)id,
                                              "text", json_text(text, length)))
                         : EXIT_DONE;
    return code == EXIT_DONE ? write_text(run, text, length) : code;
}

int event_done(struct run *run, const char *rest, size_t length) {
    int code = write_text(run, rest, length);
    if (code == EXIT_DONE && run->reply) {
        code = reply_end(run->reply);
    }
    if (code != EXIT_DONE || run->json) {
        return code == EXIT_DONE ? json_done(run, rest, length) : code;
    }
    if (!output_ends_line()) {
        output_write("\n", 1);
    }
    if (output_flush()) {
        report_done(run);
    }
    return EXIT_DONE;
}

/* How fast a model is: prompts, decoding, windows of drafts. */
#include "bench.h"
#include "interrupt.h"
#include "json.h"
#include "opened.h"
#include "output.h"
#include "profile.h"
#include "progress.h"
#include "report.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

enum { LINES_MOST = LIST_MOST + LIST_MOST * (2 * LIST_MOST + 1) };

struct line {
    enum varve_bench_kind kind;
    uint32_t n, depth;
    struct varve_series ms;
    double bytes;
};

struct report {
    const struct arguments *arguments;
    bool json;
    int code; /* of the JSON lines */
    struct line lines[LINES_MOST];
    size_t count;
};

static const char *const test_names[] = {
    [VARVE_BENCH_PROMPT] = "prompt",
    [VARVE_BENCH_GENERATE] = "generate",
    [VARVE_BENCH_WINDOW] = "window",
    [VARVE_BENCH_BATCH] = "batch",
};

/* ---- JSON ---- */

static int write_line(const struct varve_bench_result *r) {
    json_t *ms = json_array();
    for (size_t i = 0; i < r->rounds; i++) {
        json_array_append_new(ms, json_real(r->ms[i]));
    }
    return json_line(json_pack("{s:s, s:I, s:I, s:o}", "test", test_names[r->kind], "n",
                               (json_int_t)r->n, "depth", (json_int_t)r->depth, "ms", ms));
}

static void on_result(void *context, const struct varve_bench_result *r) {
    struct report *report = context;
    if (report->json) {
        int code = write_line(r);
        report->code = report->code == EXIT_DONE ? code : report->code;
    }
    if (report->count < LINES_MOST) {
        report->lines[report->count++] =
            (struct line){r->kind, r->n, r->depth, varve_series_of(r->ms, r->rounds), r->bytes};
    }
}

static void on_measured(void *context, const struct varve_session *session) {
    struct report *report = context;
    progress_clear();
    int code = profile_report(report->arguments, session);
    report->code = report->code == EXIT_DONE ? code : report->code;
}

/* ---- the table ---- */

static const struct line *one_row(const struct report *report, uint32_t depth) {
    for (size_t i = 0; i < report->count; i++) {
        const struct line *l = &report->lines[i];
        if (l->kind == VARVE_BENCH_WINDOW && l->n == 1 && l->depth == depth) {
            return l;
        }
    }
    return NULL;
}

/* A window as a multiple of one row; generation as the rate at which it reads weights; a batch
 * beside the time that its bytes need at least. */
static void write_remark(const struct report *report, const struct line *l,
                         const struct varve_bench_facts *facts,
                         const struct varve_ceilings *ceilings) {
    const struct line *one = l->kind == VARVE_BENCH_WINDOW ? one_row(report, l->depth) : NULL;
    if (one && l->n > 1) {
        output_format("  %.2f of one row (%.2f by medians), of its bytes %.2f",
                      l->ms.least / one->ms.least, l->ms.median / one->ms.median,
                      l->bytes / one->bytes);
    } else if (l->kind == VARVE_BENCH_GENERATE && facts->token_bytes) {
        double rate = (double)facts->token_bytes * l->n / (l->ms.least * 1e-3);
        output_format("  reads %.1f GB/s, %.0f %% of what is possible", rate * 1e-9,
                      100 * rate / ceilings->read);
    } else if (l->kind == VARVE_BENCH_BATCH) {
        double floor = l->bytes / ceilings->read * 1e3;
        char bytes[32];
        output_format("  its %s need %.2f ms, %.0f %% of what it takes",
                      bytes_text((uint64_t)l->bytes, bytes), floor, 100 * floor / l->ms.least);
    }
}

static void write_table(const struct report *report, const struct varve_bench_facts *facts,
                        const struct varve_ceilings *ceilings) {
    output_format("%-14s %6s %11s %11s %7s %10s\n", "test", "depth", "least ms", "median ms",
                  "spread", "tokens/s");
    for (size_t i = 0; i < report->count; i++) {
        const struct line *l = &report->lines[i];
        char name[40];
        snprintf(name, sizeof name, "%s %u", test_names[l->kind], l->n);
        output_format("%-14s %6u %11.2f %11.2f %5.1f %% %10.2f", name, l->depth, l->ms.least,
                      l->ms.median, 100 * (l->ms.high - l->ms.low) / l->ms.median,
                      1e3 * l->n / l->ms.least);
        write_remark(report, l, facts, ceilings);
        output_write("\n", 1);
    }
}

static void write_facts(const struct opened *opened, const struct varve_bench_facts *facts,
                        const struct varve_ceilings *c, const char *places, uint64_t memory) {
    char all[32], token[32], resident[32];
    output_format("model    %s, %s of weights, of which a decoded token reads %s\n",
                  opened->info.name[0] ? opened->info.name : opened->info.architecture,
                  bytes_text(opened->info.weight_bytes, all),
                  facts->token_bytes ? bytes_text(facts->token_bytes, token) : "an unknown part");
    output_format("threads  %s\n", places);
    output_format("machine  %.1f GB/s read, %.1f GB/s copied, %.0f Gop/s int8, %.0f Gop/s float\n",
                  c->read * 1e-9, c->copy * 1e-9, c->int8 * 1e-9, c->f32 * 1e-9);
    output_format("load     %.0f ms, then %.0f ms for the first window of %u tokens; at most %s in "
                  "memory\n",
                  facts->load_ms, facts->cold_ms, facts->cold_rows, bytes_text(memory, resident));
}

/* ---- the run ---- */

/* Most that the process had in memory so far, mapped files too. */
static uint64_t memory_most(void) {
    struct rusage usage = {0};
    getrusage(RUSAGE_SELF, &usage);
    return (uint64_t)usage.ru_maxrss * 1024;
}

/* The numbers of an option; of those that it has by default the ones that the model is made for. */
static size_t lengths_of(const struct arguments *arguments, enum option_id id, size_t context,
                         uint32_t *numbers) {
    size_t count = list_of(arguments, id, numbers), kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (given(arguments, id) || numbers[i] <= context / 2) {
            numbers[kept++] = numbers[i];
        }
    }
    return kept;
}

/* What is measured: the lists, and the options that point to them. */
struct tests {
    uint32_t prompts[LIST_MOST], depths[LIST_MOST], windows[LIST_MOST], batches[LIST_MOST];
    struct varve_bench_options options;
};

static void list_tests(const struct arguments *arguments, const struct opened *opened,
                       struct tests *t) {
    size_t context = opened->info.context;
    t->options = (struct varve_bench_options){
        .prompts = t->prompts,
        .prompt_count = lengths_of(arguments, OPTION_prompt, context, t->prompts),
        .depths = t->depths,
        .depth_count = lengths_of(arguments, OPTION_depth, context, t->depths),
        .windows = t->windows,
        .window_count = list_of(arguments, OPTION_rows, t->windows),
        .batches = t->batches,
        .batch_count = list_of(arguments, OPTION_batch, t->batches),
        .generate = (uint32_t)integer_of(arguments, OPTION_generate),
        .rounds = (uint32_t)integer_of(arguments, OPTION_rounds),
        .same_experts = given(arguments, OPTION_same_experts),
        .seed = given(arguments, OPTION_seed) ? (uint64_t)integer_of(arguments, OPTION_seed) : 1,
        .progress = progress_steps,
        .result = on_result,
        .measured = on_measured,
    };
}

static size_t plan(const struct arguments *arguments, const struct opened *opened,
                   struct varve_plan_line *lines, size_t room) {
    struct tests t;
    const struct varve_session_options session = session_options(arguments, 0);
    list_tests(arguments, opened, &t);
    return varve_bench_plan(opened->model, &session, &t.options, lines, room);
}

static int measure(const struct arguments *arguments, const struct opened *opened,
                   struct report *report, struct varve_bench_facts *facts) {
    struct tests t;
    struct varve_error error;
    const struct varve_session_options session = session_options(arguments, 0);
    list_tests(arguments, opened, &t);
    t.options.context = report;
    int code = varve_bench_model(opened->model, &session, &t.options, facts, &error);
    progress_clear();
    if (code == VARVE_ERROR_CANCELLED && interrupted()) {
        return EXIT_INTERRUPTED;
    }
    return code == VARVE_OK ? report->code : fail("%s", error.message);
}

static int measure_and_show(const struct arguments *arguments, const struct opened *opened) {
    struct report report = {.arguments = arguments, .json = given(arguments, OPTION_json)};
    const struct varve_session_options session = session_options(arguments, 0);
    struct varve_bench_facts facts;
    struct varve_ceilings ceilings;
    struct varve_error error;
    int code = measure(arguments, opened, &report, &facts);
    uint64_t memory = memory_most();
    if (code != EXIT_DONE || report.json) {
        return code;
    }
    char places[VARVE_PLACES_TEXT];
    if (varve_measure_ceilings(&session, &ceilings, &error) != VARVE_OK ||
        varve_places(session.numa, session.threads, places, &error) != VARVE_OK) {
        return fail("%s", error.message);
    }
    write_facts(opened, &facts, &ceilings, places, memory);
    write_table(&report, &facts, &ceilings);
    return EXIT_DONE;
}

int bench_model(const struct arguments *arguments) {
    struct opened opened;
    interrupt_gently();
    int code = bench_is_synthetic(arguments) ? bench_open_synthetic(arguments, 0, plan, &opened)
                                             : open_model(arguments, &opened);
    if (code == EXIT_DONE) {
        code = measure_and_show(arguments, &opened);
    }
    close_model(&opened);
    return code;
}

/* How fast operations are: each variant on each shape. */
#include "bench.h"
#include "interrupt.h"
#include "json.h"
#include "opened.h"
#include "output.h"
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAYERS_USUAL = 4 }; /* of a model without weights: one of each kind */

enum form { FORM_TABLE, FORM_CSV, FORM_JSON, FORM_SVG };

struct report {
    enum form form;
    struct varve_session_options session; /* threads, numa and isa as they were asked for */
    struct varve_ceilings ceilings;
    size_t lines;
    char shape[120]; /* of the line before, with its rows */
    struct bench_bar *bars;
    size_t bar_room;
    int code;
};

struct bench_rates bench_rates_of(const struct varve_bench_line *line, double seconds,
                                  const struct varve_ceilings *ceilings) {
    struct bench_rates r = {line->bytes / seconds, line->operations / seconds, 0, "read"};
    double computed = r.operations / (line->int8 ? ceilings->int8 : ceilings->f32);
    r.share = r.bytes / ceilings->read;
    if (computed > r.share) {
        r.share = computed;
        r.bound = line->int8 ? "int8" : "float";
    }
    return r;
}

/* ---- forms ---- */

static void write_row(struct report *report, const struct varve_bench_line *line,
                      const struct varve_series *s, const struct bench_rates *r, bool first) {
    if (report->lines == 0) {
        output_format("%-42s %4s %-32s %10s %10s %7s %8s %8s %7s\n", "shape", "rows", "variant",
                      "least us", "median us", "spread", "GB/s", "Gop/s", "share");
    }
    output_format("%-42s %4u %-32s %10.2f %10.2f %5.1f %% %8.2f %8.1f %5.1f %% of %s\n",
                  first ? line->shape : "", line->rows, line->variant, s->least * 1e6,
                  s->median * 1e6, 100 * (s->high - s->low) / s->median, r->bytes * 1e-9,
                  r->operations * 1e-9, 100 * r->share, r->bound);
}

static void write_csv(const struct report *report, const struct varve_bench_line *line,
                      const struct varve_series *s, const struct bench_rates *r) {
    if (report->lines == 0) {
        output_format("operation,variant,shape,rows,rounds,least_us,low_us,median_us,high_us,"
                      "most_us,bytes,operations,share,bound\n");
    }
    output_format("%s,%s,\"%s\",%u,%zu,%.4f,%.4f,%.4f,%.4f,%.4f,%.0f,%.0f,%.4f,%s\n",
                  line->operation, line->variant, line->shape, line->rows, line->rounds,
                  s->least * 1e6, s->low * 1e6, s->median * 1e6, s->high * 1e6, s->most * 1e6,
                  line->bytes, line->operations, r->share, r->bound);
}

json_t *bench_line_json(const struct varve_bench_line *line, const struct bench_rates *r) {
    json_t *us = json_array();
    for (size_t i = 0; i < line->rounds; i++) {
        json_array_append_new(us, json_real(line->seconds[i] * 1e6));
    }
    return json_pack("{s:s, s:s, s:s, s:I, s:o, s:f, s:f, s:f, s:s}", "operation", line->operation,
                     "variant", line->variant, "shape", line->shape, "rows", (json_int_t)line->rows,
                     "us", us, "bytes", line->bytes, "operations", line->operations, "share",
                     r->share, "bound", r->bound);
}

static void keep_bar(struct report *report, const struct varve_bench_line *line, double seconds,
                     const struct bench_rates *r, bool first) {
    if (report->lines == report->bar_room) {
        size_t room = report->bar_room ? 2 * report->bar_room : 64;
        struct bench_bar *more = realloc(report->bars, room * sizeof *more);
        if (!more) {
            report->code = fail("no memory for the plot of %zu lines", room);
            return;
        }
        report->bars = more;
        report->bar_room = room;
    }
    struct bench_bar *bar = &report->bars[report->lines];
    *bar = (struct bench_bar){.rates = *r, .seconds = seconds, .first = first};
    snprintf(bar->label, sizeof bar->label, "%s, %u row%s, %s", line->shape, line->rows,
             line->rows == 1 ? "" : "s", line->variant);
}

/* Once something was measured: a wrong name is told before. */
static void measure_ceilings(struct report *report) {
    struct varve_error error;
    if (varve_measure_ceilings(&report->session, &report->ceilings, &error) != VARVE_OK) {
        report->code = fail("%s", error.message);
    }
}

static void on_line(void *context, const struct varve_bench_line *line) {
    struct report *report = context;
    if (report->lines == 0) {
        measure_ceilings(report);
    }
    char shape[sizeof report->shape];
    struct varve_series s = varve_series_of(line->seconds, line->rounds);
    struct bench_rates r = bench_rates_of(line, s.least, &report->ceilings);
    snprintf(shape, sizeof shape, "%s %s %u", line->operation, line->shape, line->rows);
    bool first = strcmp(shape, report->shape) != 0;
    memcpy(report->shape, shape, sizeof shape);
    if (report->code != EXIT_DONE) {
        return;
    }
    switch (report->form) {
    case FORM_TABLE:
        write_row(report, line, &s, &r, first);
        break;
    case FORM_CSV:
        write_csv(report, line, &s, &r);
        break;
    case FORM_JSON:
        report->code = json_line(bench_line_json(line, &r));
        break;
    case FORM_SVG:
        keep_bar(report, line, s.least, &r, first);
    }
    report->lines++;
    output_flush();
}

/* ---- the run ---- */

static bool going_on(void *context) {
    (void)context;
    return !interrupted();
}

struct varve_bench_lines_options bench_lines(const struct arguments *arguments,
                                             const struct varve_session_options *session) {
    return (struct varve_bench_lines_options){
        .shape = text_of(arguments, OPTION_shape),
        .rounds = (uint32_t)integer_of(arguments, OPTION_rounds),
        .threads = session->threads,
        .numa = session->numa,
        .device = session->device,
        .isa = session->isa,
        .seed = given(arguments, OPTION_seed) ? (uint64_t)integer_of(arguments, OPTION_seed) : 1,
        .going_on = going_on,
    };
}

int bench_lines_end(int code, const struct varve_error *error) {
    if (code == VARVE_ERROR_CANCELLED && interrupted()) {
        return EXIT_INTERRUPTED;
    }
    return code == VARVE_OK ? EXIT_DONE : fail("%s", error->message);
}

/* Of a session for windows of the most rows that are asked for. */
static size_t plan(const struct arguments *arguments, const struct opened *opened,
                   struct varve_plan_line *lines, size_t room) {
    uint32_t rows[LIST_MOST], most = 1;
    struct varve_session_options session = session_options(arguments, 0);
    size_t count = list_of(arguments, OPTION_rows, rows);
    for (size_t i = 0; i < count; i++) {
        most = rows[i] > most ? rows[i] : most;
    }
    session.context = session.window = most;
    return varve_session_plan(opened->model, &session, lines, room);
}

/* `model` NULL: shapes of released models, operation by operation. */
static int measure(const struct arguments *arguments, const struct varve_model *model,
                   struct report *report) {
    report->session = session_options(arguments, 0);
    uint32_t rows[LIST_MOST];
    struct varve_error error;
    struct varve_bench_lines_options options = bench_lines(arguments, &report->session);
    options.names = arguments->operands;
    options.name_count = arguments->operand_count;
    options.variant = text_of(arguments, OPTION_variant);
    options.rows = rows;
    options.row_count = list_of(arguments, OPTION_rows, rows);
    options.line = on_line;
    options.context = report;
    int code = model ? varve_bench_steps(model, &options, &error)
                     : varve_bench_operations(&options, &error);
    code = bench_lines_end(code, &error);
    if (code != EXIT_DONE) {
        return code;
    }
    return report->lines ? report->code
                         : fail("nothing is called that: varve check --list has the variants, "
                                "varve bench without --shape and --variant the shapes");
}

int bench_operations(const struct arguments *arguments) {
    bool csv = given(arguments, OPTION_csv), svg = given(arguments, OPTION_svg);
    bool json = given(arguments, OPTION_json);
    if (csv + svg + json > 1) {
        return fail_use("--csv, --json and --svg are three forms of one table: choose one");
    }
    struct report report = {.form = csv    ? FORM_CSV
                                    : json ? FORM_JSON
                                    : svg  ? FORM_SVG
                                           : FORM_TABLE};
    interrupt_gently();
    struct opened opened = {0};
    int code = bench_is_synthetic(arguments)
                   ? bench_open_synthetic(arguments, LAYERS_USUAL, plan, &opened)
                   : EXIT_DONE;
    code = code == EXIT_DONE ? measure(arguments, opened.model, &report) : code;
    close_model(&opened);
    if (code == EXIT_DONE && report.form == FORM_TABLE) {
        const struct varve_ceilings *c = &report.ceilings;
        output_format("at most, with %u thread%s: %.1f GB/s read, %.1f GB/s copied, %.0f Gop/s "
                      "int8, %.0f Gop/s float\n",
                      c->threads, c->threads == 1 ? "" : "s", c->read * 1e-9, c->copy * 1e-9,
                      c->int8 * 1e-9, c->f32 * 1e-9);
    } else if (code == EXIT_DONE && report.form == FORM_SVG) {
        bench_plot(report.bars, report.lines, &report.ceilings);
    }
    free(report.bars);
    return code;
}

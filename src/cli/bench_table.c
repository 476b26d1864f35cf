/* Tables of a kernel system by the rows of a window: beside each time its multiple of one row's,
 * and what was published for a kernel of the same work. */
#include "bench.h"
#include "interrupt.h"
#include "json.h"
#include "opened.h"
#include "output.h"
#include "published.h"
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINES_MOST = 1024 };

/* A line, whose text and times are its own. */
struct row {
    struct varve_bench_line line; /* its pointers are those below */
    char operation[32], variant[64], shape[120];
    double *seconds;
    double least;
};

struct report {
    const struct published_table *published;
    struct varve_session_options session;
    struct varve_ceilings ceilings;
    struct row rows[LINES_MOST];
    size_t count;
    bool full, memory;
};

/* What is measured. */
typedef int measure_lines(const struct varve_bench_lines_options *options,
                          struct varve_error *error);
struct table {
    const char *folder;
    measure_lines *lines[2]; /* one after the other */
    const struct published_table *published;
    uint32_t long_window; /* measured, too, where no rows are asked for; 0: none */
};

/* ---- lines ---- */

static void on_line(void *context, const struct varve_bench_line *line) {
    struct report *r = context;
    double *seconds = malloc(line->rounds * sizeof *seconds);
    r->full = r->full || r->count == LINES_MOST;
    r->memory = r->memory && seconds;
    if (r->full || !seconds) {
        free(seconds);
        return;
    }
    struct row *row = &r->rows[r->count++];
    *row = (struct row){.line = *line, .seconds = seconds};
    snprintf(row->operation, sizeof row->operation, "%s", line->operation);
    snprintf(row->variant, sizeof row->variant, "%s", line->variant);
    snprintf(row->shape, sizeof row->shape, "%s", line->shape);
    memcpy(seconds, line->seconds, line->rounds * sizeof *seconds);
    row->line.operation = row->operation;
    row->line.variant = row->variant;
    row->line.shape = row->shape;
    row->line.seconds = seconds;
    row->least = varve_series_of(seconds, line->rounds).least;
}

static void forget(struct report *r) {
    for (size_t i = 0; i < r->count; i++) {
        free(r->rows[i].seconds);
    }
    r->count = 0;
}

/* The line of the same case with so many rows and that variant; NULL: it wasn't measured. */
static const struct row *find(const struct report *r, const struct row *like, const char *variant,
                              uint32_t rows) {
    for (size_t i = 0; i < r->count; i++) {
        const struct row *row = &r->rows[i];
        if (row->line.rows == rows && strcmp(row->variant, variant) == 0 &&
            strcmp(row->operation, like->operation) == 0 && strcmp(row->shape, like->shape) == 0) {
            return row;
        }
    }
    return NULL;
}

/* As a multiple of one row's time; 0: that wasn't measured. */
static double ratio_of(const struct report *r, const struct row *row) {
    const struct row *one = find(r, row, row->variant, 1);
    return one ? row->least / one->least : 0;
}

/* How many times as fast as apart steps are together; 0: they weren't measured so. */
static double gain_of(const struct report *r, const struct row *row) {
    const struct row *apart =
        strcmp(row->variant, "together") == 0 ? find(r, row, "apart", row->line.rows) : NULL;
    return apart ? apart->least / row->least : 0;
}

/* Whether a figure is of a kernel that does what the line's does, of any number of rows. */
static bool is_of(const struct published *f, const struct row *row) {
    return strcmp(f->line, row->operation) == 0 || strcmp(f->line, row->variant) == 0 ||
           strstr(row->shape, f->line);
}

/* Figures are of the released model's shapes. */
static bool compares(const struct published *f, const struct row *row) {
    return is_of(f, row) && f->rows == row->line.rows && strstr(row->shape, "Qwen3.8-Flash-Next");
}

/* ---- forms ---- */

static json_t *published_json(const struct report *r, const struct row *row) {
    json_t *list = json_array();
    for (size_t i = 0; i < r->published->count; i++) {
        const struct published *f = &r->published->figures[i];
        if (compares(f, row)) {
            json_t *figure = json_pack("{s:s, s:f}", "kernel", f->kernel, "us", f->us);
            double ratio = published_ratio(r->published, f);
            if (ratio > 0) {
                json_object_set_new(figure, "ratio", json_real(ratio));
            }
            json_array_append_new(list, figure);
        }
    }
    return list;
}

static int write_json(const struct report *r) {
    int code = EXIT_DONE;
    for (size_t i = 0; i < r->count && code == EXIT_DONE; i++) {
        const struct row *row = &r->rows[i];
        struct bench_rates rates = bench_rates_of(&row->line, row->least, &r->ceilings);
        json_t *object = bench_line_json(&row->line, &rates);
        double ratio = ratio_of(r, row), gain = gain_of(r, row);
        if (ratio > 0) {
            json_object_set_new(object, "ratio", json_real(ratio));
        }
        if (gain > 0) {
            json_object_set_new(object, "gain", json_real(gain));
        }
        json_object_set_new(object, "published", published_json(r, row));
        code = json_line(object);
    }
    return code;
}

/* The fastest of those that were published; NULL: none was. */
static const struct published *best_published(const struct report *r, const struct row *row) {
    const struct published *best = NULL;
    for (size_t i = 0; i < r->published->count; i++) {
        const struct published *f = &r->published->figures[i];
        best = compares(f, row) && (!best || f->us < best->us) ? f : best;
    }
    return best;
}

static const char *times(double ratio, char text[16]) {
    text[0] = '\0';
    if (ratio > 0) {
        snprintf(text, 16, "%.2f", ratio);
    }
    return text;
}

static void write_row(const struct report *r, const struct row *row, bool first) {
    struct bench_rates rates = bench_rates_of(&row->line, row->least, &r->ceilings);
    const struct published *f = best_published(r, row);
    char ours[16], gain[16], theirs[16];
    output_format("%-66s %4u %-34s %10.2f %8s %6s %6.1f %% of %-5s", first ? row->shape : "",
                  row->line.rows, row->variant, row->least * 1e6, times(ratio_of(r, row), ours),
                  times(gain_of(r, row), gain), 100 * rates.share, rates.bound);
    if (f) {
        output_format(" %10.1f %8s  %s", f->us, times(published_ratio(r->published, f), theirs),
                      f->kernel);
    }
    output_write("\n", 1);
}

/* Every figure, a line for each kernel. */
static void write_published(const struct published_table *p) {
    output_format("\npublished (%s; on %s, so multiples of one row compare, times don't):\n",
                  p->source, p->machine);
    for (size_t i = 0; i < p->count; i++) {
        const struct published *f = &p->figures[i];
        bool first = i == 0 || strcmp(f->kernel, f[-1].kernel) != 0 || strcmp(f->line, f[-1].line);
        char ratio[16];
        if (first) {
            output_format("%s%-28s %-18s", i ? "\n" : "", f->line, f->kernel);
        }
        output_format("  %u row%s %.1f us", f->rows, f->rows == 1 ? "" : "s", f->us);
        if (f->rows > 1 && published_ratio(p, f) > 0) {
            output_format(" (%s)", times(published_ratio(p, f), ratio));
        }
    }
    output_write("\n", 1);
}

static void write_table(const struct report *r) {
    const struct varve_ceilings *c = &r->ceilings;
    output_format("%-66s %4s %-34s %10s %8s %6s %17s %10s %8s  %s\n", "shape", "rows", "variant",
                  "least us", "of 1 row", "gain", "share of floor", "published", "of 1 row", "by");
    for (size_t i = 0; i < r->count; i++) {
        const struct row *row = &r->rows[i];
        write_row(r, row, i == 0 || strcmp(row->shape, row[-1].shape) != 0);
    }
    write_published(r->published);
    output_format("\nat most, with %u thread%s: %.1f GB/s read, %.0f Gop/s int8, %.0f Gop/s "
                  "float\n",
                  c->threads, c->threads == 1 ? "" : "s", c->read * 1e-9, c->int8 * 1e-9,
                  c->f32 * 1e-9);
}

/* ---- the run ---- */

static int measure(const struct arguments *arguments, const struct table *table,
                   struct report *report) {
    uint32_t rows[LIST_MOST + 1];
    struct varve_error error;
    size_t count = list_of(arguments, OPTION_rows, rows);
    if (table->long_window && !given(arguments, OPTION_rows)) {
        rows[count++] = table->long_window;
    }
    struct varve_bench_lines_options options = bench_lines(arguments, &report->session);
    options.names = &table->folder;
    options.name_count = 1;
    options.rows = rows;
    options.row_count = count;
    options.line = on_line;
    options.context = report;
    int code = VARVE_OK;
    for (size_t i = 0; i < 2 && table->lines[i] && code == VARVE_OK; i++) {
        code = table->lines[i](&options, &error);
    }
    if (code == VARVE_OK && report->count) {
        code = varve_measure_ceilings(&report->session, &report->ceilings, &error);
    }
    return bench_lines_end(code, &error);
}

static int bench_table(const struct arguments *arguments, const struct table *table) {
    static struct report report;
    report = (struct report){
        .published = table->published, .session = session_options(arguments, 0), .memory = true};
    interrupt_gently();
    int code = measure(arguments, table, &report);
    if (code == EXIT_DONE && (report.full || !report.memory)) {
        code = fail("there is no room for so many lines: --rows and --shape leave some out");
    } else if (code == EXIT_DONE && report.count == 0) {
        code = fail("no shape is called that, or no rows were asked for");
    }
    if (code == EXIT_DONE && given(arguments, OPTION_json)) {
        code = write_json(&report);
    } else if (code == EXIT_DONE) {
        write_table(&report);
    }
    forget(&report);
    return code;
}

int bench_hyper_read(const struct arguments *arguments) {
    static const struct table table = {
        "hyper_read", {varve_bench_operations, varve_bench_layers}, &published_hyper_read, 0};
    return bench_table(arguments, &table);
}

int bench_gdn(const struct arguments *arguments) {
    static const struct table table = {"gdn_step", {varve_bench_layers}, &published_gdn, 2048};
    return bench_table(arguments, &table);
}

int bench_gemv_cat(const struct arguments *arguments) {
    static const struct table table = {"gemv", {varve_bench_layers}, &published_gemv_cat, 0};
    return bench_table(arguments, &table);
}

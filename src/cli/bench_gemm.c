/* Products of many rows, as prompts have them: beside what the device does at most with such
 * formats, and beside BF16 by the library of the device's maker. */
#include "bench.h"
#include "interrupt.h"
#include "opened.h"
#include "output.h"
#include "report.h"

#include <stdio.h>
#include <string.h>

enum { CASES_MOST = 256, TILES_MOST = 24, NAME_MOST = 64 };

struct tile {
    char name[NAME_MOST]; /* the variant's, without its operation */
    double seconds;       /* the least; 0: this case can't be made so */
};

/* A shape and a number of rows. */
struct product {
    char shape[120];
    uint32_t rows;
    int roof;
    size_t inputs, outputs;
    double operations;
    bool int8;
    struct tile tiles[TILES_MOST];
    size_t count, rule; /* the rule's choice among them */
};

struct report {
    struct varve_session_options session;
    struct varve_ceilings ceilings;
    struct varve_roof roofs[VARVE_ROOFS];
    bool roofed;
    struct product products[CASES_MOST];
    size_t count;
};

static void on_line(void *context, const struct varve_bench_line *line) {
    struct report *r = context;
    struct product *p = r->count ? &r->products[r->count - 1] : NULL;
    if (!p || p->rows != line->rows || strcmp(p->shape, line->shape) != 0) {
        if (r->count == CASES_MOST) {
            return;
        }
        p = &r->products[r->count++];
        *p = (struct product){.rows = line->rows,
                              .roof = line->roof,
                              .inputs = line->inputs,
                              .outputs = line->outputs,
                              .operations = line->operations,
                              .int8 = line->int8};
        snprintf(p->shape, sizeof p->shape, "%s", line->shape);
    }
    const char *slash = strchr(line->variant, '/');
    if (p->count < TILES_MOST) {
        struct tile *t = &p->tiles[p->count];
        snprintf(t->name, sizeof t->name, "%s", slash ? slash + 1 : line->variant);
        t->seconds = varve_series_of(line->seconds, line->rounds).least;
        p->rule = line->rule ? p->count : p->rule;
        p->count++;
    }
}

/* ---- tables ---- */

static void write_roofs(const struct report *r) {
    output_format("%-40s %-30s %10s %8s\n", "at most, weights with", "in the form", "Top/s",
                  "of int8");
    for (size_t i = 0; i < VARVE_ROOFS; i++) {
        output_format("%-40s %-30s %10.2f %6.1f %%\n", r->roofs[i].kind, r->roofs[i].form,
                      r->roofs[i].rate * 1e-12, 100 * r->roofs[i].rate / r->ceilings.int8);
    }
    output_write("\n", 1);
    output_flush();
}

/* Floats, and machines without roofs, are held against the ceiling of their numbers. */
static double roof_of(const struct report *r, const struct product *p) {
    return r->roofed && p->roof >= 0 ? r->roofs[p->roof].rate
           : p->int8                 ? r->ceilings.int8
                                     : r->ceilings.f32;
}

/* 0 where there is no such library; `why`: once, and then nobody asks again. */
static double bf16_seconds(const struct report *r, const struct product *p, char *why,
                           size_t room) {
    double seconds = 0;
    struct varve_error error;
    if (!*why && r->roofed &&
        varve_measure_bf16(&r->session, p->inputs, p->outputs, p->rows, &seconds, &error) !=
            VARVE_OK) {
        snprintf(why, room, "%s", error.message);
        return 0;
    }
    return seconds;
}

static const struct tile *best_of(const struct product *p) {
    size_t best = 0;
    for (size_t i = 1; i < p->count; i++) {
        best = p->tiles[i].seconds < p->tiles[best].seconds ? i : best;
    }
    return &p->tiles[best];
}

static void write_tile(const struct report *r, const struct product *p, size_t i, bool first) {
    const struct tile *t = &p->tiles[i];
    output_format("%-42s %5u %-20s %10.2f %8.2f %6.1f %%", first ? p->shape : "", p->rows, t->name,
                  t->seconds * 1e6, p->operations / t->seconds * 1e-12,
                  100 * p->operations / t->seconds / roof_of(r, p));
}

static void write_products(const struct report *r, bool tiles, bool against) {
    char why[sizeof((struct varve_error *)0)->message] = "";
    output_format("%-42s %5s %-20s %10s %8s %8s %10s\n", "shape", "rows", "tile", "least us",
                  "Top/s", "of most", "bf16 us");
    for (size_t k = 0; k < r->count && !interrupted(); k++) {
        const struct product *p = &r->products[k];
        const struct tile *best = best_of(p), *rule = &p->tiles[p->rule];
        double bf16 = bf16_seconds(r, p, why, sizeof why);
        write_tile(r, p, p->rule, true);
        if (bf16 > 0) {
            output_format(" %10.2f", bf16 * 1e6);
        }
        if (against) {
            output_format("  best: %s, %.3f of the rule's time", best->name,
                          best->seconds / rule->seconds);
        }
        output_write("\n", 1);
        for (size_t i = 0; i < p->count && tiles; i++) {
            if (i != p->rule) {
                write_tile(r, p, i, false);
                output_write("\n", 1);
            }
        }
        output_flush();
    }
    if (*why) {
        output_format("no times of bf16: %s\n", why);
    }
}

/* All shapes of as many rows; a tile that not all of them can have has no sum. */
static double sum_of(const struct report *r, uint32_t rows, const char *name) {
    double sum = 0;
    for (size_t k = 0; k < r->count; k++) {
        const struct product *p = &r->products[k];
        size_t i = name ? 0 : p->rule;
        while (name && i < p->count && strcmp(p->tiles[i].name, name) != 0) {
            i++;
        }
        if (p->rows == rows) {
            sum = i < p->count && sum >= 0 ? sum + p->tiles[i].seconds : -1;
        }
    }
    return sum;
}

static void write_sums(const struct report *r, const uint32_t *rows, size_t count) {
    output_format("\n%5s %-20s %12s\n", "rows", "all shapes by", "us");
    for (size_t k = 0; k < count; k++) {
        output_format("%5u %-20s %12.2f\n", rows[k], "the rule", sum_of(r, rows[k], NULL) * 1e6);
        for (size_t i = 0; i < r->products[0].count; i++) {
            double sum = sum_of(r, rows[k], r->products[0].tiles[i].name);
            if (sum >= 0 && i != r->products[0].rule) {
                output_format("%5u %-20s %12.2f\n", rows[k], r->products[0].tiles[i].name,
                              sum * 1e6);
            }
        }
    }
}

/* ---- the run ---- */

static size_t list_rows(const struct arguments *arguments, uint32_t *rows /* [LIST_MOST] */) {
    static const uint32_t usual[] = {512, 2048}, sums[] = {192, 306, 448, 520, 700, 2048};
    bool summed = given(arguments, OPTION_chunk_sum);
    size_t count = summed ? sizeof sums / sizeof *sums : sizeof usual / sizeof *usual;
    if (given(arguments, OPTION_rows)) {
        return list_of(arguments, OPTION_rows, rows);
    }
    memcpy(rows, summed ? sums : usual, count * sizeof *rows);
    return count;
}

static int measure(const struct arguments *arguments, const uint32_t *rows, size_t count,
                   struct report *report) {
    static const char *const names[] = {"gemv"};
    struct varve_error error;
    struct varve_bench_lines_options options = bench_lines(arguments, &report->session);
    options.names = names;
    options.name_count = 1;
    options.rows = rows;
    options.row_count = count;
    options.line = on_line;
    options.context = report;
    int code = varve_bench_operations(&options, &error);
    return bench_lines_end(code, &error);
}

static int measure_roofs(struct report *report) {
    struct varve_error error;
    int code = varve_measure_ceilings(&report->session, &report->ceilings, &error);
    if (code == VARVE_OK) {
        code = varve_measure_roofs(&report->session, report->roofs, &error);
        report->roofed = code == VARVE_OK;
    }
    if (report->roofed) {
        write_roofs(report);
    }
    return code == VARVE_OK || code == VARVE_ERROR_UNSUPPORTED ? EXIT_DONE
                                                               : fail("%s", error.message);
}

int bench_gemm(const struct arguments *arguments) {
    static struct report report;
    uint32_t rows[LIST_MOST];
    size_t count = list_rows(arguments, rows);
    report = (struct report){.session = session_options(arguments, 0)};
    interrupt_gently();
    int code = measure_roofs(&report);
    code = code == EXIT_DONE ? measure(arguments, rows, count, &report) : code;
    if (code != EXIT_DONE) {
        return code;
    }
    if (report.count == 0) {
        return fail("no shape is called that: varve bench gemv lists them");
    }
    write_products(&report, given(arguments, OPTION_tiles), given(arguments, OPTION_against));
    if (given(arguments, OPTION_chunk_sum)) {
        write_sums(&report, rows, count);
    }
    return EXIT_DONE;
}

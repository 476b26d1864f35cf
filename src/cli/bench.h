/* The parts of `varve bench`. Exit codes. */
#pragma once
#include "opened.h"

#include <varve.h>

int bench_model(const struct arguments *arguments);
int bench_draft(const struct arguments *arguments);
int bench_operations(const struct arguments *arguments);
int bench_sweep(const struct arguments *arguments);
int bench_gemm(const struct arguments *arguments);
int bench_hyper_read(const struct arguments *arguments);
int bench_gdn(const struct arguments *arguments);
int bench_gemv_cat(const struct arguments *arguments);

/* Whether weights are made up; whether the options for that make sense. */
bool bench_is_synthetic(const struct arguments *arguments);
int bench_check_synthetic(const struct arguments *arguments);

/* The memory plan of what is to be measured; weights first. */
typedef size_t bench_plan(const struct arguments *arguments, const struct opened *opened,
                          struct varve_plan_line *lines, size_t room);
/*
 * Opens the model that --geometry, or -m with --synthetic, says: its first `layers` where --layers
 * says nothing (0: all). What doesn't fit in the device's free memory is refused; else the plan
 * stands on standard error, before anything is allocated.
 */
int bench_open_synthetic(const struct arguments *arguments, uint32_t layers, bench_plan *plan,
                         struct opened *opened);

/* What the command line says of a measurement of operations, which ends when the user wants; the
 * exit status that its end makes, with a sentence where it failed. */
struct varve_bench_lines_options bench_lines(const struct arguments *arguments,
                                             const struct varve_session_options *session);
int bench_lines_end(int code, const struct varve_error *error);

/* What a line of an operation comes to. */
struct bench_rates {
    double bytes, operations; /* a second, by the least time */
    double share;             /* of what the machine does at most, by the nearer ceiling */
    const char *bound;        /* "read", "int8" or "float": that ceiling */
};
struct bench_rates bench_rates_of(const struct varve_bench_line *line, double seconds,
                                  const struct varve_ceilings *ceilings);
/* What --json says of it; NULL without memory. */
struct json_t *bench_line_json(const struct varve_bench_line *line, const struct bench_rates *r);

/* A plot as SVG on standard output: a bar for each line, as long as its share of the ceiling. */
struct bench_bar {
    char label[160];
    struct bench_rates rates;
    double seconds;
    bool first; /* of its case */
};
void bench_plot(const struct bench_bar *bars, size_t count, const struct varve_ceilings *ceilings);

/* A plot of tokens a second over the depth, as SVG; NULL without memory. Free it. */
enum { SWEEP_POINTS_MOST = 64 };
struct sweep_point {
    uint32_t depth;
    double rate[2][2]; /* [prompt, generate][a, b] */
};
struct sweep_plot {
    bool both;           /* there is a setting b */
    const char *name[2]; /* of the settings */
    struct sweep_point points[SWEEP_POINTS_MOST];
    size_t count;
};
char *sweep_plot(const struct sweep_plot *plot);

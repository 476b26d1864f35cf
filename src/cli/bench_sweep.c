/* How fast a model is as its context grows, under one setting or two. */
#include "bench.h"
#include "interrupt.h"
#include "json.h"
#include "opened.h"
#include "output.h"
#include "progress.h"
#include "report.h"
#include "setting.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum form { FORM_TABLE, FORM_CSV, FORM_JSON, FORM_SVG };

struct report {
    enum form form;
    struct sweep_plot plot;
    int code; /* of the JSON lines */
    uint64_t compared, different;
};

/* ---- what is written after each depth ---- */

static double rate(uint32_t tokens, double ms) {
    return ms > 0 ? 1e3 * tokens / ms : 0;
}

static void write_heading(const struct report *report) {
    if (report->form == FORM_CSV) {
        output_format("depth,setting,prompt_tokens,prompt_ms,prompt_tokens_per_s,generated,"
                      "generate_ms,generate_tokens_per_s,logits_compared,logits_different\n");
    } else if (report->form == FORM_TABLE) {
        output_format("%8s %10s %10s%s\n", "depth", "prompt", "generate",
                      report->plot.both ? "   prompt b generate b   logits" : "   tokens/s");
    }
}

static void write_csv(const struct varve_sweep_result *r, const char *setting,
                      const struct varve_sweep_times *t) {
    output_format("%u,%s,%u,%.3f,%.3f,%u,%.3f,%.3f,%u,%u\n", r->depth, setting, r->read,
                  t->prompt_ms, rate(r->read, t->prompt_ms), r->generated, t->generate_ms,
                  rate(r->generated, t->generate_ms), r->compared, r->different);
}

static json_t *times_json(const struct varve_sweep_times *t) {
    return json_pack("{s:f, s:f}", "prompt_ms", t->prompt_ms, "generate_ms", t->generate_ms);
}

static int write_json(const struct varve_sweep_result *r, bool both) {
    json_t *line = json_pack("{s:I, s:I, s:I, s:o}", "depth", (json_int_t)r->depth, "read",
                             (json_int_t)r->read, "generated", (json_int_t)r->generated, "a",
                             times_json(&r->a));
    if (line && both) {
        json_object_set_new(line, "b", times_json(&r->b));
        json_object_set_new(line, "compared", json_integer(r->compared));
        json_object_set_new(line, "different", json_integer(r->different));
    }
    return json_line(line);
}

static void write_row(const struct varve_sweep_result *r, bool both) {
    output_format("%8u %10.2f %10.2f", r->depth, rate(r->read, r->a.prompt_ms),
                  rate(r->generated, r->a.generate_ms));
    if (both) {
        output_format(" %10.2f %10.2f   %u of %u rows differ", rate(r->read, r->b.prompt_ms),
                      rate(r->generated, r->b.generate_ms), r->different, r->compared);
    }
    output_write("\n", 1);
}

static void on_result(void *context, const struct varve_sweep_result *r) {
    struct report *report = context;
    struct sweep_plot *plot = &report->plot;
    progress_clear();
    if (plot->count == 0) {
        write_heading(report);
    }
    if (report->form == FORM_CSV) {
        write_csv(r, "a", &r->a);
        if (plot->both) {
            write_csv(r, "b", &r->b);
        }
    } else if (report->form == FORM_JSON) {
        int code = write_json(r, plot->both);
        report->code = report->code == EXIT_DONE ? code : report->code;
    } else if (report->form == FORM_TABLE) {
        write_row(r, plot->both);
    }
    output_flush();
    plot->points[plot->count++] = (struct sweep_point){
        r->depth,
        {{rate(r->read, r->a.prompt_ms), rate(r->read, r->b.prompt_ms)},
         {rate(r->generated, r->a.generate_ms), rate(r->generated, r->b.generate_ms)}}};
    report->compared += r->compared;
    report->different += r->different;
}

/* ---- depths ---- */

/* From the first to the last, each so many times the one before it (x2), or so many tokens on. */
static int list_depths(const struct arguments *arguments, uint32_t *depths, size_t *count) {
    int64_t from = integer_of(arguments, OPTION_from), to = integer_of(arguments, OPTION_to);
    const char *step = text_of(arguments, OPTION_step);
    bool times = step[0] == 'x';
    char *end;
    long by = strtol(step + times, &end, 10);
    if (end == step + times || *end || by < 1 + times || by > 1 << 24) {
        return fail_use("--step takes x2 and the like, or a number of tokens, not \"%s\"", step);
    }
    *count = 0;
    for (int64_t depth = from; depth <= to; depth = times ? depth * by : depth + by) {
        if (*count == SWEEP_POINTS_MOST) {
            return fail_use("from %lld to %lld there are more than %d depths: give a larger --step",
                            (long long)from, (long long)to, SWEEP_POINTS_MOST);
        }
        depths[(*count)++] = (uint32_t)depth;
    }
    return *count ? EXIT_DONE
                  : fail_use("--from %lld lies beyond --to %lld", (long long)from, (long long)to);
}

/* ---- the run ---- */

static int read_settings(const struct arguments *arguments, struct setting *a, struct setting *b) {
    int code = setting_read(arguments, OPTION_a, 0, a);
    code = code == EXIT_DONE ? setting_read(arguments, OPTION_b, 0, b) : code;
    if (code == EXIT_DONE &&
        (a->drafts.draft != VARVE_DRAFT_OFF || b->drafts.draft != VARVE_DRAFT_OFF)) {
        return fail_use("a sweep decodes token by token: --draft belongs to varve ab");
    }
    return code;
}

static int measure(const struct arguments *arguments, const struct opened *opened,
                   struct report *report) {
    uint32_t depths[SWEEP_POINTS_MOST];
    struct setting a = {0}, b = {0};
    struct varve_sweep_options options = {
        .a = &a.session,
        .b = report->plot.both ? &b.session : NULL,
        .depths = depths,
        .generate = (uint32_t)integer_of(arguments, OPTION_generate),
        .seed = given(arguments, OPTION_seed) ? (uint64_t)integer_of(arguments, OPTION_seed) : 1,
        .progress = progress_tokens,
        .result = on_result,
        .context = report,
    };
    struct varve_error error;
    int code = list_depths(arguments, depths, &options.depth_count);
    code = code == EXIT_DONE ? read_settings(arguments, &a, &b) : code;
    if (code == EXIT_DONE) {
        int told = varve_sweep(opened->model, &options, &error);
        progress_clear();
        code = told == VARVE_ERROR_CANCELLED && interrupted() ? EXIT_INTERRUPTED
               : told != VARVE_OK                             ? fail("%s", error.message)
                                                              : report->code;
    }
    setting_free(&a);
    setting_free(&b);
    return code;
}

/* The plot to --out, or to standard output. */
static int write_plot(const struct arguments *arguments, const struct report *report) {
    const char *path = text_of(arguments, OPTION_out);
    char *text = sweep_plot(&report->plot);
    struct varve_output *output;
    struct varve_error error;
    int code = text ? EXIT_DONE : fail("no memory for a plot");
    if (text && report->form == FORM_SVG) {
        output_write(text, strlen(text));
    }
    if (text && path) {
        int told = varve_output_open(path, &output, &error);
        if (told == VARVE_OK && (told = varve_output_write(output, text, strlen(text), &error))) {
            varve_output_abandon(output);
        } else if (told == VARVE_OK) {
            told = varve_output_finish(output, &error);
        }
        code = told == VARVE_OK ? EXIT_DONE : fail("%s", error.message);
    }
    free(text);
    return code;
}

static int run(const struct arguments *arguments, struct report *report) {
    struct opened opened = {0};
    interrupt_gently();
    int code = open_model(arguments, &opened);
    if (code == EXIT_DONE) {
        code = measure(arguments, &opened, report);
    }
    if (code == EXIT_DONE && (report->form == FORM_SVG || given(arguments, OPTION_out))) {
        code = write_plot(arguments, report);
    }
    if (code == EXIT_DONE && report->different > 0) {
        code = fail("%llu of %llu rows of logits differ between the settings",
                    (unsigned long long)report->different, (unsigned long long)report->compared);
    }
    close_model(&opened);
    return code;
}

int bench_sweep(const struct arguments *arguments) {
    bool csv = given(arguments, OPTION_csv), svg = given(arguments, OPTION_svg);
    bool json = given(arguments, OPTION_json);
    if (csv + svg + json > 1) {
        return fail_use("--csv, --json and --svg are three forms of one table: choose one, and "
                        "--out FILE for a plot beside it");
    }
    struct report report = {.form = csv    ? FORM_CSV
                                    : json ? FORM_JSON
                                    : svg  ? FORM_SVG
                                           : FORM_TABLE};
    report.plot.both = given(arguments, OPTION_a) || given(arguments, OPTION_b);
    report.plot.name[0] = text_of(arguments, OPTION_a);
    report.plot.name[1] = text_of(arguments, OPTION_b);
    return run(arguments, &report);
}

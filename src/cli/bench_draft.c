/* `varve bench draft`: tokens a second of every way to draft, by the chance that drafts are right.
 */
#include "bench.h"
#include "interrupt.h"
#include "json.h"
#include "opened.h"
#include "output.h"
#include "progress.h"
#include "report.h"

#include <stdlib.h>

enum { ACCEPT_MOST = 8, WAYS_MOST = 8, TOKENS_USUAL = 256 };

struct line {
    struct varve_bench_draft_result is;
    struct varve_series rate;
};

struct report {
    struct line lines[ACCEPT_MOST * WAYS_MOST];
    size_t count;
};

/* ---- options ---- */

static int read_chances(const struct arguments *arguments, double *accept, size_t *count) {
    const char *text = text_of(arguments, OPTION_accept);
    for (*count = 0; *count < ACCEPT_MOST;) {
        char *end;
        double p = (text[0] >= '0' && text[0] <= '9') || text[0] == '.' ? strtod(text, &end) : -1;
        if (!(p >= 0 && p <= 1)) {
            break;
        }
        accept[(*count)++] = p;
        if (*end != ',') {
            if (*end) {
                break;
            }
            return EXIT_DONE;
        }
        text = end + 1;
    }
    return fail_use("--accept takes up to %d chances from 0 to 1 with commas between, not \"%s\"",
                    ACCEPT_MOST, text_of(arguments, OPTION_accept));
}

/* ---- forms ---- */

static double plain_rate(const struct report *report, size_t line) {
    while (line > 0 && report->lines[line - 1].is.accept == report->lines[line].is.accept) {
        line--;
    }
    return report->lines[line].rate.median; /* plain decoding comes first */
}

static void write_table(const struct report *report) {
    output_format("%6s  %-9s %10s %7s %9s %9s %10s %7s  %s\n", "accept", "way", "tokens/s",
                  "spread", "of plain", "a window", "model", "of it", "drafts");
    for (size_t i = 0; i < report->count; i++) {
        const struct line *l = &report->lines[i];
        output_format("%6.2f  %-9s %10.2f %5.1f %% %9.3f %9.2f", l->is.accept, l->is.way,
                      l->rate.median, 100 * (l->rate.high - l->rate.low) / l->rate.median,
                      l->rate.median / plain_rate(report, i), l->is.window_tokens);
        if (l->is.model > 0) {
            output_format(" %10.2f %7.3f  %u", l->is.model, l->rate.median / l->is.model,
                          l->is.drafts);
        }
        output_write("\n", 1);
    }
}

static void write_csv(const struct report *report) {
    output_format("accept,way,tokens_per_second,low,high,of_plain,tokens_per_window,model,"
                  "model_drafts\n");
    for (size_t i = 0; i < report->count; i++) {
        const struct line *l = &report->lines[i];
        output_format("%g,%s,%.4f,%.4f,%.4f,%.4f,%.4f,%.4f,%u\n", l->is.accept, l->is.way,
                      l->rate.median, l->rate.low, l->rate.high,
                      l->rate.median / plain_rate(report, i), l->is.window_tokens, l->is.model,
                      l->is.drafts);
    }
}

static int write_json(const struct report *report) {
    int code = EXIT_DONE;
    for (size_t i = 0; code == EXIT_DONE && i < report->count; i++) {
        const struct line *l = &report->lines[i];
        code = json_line(json_pack(
            "{s:f, s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:I}", "accept", l->is.accept, "way",
            l->is.way, "tokens_per_second", l->rate.median, "low", l->rate.low, "high",
            l->rate.high, "of_plain", l->rate.median / plain_rate(report, i), "tokens_per_window",
            l->is.window_tokens, "model", l->is.model, "model_drafts", (json_int_t)l->is.drafts));
    }
    return code;
}

/* ---- the plot: a group of bars for each chance, with a mark where the cost model stands ---- */

enum { WIDTH = 860, LEFT = 130, RIGHT = 190, LINE = 18, GAP = 26, TOP = 52 };

static bool first_of_group(const struct report *report, size_t i) {
    return i == 0 || report->lines[i - 1].is.accept != report->lines[i].is.accept;
}

static void write_bar(const struct line *l, double scale, double plain, int y) {
    double length = l->rate.median * scale, model = LEFT + l->is.model * scale;
    output_format("<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>"
                  "<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>",
                  LEFT - 6, y + 12, l->is.way, LEFT, y + 2, length, LINE - 4,
                  l->rate.median < plain ? "#cc6677" : "#4477aa");
    if (l->is.model > 0) {
        output_format("<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" stroke=\"black\" "
                      "stroke-width=\"2\"/>",
                      model, y, model, y + LINE - 1);
    }
    output_format("<text x=\"%.1f\" y=\"%d\">%.1f, %.2f of plain</text>\n",
                  (model > LEFT + length ? model : LEFT + length) + 5, y + 12, l->rate.median,
                  l->rate.median / plain);
}

static void write_plot(const struct report *report) {
    double most = 0;
    int y = TOP, height = TOP + GAP;
    for (size_t i = 0; i < report->count; i++) {
        const struct line *l = &report->lines[i];
        most = l->rate.median > most ? l->rate.median : most;
        most = l->is.model > most ? l->is.model : most;
        height += LINE + (first_of_group(report, i) ? GAP : 0);
    }
    output_format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                  "font-family=\"sans-serif\" font-size=\"11\">\n"
                  "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
                  "<text x=\"10\" y=\"20\" font-size=\"13\">Tokens a second by the way to draft "
                  "and the chance that a draft is right; red: slower than plain</text>\n"
                  "<text x=\"10\" y=\"38\">black marks: what the cost model makes of measured "
                  "windows</text>\n",
                  WIDTH, height);
    for (size_t i = 0; i < report->count; i++) {
        if (first_of_group(report, i)) {
            y += GAP;
            output_format("<text x=\"10\" y=\"%d\" font-size=\"12\">chance %g</text>\n", y - 4,
                          report->lines[i].is.accept);
        }
        write_bar(&report->lines[i], (WIDTH - LEFT - RIGHT) / most, plain_rate(report, i), y);
        y += LINE;
    }
    output_format("</svg>\n");
}

/* ---- the run ---- */

static void on_result(void *context, const struct varve_bench_draft_result *result) {
    struct report *report = context;
    if (report->count < ACCEPT_MOST * WAYS_MOST) {
        report->lines[report->count++] =
            (struct line){*result, varve_series_of(result->rate, result->rounds)};
    }
}

static uint32_t depth_of(const struct arguments *arguments) {
    uint32_t depths[LIST_MOST];
    return given(arguments, OPTION_depth) && list_of(arguments, OPTION_depth, depths) ? depths[0]
                                                                                      : 0;
}

static uint32_t tokens_of(const struct arguments *arguments) {
    return given(arguments, OPTION_generate) ? (uint32_t)integer_of(arguments, OPTION_generate)
                                             : TOKENS_USUAL;
}

/* What the session of the measurement takes. */
static size_t plan(const struct arguments *arguments, const struct opened *opened,
                   struct varve_plan_line *lines, size_t room) {
    struct varve_session_options session = session_options(arguments, 0);
    session.window = VARVE_DRAFTS_MAX + 1;
    session.context = depth_of(arguments) + tokens_of(arguments) + session.window + 1;
    session.mtp = opened->info.mtp_layers > 0;
    return varve_session_plan(opened->model, &session, lines, room);
}

static int measure(const struct arguments *arguments, const struct opened *opened,
                   struct report *report) {
    double accept[ACCEPT_MOST];
    struct varve_error error;
    struct varve_session_options session = session_options(arguments, 0);
    struct varve_bench_draft_options options = {
        .accept = accept,
        .depth = depth_of(arguments),
        .tokens = tokens_of(arguments),
        .most = (uint32_t)integer_of(arguments, OPTION_draft_max),
        .rounds = (uint32_t)integer_of(arguments, OPTION_rounds),
        .seed = given(arguments, OPTION_seed) ? (uint64_t)integer_of(arguments, OPTION_seed) : 1,
        .progress = progress_steps,
        .result = on_result,
        .context = report,
    };
    int code = read_chances(arguments, accept, &options.accept_count);
    if (code != EXIT_DONE) {
        return code;
    }
    int told = varve_bench_draft(opened->model, &session, &options, &error);
    progress_clear();
    return told == VARVE_ERROR_CANCELLED && interrupted() ? EXIT_INTERRUPTED
           : told != VARVE_OK                             ? fail("%s", error.message)
                                                          : EXIT_DONE;
}

int bench_draft(const struct arguments *arguments) {
    bool csv = given(arguments, OPTION_csv), svg = given(arguments, OPTION_svg);
    bool json = given(arguments, OPTION_json);
    struct opened opened;
    struct report report = {.count = 0};
    if (csv + svg + json > 1) {
        return fail_use("--csv, --json and --svg are three forms of one table: choose one");
    }
    interrupt_gently();
    int code = bench_is_synthetic(arguments) ? bench_open_synthetic(arguments, 0, plan, &opened)
                                             : open_model(arguments, &opened);
    code = code == EXIT_DONE ? measure(arguments, &opened, &report) : code;
    if (code == EXIT_DONE && json) {
        code = write_json(&report);
    } else if (code == EXIT_DONE) {
        csv ? write_csv(&report) : svg ? write_plot(&report) : write_table(&report);
    }
    close_model(&opened);
    return code;
}

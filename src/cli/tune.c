/* Which variants, and how many threads, are fastest for a model on this machine. */
#include "commands.h"
#include "interrupt.h"
#include "json.h"
#include "opened.h"
#include "output.h"
#include "progress.h"
#include "report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct tuning {
    json_t *choices;
    size_t measured;
    double gain; /* sum of the logarithms of how many times as fast the kept choices are */
};

static void on_line(void *context, const struct varve_tune_line *line) {
    struct tuning *t = context;
    t->measured++;
    if (!line->kept) {
        return;
    }
    progress_clear();
    output_format("%-16s %-34s %4u rows  %s instead of %s: %.1f us for %.1f (p = %.4f)\n",
                  line->operation, line->shape, line->rows, line->variant, line->rule, line->us,
                  line->rule_us, line->p);
    output_flush();
    t->gain += log(line->rule_us / line->us);
    json_array_append_new(t->choices, json_pack("{s:s, s:s, s:I, s:s, s:s, s:f, s:f, s:f}",
                                                "operation", line->operation, "shape", line->shape,
                                                "rows", (json_int_t)line->rows, "variant",
                                                line->variant, "rule", line->rule, "us", line->us,
                                                "rule_us", line->rule_us, "p", line->p));
}

static int write_profile(struct varve_output *output, json_t *profile) {
    struct varve_error error;
    char *text = json_dumps(profile, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
    if (!text) {
        varve_output_abandon(output);
        return fail("no memory for the profile");
    }
    int code = varve_output_write(output, text, strlen(text), &error);
    code = code == VARVE_OK ? varve_output_write(output, "\n", 1, &error) : code;
    free(text);
    if (code != VARVE_OK) {
        varve_output_abandon(output);
        return fail("%s", error.message);
    }
    return varve_output_finish(output, &error) == VARVE_OK ? EXIT_DONE : fail("%s", error.message);
}

/* Takes `output`. */
static int keep(struct varve_output *output, const struct arguments *arguments,
                const struct opened *opened, struct tuning *t,
                const struct varve_tune_threads *threads) {
    char machine[VARVE_MACHINE_TEXT];
    size_t kept = json_array_size(t->choices);
    const char *numa = option_table[OPTION_numa].choices[threads->numa];
    varve_machine(machine);
    json_t *profile = json_pack("{s:s, s:s, s:s, s:o, s:I, s:s, s:O}", "varve", varve_version(),
                                "machine", machine, "device", device_name(arguments), "model",
                                json_text(opened->info.name, strlen(opened->info.name)), "threads",
                                (json_int_t)threads->threads, "numa", numa, "choices", t->choices);
    int code = write_profile(output, profile); /* no memory for one: nor for its text */
    json_decref(profile);
    if (code != EXIT_DONE) {
        return code;
    }
    if (threads->threads || threads->numa) {
        output_format("threads: %u (0: the default), --numa %s\n", threads->threads, numa);
    }
    output_format("%zu of %zu choices differ from varve's own rule", kept, t->measured);
    if (kept) {
        output_format(", on average %.2f times as fast", exp(t->gain / (double)kept));
    }
    output_write("\n", 1);
    return EXIT_DONE;
}

static int measure(const struct arguments *arguments, const struct opened *opened, struct tuning *t,
                   struct varve_tune_threads *threads) {
    const struct varve_session_options session = session_options(arguments, 0);
    struct varve_error error;
    const struct varve_tune_options options = {
        .session = &session,
        .rounds = (uint32_t)integer_of(arguments, OPTION_rounds),
        .seed = given(arguments, OPTION_seed) ? (uint64_t)integer_of(arguments, OPTION_seed) : 1,
        .progress = progress_steps,
        .line = on_line,
        .context = t,
    };
    int code = varve_tune(opened->model, &options, threads, &error);
    progress_clear();
    if (code == VARVE_ERROR_CANCELLED && interrupted()) {
        return EXIT_INTERRUPTED;
    }
    return code == VARVE_OK ? EXIT_DONE : fail("%s", error.message);
}

/* The file is begun first: it would be a pity to find after minutes that it can't be written. */
static int tune(const struct arguments *arguments, const struct opened *opened) {
    struct tuning t = {.choices = json_array()};
    struct varve_output *output;
    struct varve_error error;
    struct varve_tune_threads threads;
    if (varve_output_open(text_of(arguments, OPTION_out), &output, &error) != VARVE_OK) {
        json_decref(t.choices);
        return fail("%s", error.message);
    }
    int code = measure(arguments, opened, &t, &threads);
    if (code == EXIT_DONE) {
        code = keep(output, arguments, opened, &t, &threads);
    } else {
        varve_output_abandon(output);
    }
    json_decref(t.choices);
    return code;
}

int command_tune(const struct arguments *arguments) {
    struct opened opened = {0};
    if (!given(arguments, OPTION_out)) {
        return fail_use("varve tune writes a profile: say where with --out FILE");
    }
    interrupt_gently();
    int code = open_model(arguments, &opened);
    if (code == EXIT_DONE) {
        code = tune(arguments, &opened);
    }
    close_model(&opened);
    return code;
}

/* How `varve run` chooses tokens: what the options say, else what the file recommends, else what
 * the family's publisher does, else the likeliest. */
#include "metadata.h"
#include "report.h"
#include "run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* The option's value, else the file's, which has to be in the option's range, else `usual`. */
static int setting(const struct run *run, enum option_id id, const char *name, double usual,
                   double *out) {
    const struct option *option = &option_table[id];
    if (given(run->arguments, id)) {
        *out = option->kind == OPTION_INTEGER ? (double)integer_of(run->arguments, id)
                                              : real_of(run->arguments, id);
        return EXIT_DONE;
    }
    if (!file_number(run->opened.file, name, out)) {
        *out = usual;
        return EXIT_DONE;
    }
    bool word = option->word && *out == -1;
    return word || (*out >= option->low && *out <= option->high)
               ? EXIT_DONE
               : fail("the file recommends %s = %g, which is out of range: give --%s", name, *out,
                      option->name);
}

static int parse_bias(const char *text, struct varve_logit_bias *bias) {
    char *end, *after;
    long id = strtol(text, &end, 10);
    double value = *end == '=' ? strtod(end + 1, &after) : NAN;
    if (end == text || id < 0 || id > INT32_MAX || isnan(value) || after == end + 1 || *after ||
        value > 1e30) {
        return fail_use("--logit-bias takes ID=X, a token and a number or -inf, not \"%s\"", text);
    }
    *bias = (struct varve_logit_bias){(int32_t)id, (float)value};
    return EXIT_DONE;
}

static int read_bias(struct run *run) {
    size_t count = 0;
    while (text_at(run->arguments, OPTION_logit_bias, count)) {
        count++;
    }
    struct varve_logit_bias *bias = calloc(count + 1, sizeof *bias);
    if (!bias) {
        return fail("no memory for %zu logit biases", count);
    }
    run->sampling.bias = bias;
    run->sampling.bias_count = count;
    int code = EXIT_DONE;
    for (size_t i = 0; code == EXIT_DONE && i < count; i++) {
        code = parse_bias(text_at(run->arguments, OPTION_logit_bias, i), &bias[i]);
    }
    return code;
}

/* Greedy choice looks at no filter: says so rather than ignore an option in silence. */
static void note_unused(const struct run *run) {
    static const enum option_id filters[] = {OPTION_top_k, OPTION_top_p, OPTION_min_p, OPTION_seed};
    for (size_t i = 0; i < sizeof filters / sizeof filters[0]; i++) {
        if (run->sampling.temperature == 0 && given(run->arguments, filters[i])) {
            report("at temperature 0 the likeliest token is taken: --%s changes nothing",
                   option_table[filters[i]].name);
        }
    }
}

static int choose_seed(struct run *run) {
    uint32_t random = 0;
    if (given(run->arguments, OPTION_seed)) {
        run->sampling.seed = (uint64_t)integer_of(run->arguments, OPTION_seed);
    } else if (run->sampling.temperature > 0) {
        if (getrandom(&random, sizeof random, 0) != sizeof random) {
            return fail("the system gives no random numbers: give --seed");
        }
        run->sampling.seed = random;
    }
    return EXIT_DONE;
}

int run_sampling(struct run *run) {
    struct varve_sampling *s = &run->sampling;
    double temperature, top_k, top_p, min_p, repetition, last_n;
    int code;
    varve_sampling_defaults(s);
    if ((code = setting(run, OPTION_temperature, "general.sampling.temp",
                        (double)run->opened.info.temperature, &temperature)) ||
        (code = setting(run, OPTION_top_k, "general.sampling.top_k", 0, &top_k)) ||
        (code = setting(run, OPTION_top_p, "general.sampling.top_p", 1, &top_p)) ||
        (code = setting(run, OPTION_min_p, "general.sampling.min_p", 0, &min_p)) ||
        (code = setting(run, OPTION_repetition_penalty, "general.sampling.penalty_repeat", 1,
                        &repetition)) ||
        (code =
             setting(run, OPTION_penalty_last_n, "general.sampling.penalty_last_n", -1, &last_n)) ||
        (code = read_bias(run))) {
        return code;
    }
    s->temperature = (float)temperature;
    s->top_k = (int32_t)top_k;
    s->top_p = (float)top_p;
    s->min_p = (float)min_p;
    s->repetition_penalty = (float)repetition;
    s->presence_penalty = (float)real_of(run->arguments, OPTION_presence_penalty);
    s->frequency_penalty = (float)real_of(run->arguments, OPTION_frequency_penalty);
    s->penalty_last_n = (int32_t)last_n;
    note_unused(run);
    return choose_seed(run);
}

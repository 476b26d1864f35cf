/* Two settings of a model, side by side. */
#include "commands.h"
#include "drafts.h"
#include "input.h"
#include "interrupt.h"
#include "json.h"
#include "opened.h"
#include "output.h"
#include "progress.h"
#include "report.h"
#include "setting.h"

#include <stdlib.h>
#include <string.h>

enum { ROUNDS_USUAL = 8 };
static const double chance_most = 0.05;

/* ---- the prompt ---- */

static uint64_t mixed(uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static int draw_prompt(const struct arguments *arguments, const struct opened *opened,
                       struct varve_ids *ids) {
    uint32_t lengths[LIST_MOST];
    struct varve_error error;
    size_t count = list_of(arguments, OPTION_prompt, lengths);
    uint64_t seed =
        given(arguments, OPTION_seed) ? (uint64_t)integer_of(arguments, OPTION_seed) : 1;
    if (count == 0) {
        return fail_use("varve ab needs a prompt: -f FILE, or --prompt N");
    }
    for (uint32_t i = 0; i < lengths[0]; i++) {
        uint64_t drawn = mixed((seed << 32) + (i + 1) * 0x9e3779b97f4a7c15u);
        if (varve_ids_append(ids, (int32_t)(drawn % opened->info.vocabulary), &error) != VARVE_OK) {
            return fail("%s", error.message);
        }
    }
    return EXIT_DONE;
}

static int read_prompt(const struct arguments *arguments, const struct opened *opened,
                       struct varve_ids *ids) {
    struct varve_error error;
    struct text text;
    const char *path = text_of(arguments, OPTION_file);
    const struct varve_tokenizer *tokenizer = varve_model_tokenizer(opened->model);
    if (!path) {
        return draw_prompt(arguments, opened, ids);
    }
    if (!tokenizer) {
        return fail("%s has no vocabulary: a text can't be read with it",
                    text_of(arguments, OPTION_model));
    }
    int code = input_read(path, &text);
    if (code != EXIT_DONE) {
        return code;
    }
    struct varve_span span = {text.at, text.length, VARVE_SPECIAL_NONE};
    if (varve_tokenize(tokenizer, &span, 1, ids, &error) != VARVE_OK) {
        code = fail("%s", error.message);
    } else if (ids->count == 0) {
        code = fail("%s is empty: give at least one character", path);
    }
    free(text.at);
    return code;
}

/* ---- the report ---- */

struct shown {
    const char *test;
    size_t n;
    const double *a, *b; /* [rounds] */
    double p;
};

static void write_test(const struct shown *t, size_t rounds) {
    struct varve_series a = varve_series_of(t->a, rounds), b = varve_series_of(t->b, rounds);
    double faster = a.median / b.median;
    output_format("%-8s %6zu  a %10.2f ms (%.2f to %.2f)  b %10.2f ms (%.2f to %.2f)  ", t->test,
                  t->n, a.median, a.least, a.most, b.median, b.least, b.most);
    if (t->p > chance_most) {
        output_format("no difference beyond chance (b %.3f times as fast, p = %.3f)\n", faster,
                      t->p);
    } else {
        output_format("b is %.3f times as fast (p = %.4f)\n", faster, t->p);
    }
}

static json_t *times_of(const double *ms, size_t rounds) {
    json_t *list = json_array();
    for (size_t i = 0; i < rounds; i++) {
        json_array_append_new(list, json_real(ms[i]));
    }
    return list;
}

static json_t *json_of(const struct shown *t, size_t rounds) {
    return json_pack("{s:s, s:I, s:o, s:o, s:f}", "test", t->test, "n", (json_int_t)t->n, "a_ms",
                     times_of(t->a, rounds), "b_ms", times_of(t->b, rounds), "p", t->p);
}

static int write_result(const struct arguments *arguments, const struct varve_ab_options *o,
                        const struct varve_ab_result *r) {
    const struct shown tests[] = {
        {"prompt", o->prompt_count, r->a.prompt_ms, r->b.prompt_ms, r->prompt_p},
        {"generate", o->generate, r->a.generate_ms, r->b.generate_ms, r->generate_p}};
    size_t count = o->generate > 0 ? 2 : 1;
    if (!r->equal) {
        return fail("the settings don't give the same tokens: token %zu of the answer differs, so "
                    "their times are not comparable",
                    r->differs + 1);
    }
    if (given(arguments, OPTION_json)) {
        json_t *list = json_array();
        for (size_t i = 0; i < count; i++) {
            json_array_append_new(list, json_of(&tests[i], o->rounds));
        }
        return json_line(json_pack("{s:s, s:s, s:b, s:o}", "a", text_of(arguments, OPTION_a), "b",
                                   text_of(arguments, OPTION_b), "equal", 1, "tests", list));
    }
    for (size_t i = 0; i < count; i++) {
        write_test(&tests[i], o->rounds);
    }
    output_format("%u rounds; all tokens were equal\n", o->rounds);
    return EXIT_DONE;
}

/* ---- the run ---- */

static int compare(const struct arguments *arguments, const struct opened *opened,
                   const struct varve_ids *ids) {
    struct setting a = {0}, b = {0};
    struct varve_ab_result result;
    struct varve_error error;
    int code = setting_read(arguments, OPTION_a, ids->count, &a);
    code = code == EXIT_DONE ? setting_read(arguments, OPTION_b, ids->count, &b) : code;
    const struct varve_ab_options options = {
        .a = &a.session,
        .b = &b.session,
        .a_drafts = &a.drafts,
        .b_drafts = &b.drafts,
        .prompt = ids->at,
        .prompt_count = ids->count,
        .generate = (uint32_t)integer_of(arguments, OPTION_generate),
        .rounds = given(arguments, OPTION_rounds) ? (uint32_t)integer_of(arguments, OPTION_rounds)
                                                  : ROUNDS_USUAL,
        .progress = progress_steps,
    };
    if (code == EXIT_DONE) {
        int told = varve_ab(opened->model, &options, &result, &error);
        progress_clear();
        code = told == VARVE_ERROR_CANCELLED && interrupted() ? EXIT_INTERRUPTED
               : told != VARVE_OK                             ? fail("%s", error.message)
                                  : write_result(arguments, &options, &result);
    }
    setting_free(&a);
    setting_free(&b);
    return code;
}

int command_ab(const struct arguments *arguments) {
    struct opened opened = {0};
    struct varve_ids ids = {0};
    if (!given(arguments, OPTION_a) && !given(arguments, OPTION_b)) {
        return fail_use("say what to compare: varve ab -m FILE --a \"--isa avx2\" --b \"--isa "
                        "avx512\"");
    }
    interrupt_gently();
    int code = open_model(arguments, &opened);
    code = code == EXIT_DONE ? read_prompt(arguments, &opened, &ids) : code;
    code = code == EXIT_DONE ? compare(arguments, &opened, &ids) : code;
    varve_ids_free(&ids);
    close_model(&opened);
    return code;
}

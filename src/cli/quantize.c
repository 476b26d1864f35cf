/* A model with its weights in other formats. */
#include "commands.h"
#include "input.h"
#include "interrupt.h"
#include "json.h"
#include "opened.h"
#include "output.h"
#include "progress.h"
#include "report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TYPES_MOST = 64 };

/* All tensors that have one type now, and those of them that were encoded. */
struct type_sum {
    const char *type;
    size_t tensors, encoded;
    uint64_t values, bytes;
    double left, all;
};

struct sums {
    struct type_sum types[TYPES_MOST];
    size_t type_count, requantised, fell_back;
    uint64_t bytes_before, bytes;
    json_t *tensors; /* NULL: not wanted */
};

static double relative(double left, double all) {
    return all > 0 ? sqrt(left / all) : 0;
}

static struct type_sum *sum_of(struct sums *sums, const char *type) {
    for (size_t i = 0; i < sums->type_count; i++) {
        if (strcmp(sums->types[i].type, type) == 0) {
            return &sums->types[i];
        }
    }
    if (sums->type_count == TYPES_MOST) {
        return NULL; /* there are fewer types than that */
    }
    sums->types[sums->type_count].type = type;
    return &sums->types[sums->type_count++];
}

/* An error that does not exist is null. */
static json_t *json_error(bool encoded, double left, double all) {
    return encoded ? json_real(relative(left, all)) : json_null();
}

static bool progress(void *context, const char *what, uint64_t done, uint64_t total) {
    (void)context;
    return progress_bytes(NULL, what, done, total);
}

static void add_tensor(void *context, const struct varve_quantized *t) {
    struct sums *sums = context;
    struct type_sum *s = sum_of(sums, t->to);
    sums->requantised += t->requantised;
    sums->fell_back += t->fell_back;
    sums->bytes_before += t->bytes_before;
    sums->bytes += t->bytes;
    if (s) {
        s->tensors++;
        s->encoded += t->encoded;
        s->values += t->elements;
        s->bytes += t->bytes;
        s->left += t->left;
        s->all += t->all;
    }
    if (sums->tensors) {
        json_array_append_new(sums->tensors,
                              json_pack("{s:o, s:s, s:s, s:I, s:I, s:b, s:b, s:o}", "name",
                                        json_text(t->name, strlen(t->name)), "from", t->from, "to",
                                        t->to, "bytes_before", (json_int_t)t->bytes_before, "bytes",
                                        (json_int_t)t->bytes, "requantised", (int)t->requantised,
                                        "fell_back", (int)t->fell_back, "rms_error",
                                        json_error(t->encoded, t->left, t->all)));
    }
}

static int larger_first(const void *a, const void *b) {
    const struct type_sum *x = a, *y = b;
    return (x->bytes < y->bytes) - (x->bytes > y->bytes);
}

static void show_text(const struct sums *sums, const char *path) {
    char text[32], before[32];
    for (size_t i = 0; i < sums->type_count; i++) {
        const struct type_sum *s = &sums->types[i];
        output_format("%-8s tensors %-6zu values %-14llu %10s  ", s->type, s->tensors,
                      (unsigned long long)s->values, bytes_text(s->bytes, text));
        if (s->encoded > 0) {
            output_format("%zu encoded, RMS error %.3g %%\n", s->encoded,
                          100 * relative(s->left, s->all));
        } else {
            output_format("copied\n");
        }
    }
    output_format("together %s, before %s, in %s\n", bytes_text(sums->bytes, text),
                  bytes_text(sums->bytes_before, before), path);
    if (sums->fell_back > 0) {
        output_format("%zu tensors have rows that are no whole blocks of the type asked for: they "
                      "got one with smaller blocks, or kept theirs\n",
                      sums->fell_back);
    }
}

static int show_json(const struct sums *sums, const char *path) {
    json_t *types = json_array();
    for (size_t i = 0; i < sums->type_count; i++) {
        const struct type_sum *s = &sums->types[i];
        json_array_append_new(
            types, json_pack("{s:s, s:I, s:I, s:I, s:I, s:o}", "type", s->type, "tensors",
                             (json_int_t)s->tensors, "encoded", (json_int_t)s->encoded, "values",
                             (json_int_t)s->values, "bytes", (json_int_t)s->bytes, "rms_error",
                             json_error(s->encoded > 0, s->left, s->all)));
    }
    return json_page(json_pack("{s:o, s:I, s:I, s:o, s:O}", "out", json_text(path, strlen(path)),
                               "bytes_before", (json_int_t)sums->bytes_before, "bytes",
                               (json_int_t)sums->bytes, "types", types, "tensors", sums->tensors));
}

/* The rules themselves, or those in the file that is named. Free `*text`. */
static int read_rules(const struct arguments *arguments, char **text) {
    const char *map = text_of(arguments, OPTION_map);
    struct text file;
    *text = NULL;
    if (!map || strchr(map, '=')) {
        *text = map ? strdup(map) : NULL;
        return map && !*text ? fail("no memory for the rules") : EXIT_DONE;
    }
    int code = input_read(map, &file);
    if (code == EXIT_DONE) {
        *text = file.at;
        if (strlen(file.at) != file.length) {
            return fail("%s is no text: its byte %zu is zero", map, strlen(file.at));
        }
    }
    return code;
}

static int quantize(const struct arguments *arguments, const struct varve_file *file,
                    const char *rules, struct sums *sums) {
    struct varve_error error;
    const char *path = text_of(arguments, OPTION_out);
    const struct varve_quantize_options options = {
        .type = text_of(arguments, OPTION_type),
        .rules = rules,
        .threads = (uint32_t)integer_of(arguments, OPTION_threads),
        .progress = progress,
        .tensor = add_tensor,
        .context = sums,
    };
    int code = varve_quantize(file, path, &options, &error);
    progress_clear();
    if (code != VARVE_OK) {
        return code == VARVE_ERROR_CANCELLED && interrupted() ? EXIT_INTERRUPTED
                                                              : fail("%s", error.message);
    }
    if (sums->requantised > 0) {
        report("requantising: tensors that were quantised before (%zu) have the errors of both "
               "times; begin with F16, BF16 or F32 for the best result",
               sums->requantised);
    }
    qsort(sums->types, sums->type_count, sizeof sums->types[0], larger_first);
    if (given(arguments, OPTION_json)) {
        return show_json(sums, path);
    }
    show_text(sums, path);
    return EXIT_DONE;
}

int command_quantize(const struct arguments *arguments) {
    struct sums sums = {.tensors = given(arguments, OPTION_json) ? json_array() : NULL};
    struct varve_file *file;
    char *rules = NULL;
    if (!given(arguments, OPTION_out) ||
        (!given(arguments, OPTION_type) && !given(arguments, OPTION_map))) {
        return fail_use("varve quantize needs types and a name: varve quantize -m IN.gguf -t Q4_K "
                        "-o OUT.gguf");
    }
    int code = read_rules(arguments, &rules);
    if (code == EXIT_DONE) {
        code = open_file(arguments, &file);
    }
    if (code == EXIT_DONE) {
        interrupt_gently();
        code = quantize(arguments, file, rules, &sums);
        varve_file_close(file);
    }
    json_decref(sums.tensors);
    free(rules);
    return code;
}

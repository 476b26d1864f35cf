/* What a GGUF file holds. */
#include "inspect.h"
#include "commands.h"
#include "interrupt.h"
#include "npy.h"
#include "opened.h"
#include "output.h"
#include "progress.h"
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add_to_totals(struct inspection *in, const struct varve_tensor *tensor) {
    size_t t = 0;
    while (t < in->type_count && strcmp(in->types[t].type, tensor->type) != 0) {
        t++;
    }
    if (t == in->type_count && t < TYPES_MOST) {
        in->types[in->type_count++] = (struct type_total){.type = tensor->type};
    }
    if (t < TYPES_MOST) {
        in->types[t].tensors++;
        in->types[t].elements += tensor->elements;
        in->types[t].bytes += tensor->bytes;
    }
    in->elements += tensor->elements;
    in->bytes += tensor->bytes;
    in->unused += !tensor->used;
}

static int largest_first(const void *a, const void *b) {
    const struct type_total *x = a, *y = b;
    return (x->bytes < y->bytes) - (x->bytes > y->bytes);
}

static void plan(struct inspection *in, const struct arguments *arguments) {
    struct varve_model *model;
    struct varve_error error;
    if (varve_model_open(in->file, progress_bytes, NULL, &model, &error) != VARVE_OK) {
        snprintf(in->why_not, sizeof in->why_not, "%s", error.message);
        return;
    }
    struct varve_session_options options = session_options(arguments, 0);
    struct varve_model_info info;
    varve_model_info(model, &info);
    if (integer_of(arguments, OPTION_window) < 0) {
        options.window = options.context ? options.context : (uint32_t)info.context;
    }
    size_t count = varve_session_plan(model, &options, in->plan, PLAN_MOST);
    if (count == 0) {
        snprintf(in->why_not, sizeof in->why_not,
                 "these options are not possible; the model is made for up to %zu tokens",
                 info.context);
    }
    in->plan_count = count < PLAN_MOST ? count : PLAN_MOST;
    varve_model_close(model);
}

static int show(const struct arguments *arguments, const struct varve_file *file) {
    struct inspection *in = calloc(1, sizeof *in);
    if (!in) {
        return fail("no memory for the list of tensors");
    }
    in->file = file;
    in->full = given(arguments, OPTION_full);
    varve_file_info(file, &in->info);
    for (size_t i = 0; i < in->info.tensors; i++) {
        struct varve_tensor tensor;
        varve_file_tensor(file, i, &tensor);
        add_to_totals(in, &tensor);
    }
    qsort(in->types, in->type_count, sizeof in->types[0], largest_first);
    plan(in, arguments);
    progress_clear();
    int code = EXIT_DONE;
    if (interrupted()) {
        code = EXIT_INTERRUPTED;
    } else if (given(arguments, OPTION_json)) {
        code = inspect_as_json(in);
    } else {
        inspect_as_text(in);
    }
    free(in);
    return code;
}

/* Decodes in pieces of a whole number of blocks, whatever the format's block is. */
static int write_tensor(const struct varve_file *file, size_t index,
                        const struct varve_tensor *tensor, struct varve_output *output) {
    enum { PIECE = 1 << 20 };
    struct varve_error error;
    float *values = malloc(PIECE * sizeof *values);
    int code = values ? EXIT_DONE : fail("no memory for a part of %s", tensor->name);
    for (uint64_t at = 0; code == EXIT_DONE && at < tensor->elements; at += PIECE) {
        uint64_t rest = tensor->elements - at;
        size_t count = rest < PIECE ? (size_t)rest : PIECE;
        if (varve_file_decode(file, index, at, count, values, &error) != VARVE_OK) {
            code = fail("%s", error.message);
        } else {
            code = npy_write(output, values, count);
        }
        if (code == EXIT_DONE && !progress_bytes(NULL, "decoding", at * 4, tensor->elements * 4)) {
            code = EXIT_INTERRUPTED;
        }
    }
    progress_clear();
    free(values);
    return code;
}

int inspect_tensor(const struct arguments *arguments, const struct varve_file *file) {
    const char *path = text_of(arguments, OPTION_out);
    struct varve_error error;
    struct varve_output *output;
    struct varve_tensor tensor;
    size_t index;
    if (varve_file_find(file, text_of(arguments, OPTION_tensor), &index, &error) != VARVE_OK) {
        return fail("%s", error.message);
    }
    varve_file_tensor(file, index, &tensor);
    uint64_t shape[4]; /* slowest first */
    for (uint32_t d = 0; d < tensor.dimensions; d++) {
        shape[d] = tensor.ne[tensor.dimensions - 1 - d];
    }
    int code = npy_open(path, shape, tensor.dimensions, &output);
    if (code != EXIT_DONE) {
        return code;
    }
    code = write_tensor(file, index, &tensor, output);
    if (code != EXIT_DONE) {
        varve_output_abandon(output);
        return code;
    }
    return npy_finish(output);
}

int inspect_verify(const struct varve_file *file) {
    struct varve_error error;
    struct varve_file_info info;
    int code = varve_file_verify(file, progress_bytes, NULL, &error);
    progress_clear();
    if (code == VARVE_ERROR_CANCELLED) {
        return EXIT_INTERRUPTED;
    }
    if (code != VARVE_OK) {
        return fail("%s", error.message);
    }
    varve_file_info(file, &info);
    output_format("every block of %zu tensors is sound\n", info.tensors);
    return EXIT_DONE;
}

static int contradictions(const struct arguments *arguments) {
    static const enum option_id shown[] = {OPTION_json,   OPTION_full, OPTION_context,
                                           OPTION_window, OPTION_kv,   OPTION_COUNT};
    bool tensor = given(arguments, OPTION_tensor), verify = given(arguments, OPTION_verify);
    if (tensor != given(arguments, OPTION_out)) {
        return fail_use("--tensor and --out go together: varve inspect -m FILE --tensor NAME --out "
                        "T.npy");
    }
    if (tensor && verify) {
        return fail_use("--tensor and --verify are two things to do: choose one");
    }
    return tensor || verify
               ? refuse_given(arguments, shown,
                              tensor ? "has no use with --tensor" : "has no use with --verify")
               : EXIT_DONE;
}

int command_inspect(const struct arguments *arguments) {
    struct varve_file *file;
    int code = contradictions(arguments);
    if (code == EXIT_DONE) {
        code = open_file(arguments, &file);
    }
    if (code != EXIT_DONE) {
        return code;
    }
    interrupt_gently();
    code = given(arguments, OPTION_tensor)   ? inspect_tensor(arguments, file)
           : given(arguments, OPTION_verify) ? inspect_verify(file)
                                             : show(arguments, file);
    varve_file_close(file);
    return code;
}

#include "opened.h"
#include "drafts.h"
#include "interrupt.h"
#include "profile.h"
#include "progress.h"
#include "report.h"
#include "tuned.h"

enum { LOGITS_BYTES = 64 << 20 };

static int open_path(const struct arguments *arguments, const char *path,
                     struct varve_file **file) {
    struct varve_error error;
    /* A file that is cut short while it is mapped then ends one piece of work, not the program. */
    if (varve_guard_mappings(&error) != VARVE_OK ||
        varve_file_open(path, choice_of(arguments, OPTION_load) == 1, file, &error) != VARVE_OK) {
        return fail("%s", error.message);
    }
    return EXIT_DONE;
}

int open_file(const struct arguments *arguments, struct varve_file **file) {
    const char *path = text_of(arguments, OPTION_model);
    return path ? open_path(arguments, path, file)
                : fail_use("varve %s needs a GGUF file: -m FILE",
                           command_table[arguments->command].name);
}

/* The model of the file that is open. */
static int load_model(struct opened *opened) {
    struct varve_error error;
    int code = varve_model_open(opened->file, progress_bytes, NULL, &opened->model, &error);
    progress_clear();
    if (code != VARVE_OK) {
        close_model(opened);
        return code == VARVE_ERROR_CANCELLED && interrupted() ? EXIT_INTERRUPTED
                                                              : fail("%s", error.message);
    }
    varve_model_info(opened->model, &opened->info);
    return EXIT_DONE;
}

/* The draft block of another file, if that is asked for. */
static int add_drafts(const struct arguments *arguments, struct opened *opened) {
    struct varve_error error;
    const char *path = text_of(arguments, OPTION_draft_model);
    if (!path || varve_file_add_drafts(opened->file, path, &error) == VARVE_OK) {
        return EXIT_DONE;
    }
    close_model(opened);
    return fail("%s", error.message);
}

int open_model(const struct arguments *arguments, struct opened *opened) {
    *opened = (struct opened){0};
    int code = open_file(arguments, &opened->file);
    code = code == EXIT_DONE ? add_drafts(arguments, opened) : code;
    return code == EXIT_DONE ? load_model(opened) : code;
}

int open_model_at(const struct arguments *arguments, const char *path, struct opened *opened) {
    *opened = (struct opened){0};
    int code = open_path(arguments, path, &opened->file);
    return code == EXIT_DONE ? load_model(opened) : code;
}

int open_geometry(const char *what, const struct varve_geometry_options *options,
                  struct opened *opened) {
    struct varve_error error;
    *opened = (struct opened){0};
    return varve_geometry_open(what, options, &opened->file, &error) == VARVE_OK
               ? load_model(opened)
               : fail("%s", error.message);
}

void close_model(struct opened *opened) {
    varve_model_close(opened->model);
    varve_file_close(opened->file);
    *opened = (struct opened){0};
}

int open_tokenizer(const struct arguments *arguments, struct varve_file **file,
                   struct varve_tokenizer **tokenizer) {
    struct varve_error error;
    int code = open_file(arguments, file);
    if (code == EXIT_DONE && varve_tokenizer_open(*file, tokenizer, &error) != VARVE_OK) {
        varve_file_close(*file);
        code = fail("%s", error.message);
    }
    return code;
}

enum varve_numa numa_of(const struct arguments *arguments) {
    return (enum varve_numa)choice_of(arguments, OPTION_numa);
}

/* More threads than can run at once are the user's to ask for, and a tenth of the speed. Said once
 * of each number. */
static void warn_of_threads(uint32_t threads) {
    static uint32_t told;
    struct varve_error why;
    if (threads != told && varve_threads_are_many(threads, &why)) {
        report("warning: %s", why.message);
        told = threads;
    }
}

const char *device_name(const struct arguments *arguments) {
    return option_table[OPTION_device].choices[choice_of(arguments, OPTION_device)];
}

struct varve_session_options session_options(const struct arguments *arguments, size_t tokens) {
    int64_t window = integer_of(arguments, OPTION_window);
    int64_t keep = integer_of(arguments, OPTION_keep);
    const char *path = text_of(arguments, OPTION_tuned);
    const struct tuned *tuned = path ? tuned_read(path, device_name(arguments)) : NULL;
    struct varve_session_options options = {
        .context = given(arguments, OPTION_context)
                       ? (uint32_t)integer_of(arguments, OPTION_context)
                       : (uint32_t)tokens,
        .window = window < 0 ? (uint32_t)tokens : (uint32_t)window,
        .threads = given(arguments, OPTION_threads)
                       ? (uint32_t)integer_of(arguments, OPTION_threads)
                   : tuned && !given(arguments, OPTION_numa) ? tuned->threads.threads
                                                             : 0,
        .numa = given(arguments, OPTION_numa)                ? numa_of(arguments)
                : tuned && !given(arguments, OPTION_threads) ? tuned->threads.numa
                                                             : VARVE_NUMA_AUTO,
        .tuning = tuned ? &tuned->tuning : NULL,
        .progress = progress_bytes,
        .keep_bytes = keep > 0 ? (uint64_t)keep << 20 : 1,
        .kv_f16 = choice_of(arguments, OPTION_kv) == 1,
        .exact_cache = choice_of(arguments, OPTION_cache_precision) == 1,
        .index_score = (enum varve_index_score)choice_of(arguments, OPTION_index_score),
        .float_activations = choice_of(arguments, OPTION_activations) == 1,
        .all_barriers = choice_of(arguments, OPTION_barriers) == 1,
        .no_recordings = choice_of(arguments, OPTION_graphs) == 1,
        .device = (enum varve_device)choice_of(arguments, OPTION_device),
        .tables = (enum varve_tables)choice_of(arguments, OPTION_tables),
        .mtp_q8_0 = choice_of(arguments, OPTION_draft_precision) == 1,
        .mtp = draft_choice(arguments) == VARVE_DRAFT_MTP ||
               draft_choice(arguments) == VARVE_DRAFT_BOTH,
        .isa = choice_of(arguments, OPTION_isa) ? text_of(arguments, OPTION_isa) : NULL,
    };
    warn_of_threads(options.threads);
    profile_options(arguments, &options);
    return options;
}

uint32_t logits_window(const struct varve_session_options *options, size_t tokens,
                       size_t vocabulary) {
    size_t fit = LOGITS_BYTES / (vocabulary * sizeof(float));
    size_t window = options->window ? options->window : fit < 1 ? 1 : fit < 512 ? fit : 512;
    return window < tokens ? (uint32_t)window : (uint32_t)tokens;
}

struct mtp_window mtp_window(size_t first, size_t rows) {
    return first > 0 ? (struct mtp_window){first - 1, rows} : (struct mtp_window){0, rows - 1};
}

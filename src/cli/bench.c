/* Measurements: of a model, of its drafts, of operations. */
#include "bench.h"
#include "commands.h"
#include "report.h"

#include <string.h>

static const enum option_id of_models[] = {
    OPTION_model, OPTION_prompt, OPTION_generate, OPTION_depth, OPTION_same_experts,
    OPTION_load,  OPTION_kv,     OPTION_window,   OPTION_tuned, OPTION_COUNT};
static const enum option_id of_operations[] = {OPTION_shape, OPTION_variant, OPTION_COUNT};
static const enum option_id of_tables[] = {OPTION_csv, OPTION_svg, OPTION_COUNT};
static const enum option_id of_drafts[] = {OPTION_accept, OPTION_draft_max, OPTION_draft_model,
                                           OPTION_COUNT};
static const enum option_id not_of_drafts[] = {OPTION_prompt, OPTION_same_experts, OPTION_rows,
                                               OPTION_window, OPTION_COUNT};

enum what { MODEL, DRAFT, OPERATIONS };

static int check_options(const struct arguments *arguments, enum what what) {
    static const char not_operations[] = "belongs to the measurement of operations";
    int code = what == OPERATIONS
                   ? refuse_given(arguments, of_models,
                                  "belongs to the measurement of a model: varve bench model")
                   : refuse_given(arguments, of_operations, not_operations);
    if (code == EXIT_DONE && what == MODEL) {
        code = refuse_given(arguments, of_tables,
                            "belongs to the measurement of operations and "
                            "drafts");
    }
    if (code == EXIT_DONE) {
        code = what == DRAFT ? refuse_given(arguments, not_of_drafts,
                                            "does not belong to the measurement of drafts")
                             : refuse_given(arguments, of_drafts,
                                            "belongs to the measurement of drafts: varve bench "
                                            "draft");
    }
    return code;
}

int command_bench(const struct arguments *arguments) {
    const char *first = arguments->operand_count ? arguments->operands[0] : "";
    enum what what = strcmp(first, "model") == 0   ? MODEL
                     : strcmp(first, "draft") == 0 ? DRAFT
                                                   : OPERATIONS;
    if (what != OPERATIONS && arguments->operand_count > 1) {
        return fail_use("varve bench %s measures a model, not \"%s\" too", first,
                        arguments->operands[1]);
    }
    int code = check_options(arguments, what);
    if (code != EXIT_DONE) {
        return code;
    }
    return what == MODEL   ? bench_model(arguments)
           : what == DRAFT ? bench_draft(arguments)
                           : bench_operations(arguments);
}

/* Measurements: of a model, of operations. */
#include "bench.h"
#include "commands.h"
#include "report.h"

#include <string.h>

static const enum option_id of_models[] = {
    OPTION_model, OPTION_prompt, OPTION_generate, OPTION_depth, OPTION_same_experts,
    OPTION_load,  OPTION_kv,     OPTION_window,   OPTION_tuned, OPTION_COUNT};
static const enum option_id of_operations[] = {OPTION_csv, OPTION_svg, OPTION_shape, OPTION_variant,
                                               OPTION_COUNT};

int command_bench(const struct arguments *arguments) {
    bool model = arguments->operand_count && strcmp(arguments->operands[0], "model") == 0;
    if (model && arguments->operand_count > 1) {
        return fail_use("varve bench model measures a model, not \"%s\" too",
                        arguments->operands[1]);
    }
    int code =
        model ? refuse_given(arguments, of_operations, "belongs to the measurement of operations")
              : refuse_given(arguments, of_models,
                             "belongs to the measurement of a model: varve bench model");
    if (code != EXIT_DONE) {
        return code;
    }
    return model ? bench_model(arguments) : bench_operations(arguments);
}

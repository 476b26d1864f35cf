/* Measurements: of a model. */
#include "bench.h"
#include "commands.h"
#include "report.h"

#include <string.h>

int command_bench(const struct arguments *arguments) {
    if (arguments->operand_count != 1 || strcmp(arguments->operands[0], "model") != 0) {
        return fail_use("say what to measure: varve bench model -m FILE");
    }
    return bench_model(arguments);
}

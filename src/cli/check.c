/* Every operation's variants against their references. */
#include "commands.h"
#include "output.h"
#include "report.h"

#include <varve.h>

static void on_folder(void *context, const char *operation, size_t passed, size_t failed) {
    (void)context;
    output_format("%-16s %zu passed, %zu failed\n", operation, passed, failed);
    output_flush();
}

static void on_failure(void *context, const char *line) {
    (void)context;
    output_format("%s\n", line);
}

static void on_variant(void *context, const char *variant, bool here) {
    (void)context;
    output_format("%-32s %s\n", variant, here ? "here" : "not on this machine");
}

int command_check(const struct arguments *arguments) {
    struct varve_error error;
    if (given(arguments, OPTION_list)) {
        enum varve_device device = (enum varve_device)choice_of(arguments, OPTION_device);
        return varve_check_list(device, on_variant, NULL, &error) == VARVE_OK
                   ? EXIT_DONE
                   : fail("%s", error.message);
    }
    struct varve_check_options options = {
        .device = (enum varve_device)choice_of(arguments, OPTION_device),
        .operation = arguments->operand_count ? arguments->operands[0] : NULL,
        .variant = text_of(arguments, OPTION_variant),
        .seed = given(arguments, OPTION_seed) ? (uint64_t)integer_of(arguments, OPTION_seed) : 1,
        .quick = given(arguments, OPTION_quick),
        .cases = given(arguments, OPTION_cases) ? (size_t)integer_of(arguments, OPTION_cases) : 0,
        .folder_done = on_folder,
        .failure = on_failure,
    };
    size_t passed, failed;
    if (varve_check(&options, &passed, &failed, &error) != VARVE_OK) {
        return fail("%s", error.message);
    }
    if (passed + failed == 0) {
        return fail("no variant's name contains \"%s\" (varve check --list lists them)",
                    options.variant ? options.variant : "");
    }
    output_format("%zu passed, %zu failed\n", passed, failed);
    return failed ? EXIT_FAILED : EXIT_DONE;
}

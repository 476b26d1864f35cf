#include "commands.h"
#include "output.h"

#include <varve.h>

int command_version(const struct arguments *arguments) {
    (void)arguments;
    output_format("varve %s\n", varve_version());
    return EXIT_DONE;
}

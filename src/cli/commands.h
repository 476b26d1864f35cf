/* The commands' functions: command_run and so on. Each returns an exit code after an error on
 * standard error. */
#pragma once
#include "options.h"

#define COMMAND(name, ...) int command_##name(const struct arguments *arguments);
#include "commands.def"
#undef COMMAND

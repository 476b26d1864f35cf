/* What the table of options is written as: help, the manual page, the shells' completions. */
#pragma once
#include "options.h"

enum { OPTION_VALUE_ROOM = 100, OPTION_HELP_ROOM = 700 }; /* bytes of the texts below */

extern const char *const option_group_names[GROUP_COUNT];

/* What stands after an option's name: " N", " f32|f16", or nothing. */
void option_value_text(const struct option *option, char *out, size_t room);

/* Its help, with default and variable. */
void option_help_text(const struct option *option, char *out, size_t room);

/* Each writes a file to standard output: varve.1 (troff, for man), and what the two shells read to
 * complete words of the command line. */
void help_manual(void);
void help_bash(void);
void help_zsh(void);

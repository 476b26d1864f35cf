/* A setting that is compared with another one: options in one word, --a "--isa avx2 --threads 2".
 */
#pragma once
#include "options.h"

#include <varve.h>

/* A setting: the options of the command line, then those in its own word. */
struct setting {
    char *text; /* cut into words */
    struct arguments own, all;
    struct varve_session_options session;
    struct varve_decoder_options drafts;
};

/* Reads the one under `id` for sessions of `tokens`. Exit code; free it in either case. */
int setting_read(const struct arguments *arguments, enum option_id id, size_t tokens,
                 struct setting *setting);
void setting_free(struct setting *setting);

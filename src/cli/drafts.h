/* Drafts: what the options say of them, and what came of them. */
#pragma once
#include "options.h"

#include <jansson.h>
#include <varve.h>

enum varve_draft draft_choice(const struct arguments *arguments);
struct varve_decoder_options draft_options(const struct arguments *arguments);

/* On standard error: one line, or a table by kind and place. Nothing if there were no drafts. */
void draft_report(const struct varve_decoder *decoder);
void draft_table(const struct varve_decoder *decoder);
/* The same for programs; null without drafts. */
json_t *draft_json(const struct varve_decoder *decoder);

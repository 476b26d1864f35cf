/*
 * Pre-tokenizers: they cut a text into the pieces that byte-pair merges never cross.
 *
 * Each is a pattern of the model family, written out as a scanner over the classes of Unicode 16,
 * since the answer has to be the trained one to the byte and no pattern library of the system has
 * these classes. The patterns (in each, the first alternative that matches is taken):
 *
 * qwen35, over the text in normalisation form C:
 *     (?i:'s|'t|'re|'ve|'m|'ll|'d) | [^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+ | \p{N}
 *     |  ?[^\s\p{L}\p{M}\p{N}]+[\r\n]* | \s*[\r\n]+ | \s+(?!\S) | \s+
 *
 * joyai-llm (DeepSeek-V3), three cuts, each inside the pieces of the one before; what lies between
 * two matches is a piece too:
 *     1. \p{N}{1,3}
 *     2. [U+4E00–U+9FA5 U+3040–U+309F U+30A0–U+30FF]+
 *     3. [ASCII punctuation][A-Za-z]+ | [^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+
 *        |  ?[\p{P}\p{S}]+[\r\n]* | \s*[\r\n]+ | \s+(?!\S) | \s+
 */
#pragma once
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>

/* Where a cut stands: begin with {.text = …, .length = …}. */
struct vv_split {
    const char *text; /* well-formed UTF-8 */
    size_t length;
    size_t at;   /* the next piece begins here */
    size_t part; /* end of the outer cut's piece that `at` is in */
};

struct vv_splitter {
    const char *name; /* as in tokenizer.ggml.pre */
    bool nfc;         /* the family normalises text before it is cut */
    /* The next piece (never empty), which moves `at`; false at the end. Linear over a text. */
    bool (*next)(struct vv_split *split, struct vv_text *piece);
};

/* All that are known; the last has no name. */
extern const struct vv_splitter vv_splitters[];

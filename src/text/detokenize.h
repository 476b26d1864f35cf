/* Ids to text as they come from a model: whole characters only. */
#pragma once
#include "text/tokenizer.h"
#include "text/utf8.h"

/* Begin with {.tokenizer = …}. */
struct vv_detokenizer {
    const struct vv_tokenizer *tokenizer;
    bool drop_control; /* control tokens give nothing, instead of their text */
    struct vv_utf8_stream stream;
};

/*
 * Appends to `out` what id adds to the text: characters that are complete now, and one U+FFFD for
 * each sequence that can't become one any more. Unused tokens give nothing. An id outside the
 * vocabulary is VV_ERROR_INVALID.
 */
int vv_detokenize(struct vv_detokenizer *detokenizer, int32_t id, struct vv_bytes *out,
                  struct vv_error *error);

/* The end: an unfinished character becomes one U+FFFD. */
int vv_detokenize_end(struct vv_detokenizer *detokenizer, struct vv_bytes *out,
                      struct vv_error *error);

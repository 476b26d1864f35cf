/*
 * Stop strings in a stream of text. What is passed on never holds a part of a stop string that is
 * completed later; what can't become one is passed on at once.
 *
 * The rule, the same for every way to cut the text into parts: the stop string that is complete
 * first ends the text; of several that are complete at the same byte the longest. The text before
 * it is delivered, once, and nothing from its first byte on.
 */
#pragma once
#include "base/text.h"
#include "text/grow.h"

#include <stdbool.h>
#include <stddef.h>

struct vv_stop;

/*
 * Copies the strings, none of which may be empty (VV_ERROR_INVALID). `count` may be 0: then all
 * text passes.
 */
int vv_stop_new(const struct vv_text *strings /* [count] */, size_t count, struct vv_stop **out,
                struct vv_error *error);
void vv_stop_free(struct vv_stop *stop); /* NULL is let be */

/*
 * Takes the next part and appends to `out` what is certain not to belong to a stop string. `*found`
 * is the index of the stop string that ended the text, or -1; after that, text is swallowed.
 */
int vv_stop_feed(struct vv_stop *stop, struct vv_text part, struct vv_bytes *out, int *found,
                 struct vv_error *error);

/* The text ends without a stop string: appends what was held back. */
int vv_stop_end(struct vv_stop *stop, struct vv_bytes *out, struct vv_error *error);

/*
 * All places of a growing text, to find where its end stood before.
 *
 * A suffix tree made from left to right: E. Ukkonen, "On-line construction of suffix trees",
 * Algorithmica 14 (1995), doi 10.1007/BF01206331. Its active point, where the next token goes, is
 * by construction the longest end of the text that also stands earlier in it. Edges lie in one hash
 * table by (node, first token), so that a token takes O(1) time whatever the vocabulary: amortised,
 * and expected over the table. About 100 bytes a token.
 */
#pragma once
#include "base/error.h"
#include <stddef.h>
#include <stdint.h>

struct vv_suffix_tree;

/* NULL: no memory. */
struct vv_suffix_tree *vv_suffix_tree_new(void);
void vv_suffix_tree_free(struct vv_suffix_tree *tree);

/* Appends a token, 0 or more. VV_ERROR_MEMORY: the tree can only be freed. */
int vv_suffix_tree_append(struct vv_suffix_tree *tree, int32_t token, struct vv_error *error);

/* The text so far. */
const int32_t *vv_suffix_tree_text(const struct vv_suffix_tree *tree, size_t *count);

/*
 * The length of the longest end of the text that also stands earlier in it (the two may overlap).
 * 0: its last token is new. Else `*after`, which is less than the text's length, is where the text
 * went on after such a place: the latest one that the tree came by, which need not be the last.
 */
size_t vv_suffix_tree_match(const struct vv_suffix_tree *tree, size_t *after);

/*
 * Special tokens in a text: the longest one that begins at a place, found in time that does not
 * grow with the number of specials.
 */
#pragma once
#include "base/error.h"
#include "base/text.h"

#include <stddef.h>
#include <stdint.h>

struct vv_special_token {
    struct vv_text text; /* not empty */
    int32_t id;
};

/* Sorted, so that all strings with a common beginning are neighbours. */
struct vv_special_set {
    struct vv_special_token *at; /* [count] ascending by bytes */
    size_t count, capacity;
    uint32_t first[257]; /* those beginning with byte b are first[b] .. first[b + 1] */
};

/* Adds a token; of those with the same text the lowest id stays. Empty texts are never found. */
int vv_special_add(struct vv_special_set *set, struct vv_text text, int32_t id,
                   struct vv_error *error);

/* To be called once, after the last vv_special_add and before the first search. */
void vv_special_sort(struct vv_special_set *set);

/* The longest token that `text` [length] begins with, or NULL. */
const struct vv_special_token *vv_special_match(const struct vv_special_set *set, const char *text,
                                                size_t length);

void vv_special_free(struct vv_special_set *set);

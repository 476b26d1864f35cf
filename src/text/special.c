#include "text/special.h"

#include "text/grow.h"

#include <stdlib.h>
#include <string.h>

static int compare_texts(struct vv_text a, struct vv_text b) {
    size_t shorter = a.length < b.length ? a.length : b.length;
    int order = memcmp(a.at, b.at, shorter);
    return order ? order : (a.length > b.length) - (a.length < b.length);
}

static int compare_specials(const void *a, const void *b) {
    const struct vv_special_token *x = a, *y = b;
    int order = compare_texts(x->text, y->text);
    return order ? order : (x->id > y->id) - (x->id < y->id);
}

int vv_special_add(struct vv_special_set *set, struct vv_text text, int32_t id,
                   struct vv_error *error) {
    if (text.length == 0) {
        return VV_OK;
    }
    int status =
        vv_grow(&set->at, &set->capacity, set->count + 1, sizeof *set->at, "special tokens", error);
    if (status == VV_OK) {
        set->at[set->count++] = (struct vv_special_token){text, id};
    }
    return status;
}

void vv_special_sort(struct vv_special_set *set) {
    size_t kept = 0;
    if (set->count > 0) {
        qsort(set->at, set->count, sizeof *set->at, compare_specials);
    }
    for (size_t i = 0; i < set->count; i++) {
        if (kept == 0 || compare_texts(set->at[kept - 1].text, set->at[i].text) != 0) {
            set->at[kept++] = set->at[i];
        }
    }
    set->count = kept;
    for (size_t byte = 0, i = 0; byte < 257; byte++) {
        while (i < kept && (unsigned char)set->at[i].text.at[0] < byte) {
            i++;
        }
        set->first[byte] = (uint32_t)i;
    }
}

/*
 * Among [low, high), which agree in their first `depth` bytes and are longer than that: the first
 * whose next byte is not below `byte`.
 */
static size_t lower_bound(const struct vv_special_set *set, size_t low, size_t high, size_t depth,
                          unsigned byte) {
    while (low < high) {
        size_t middle = (low + high) / 2;
        if ((unsigned char)set->at[middle].text.at[depth] < byte) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

const struct vv_special_token *vv_special_match(const struct vv_special_set *set, const char *text,
                                                size_t length) {
    const struct vv_special_token *longest = NULL;
    if (length == 0) {
        return NULL;
    }
    size_t low = set->first[(unsigned char)text[0]], high = set->first[(unsigned char)text[0] + 1];
    for (size_t depth = 1; low < high; depth++) {
        if (set->at[low].text.length == depth) { /* the shortest comes first */
            longest = &set->at[low++];
        }
        if (depth == length) {
            break;
        }
        unsigned byte = (unsigned char)text[depth];
        low = lower_bound(set, low, high, depth, byte);
        high = lower_bound(set, low, high, depth, byte + 1);
    }
    return longest;
}

void vv_special_free(struct vv_special_set *set) {
    free(set->at);
    *set = (struct vv_special_set){0};
}

/* Texts of any tokens: the longest end that stood before, against a search, and drafts that are the
 * text's own. */
#include "draft/drafter.h"
#include "draft/suffix_tree.h"

#include <stdlib.h>
#include <string.h>

enum { LONGEST = 512 };

static void must(int condition) {
    if (!condition) {
        abort();
    }
}

static size_t longest(const int32_t *text, size_t count) {
    size_t best = 0;
    for (size_t end = 1; end < count; end++) {
        size_t n = 0;
        while (n < end && text[end - 1 - n] == text[count - 1 - n]) {
            n++;
        }
        best = n > best ? n : best;
    }
    return best;
}

static void check_drafts(const int32_t *text, size_t count, size_t match, size_t after) {
    struct vv_error error;
    struct vv_drafter *d = vv_suffix_drafter();
    int32_t drafts[VV_DRAFTS_MAX];
    must(d && d->calls->append(d, text, count, &error) == VV_OK);
    struct vv_offer offer = d->calls->offer(d, VV_DRAFTS_MAX);
    must((offer.most > 0) == (match >= 3) && offer.kind < d->calls->kind_count);
    if (offer.most > 0) {
        must(d->calls->propose(d, VV_DRAFTS_MAX, drafts, &error) == VV_OK);
        for (size_t i = 0; i < VV_DRAFTS_MAX && after + i < count; i++) {
            must(drafts[i] == text[after + i]);
        }
    }
    d->calls->free(d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    int32_t text[LONGEST];
    size_t count = size < LONGEST ? size : LONGEST, match = 0, after = 0;
    struct vv_error error;
    struct vv_suffix_tree *tree = vv_suffix_tree_new();
    must(tree != NULL);
    for (size_t i = 0; i < count; i++) {
        text[i] = data[i] < 128 ? data[i] : (data[i] & 127) << 23; /* far apart, too */
        must(vv_suffix_tree_append(tree, text[i], &error) == VV_OK);
        match = vv_suffix_tree_match(tree, &after);
        must(match == longest(text, i + 1));
        must(match == 0 || (after >= match && after <= i));
        must(match == 0 ||
             memcmp(text + after - match, text + i + 1 - match, match * sizeof *text) == 0);
    }
    check_drafts(text, count, match, after);
    vv_suffix_tree_free(tree);
    return 0;
}

/* Drafts from the text itself: its end stood earlier in it, and what followed there may follow
 * again. Costs next to nothing, and is right where a text quotes, lists or repeats. */
#include "draft/drafter.h"
#include "draft/suffix_tree.h"

#include <stdlib.h>

/* Tokens that must agree: a shorter match says little. The longer it is, the surer. */
static const size_t lengths[] = {3, 6, 12};
enum { KINDS = sizeof lengths / sizeof *lengths, LONG = 1 };
_Static_assert((int)KINDS <= (int)VV_DRAFT_KINDS_MAX, "kinds of offers");

struct suffix {
    struct vv_drafter base;
    struct vv_suffix_tree *tree; /* NULL: the text is empty */
};

static int append(struct vv_drafter *drafter, const int32_t *tokens, size_t count,
                  struct vv_error *error) {
    struct suffix *s = (struct suffix *)drafter;
    if (!s->tree && !(s->tree = vv_suffix_tree_new())) {
        return vv_fail_memory(error, sizeof *s, "the text to draft from");
    }
    int code = VV_OK;
    for (size_t i = 0; code == VV_OK && i < count; i++) {
        code = vv_suffix_tree_append(s->tree, tokens[i], error);
    }
    return code;
}

static void clear(struct vv_drafter *drafter) {
    struct suffix *s = (struct suffix *)drafter;
    vv_suffix_tree_free(s->tree);
    s->tree = NULL;
}

static struct vv_offer offer(const struct vv_drafter *drafter, uint32_t most) {
    const struct suffix *s = (const struct suffix *)drafter;
    size_t after, match = s->tree ? vv_suffix_tree_match(s->tree, &after) : 0;
    uint32_t kind = 0;
    while (kind < KINDS && match >= lengths[kind]) {
        kind++;
    }
    return kind > 0 ? (struct vv_offer){most, kind - 1} : (struct vv_offer){0, 0};
}

/* Where the place before reaches into the text's end, the text goes on in a circle. */
static int propose(struct vv_drafter *drafter, uint32_t count, int32_t *drafts,
                   struct vv_error *error) {
    const struct suffix *s = (const struct suffix *)drafter;
    size_t length, after = 0;
    const int32_t *text = vv_suffix_tree_text(s->tree, &length);
    (void)error;
    vv_suffix_tree_match(s->tree, &after);
    for (uint32_t i = 0; i < count; i++) {
        drafts[i] = after + i < length ? text[after + i] : drafts[after + i - length];
    }
    return VV_OK;
}

static void release(struct vv_drafter *drafter) {
    clear(drafter);
    free(drafter);
}

struct vv_drafter *vv_suffix_drafter(void) {
    static const char *const kinds[] = {"suffix 3+", "suffix 6+", "suffix 12+"};
    static const struct vv_drafter_calls calls = {.kinds = kinds,
                                                  .kind_count = KINDS,
                                                  .trust = LONG,
                                                  .append = append,
                                                  .clear = clear,
                                                  .offer = offer,
                                                  .propose = propose,
                                                  .free = release};
    struct suffix *s = malloc(sizeof *s);
    if (s) {
        *s = (struct suffix){{&calls}, NULL};
    }
    return s ? &s->base : NULL;
}

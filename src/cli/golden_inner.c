/* Inner tensors against golden ones. */
#include "golden_internal.h"
#include "report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A row of the session's: of the tensor compared, and of the experts beside it. */
struct seen {
    const float *f32;
    const int32_t *i32, *experts;
};

struct golden_kind {
    const char *golden, *seen; /* names, with %zu for the layer */
    bool integers;             /* golden ones */
    enum { INNER_ROWS, ALL_ROWS, MTP_ROWS } kept;
    /* Compares row `r` of the golden tensor. */
    void (*compare)(struct golden_comparison *c, size_t r, const struct seen *seen);
};

static void add(struct golden_comparison *c, double golden, double value) {
    c->difference += (value - golden) * (value - golden);
    c->size += golden * golden;
}

static void compare_floats(struct golden_comparison *c, size_t r, const struct seen *seen) {
    const float *golden = c->golden.f32 + r * c->golden.width;
    for (size_t i = 0; i < c->golden.width; i++) {
        add(c, (double)golden[i], (double)seen->f32[i]);
    }
}

/* The golden tensor is the softmax of the session's. */
static void compare_softmax(struct golden_comparison *c, size_t r, const struct seen *seen) {
    const float *golden = c->golden.f32 + r * c->golden.width;
    double most = -INFINITY, sum = 0;
    for (size_t i = 0; i < c->golden.width; i++) {
        most = fmax(most, (double)seen->f32[i]);
    }
    for (size_t i = 0; i < c->golden.width; i++) {
        sum += exp((double)seen->f32[i] - most);
    }
    for (size_t i = 0; i < c->golden.width; i++) {
        add(c, (double)golden[i], exp((double)seen->f32[i] - most) / sum);
    }
}

static void compare_integers(struct golden_comparison *c, size_t r, const struct seen *seen) {
    const int64_t *golden = c->golden.i64 + r * c->golden.width;
    size_t i = 0;
    while (i < c->golden.width && golden[i] == seen->i32[i]) {
        i++;
    }
    c->unequal += i < c->golden.width;
}

/* Where the session's list has expert `id`; `width` if nowhere. */
static size_t place_of(const int32_t *list, size_t width, int64_t id) {
    size_t i = 0;
    while (i < width && list[i] != id) {
        i++;
    }
    return i;
}

/* The golden list has the best first, the session's is ascending: as sets. */
static void compare_experts(struct golden_comparison *c, size_t r, const struct seen *seen) {
    const int64_t *golden = c->golden.i64 + r * c->golden.width;
    size_t i = 0;
    while (i < c->golden.width &&
           place_of(seen->i32, c->golden.width, golden[i]) < c->golden.width) {
        i++;
    }
    c->unequal += i < c->golden.width;
}

/* Each golden weight with that of the same expert; one that was not chosen has none. The golden
 * experts are the comparison before this one. */
static void compare_weights(struct golden_comparison *c, size_t r, const struct seen *seen) {
    const struct golden_table *experts = &c[-1].golden;
    size_t width = c->golden.width;
    for (size_t i = 0; i < width; i++) {
        size_t place = place_of(seen->experts, width, experts->i64[r * width + i]);
        add(c, (double)c->golden.f32[r * width + i], place < width ? (double)seen->f32[place] : 0);
    }
}

static const struct golden_kind ngram_kinds[] = {
    {"ngram_rows", "ngram_rows", true, ALL_ROWS, compare_integers},
    {"ple", "ple", false, INNER_ROWS, compare_floats},
};

static const struct golden_kind layer_kinds[] = {
    {"gdn.%zu", "gdn.%zu", false, INNER_ROWS, compare_floats},
    {"selected.%zu", "selected.%zu", true, INNER_ROWS, compare_integers},
    {"attn.%zu", "attn.%zu", false, INNER_ROWS, compare_floats},
    {"router_probs.%zu", "router_logits.%zu", false, INNER_ROWS, compare_softmax},
    {"experts.%zu", "experts.%zu", true, INNER_ROWS, compare_experts},
    {"expert_weights.%zu", "expert_weights.%zu", false, INNER_ROWS, compare_weights},
    {"moe.%zu", "moe.%zu", false, INNER_ROWS, compare_floats},
    {"hidden.%zu", "hidden.%zu", false, INNER_ROWS, compare_floats},
};

/* The same of deepseek4's containers; their experts are ascending, as the session's. */
static const struct golden_kind named_kinds[] = {
    {"l%zu.topk", "blocks.%zu", true, ALL_ROWS, compare_integers},
    {"l%zu.router_ids", "experts.%zu", true, ALL_ROWS, compare_experts},
    {"l%zu.router_weights", "expert_weights.%zu", false, ALL_ROWS, compare_weights},
    {"l%zu.streams", "hidden.%zu", false, INNER_ROWS, compare_floats},
};
static const struct golden_kind named_mix_kind = {"hc_head", "mix", false, INNER_ROWS,
                                                  compare_floats};
static const struct golden_kind named_mtp_kind = {"mtp.streams", "mtp.hidden", false, MTP_ROWS,
                                                  compare_floats};

static const struct golden_kind mix_kind = {"mix", "mix", false, INNER_ROWS, compare_floats};
static const struct golden_kind mtp_kind = {"mtp.hidden", "mtp.hidden", false, MTP_ROWS,
                                            compare_floats};

enum {
    NGRAM_KINDS = sizeof ngram_kinds / sizeof ngram_kinds[0],
    LAYER_KINDS = sizeof layer_kinds / sizeof layer_kinds[0],
    NAMED_KINDS = sizeof named_kinds / sizeof named_kinds[0],
};

/* Names of tensors come from the tables above. */
static void name_of(const char *format, size_t layer, char name[40]) {
    snprintf(name, 40, format, layer);
}

static int load(struct golden_inner *inner, const struct varve_file *container,
                const char *sequence, const struct golden_kind *kind, size_t layer) {
    struct golden_comparison *c = &inner->at[inner->count];
    *c = (struct golden_comparison){.kind = kind, .layer = layer};
    name_of(kind->golden, layer, c->name);
    int code = kind->integers ? golden_integers(container, sequence, c->name, &c->golden)
                              : golden_floats(container, sequence, c->name, &c->golden);
    if (code != EXIT_DONE || c->golden.rows == 0) {
        return code;
    }
    c->rows = kind->kept == ALL_ROWS   ? NULL
              : kind->kept == MTP_ROWS ? &inner->mtp_rows
                                       : &inner->rows;
    if (c->rows && c->golden.rows != c->rows->rows) {
        return fail("golden tensor %s.%s has %zu rows, and there are %zu positions for them",
                    sequence, c->name, c->golden.rows, c->rows->rows);
    }
    if (kind->compare == compare_weights &&
        (inner->count == 0 || c[-1].kind->compare != compare_experts || c[-1].layer != layer ||
         c[-1].golden.width != c->golden.width)) {
        return fail("golden tensor %s.%s has no experts beside it", sequence, c->name);
    }
    inner->count++;
    return EXIT_DONE;
}

static int load_layer(struct golden_inner *inner, const struct varve_file *container,
                      const char *sequence, const struct golden_shape *shape, size_t layer) {
    const struct golden_kind *kinds = shape->named ? named_kinds : layer_kinds;
    size_t count = shape->named ? NAMED_KINDS : LAYER_KINDS;
    int code = EXIT_DONE;
    for (size_t i = 0;
         code == EXIT_DONE && !shape->named && layer == shape->ple_layer && i < NGRAM_KINDS; i++) {
        code = load(inner, container, sequence, &ngram_kinds[i], layer);
    }
    for (size_t i = 0; code == EXIT_DONE && i < count; i++) {
        code = load(inner, container, sequence, &kinds[i], layer);
    }
    return code;
}

int golden_inner_open(struct golden_inner *inner, const struct varve_file *container,
                      const char *sequence, const struct golden_shape *shape) {
    bool named = shape->named;
    *inner = (struct golden_inner){
        .at = calloc(shape->layers * LAYER_KINDS + NGRAM_KINDS + 2, sizeof *inner->at)};
    int code =
        inner->at ? golden_integers(container, sequence, named ? "pos" : "inner_rows", &inner->rows)
                  : fail("no memory for %zu layers", shape->layers);
    if (code == EXIT_DONE && shape->mtp) {
        code = golden_draft_rows(container, sequence, named, &inner->mtp_rows);
    }
    for (size_t layer = 0; code == EXIT_DONE && layer < shape->layers; layer++) {
        code = load_layer(inner, container, sequence, shape, layer);
    }
    if (code == EXIT_DONE) {
        code = load(inner, container, sequence, named ? &named_mix_kind : &mix_kind, 0);
    }
    return code == EXIT_DONE && shape->mtp
               ? load(inner, container, sequence, named ? &named_mtp_kind : &mtp_kind, 0)
               : code;
}

void golden_inner_close(struct golden_inner *inner) {
    for (size_t i = 0; i < inner->count; i++) {
        golden_free(&inner->at[i].golden);
    }
    golden_free(&inner->rows);
    golden_free(&inner->mtp_rows);
    free(inner->at);
}

/* The session's tensor, which has to have a row for each of the window and at least the golden
 * width. */
static int observe(const struct varve_session *session, const char *name, bool integers,
                   size_t rows, size_t width, struct varve_observed *seen) {
    struct varve_error error;
    if (varve_session_observed(session, name, seen, &error) != VARVE_OK) {
        return fail("%s", error.message);
    }
    bool right_kind = integers ? seen->i32 != NULL : seen->f32 != NULL;
    return right_kind && seen->rows >= rows && seen->width >= width
               ? EXIT_DONE
               : fail("inner tensor %s is %zu x %zu, the golden one is %zu wide in a window of %zu",
                      name, seen->rows, seen->width, width, rows);
}

/* The window's experts, copied, since the session shows one tensor at a time; NULL where they are
 * not needed or after an error in `*code`. */
static int32_t *copy_experts(const struct golden_comparison *c, const struct varve_session *session,
                             size_t rows, int *code) {
    struct varve_observed seen;
    char name[40];
    if (c->kind->compare != compare_weights) {
        return NULL;
    }
    name_of("experts.%zu", c->layer, name);
    *code = observe(session, name, true, rows, c->golden.width, &seen);
    int32_t *copy = *code == EXIT_DONE ? malloc(seen.rows * seen.width * sizeof *copy) : NULL;
    if (copy) {
        memcpy(copy, seen.i32, seen.rows * seen.width * sizeof *copy);
    } else if (*code == EXIT_DONE) {
        *code = fail("no memory for the experts of a window");
    }
    return copy;
}

static int compare_window(struct golden_comparison *c, const struct varve_session *session,
                          size_t first, size_t rows) {
    struct varve_observed seen;
    char name[40];
    int code = EXIT_DONE;
    int32_t *experts = copy_experts(c, session, rows, &code);
    name_of(c->kind->seen, c->layer, name);
    if (code == EXIT_DONE) {
        code = observe(session, name, c->kind->integers, rows, c->golden.width, &seen);
    }
    for (size_t r = 0; code == EXIT_DONE && r < c->golden.rows; r++) {
        size_t position = c->rows ? (size_t)c->rows->i64[r] : r, row = position - first;
        if (position >= first && row < rows) {
            const struct seen at = {seen.f32 ? seen.f32 + row * seen.width : NULL,
                                    seen.i32 ? seen.i32 + row * seen.width : NULL,
                                    experts ? experts + row * c->golden.width : NULL};
            c->kind->compare(c, r, &at);
            c->compared++;
        }
    }
    free(experts);
    return code;
}

int golden_inner_window(struct golden_inner *inner, const struct varve_session *session,
                        size_t first, size_t rows) {
    struct mtp_window mtp = mtp_window(first, rows);
    int code = EXIT_DONE;
    for (size_t i = 0; code == EXIT_DONE && i < inner->count; i++) {
        struct golden_comparison *c = &inner->at[i];
        if (c->kind->kept != MTP_ROWS) {
            code = compare_window(c, session, first, rows);
        } else if (mtp.rows > 0) {
            code = compare_window(c, session, mtp.first, mtp.rows);
        }
    }
    return code;
}

double golden_relative(const struct golden_comparison *c) {
    return c->size > 0 ? sqrt(c->difference / c->size) : sqrt(c->difference);
}

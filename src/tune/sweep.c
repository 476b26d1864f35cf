#include "tune/sweep.h"
#include "base/clock.h"
#include "base/random.h"

#include <stdlib.h>
#include <string.h>

struct side {
    struct vv_session *session;
    struct vv_row *rows; /* [window] */
    uint32_t window;
    uint32_t length; /* tokens that the sequence has */
};

struct sweep {
    const struct vv_sweep_options *options;
    struct side sides[2];
    size_t side_count, vocabulary;
    float *logits; /* [generate / 2 + 1][vocabulary] of the side that goes first */
};

/* Reads up to `end`; the last row's logits are wanted. Tokens follow from their positions. */
static int advance(struct sweep *w, struct side *s, uint32_t end, double *ms,
                   struct vv_error *error) {
    int code = VV_OK;
    while (code == VV_OK && s->length < end) {
        uint32_t count = end - s->length < s->window ? end - s->length : s->window;
        for (uint32_t i = 0; i < count; i++) {
            uint64_t drawn = vv_random_at(w->options->seed, s->length + i);
            s->rows[i] = (struct vv_row){0, (int32_t)vv_high_product(drawn, w->vocabulary), false};
        }
        s->length += count;
        s->rows[count - 1].output = s->length == end;
        double began = vv_seconds();
        code = vv_session_run(s->session, s->rows, count, VV_ADVANCE, error);
        *ms += (vv_seconds() - began) * 1e3;
        if (code == VV_OK && w->options->progress &&
            !w->options->progress(w->options->context, "reading prompt", s->length,
                                  w->options->depths[w->options->depth_count - 1])) {
            code = vv_fail(error, VV_ERROR_CANCELLED, "the measurement was ended early");
        }
    }
    return code;
}

/* Logits of the row that was just computed: of whoever goes first they are kept in place `at`, then
 * compared. */
static void compare(struct sweep *w, const struct side *s, size_t at, bool first,
                    struct vv_sweep_result *result) {
    const float *logits = vv_session_logits(s->session, 0);
    float *kept = w->logits + at * w->vocabulary;
    size_t bytes = w->vocabulary * sizeof *logits;
    if (w->side_count < 2) {
        return;
    }
    if (first) {
        memcpy(kept, logits, bytes);
    } else {
        result->compared++;
        result->different += memcmp(kept, logits, bytes) != 0;
    }
}

static int generate(struct sweep *w, size_t side, uint32_t count, bool first,
                    struct vv_sweep_result *result, struct vv_error *error) {
    struct side *s = &w->sides[side];
    int code = VV_OK;
    for (uint32_t i = 0; code == VV_OK && i < count; i++) {
        code = advance(w, s, s->length + 1, &result->sides[side].generate_ms, error);
        if (code == VV_OK) {
            compare(w, s, i, first, result);
        }
    }
    return code;
}

/* Whoever reads first at one depth reads second at the next one. */
static int run_depth(struct sweep *w, size_t index, struct vv_error *error) {
    const struct vv_sweep_options *o = w->options;
    size_t order[2] = {index % w->side_count, (index + 1) % w->side_count};
    uint32_t half = o->generate / 2;
    struct vv_sweep_result result = {.depth = o->depths[index],
                                     .read = o->depths[index] - w->sides[0].length,
                                     .generated = o->generate};
    int code = VV_OK;
    for (size_t i = 0; code == VV_OK && i < w->side_count; i++) {
        struct side *s = &w->sides[order[i]];
        code = advance(w, s, result.depth, &result.sides[order[i]].prompt_ms, error);
        if (code == VV_OK) {
            compare(w, s, 0, i == 0, &result);
        }
    }
    for (size_t i = 0; code == VV_OK && i < w->side_count; i++) {
        code = generate(w, order[i], half, i == 0, &result, error);
    }
    for (size_t i = w->side_count; code == VV_OK && i-- > 0;) {
        code = generate(w, order[i], o->generate - half, i == w->side_count - 1, &result, error);
    }
    if (code == VV_OK) {
        o->result(o->context, &result);
    }
    return code;
}

/* Every program is recorded and every weight touched before the clock counts. */
static int warm_up(struct sweep *w, struct vv_error *error) {
    int code = VV_OK;
    for (size_t i = 0; code == VV_OK && i < w->side_count; i++) {
        struct side *s = &w->sides[i];
        double ms = 0;
        code = advance(w, s, s->window < w->options->depths[0] ? s->window : 1, &ms, error);
        code = code == VV_OK ? advance(w, s, s->length + 1, &ms, error) : code;
        vv_session_clear(s->session, 0);
        s->length = 0;
    }
    return code;
}

static int check(const struct vv_sweep_options *o, const struct vv_model_facts *facts,
                 struct vv_error *error) {
    uint64_t end = o->depth_count ? (uint64_t)o->depths[o->depth_count - 1] + o->generate : 0;
    for (size_t i = 0; i < o->depth_count; i++) {
        uint64_t before = i ? (uint64_t)o->depths[i - 1] + o->generate : 0;
        if (o->depths[i] <= before) {
            return vv_fail(
                error, VV_ERROR_INVALID,
                "a depth of %u can't be reached after %llu tokens: depths ascend and lie "
                "further apart than the tokens that are generated at each",
                o->depths[i], (unsigned long long)before);
        }
    }
    if (o->depth_count == 0 || end > facts->context) {
        return vv_fail(error, VV_ERROR_INVALID,
                       "%llu tokens are needed for the deepest of %zu depths; this model was made "
                       "for %zu",
                       (unsigned long long)end, o->depth_count, facts->context);
    }
    return VV_OK;
}

static int open_side(struct side *s, const struct vv_gguf *file, const struct vv_family *family,
                     const void *geometry, const struct vv_session_options *from, size_t context,
                     struct vv_error *error) {
    struct vv_session_options options = *from;
    options.slots = options.outputs = 1;
    options.context = (uint32_t)context;
    options.window = from->window < context ? from->window : (uint32_t)context;
    s->window = options.window;
    s->rows = calloc(s->window, sizeof *s->rows);
    return s->rows ? vv_session_new(file, family, geometry, &options, &s->session, error)
                   : vv_fail_memory(error, s->window * sizeof *s->rows, "a window");
}

int vv_sweep(const struct vv_gguf *file, const struct vv_family *family, const void *geometry,
             const struct vv_sweep_options *options, struct vv_error *error) {
    struct vv_model_facts facts;
    struct sweep w = {.options = options, .side_count = options->sides[1] ? 2 : 1};
    family->facts(geometry, &facts);
    w.vocabulary = facts.vocabulary;
    int code = check(options, &facts, error);
    if (code == VV_OK) {
        size_t rows = options->generate / 2 + 1;
        w.logits = calloc(rows, w.vocabulary * sizeof *w.logits);
        code = w.logits ? VV_OK
                        : vv_fail_memory(error, rows * w.vocabulary * sizeof *w.logits, "logits");
    }
    for (size_t i = 0; code == VV_OK && i < w.side_count; i++) {
        size_t context = (size_t)options->depths[options->depth_count - 1] + options->generate + 1;
        context = context < facts.context ? context : facts.context;
        code = open_side(&w.sides[i], file, family, geometry, options->sides[i], context, error);
    }
    code = code == VV_OK ? warm_up(&w, error) : code;
    for (size_t i = 0; code == VV_OK && i < options->depth_count; i++) {
        code = run_depth(&w, i, error);
    }
    for (size_t i = 0; i < 2; i++) {
        vv_session_free(w.sides[i].session);
        free(w.sides[i].rows);
    }
    free(w.logits);
    return code;
}

#include "tune/ab.h"
#include "base/clock.h"

#include <stdlib.h>

struct side {
    struct vv_session *session;
    struct vv_decoder *decoder;
    struct vv_row *rows; /* [window] */
    uint32_t window;
};

struct ab {
    const struct vv_ab_options *options;
    struct side sides[2];
    size_t vocabulary;
    int32_t *tokens; /* [generate] that all have to generate */
    bool known;      /* they are */
    struct vv_ab_result *result;
};

static int32_t greedy(const float *logits, size_t count) {
    size_t best = 0;
    for (size_t i = 1; i < count; i++) {
        best = logits[i] > logits[best] ? i : best;
    }
    return (int32_t)best;
}

static int read_prompt(const struct ab *ab, struct side *s, struct vv_error *error) {
    size_t total = ab->options->prompt_count;
    int code = VV_OK;
    for (size_t at = 0; code == VV_OK && at < total;) {
        size_t n = total - at < s->window ? total - at : s->window;
        for (size_t i = 0; i < n; i++) {
            s->rows[i] = (struct vv_row){0, ab->options->prompt[at + i], at + i + 1 == total};
        }
        code = vv_session_run(s->session, s->rows, n, VV_ADVANCE, error);
        at += n;
    }
    return code;
}

/* The first run says which tokens are right. */
static void compare(struct ab *ab, size_t i, int32_t token) {
    if (!ab->known) {
        ab->tokens[i] = token;
    } else if (ab->tokens[i] != token && ab->result->equal) {
        ab->result->equal = false;
        ab->result->differs = i;
    }
}

static int generate(struct ab *ab, struct side *s, struct vv_error *error) {
    const struct vv_ab_options *o = ab->options;
    int code = vv_decoder_begin(s->decoder, o->prompt, o->prompt_count, error);
    for (size_t i = 0; code == VV_OK && i < o->generate && ab->result->equal; i++) {
        int32_t token = greedy(vv_decoder_logits(s->decoder), ab->vocabulary);
        compare(ab, i, token);
        code = vv_decoder_take(s->decoder, token, o->generate - i, error);
    }
    ab->known = true;
    return code == VV_OK ? vv_decoder_settle(s->decoder, error) : code;
}

/* Prompt and generation of one side; times in milliseconds. */
static int run_side(struct ab *ab, size_t side, double *prompt_ms, double *generate_ms,
                    struct vv_error *error) {
    struct side *s = &ab->sides[side];
    vv_session_clear(s->session, 0);
    double began = vv_seconds();
    int code = read_prompt(ab, s, error);
    double read = vv_seconds();
    code = code == VV_OK ? generate(ab, s, error) : code;
    *prompt_ms = (read - began) * 1e3;
    *generate_ms = (vv_seconds() - read) * 1e3;
    return code;
}

static int run_rounds(struct ab *ab, struct vv_error *error) {
    const struct vv_ab_options *o = ab->options;
    double ignored[2];
    int code = run_side(ab, 0, &ignored[0], &ignored[1], error);
    code = code == VV_OK ? run_side(ab, 1, &ignored[0], &ignored[1], error) : code;
    for (uint32_t i = 0; code == VV_OK && ab->result->equal && i < 2 * o->rounds; i++) {
        uint32_t round = i / 2;
        size_t side = (i + round) % 2;
        struct vv_ab_side *to = &ab->result->sides[side];
        if (o->progress && !o->progress(o->context, "measuring", i, 2 * o->rounds)) {
            return vv_fail(error, VV_ERROR_CANCELLED, "the measurement was ended early");
        }
        code = run_side(ab, side, &to->prompt_ms[round], &to->generate_ms[round], error);
    }
    return code;
}

/* The window has room for the drafts, whatever the prompt is read with. */
static int open_side(struct side *s, const struct vv_gguf *file, const struct vv_family *family,
                     const void *geometry, const struct vv_session_options *from,
                     const struct vv_decoder_options *drafts, size_t context,
                     struct vv_error *error) {
    struct vv_session_options options = *from;
    s->window = from->window < context ? from->window : (uint32_t)context;
    options.slots = options.outputs = 1;
    options.context = (uint32_t)context;
    options.window = s->window > drafts->most ? s->window : drafts->most + 1;
    options.window = options.window < context ? options.window : (uint32_t)context;
    options.mtp = drafts->draft == VV_DRAFT_MTP || drafts->draft == VV_DRAFT_BOTH;
    s->rows = calloc(s->window, sizeof *s->rows);
    int code = s->rows ? vv_session_new(file, family, geometry, &options, &s->session, error)
                       : vv_fail_memory(error, s->window * sizeof *s->rows, "a window");
    return code == VV_OK ? vv_decoder_new(s->session, drafts, &s->decoder, error) : code;
}

static int check(const struct vv_ab_options *o, size_t context, const struct vv_model_facts *facts,
                 struct vv_error *error) {
    if (o->prompt_count == 0 || o->rounds < 1 || o->rounds > VV_PAIRS_MAX) {
        return vv_fail(error, VV_ERROR_INVALID,
                       "%zu tokens and %u rounds are asked for; 1 token and 1 to %d rounds are "
                       "needed",
                       o->prompt_count, o->rounds, VV_PAIRS_MAX);
    }
    if (context > facts->context) {
        return vv_fail(error, VV_ERROR_INVALID,
                       "prompt and answer have %zu tokens; this model was made for up to %zu",
                       context, facts->context);
    }
    return VV_OK;
}

int vv_ab(const struct vv_gguf *file, const struct vv_family *family, const void *geometry,
          const struct vv_ab_options *options, struct vv_ab_result *result,
          struct vv_error *error) {
    struct vv_model_facts facts;
    struct ab ab = {.options = options, .result = result};
    size_t context = options->prompt_count + options->generate + 1;
    family->facts(geometry, &facts);
    ab.vocabulary = facts.vocabulary;
    *result = (struct vv_ab_result){.equal = true};
    int code = check(options, context, &facts, error);
    if (code == VV_OK) {
        ab.tokens = calloc(options->generate + 1, sizeof *ab.tokens);
        code = ab.tokens ? VV_OK : vv_fail_memory(error, options->generate, "tokens");
    }
    for (size_t i = 0; code == VV_OK && i < 2; i++) {
        code = open_side(&ab.sides[i], file, family, geometry, options->sides[i],
                         &options->drafts[i], context, error);
    }
    code = code == VV_OK ? run_rounds(&ab, error) : code;
    if (code == VV_OK && result->equal) {
        const struct vv_ab_side *a = &result->sides[0], *b = &result->sides[1];
        result->prompt_p = vv_permutation_p(a->prompt_ms, b->prompt_ms, options->rounds);
        result->generate_p = vv_permutation_p(a->generate_ms, b->generate_ms, options->rounds);
    }
    for (size_t i = 0; i < 2; i++) {
        vv_decoder_free(ab.sides[i].decoder);
        vv_session_free(ab.sides[i].session);
        free(ab.sides[i].rows);
    }
    free(ab.tokens);
    return code;
}

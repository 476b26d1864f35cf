#include "tune/bench_draft.h"
#include "base/clock.h"
#include "base/random.h"
#include "tune/series.h"

#include <stdlib.h>

enum { WINDOWS = 8, KINDS = VV_DRAFTS_MAX + 1 }; /* measured of a number of drafts, each round */

static const struct way {
    enum vv_draft draft;
    uint32_t fixed; /* drafts; 0: as many as pay */
    double at_hand; /* share of the windows that have a draft of the text */
} ways[VV_WAYS] = {
    [VV_WAY_PLAIN] = {VV_DRAFT_OFF, 0, 0},  [VV_WAY_MTP_1] = {VV_DRAFT_MTP, 1, 0},
    [VV_WAY_MTP_2] = {VV_DRAFT_MTP, 2, 0},  [VV_WAY_MTP_3] = {VV_DRAFT_MTP, 3, 0},
    [VV_WAY_MTP_4] = {VV_DRAFT_MTP, 4, 0},  [VV_WAY_ADAPTIVE] = {VV_DRAFT_MTP, 0, 0},
    [VV_WAY_SUFFIX] = {VV_DRAFT_OFF, 0, 1}, [VV_WAY_BOTH] = {VV_DRAFT_MTP, 0, 0.5},
};

/* What was measured for one chance. */
struct record {
    double *rate[VV_WAYS];                    /* [rounds] */
    double tokens[VV_WAYS], windows[VV_WAYS]; /* sums */
    double *window[KINDS], *drafting[KINDS];  /* [rounds] seconds of a window with k drafts */
};

struct bench {
    const struct vv_bench_draft_options *options;
    struct vv_session *session;
    bool mtp;
    size_t vocabulary;
    uint64_t drawn;
    int32_t *text;          /* [depth] what the sequence begins with */
    struct record *records; /* [accept_count] */
    double *memory;         /* of all their lists */
};

/* ---- drafts of a text that repeats itself, made up ---- */

struct made_up {
    struct vv_drafter base;
    struct bench *bench;
    double share;
    bool at_hand;
};

static double uniform(struct bench *b) {
    return (double)(vv_random_at(b->options->seed, b->drawn++) >> 11) * 0x1p-53;
}

static int32_t any_token(struct bench *b) {
    return (int32_t)vv_high_product(vv_random_at(b->options->seed, b->drawn++), b->vocabulary);
}

static int on_append(struct vv_drafter *drafter, const int32_t *tokens, size_t count,
                     struct vv_error *error) {
    struct made_up *m = (struct made_up *)drafter;
    (void)tokens, (void)count, (void)error;
    m->at_hand = uniform(m->bench) < m->share;
    return VV_OK;
}

static void on_clear(struct vv_drafter *drafter) {
    (void)drafter;
}

static struct vv_offer on_offer(const struct vv_drafter *drafter, uint32_t most) {
    const struct made_up *m = (const struct made_up *)drafter;
    return (struct vv_offer){m->at_hand ? most : 0, 0};
}

static int on_propose(struct vv_drafter *drafter, uint32_t count, int32_t *drafts,
                      struct vv_error *error) {
    struct made_up *m = (struct made_up *)drafter;
    (void)error;
    for (uint32_t i = 0; i < count; i++) {
        drafts[i] = any_token(m->bench);
    }
    return VV_OK;
}

static void on_free(struct vv_drafter *drafter) {
    free(drafter);
}

static struct vv_drafter *made_up(struct bench *b, double share) {
    static const char *const kinds[] = {"made up"};
    static const struct vv_drafter_calls calls = {.kinds = kinds,
                                                  .kind_count = 1,
                                                  .append = on_append,
                                                  .clear = on_clear,
                                                  .offer = on_offer,
                                                  .propose = on_propose,
                                                  .free = on_free};
    struct made_up *m = malloc(sizeof *m);
    if (m) {
        *m = (struct made_up){{&calls}, b, share, false};
    }
    return m ? &m->base : NULL;
}

/* ---- a text ---- */

static int open_decoder(struct bench *b, const struct way *way, struct vv_decoder **decoder,
                        struct vv_error *error) {
    const struct vv_decoder_options o = {.draft = way->draft,
                                         .most = way->fixed ? way->fixed : b->options->most,
                                         .fixed = way->fixed > 0};
    int code = vv_decoder_new(b->session, &o, decoder, error);
    struct vv_drafter *drafter =
        code == VV_OK && way->at_hand > 0 ? made_up(b, way->at_hand) : NULL;
    if (drafter) {
        vv_decoder_add(*decoder, drafter);
    } else if (code == VV_OK && way->at_hand > 0) {
        vv_decoder_free(*decoder);
        code = vv_fail_memory(error, sizeof *drafter, "a drafter");
    }
    return code;
}

/* The drafted token with the given chance, else another; also where it is only compared. */
static int32_t draw(struct bench *b, const struct vv_decoder *decoder, double accept) {
    int32_t drafted = vv_decoder_expected(decoder), token = any_token(b);
    if (drafted >= 0 && uniform(b) < accept) {
        return drafted;
    }
    return token != drafted ? token : (int32_t)(((size_t)token + 1) % b->vocabulary);
}

/* Writes until there are so many tokens, or windows. `first`: the report behind the first window,
 * which has no drafts of the block where no token is before it. */
static int write_text(struct bench *b, const struct way *way, double accept, uint64_t tokens,
                      uint64_t windows, struct vv_decoder_report *first,
                      struct vv_decoder_report *report, struct vv_error *error) {
    struct vv_decoder *decoder;
    uint32_t depth = b->options->depth;
    vv_session_follow(b->session, way->draft == VV_DRAFT_MTP);
    int code = vv_session_fill(b->session, 0, depth, b->options->seed, error);
    code = code == VV_OK ? open_decoder(b, way, &decoder, error) : code;
    if (code != VV_OK) {
        return code;
    }
    code = vv_decoder_begin(decoder, b->text, depth, error);
    *first = *report = (struct vv_decoder_report){.tokens = 0};
    while (code == VV_OK && report->tokens < tokens && report->windows < windows) {
        code = vv_decoder_take(decoder, draw(b, decoder, accept), tokens - report->tokens, error);
        vv_decoder_report(decoder, report);
        *first = report->windows == 1 ? *report : *first;
    }
    code = code == VV_OK ? vv_decoder_settle(decoder, error) : code;
    vv_decoder_report(decoder, report);
    vv_decoder_free(decoder);
    return code;
}

/* ---- rounds ---- */

static bool has(const struct bench *b, enum vv_draft_way way) {
    return b->mtp || ways[way].draft == VV_DRAFT_OFF;
}

/* Windows with k drafts, of the block if there is one. */
static struct way always(const struct bench *b, uint32_t k) {
    enum vv_draft draft = k > 0 && b->mtp ? VV_DRAFT_MTP : VV_DRAFT_OFF;
    return (struct way){draft, k, k > 0 && !b->mtp};
}

/* What they take. */
static int measure_windows(struct bench *b, struct record *r, double accept, uint32_t k,
                           uint32_t round, struct vv_error *error) {
    const struct way way = always(b, k);
    struct vv_decoder_report first, all;
    uint64_t tokens = b->options->tokens + VV_VERIFY_ROWS_MAX; /* for a second window */
    int code = write_text(b, &way, accept, tokens, 1 + WINDOWS, &first, &all, error);
    double windows = (double)(all.windows - first.windows);
    r->window[k][round] = (all.seconds - first.seconds) / windows;
    r->drafting[k][round] = (all.draft_seconds - first.draft_seconds) / windows;
    return code;
}

static int run_way(struct bench *b, struct record *r, double accept, size_t way, uint32_t round,
                   struct vv_error *error) {
    struct vv_decoder_report first, report;
    int code =
        write_text(b, &ways[way], accept, b->options->tokens, UINT64_MAX, &first, &report, error);
    r->rate[way][round] = (double)report.tokens / report.seconds;
    r->tokens[way] += (double)report.tokens;
    r->windows[way] += (double)report.windows;
    return code;
}

static int run_chance(struct bench *b, size_t index, uint32_t round, struct vv_error *error) {
    struct record *r = &b->records[index];
    double accept = b->options->accept[index];
    int code = VV_OK;
    for (uint32_t k = 0; code == VV_OK && k <= b->options->most; k++) {
        code = measure_windows(b, r, accept, k, round, error);
    }
    for (size_t way = 0; code == VV_OK && way < VV_WAYS; way++) {
        code = has(b, (enum vv_draft_way)way) ? run_way(b, r, accept, way, round, error) : VV_OK;
    }
    return code;
}

/* Programs are recorded, of each size's windows too, and every weight read once, before the clock
 * counts. The largest come first: smaller ones then have their memory. */
static int warm_up(struct bench *b, struct vv_error *error) {
    int code = VV_OK;
    for (uint32_t k = b->options->most + 1; code == VV_OK && k-- > 0;) {
        const struct way way = always(b, k);
        struct vv_decoder_report first, report;
        code = write_text(b, &way, 0.5, b->options->tokens, WINDOWS, &first, &report, error);
    }
    return code;
}

static int run_rounds(struct bench *b, struct vv_error *error) {
    const struct vv_bench_draft_options *o = b->options;
    int code = warm_up(b, error);
    for (uint32_t i = 0; code == VV_OK && i < o->rounds * o->accept_count; i++) {
        if (o->progress &&
            !o->progress(o->context, "measuring", i, (uint64_t)o->rounds * o->accept_count)) {
            return vv_fail(error, VV_ERROR_CANCELLED, "the measurement was ended early");
        }
        code = run_chance(b, i % o->accept_count, (uint32_t)(i / o->accept_count), error);
    }
    return code;
}

/* ---- the cost model ---- */

/* Tokens a second with k drafts that are right with chance `accept`; `free`: drafting costs none.
 */
static double model_rate(const struct bench *b, const struct record *r, double accept, uint32_t k,
                         bool free) {
    size_t rounds = b->options->rounds;
    double tokens = 1, all = 1, seconds = vv_series_of(r->window[k], rounds).median;
    for (uint32_t i = 0; i < k; i++) {
        all *= accept;
        tokens += all;
    }
    return tokens / (seconds - (free ? vv_series_of(r->drafting[k], rounds).median : 0));
}

static void tell(const struct bench *b, size_t index, enum vv_draft_way way) {
    const struct vv_bench_draft_options *o = b->options;
    const struct record *r = &b->records[index];
    struct vv_bench_draft_result result = {.accept = o->accept[index],
                                           .way = way,
                                           .rate = r->rate[way],
                                           .rounds = o->rounds,
                                           .window_tokens = r->tokens[way] / r->windows[way]};
    uint32_t least = ways[way].fixed, most = ways[way].fixed;
    if (way == VV_WAY_ADAPTIVE || way == VV_WAY_SUFFIX) {
        most = o->most;
    }
    for (uint32_t k = least; way != VV_WAY_BOTH && k <= most; k++) {
        double rate = model_rate(b, r, result.accept, k, way == VV_WAY_SUFFIX);
        if (rate > result.model) {
            result.model = rate;
            result.drafts = k;
        }
    }
    o->result(o->context, &result);
}

/* ---- all of it ---- */

static int check(const struct vv_bench_draft_options *o, struct vv_error *error) {
    if (o->rounds < 1 || o->rounds > VV_SAMPLES_MAX || o->tokens < 1 || o->most < 4 ||
        o->most > VV_DRAFTS_MAX) {
        return vv_fail(error, VV_ERROR_INVALID,
                       "%u rounds of %u tokens with %u drafts are asked for; 1 to %d rounds, a "
                       "token and 4 to %d drafts are needed",
                       o->rounds, o->tokens, o->most, VV_SAMPLES_MAX, VV_DRAFTS_MAX);
    }
    for (size_t i = 0; i < o->accept_count; i++) {
        if (!(o->accept[i] >= 0 && o->accept[i] <= 1)) {
            return vv_fail(error, VV_ERROR_INVALID, "a chance of %g is none: 0 to 1 is",
                           o->accept[i]);
        }
    }
    return VV_OK;
}

static int allocate(struct bench *b, struct vv_error *error) {
    const struct vv_bench_draft_options *o = b->options;
    size_t lists = VV_WAYS + 2 * KINDS, count = o->accept_count * lists * o->rounds;
    b->text = calloc(o->depth + 1, sizeof *b->text);
    b->records = calloc(o->accept_count + 1, sizeof *b->records);
    b->memory = calloc(count + 1, sizeof *b->memory);
    if (!b->text || !b->records || !b->memory) {
        return vv_fail_memory(error, count * sizeof *b->memory, "the measurements");
    }
    double *at = b->memory;
    for (size_t i = 0; i < o->accept_count; i++) {
        for (size_t w = 0; w < VV_WAYS; w++, at += o->rounds) {
            b->records[i].rate[w] = at;
        }
        for (size_t k = 0; k < KINDS; k++, at += 2 * o->rounds) {
            b->records[i].window[k] = at;
            b->records[i].drafting[k] = at + o->rounds;
        }
    }
    return VV_OK;
}

static int open_session(struct bench *b, const struct vv_gguf *file, const struct vv_family *family,
                        const void *geometry, const struct vv_session_options *from,
                        struct vv_error *error) {
    const struct vv_bench_draft_options *o = b->options;
    struct vv_model_facts facts;
    struct vv_session_options s = *from;
    family->facts(geometry, &facts);
    uint64_t context = (uint64_t)o->depth + o->tokens + VV_VERIFY_ROWS_MAX + 1;
    if (context > facts.context) {
        return vv_fail(error, VV_ERROR_INVALID,
                       "%llu tokens are needed; this model was made for up to %zu",
                       (unsigned long long)context, facts.context);
    }
    b->vocabulary = facts.vocabulary;
    b->mtp = s.mtp = facts.mtp_layers > 0;
    s.slots = s.outputs = 1;
    s.context = (uint32_t)context;
    s.window = VV_VERIFY_ROWS_MAX;
    return vv_session_new(file, family, geometry, &s, &b->session, error);
}

int vv_bench_draft(const struct vv_gguf *file, const struct vv_family *family, const void *geometry,
                   const struct vv_session_options *session,
                   const struct vv_bench_draft_options *options, struct vv_error *error) {
    struct bench b = {.options = options};
    int code = check(options, error);
    code = code == VV_OK ? open_session(&b, file, family, geometry, session, error) : code;
    code = code == VV_OK ? allocate(&b, error) : code;
    for (uint32_t i = 0; code == VV_OK && i < options->depth; i++) {
        b.text[i] = any_token(&b);
    }
    code = code == VV_OK ? run_rounds(&b, error) : code;
    for (size_t i = 0; code == VV_OK && i < options->accept_count; i++) {
        for (size_t way = 0; way < VV_WAYS; way++) {
            if (has(&b, (enum vv_draft_way)way)) {
                tell(&b, i, (enum vv_draft_way)way);
            }
        }
    }
    vv_session_free(b.session);
    free(b.text);
    free(b.records);
    free(b.memory);
    return code;
}

/*
 * Windows that continue sequences full of separators. Row numbers are computed again from whole
 * sequences, without windows and rings; the table's values tell which row they come from.
 */
#include "gguf/types.h"
#include "op/check_support.h"
#include "op/ngram_embed/contract.h"
#include "op/ngram_embed/internal.h"

enum { SLOTS = 4, SEQUENCES = 3, ORDER_MAX = 5, HEADS_MAX = 40 };

static const int32_t first[] = {3, 0, 18};

struct shape {
    int32_t rows, vocabulary, separator;
    size_t order, heads_per, width;
    int type;
    bool stored; /* cache_write has stored the window's ids already */
    bool open;   /* no separators near the window's start, which would hide the history */
};

struct example {
    struct vv_ngram_embed args;
    struct vv_weight table;
    size_t heads;
    void *whole[SEQUENCES]; /* ids of each sequence, from its start */
};

/* Value `i` of a table's row: Q8_0 blocks have scale 1. */
static float cell(int type, size_t row, size_t width, size_t i) {
    return type == VV_TYPE_Q8_0 ? (float)(int8_t)(row * 7 + i * 3) : (float)(row * width + i);
}

static void fill_table(struct vv_check *check, struct vv_weight *table) {
    size_t width = table->width;
    table->row_bytes = table->type == VV_TYPE_Q8_0 ? width / 32 * 34 : width * 4;
    uint8_t *data = vv_check_memory(check, table->rows * table->row_bytes);
    for (size_t at = 0; at < table->rows * width; at++) {
        size_t row = at / width, i = at % width;
        float value = cell(table->type, row, width, i);
        uint8_t *to = data + row * table->row_bytes;
        if (table->type == VV_TYPE_Q8_0) {
            memcpy(to + i / 32 * 34, "\x00\x3c", 2); /* 1 as a half */
            to[i / 32 * 34 + 2 + i % 32] = (uint8_t)(int)value;
        } else {
            memcpy(to + i * 4, &value, sizeof value);
        }
    }
    table->data = data;
}

/* Each sequence's ids, every fifth or so a separator; among garbage in the rings. */
static void fill_ids(struct vv_check *check, const struct shape *s, struct example *e,
                     struct vv_window *w) {
    for (int32_t i = 0; i < SLOTS; i++) {
        for (uint32_t k = 0; k < e->args.history.ring; k++) {
            *(int32_t *)vv_state_at(&e->args.history, i, k) =
                (int32_t)vv_check_below(check, (size_t)s->vocabulary);
        }
    }
    for (int32_t i = 0; i < w->sequences; i++) {
        size_t n = (size_t)vv_check_length(w, i);
        int32_t *ids = vv_check_memory(check, n * sizeof *ids);
        for (size_t k = 0; k < n; k++) {
            bool near_start = k + 3 >= (size_t)first[i] && k < (size_t)first[i] + 2;
            ids[k] = vv_check_below(check, 5) == 0 && !(s->open && near_start)
                         ? s->separator
                         : (int32_t)vv_check_below(check, (size_t)s->vocabulary);
        }
        e->whole[i] = ids;
    }
    vv_check_spread(w, &e->args.history, s->stored, e->whole, sizeof(int32_t), w->token);
}

static void fill_constants(struct vv_check *check, struct example *e, uint64_t *multipliers,
                           uint64_t *vocab, uint64_t *offset) {
    static const uint64_t prime[] = {53, 59, 61, 67, 71, 73, 79, 83};
    uint64_t rows = 0;
    for (size_t i = 0; i < e->args.order; i++) {
        multipliers[i] = vv_check_random(check) >> 19 | 1;
    }
    for (size_t k = 0; k < e->heads; k++) {
        vocab[k] = prime[k % 8] + 2 * (k / 8);
        offset[k] = rows;
        rows += vocab[k];
    }
    e->table.rows = rows;
}

/* `e` is filled where it stands: its args point into it. */
static void make(struct vv_check *check, const struct shape *s, struct example *e) {
    int32_t sequences = s->rows < SEQUENCES ? s->rows : SEQUENCES;
    struct vv_window *w = vv_check_window(check, s->rows, sequences, first, s->vocabulary);
    vv_check_turn_slots(w, SLOTS);
    *e = (struct example){.heads = (s->order - 1) * s->heads_per};
    size_t all = (size_t)s->rows * e->heads;
    uint64_t *multipliers = vv_check_memory(check, s->order * sizeof *multipliers);
    uint64_t *vocab = vv_check_memory(check, e->heads * sizeof *vocab);
    uint64_t *offset = vv_check_memory(check, e->heads * sizeof *offset);
    e->table = (struct vv_weight){.type = s->type, .width = s->width, .slices = 1};
    e->args = (struct vv_ngram_embed){.window = w,
                                      .rows = {&w->rows, 1},
                                      .table = &e->table,
                                      .e = vv_check_floats(check, all * s->width),
                                      .row_ids = vv_check_memory(check, all * sizeof(int64_t)),
                                      .multipliers = multipliers,
                                      .vocab = vocab,
                                      .offset = offset,
                                      .order = s->order,
                                      .heads_per = s->heads_per,
                                      .separator = s->separator};
    e->args.history =
        vv_check_state(check, VV_TYPE_I32, 4, 1, s->order + (size_t)s->rows, SLOTS, true);
    fill_constants(check, e, multipliers, vocab, offset);
    fill_table(check, &e->table);
    fill_ids(check, s, e, w);
}

enum reading {
    RIGHT,
    OLDEST_FIRST, /* trigram heads before bigram heads */
    UNIGRAM,      /* the token alone for the first heads */
    NEVER_CUT,
    OWN_CUTS,       /* a separator cuts its own context */
    CUT_FURTHER,    /* one more id back cuts too */
    NEAREST_SPARES, /* the id just before cuts nothing */
    START_ZERO,
    NO_HISTORY,
    OTHER_SLOT,
    MULTIPLIERS_REVERSED,
    SUM_FOR_XOR,
    NARROW,
    FLOATS,
    NO_OFFSET,
    FIRST_VOCABULARY,
    READINGS
};

static const char *const reading_name[READINGS] = {
    "right",
    "longer n-grams first",
    "heads of the token alone",
    "separators cut nothing",
    "a separator cuts its own context",
    "an older separator cuts",
    "the nearest separator does not cut",
    "0 before the sequence",
    "nothing before the window",
    "another sequence's history",
    "multipliers in reverse",
    "sum for xor",
    "32-bit products",
    "multipliers as floats",
    "no offsets",
    "the first head's vocabulary for all",
};

/* The id at `position` of sequence i as `how` sees it. */
static int32_t id_at(const struct example *e, enum reading how, int32_t i, int32_t position) {
    const struct vv_window *w = e->args.window;
    if (position < first[i] && how == NO_HISTORY) {
        return e->args.separator;
    }
    if (position < first[i] && how == OTHER_SLOT) {
        int32_t other = (i + 1) % w->sequences;
        return ((int32_t *)e->whole[other])[position % vv_check_length(w, other)];
    }
    return ((int32_t *)e->whole[i])[position];
}

/* c_s of the token at position p. */
static int32_t context(const struct example *e, enum reading how, int32_t i, int32_t p, int32_t s) {
    int32_t separator = e->args.separator;
    if (p < s) {
        return how == START_ZERO ? 0 : separator;
    }
    int32_t from = how == OWN_CUTS ? 0 : how == NEAREST_SPARES ? 2 : 1;
    int32_t to = how == CUT_FURTHER ? s + 1 : how == NEVER_CUT ? 0 : s;
    for (int32_t back = from; back <= to && back <= p; back++) {
        if (id_at(e, how, i, p - back) == separator) {
            return separator;
        }
    }
    return id_at(e, how, i, p - s);
}

static uint64_t term(const struct example *e, enum reading how, int32_t id, size_t s) {
    size_t order = e->args.order;
    uint64_t m = e->args.multipliers[how == MULTIPLIERS_REVERSED ? order - 1 - s : s];
    m = how == FLOATS ? (uint64_t)(float)m : m;
    return how == NARROW ? (uint32_t)m * (uint32_t)id : m * (uint64_t)id;
}

/* Row numbers [heads] of the token at position p of sequence i. */
static void formula(const struct example *e, enum reading how, int32_t i, int32_t p, int64_t *id) {
    const struct vv_ngram_embed *a = &e->args;
    uint64_t hash[ORDER_MAX];
    hash[0] = term(e, how, id_at(e, RIGHT, i, p), 0);
    for (size_t s = 1; s < a->order; s++) {
        uint64_t t = term(e, how, context(e, how, i, p, (int32_t)s), s);
        hash[s] = how == SUM_FOR_XOR ? hash[s - 1] + t : hash[s - 1] ^ t;
    }
    for (size_t k = 0; k < e->heads; k++) {
        size_t s = 1 + k / a->heads_per;
        s = how == OLDEST_FIRST ? a->order - s : how == UNIGRAM ? s - 1 : s;
        id[k] = (int64_t)(hash[s] % a->vocab[how == FIRST_VOCABULARY ? 0 : k] +
                          (how == NO_OFFSET ? 0 : a->offset[k]));
    }
}

/* Do row numbers and values follow from this reading? */
static bool follows(const struct example *e, enum reading how) {
    const struct vv_ngram_embed *a = &e->args;
    const struct vv_window *w = a->window;
    bool all = true;
    for (int32_t i = 0; i < w->sequences; i++) {
        for (int32_t k = w->sequence_begin[i]; k < w->sequence_begin[i + 1]; k++) {
            size_t row = (size_t)w->sequence_row[k];
            int64_t id[HEADS_MAX];
            formula(e, how, i, w->position[row], id);
            for (size_t at = 0; at < e->heads * e->table.width; at++) {
                size_t head = at / e->table.width, column = at % e->table.width;
                all = all && a->row_ids[row * e->heads + head] == id[head] &&
                      a->e[row * e->heads * e->table.width + at] ==
                          cell(e->table.type, (size_t)id[head], e->table.width, column);
            }
        }
    }
    return all;
}

static void one(struct vv_check *check, const struct shape *s, bool readings) {
    struct example e;
    make(check, s, &e);
    vv_check_variants(check, &vv_ngram_embed, &e.args, "%d rows, order %zu, %zu heads of %zu",
                      s->rows, s->order, e.heads, s->width);
    vv_check_true(check, follows(&e, RIGHT), "%d rows, order %zu, %zu heads of %zu: wrong rows",
                  s->rows, s->order, e.heads, s->width);
    for (enum reading how = 1; readings && how < READINGS; how++) {
        vv_check_true(check, !follows(&e, how), "blind to the misreading \"%s\"",
                      reading_name[how]);
    }
    e.args.row_ids = NULL;
    vv_check_variants(check, &vv_ngram_embed, &e.args, "no row numbers");
    vv_check_reset(check);
}

static void some(struct vv_check *check, int32_t rows, int type) {
    struct shape s = {.rows = rows,
                      .vocabulary = vv_check_below(check, 2) ? 7 : 248320,
                      .separator = 3,
                      .order = 2 + vv_check_below(check, 4),
                      .heads_per = 1 + vv_check_below(check, 8),
                      .width = type == VV_TYPE_Q8_0 ? 32 * (1 + vv_check_below(check, 5))
                                                    : 1 + vv_check_below(check, 33),
                      .type = type,
                      .stored = vv_check_below(check, 2)};
    one(check, &s, false);
}

/* A separate scale multiplies every value. */
static void scaled(struct vv_check *check) {
    const struct shape s = {4, 20, 3, 3, 2, 5, VV_TYPE_F32, false, false};
    const float scale = 0.3f;
    struct example e;
    make(check, &s, &e);
    float *kept = vv_check_floats(check, 1);
    *kept = scale;
    e.table.scale = kept;
    vv_check_variants(check, &vv_ngram_embed, &e.args, "with a scale");
    bool all = true;
    for (size_t at = 0; at < 4 * e.heads * 5; at++) {
        float value = cell(s.type, (size_t)e.args.row_ids[at / 5], 5, at % 5);
        all = all && e.args.e[at] == value * scale;
    }
    vv_check_true(check, all, "the table's scale is not applied");
    vv_check_reset(check);
}

/* A table that ends at, or before, the last row that is asked for; a vocabulary of nothing. */
static void refusals(struct vv_check *check) {
    const struct shape s = {6, 50, 3, 3, 4, 3, VV_TYPE_F32, true, false};
    struct example e;
    make(check, &s, &e);
    vv_check_variants(check, &vv_ngram_embed, &e.args, "before refusals");
    int64_t last = 0;
    for (size_t i = 0; i < 6 * e.heads; i++) {
        last = e.args.row_ids[i] > last ? e.args.row_ids[i] : last;
    }
    e.table.rows = (size_t)last;
    vv_check_refuses(check, &vv_ngram_embed, &e.args, VV_ERROR_INVALID, "a row too many");
    e.table.rows = (size_t)last + 1;
    vv_check_refuses(check, &vv_ngram_embed, &e.args, VV_OK, "the last row");
    uint64_t *vocab = vv_check_memory(check, e.heads * sizeof *vocab);
    uint64_t *offset = vv_check_memory(check, e.heads * sizeof *offset);
    vocab[0] = offset[0] = 0;
    memcpy(offset + 1, e.args.offset + 1, (e.heads - 1) * sizeof *offset);
    memcpy(vocab + 1, e.args.vocab + 1, (e.heads - 1) * sizeof *vocab);
    e.args.vocab = vocab;
    vv_check_refuses(check, &vv_ngram_embed, &e.args, VV_ERROR_INVALID, "no vocabulary");
    vocab[0] = 1;
    offset[0] = UINT64_MAX;
    e.args.offset = offset;
    vv_check_refuses(check, &vv_ngram_embed, &e.args, VV_ERROR_INVALID, "an offset that wraps");
    vv_check_reset(check);
}

void vv_ngram_embed_check(struct vv_check *check) {
    for (int32_t rows = 1; rows <= 8; rows++) {
        for (int i = 0; i < (vv_check_quick(check) ? 2 : 6); i++) {
            some(check, rows, i % 2 ? VV_TYPE_Q8_0 : VV_TYPE_F32);
        }
    }
    some(check, 33, VV_TYPE_F32);
    some(check, 130, VV_TYPE_Q8_0);
    one(check, &(struct shape){60, 3000, 3, 4, 2, 5, VV_TYPE_F32, false, true}, true);
    one(check, &(struct shape){60, 248320, 248044, 3, 8, 2, VV_TYPE_F32, true, true}, true);
    scaled(check);
    refusals(check);
}

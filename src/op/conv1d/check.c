/*
 * Windows that continue sequences: what is before a window's first row lies in rings, among values
 * that no tap may reach. The formula is computed from whole sequences, without windows and rings.
 */
#include "gguf/types.h"
#include "op/check_support.h"
#include "op/conv1d/internal.h"

static const size_t channels[] = {1, 2, 7, 8, 9, 16, 17, 33, 127, 255, 256, 257, 300, 640};
static const int32_t first[] = {4, 0, 23};

enum { SLOTS = 4, SEQUENCES = 3 };

struct shape {
    int32_t rows;
    size_t channels, kernel, dilation;
    bool stored; /* cache_write has stored the window's rows already */
};

struct example {
    struct vv_conv1d args;
    void *whole[SEQUENCES]; /* floats [positions][channels] of each sequence, from its start */
};

static float *entry(const struct vv_conv1d *a, int32_t slot, int64_t position) {
    return vv_state_at(&a->history, slot, position);
}

static void fill_history(struct vv_check *check, struct vv_conv1d *a) {
    for (int32_t slot = 0; slot < SLOTS; slot++) {
        for (uint32_t i = 0; i < a->history.ring; i++) {
            for (size_t c = 0; c < a->channels; c++) {
                entry(a, slot, i)[c] = vv_check_normal(check);
            }
        }
    }
}

static struct example make(struct vv_check *check, const struct shape *s) {
    int32_t sequences = s->rows < SEQUENCES ? s->rows : SEQUENCES;
    struct vv_window *w = vv_check_window(check, s->rows, sequences, first, 10);
    vv_check_turn_slots(w, SLOTS);
    size_t all = (size_t)s->rows * s->channels, reach = s->dilation * (s->kernel - 1);
    float *x = vv_check_floats(check, all);
    struct example e = {.args = {.x = x,
                                 .weight = vv_check_normals(check, s->channels * s->kernel),
                                 .p = vv_check_normals(check, all),
                                 .onto = vv_check_normals(check, all),
                                 .window = w,
                                 .rows = {&w->rows, 1},
                                 .channels = s->channels,
                                 .kernel = s->kernel,
                                 .dilation = s->dilation}};
    e.args.history = vv_check_state(check, VV_TYPE_F32, 4, s->channels, 1 + reach + (size_t)s->rows,
                                    SLOTS, true);
    fill_history(check, &e.args);
    for (int32_t i = 0; i < sequences; i++) {
        e.whole[i] = vv_check_normals(check, (size_t)vv_check_length(w, i) * s->channels);
    }
    vv_check_spread(w, &e.args.history, s->stored, e.whole, s->channels * sizeof(float), x);
    return e;
}

static void bits(struct vv_check *check, int32_t rows, size_t width) {
    struct shape s = {.rows = rows,
                      .channels = width,
                      .kernel = 1 + vv_check_below(check, 5),
                      .dilation = 1 + vv_check_below(check, 4),
                      .stored = vv_check_below(check, 2)};
    struct example e = make(check, &s);
    size_t all = (size_t)rows * width;
    e.args.onto = vv_check_adversarial(check, all);
    e.args.p = vv_check_adversarial(check, all);
    e.args.weight = vv_check_adversarial(check, width * s.kernel);
    vv_check_variants(check, &vv_conv1d, &e.args, "%d rows of %zu, kernel %zu, dilation %zu", rows,
                      width, s.kernel, s.dilation);
    vv_check_reset(check);
}

enum reading {
    RIGHT,
    NO_DILATION,
    TAPS_REVERSED,
    WEIGHTS_TRANSPOSED,
    NOT_CURRENT, /* the newest tap is the token before */
    NO_HISTORY,  /* nothing before the window */
    OTHER_SLOT,
    INPUT_P, /* the un-normed branch for the normed one, and the other way round */
    BRANCH_X,
    NO_BRANCH,
    REPLACES,
    NO_SILU,
    SIGMOID,
    SILU_OF_SUM,
    READINGS
};

static const char *const reading_name[READINGS] = {
    "right",
    "dilation 1",
    "taps in reverse",
    "weights [kernel][channels]",
    "the newest tap a token late",
    "zeros before the window",
    "another sequence's history",
    "the other branch as input",
    "the input as the other branch",
    "the convolution alone",
    "the streams replaced",
    "no silu",
    "sigmoid for silu",
    "silu of the sum",
};

/* x of sequence `i` at `position`, channel c; `row` is the row being computed. */
static double input(const struct example *e, enum reading how, int32_t i, int64_t position,
                    size_t row, size_t c) {
    const struct vv_conv1d *a = &e->args;
    int32_t from = how == OTHER_SLOT && position < first[i] ? (i + 1) % SEQUENCES : i;
    if (position < 0 || (how == NO_HISTORY && position < first[i])) {
        return 0;
    }
    if (how == INPUT_P) {
        return (double)a->p[row * a->channels + c];
    }
    if (from != i) {
        return (double)*(entry(a, SLOTS - 1 - from, position) + c);
    }
    return (double)((float *)e->whole[i])[(size_t)position * a->channels + c];
}

static double convolution(const struct example *e, enum reading how, int32_t i, size_t row,
                          size_t c) {
    const struct vv_conv1d *a = &e->args;
    int64_t dilation = how == NO_DILATION ? 1 : (int64_t)a->dilation;
    double sum = 0;
    for (size_t m = 0; m < a->kernel; m++) {
        size_t tap = how == TAPS_REVERSED ? a->kernel - 1 - m : m;
        size_t w = how == WEIGHTS_TRANSPOSED ? tap * a->channels + c : c * a->kernel + tap;
        int64_t position = a->window->position[row] - dilation * (int64_t)(a->kernel - 1 - m) -
                           (how == NOT_CURRENT ? 1 : 0);
        sum += (double)a->weight[w] * input(e, how, i, position, row, c);
    }
    return sum;
}

static double formula(const struct example *e, const float *onto, enum reading how, int32_t i,
                      size_t row, size_t c) {
    const struct vv_conv1d *a = &e->args;
    size_t at = row * a->channels + c;
    double p = (double)(how == BRANCH_X ? a->x : a->p)[at];
    double conv = convolution(e, how, i, row, c), z = how == SILU_OF_SUM ? conv + p : conv;
    double sigmoid = 1 / (1 + exp(-z));
    double y = how == NO_SILU ? z : how == SIGMOID ? sigmoid : z * sigmoid;
    return (how == REPLACES ? 0 : (double)onto[at]) +
           (how == NO_BRANCH || how == SILU_OF_SUM ? 0 : p) + y;
}

static void readings(struct vv_check *check, const struct shape *s) {
    struct example e = make(check, s);
    size_t all = (size_t)s->rows * s->channels;
    float *onto = vv_check_floats(check, all);
    memcpy(onto, e.args.onto, all * sizeof(float));
    vv_check_variants(check, &vv_conv1d, &e.args, "formula: %zu channels, kernel %zu, dilation %zu",
                      s->channels, s->kernel, s->dilation);
    const struct vv_window *w = e.args.window;
    double *want = vv_check_doubles(check, all);
    for (enum reading how = RIGHT; how < READINGS; how++) {
        for (int32_t i = 0; i < w->sequences; i++) {
            for (int32_t k = w->sequence_begin[i]; k < w->sequence_begin[i + 1]; k++) {
                size_t row = (size_t)w->sequence_row[k];
                for (size_t c = 0; c < s->channels; c++) {
                    want[row * s->channels + c] = formula(&e, onto, how, i, row, c);
                }
            }
        }
        if (how == RIGHT) {
            vv_check_near(check, "formula", e.args.onto, want, all, 1e-6);
        } else {
            vv_check_misreading(check, reading_name[how], e.args.onto,
                                vv_check_narrow(check, want, all), all, 1e-2);
        }
    }
    vv_check_reset(check);
}

void vv_conv1d_check(struct vv_check *check) {
    for (size_t i = 0; i < sizeof channels / sizeof *channels; i++) {
        for (int32_t rows = 1; rows <= 8; rows += vv_check_quick(check) ? 3 : 1) {
            bits(check, rows, channels[i]);
        }
    }
    bits(check, 33, 257);
    bits(check, 130, 20);
    readings(check, &(struct shape){9, 33, 4, 3, false});
    readings(check, &(struct shape){30, 20, 4, 3, true});
    readings(check, &(struct shape){12, 17, 3, 4, false});
    readings(check, &(struct shape){3, 65, 2, 2, true});
}

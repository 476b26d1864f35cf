/*
 * The delta rule against double precision and fourteen misreadings of it; then what the modes
 * promise, bit for bit: verify leaves the state alone and gives advance's outputs, verify and
 * commit k equal advancing k rows, and neither the cut into windows nor the order of rows in one
 * matters.
 */
#include "op/check_oracle.h"
#include "op/gdn_step/internal.h"

#include <stdlib.h>

enum misreading {
    RIGHT,
    HEAD_DIV,         /* value head j with key head j div (value_heads / key_heads) */
    SILU_GATE,        /* silu for sigmoid of z */
    GATE_FIRST,       /* gate, then norm */
    DECAY_AFTER_READ, /* r from the state before the decay */
    OLD_STATE,        /* y from the state before the update */
    TAPS_REVERSED,    /* newest tap first */
    NO_HISTORY,       /* inputs before the window count as 0 */
    NO_SILU,          /* after the convolution */
    A_AS_LOGARITHM,   /* -exp(a) for a */
    NO_DT_BIAS,       /* softplus of alpha alone */
    NORM_PLUS_1,      /* norm weights taken as zero-centred */
    NO_BETA,          /* β = 1 */
    L2_EPS_OUTSIDE,   /* seen where q and k are small */
    NO_QUERY_SCALE,   /* seen where y is small: else the norm hides it */
    MISREADINGS,
};

static const char *const misreadings[] = {"",
                                          "key head j div",
                                          "silu gate",
                                          "gate before norm",
                                          "decay after the read",
                                          "output from the old state",
                                          "taps reversed",
                                          "convolution without history",
                                          "no silu after the convolution",
                                          "a as a logarithm",
                                          "no dt_bias",
                                          "norm weights plus one",
                                          "no beta",
                                          "l2 epsilon outside",
                                          "no query scale"};

struct shape {
    size_t key_heads, value_heads, key_dim, value_dim, kernel;
};

enum { SLOTS = 3, LENGTH = 72 }; /* sequences of a story, positions of each */

/* All that is ever fed to the layer, [slot][position][…], and the states before it. */
struct story {
    struct vv_gdn_step args;
    float *qkv, *z, *alpha, *beta;
    float *initial[SLOTS]; /* [value_heads][key_dim][value_dim] */
};

static size_t at(int32_t slot, int64_t position) {
    return (size_t)slot * LENGTH + (size_t)position;
}

static size_t matrix(const struct vv_gdn_step *a) {
    return a->value_heads * a->key_dim * a->value_dim;
}

static float *scaled_normals(struct vv_check *check, size_t n, float by, float plus) {
    float *x = vv_check_normals(check, n);
    for (size_t i = 0; i < n; i++) {
        x[i] = x[i] * by + plus;
    }
    return x;
}

static struct story *new_story(struct vv_check *check, struct shape s, float magnitude) {
    struct story *story = vv_check_memory(check, sizeof *story);
    size_t all = SLOTS * LENGTH, values = s.value_heads * s.value_dim;
    struct vv_gdn_step a = {.key_heads = s.key_heads,
                            .value_heads = s.value_heads,
                            .key_dim = s.key_dim,
                            .value_dim = s.value_dim,
                            .kernel = s.kernel,
                            .eps = 1e-6f};
    size_t channels = vv_gdn_channels(&a);
    a.conv = vv_check_normals(check, channels * s.kernel);
    a.a = scaled_normals(check, s.value_heads, 0.1f, -0.4f);
    a.dt_bias = vv_check_normals(check, s.value_heads);
    a.norm = scaled_normals(check, s.value_dim, 0.3f, 1);
    a.state = vv_check_empty_state(check, VV_TYPE_F32, matrix(&a), 1, SLOTS, false);
    a.conv_ring =
        vv_check_empty_state(check, VV_TYPE_F32, channels, s.kernel - 1 + LENGTH, SLOTS, true);
    a.gate_ring =
        vv_check_empty_state(check, VV_TYPE_F32, 2 * s.value_heads, LENGTH - 3, SLOTS, true);
    *story = (struct story){.args = a,
                            .qkv = scaled_normals(check, all * channels, magnitude, 0),
                            .z = vv_check_normals(check, all * values),
                            .alpha = vv_check_normals(check, all * s.value_heads),
                            .beta = vv_check_normals(check, all * s.value_heads)};
    for (size_t i = 0; i < SLOTS; i++) {
        story->initial[i] = scaled_normals(check, matrix(&a), 0.2f, 0);
    }
    return story;
}

/*
 * A window of count[i] rows of sequence i from position first[i] on; sequence i lies in slot
 * SLOTS - 1 - i. Rows of the sequences take turns; `shuffled`: in any order, even backwards.
 */
static struct vv_window *new_window(struct vv_check *check, int32_t sequences, const int32_t *first,
                                    const int32_t *count, bool shuffled) {
    int32_t firsts[SLOTS] = {0}, row = 0, rows = 0;
    for (int32_t i = 0; i < sequences; i++) {
        rows += count[i];
        firsts[i] = first[i];
    }
    struct vv_window *w = vv_check_window(check, rows, sequences, firsts, 10);
    int32_t *number = vv_check_memory(check, (size_t)rows * sizeof *number);
    for (int32_t r = 0; r < rows; r++) { /* the row that the r-th one becomes */
        number[r] = r;
        int32_t other = shuffled ? (int32_t)vv_check_below(check, (size_t)r + 1) : r;
        number[r] = number[other];
        number[other] = r;
    }
    w->sequences = sequences;
    for (int32_t i = 0, begin = 0; i < sequences; begin += count[i++]) {
        w->sequence_begin[i] = begin;
        w->sequence_begin[i + 1] = begin + count[i];
    }
    for (int32_t turn = 0; row < rows; turn++) {
        for (int32_t i = 0; i < sequences; i++) {
            if (turn < count[i]) {
                int32_t r = number[row++], begin = w->sequence_begin[i];
                w->slot[r] = SLOTS - 1 - i;
                w->position[r] = first[i] + turn;
                w->before[r] = turn > 0 ? w->sequence_row[begin + turn - 1] : -1;
                w->sequence_row[begin + turn] = r;
            }
        }
    }
    return w;
}

static void fill_ring(const struct vv_state_view *ring, int32_t slot, int64_t position,
                      const float *from, size_t offset, size_t width) {
    if (position >= 0) {
        memcpy((float *)vv_state_at(ring, slot, position) + offset,
               from + at(slot, position) * width, width * sizeof *from);
    }
}

/* Args as they are when the window begins; nothing is in the rings but what may be read. */
static void enter_window(struct vv_check *check, struct story *s, struct vv_window *w,
                         enum vv_gdn_mode mode) {
    struct vv_gdn_step *a = &s->args;
    size_t rows = (size_t)w->rows, channels = vv_gdn_channels(a), heads = a->value_heads;
    size_t values = heads * a->value_dim;
    bool inputs = mode != VV_GDN_COMMIT;
    float *qkv = inputs ? vv_check_floats(check, rows * channels) : NULL;
    float *z = inputs ? vv_check_floats(check, rows * values) : NULL;
    float *alpha = inputs ? vv_check_floats(check, rows * heads) : NULL;
    float *beta = inputs ? vv_check_floats(check, rows * heads) : NULL;
    memset(a->conv_ring.base, 0xff, a->conv_ring.bytes);
    memset(a->gate_ring.base, 0xff, a->gate_ring.bytes);
    for (size_t r = 0; r < rows; r++) {
        int32_t slot = w->slot[r], position = w->position[r];
        for (int64_t p = position - (int64_t)a->kernel + 1; w->before[r] < 0 && p < position; p++) {
            fill_ring(&a->conv_ring, slot, p, s->qkv, 0, channels);
        }
        if (inputs) {
            size_t from = at(slot, position);
            memcpy(qkv + r * channels, s->qkv + from * channels, channels * sizeof *qkv);
            memcpy(z + r * values, s->z + from * values, values * sizeof *z);
            memcpy(alpha + r * heads, s->alpha + from * heads, heads * sizeof *alpha);
            memcpy(beta + r * heads, s->beta + from * heads, heads * sizeof *beta);
        } else {
            fill_ring(&a->conv_ring, slot, position, s->qkv, 0, channels);
            fill_ring(&a->gate_ring, slot, position, s->alpha, 0, heads);
            fill_ring(&a->gate_ring, slot, position, s->beta, heads, heads);
        }
    }
    a->qkv = qkv;
    a->z = z;
    a->alpha = alpha;
    a->beta = beta;
    a->y = inputs ? vv_check_floats(check, rows * values) : NULL;
    a->work =
        mode == VV_GDN_VERIFY ? vv_check_floats(check, (size_t)w->sequences * matrix(a)) : NULL;
    a->window = w;
    a->mode = mode;
}

/* The slots' matrices before a window: NaN where the sequence begins in it. */
static void enter_states(const struct story *s, int32_t sequences, const int32_t *first) {
    memset(s->args.state.base, 0xff, s->args.state.bytes);
    for (int32_t i = 0; i < sequences; i++) {
        int32_t slot = SLOTS - 1 - i;
        if (first[i] > 0) {
            memcpy(vv_state_at(&s->args.state, slot, 0), s->initial[slot],
                   matrix(&s->args) * sizeof(float));
        }
    }
}

/* ---- the oracle ---- */

static double *oracle_convolution(const struct story *s, int32_t slot, int64_t p, int64_t first,
                                  size_t channel, size_t n, enum misreading which, double *to) {
    const struct vv_gdn_step *a = &s->args;
    int64_t start = which == NO_HISTORY ? first : 0;
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (int64_t m = 0; m < (int64_t)a->kernel; m++) {
            int64_t from = which == TAPS_REVERSED ? p - m : p - (int64_t)a->kernel + 1 + m;
            if (from >= start) {
                sum += (double)a->conv[(channel + i) * a->kernel + (size_t)m] *
                       (double)s->qkv[at(slot, from) * vv_gdn_channels(a) + channel + i];
            }
        }
        to[i] = which == NO_SILU ? sum : vv_check_silu(sum);
    }
    return to;
}

static void oracle_l2(double *x, size_t n, double eps, enum misreading which) {
    double squares = 0;
    for (size_t i = 0; i < n; i++) {
        squares += x[i] * x[i];
    }
    for (size_t i = 0; i < n; i++) {
        x[i] /= which == L2_EPS_OUTSIDE ? sqrt(squares) + eps : sqrt(squares + eps);
    }
}

/* S moves, y [value_dim] is read; dimensions are at most 256. */
static void oracle_delta(double *state, size_t keys, size_t values, const double *q,
                         const double *k, const double *v, double decay, double beta,
                         enum misreading which, double *y) {
    for (size_t c = 0; c < values; c++) {
        double r = 0, old = 0, new = 0;
        for (size_t i = 0; i < keys; i++) {
            double undecayed = state[i * values + c];
            state[i * values + c] *= decay;
            r += k[i] * (which == DECAY_AFTER_READ ? undecayed : state[i * values + c]);
            old += q[i] * state[i * values + c];
        }
        for (size_t i = 0; i < keys; i++) {
            state[i * values + c] += k[i] * beta * (v[c] - r);
            new += q[i] * state[i * values + c];
        }
        y[c] = which == OLD_STATE ? old : new;
    }
}

static void oracle_output(const struct vv_gdn_step *a, const float *z, enum misreading which,
                          double *y) {
    double squares = 0;
    for (size_t c = 0; c < a->value_dim; c++) {
        double gate =
            which == SILU_GATE ? vv_check_silu((double)z[c]) : vv_check_sigmoid((double)z[c]);
        y[c] *= which == GATE_FIRST ? gate : 1;
        squares += y[c] * y[c] / (double)a->value_dim;
    }
    for (size_t c = 0; c < a->value_dim; c++) {
        double gate =
            which == SILU_GATE ? vv_check_silu((double)z[c]) : vv_check_sigmoid((double)z[c]);
        y[c] *= ((double)a->norm[c] + (which == NORM_PLUS_1)) / sqrt(squares + (double)a->eps);
        y[c] *= which == GATE_FIRST ? 1 : gate;
    }
}

/* One row of value head j. */
static void oracle_row(const struct story *s, int32_t slot, int64_t p, int64_t first, size_t j,
                       enum misreading which, double *state, double *y) {
    const struct vv_gdn_step *a = &s->args;
    double q[256], k[256], v[256];
    size_t dim = a->key_dim, keys = a->key_heads * dim;
    size_t head = which == HEAD_DIV ? j / (a->value_heads / a->key_heads) : j % a->key_heads;
    oracle_convolution(s, slot, p, first, head * dim, dim, which, q);
    oracle_convolution(s, slot, p, first, keys + head * dim, dim, which, k);
    oracle_convolution(s, slot, p, first, 2 * keys + j * a->value_dim, a->value_dim, which, v);
    oracle_l2(q, dim, (double)a->eps, which);
    oracle_l2(k, dim, (double)a->eps, which);
    for (size_t i = 0; i < dim && which != NO_QUERY_SCALE; i++) {
        q[i] /= sqrt((double)dim);
    }
    double alpha = (double)s->alpha[at(slot, p) * a->value_heads + j];
    double beta = vv_check_sigmoid((double)s->beta[at(slot, p) * a->value_heads + j]);
    double rate = (double)a->a[j];
    alpha += which == NO_DT_BIAS ? 0 : (double)a->dt_bias[j];
    rate = which == A_AS_LOGARITHM ? -exp(rate) : rate;
    oracle_delta(state, dim, a->value_dim, q, k, v, exp(rate * log1p(exp(alpha))),
                 which == NO_BETA ? 1 : beta, which, y);
    oracle_output(a, s->z + (at(slot, p) * a->value_heads + j) * a->value_dim, which, y);
}

/* All of the window: y as the operation lays it out, and the moved states of its sequences, in
 * their order, behind it. */
static void oracle(struct vv_check *check, const struct story *s, enum misreading which, double *y,
                   double *states) {
    const struct vv_gdn_step *a = &s->args;
    const struct vv_window *w = a->window;
    size_t one = a->key_dim * a->value_dim;
    (void)check;
    for (int32_t i = 0; i < w->sequences; i++) {
        int32_t begin = w->sequence_begin[i], slot = SLOTS - 1 - i;
        int64_t first = w->position[w->sequence_row[begin]];
        for (size_t j = 0; j < a->value_heads; j++) {
            double *state = states + ((size_t)i * a->value_heads + j) * one;
            for (size_t e = 0; e < one; e++) {
                state[e] = first > 0 ? (double)s->initial[slot][j * one + e] : 0;
            }
            for (int32_t n = begin; n < w->sequence_begin[i + 1]; n++) {
                size_t row = (size_t)w->sequence_row[n];
                oracle_row(s, slot, first + n - begin, first, j, which, state,
                           y + (row * a->value_heads + j) * a->value_dim);
            }
        }
    }
}

static void compare_with_oracle(struct vv_check *check, const struct story *s, bool tiny) {
    const struct vv_gdn_step *a = &s->args;
    size_t n = (size_t)a->window->rows * a->value_heads * a->value_dim;
    size_t m = matrix(a), sequences = (size_t)a->window->sequences;
    double *y = vv_check_doubles(check, n), *states = vv_check_doubles(check, sequences * m);
    for (int which = RIGHT; which < MISREADINGS; which++) {
        bool small = which == L2_EPS_OUTSIDE || which == NO_QUERY_SCALE;
        bool large = which == NO_SILU || which == NO_HISTORY || which == GATE_FIRST;
        if ((small && !tiny) || (large && tiny)) {
            continue;
        }
        oracle(check, s, (enum misreading)which, y, states);
        if (which != RIGHT) {
            vv_check_misreading(check, misreadings[which], a->y, vv_check_narrow(check, y, n), n,
                                1e-3);
            continue;
        }
        vv_check_near(check, "outputs", a->y, y, n, 1e-4);
        for (size_t i = 0; i < sequences; i++) {
            vv_check_near(check, "states", vv_state_at(&a->state, SLOTS - 1 - (int32_t)i, 0),
                          states + i * m, m, 1e-5);
        }
    }
}

/* ---- cases ---- */

/* `work` is scratch: variants may leave what they like there. */
static size_t buffers_that_count(const void *args, struct vv_buffer *out) {
    size_t n = vv_gdn_step.buffers(args, out);
    return ((const struct vv_gdn_step *)args)->mode == VV_GDN_VERIFY ? n - 1 : n;
}

static void run_variants(struct vv_check *check, struct story *s, const char *what,
                         struct shape shape, int32_t rows, int32_t first) {
    struct vv_operation operation = vv_gdn_step;
    operation.buffers = buffers_that_count;
    vv_check_variants(check, &operation, &s->args,
                      "%s: heads %zu, %zu of %zu x %zu, kernel %zu, %d rows, first at %d", what,
                      shape.key_heads, shape.value_heads, shape.key_dim, shape.value_dim,
                      shape.kernel, rows, first);
}

static uint8_t *copy(struct vv_check *check, const void *from, size_t bytes) {
    return memcpy(vv_check_memory(check, bytes), from, bytes);
}

/* Advance and verify of one window. */
static void check_window(struct vv_check *check, struct shape shape, int32_t sequences,
                         const int32_t *first, const int32_t *count, float magnitude) {
    struct story *s = new_story(check, shape, magnitude);
    const struct vv_state_view *state = &s->args.state;
    struct vv_window *w = new_window(check, sequences, first, count, true);
    size_t bytes = (size_t)w->rows * shape.value_heads * shape.value_dim * sizeof(float);
    bool wide = shape.key_heads > 1 && shape.value_heads > shape.key_heads && shape.key_dim > 8 &&
                shape.kernel > 2;
    enter_states(s, sequences, first);
    uint8_t *before = copy(check, state->base, state->bytes);
    enter_window(check, s, w, VV_GDN_ADVANCE);
    run_variants(check, s, "advance", shape, w->rows, first[0]);
    if (wide && magnitude < 1 ? first[0] == 0 && sequences == 1 : first[0] > 0 && wide) {
        compare_with_oracle(check, s, magnitude < 1);
    }
    uint8_t *y = copy(check, s->args.y, bytes);
    memcpy(state->base, before, state->bytes);
    enter_window(check, s, w, VV_GDN_VERIFY);
    run_variants(check, s, "verify", shape, w->rows, first[0]);
    vv_check_true(check, memcmp(state->base, before, state->bytes) == 0,
                  "verify moves the state: %d rows at %d", w->rows, first[0]);
    vv_check_true(check, memcmp(s->args.y, y, bytes) == 0,
                  "verify gives other outputs than advance: %d rows at %d", w->rows, first[0]);
    vv_check_reset(check);
}

/* Verify of eight rows and commit of k equal advance of k rows; two sequences, the other one keeps
 * 8 - k of its rows. */
static void check_commit(struct vv_check *check, struct shape shape, int32_t first, int32_t k) {
    struct story *s = new_story(check, shape, 1);
    const struct vv_state_view *state = &s->args.state;
    int32_t firsts[2] = {first, 2}, all[2] = {8, 8}, kept[2] = {k, 8 - k};
    enter_states(s, 2, firsts);
    uint8_t *before = copy(check, state->base, state->bytes);
    enter_window(check, s, new_window(check, 2, firsts, kept, true), VV_GDN_ADVANCE);
    vv_gdn_step_reference(&s->args, 0, 2 * shape.value_heads);
    uint8_t *advanced = copy(check, state->base, state->bytes);

    memcpy(state->base, before, state->bytes);
    enter_window(check, s, new_window(check, 2, firsts, all, true), VV_GDN_VERIFY);
    vv_gdn_step_reference(&s->args, 0, 2 * shape.value_heads);
    enter_window(check, s, new_window(check, 2, firsts, kept, true), VV_GDN_COMMIT);
    run_variants(check, s, "commit", shape, k, first);
    vv_check_true(check, memcmp(state->base, advanced, state->bytes) == 0,
                  "verify and commit of %d rows at %d differ from advance: key_dim %zu, value_dim "
                  "%zu, kernel %zu",
                  k, first, shape.key_dim, shape.value_dim, shape.kernel);
    vv_check_reset(check);
}

static int run_window(struct vv_check *check, const struct vv_variant *v, struct story *s,
                      struct vv_window *w) {
    enter_window(check, s, w, VV_GDN_ADVANCE);
    return v->run(&s->args, 0, vv_gdn_step.units(&s->args));
}

/* Rows in one window, in another order, and one at a time: equal outputs and states. */
static void check_windowing(struct vv_check *check, struct shape shape, int32_t first,
                            int32_t count) {
    struct story *s = new_story(check, shape, 1);
    const struct vv_state_view *state = &s->args.state;
    size_t values = shape.value_heads * shape.value_dim;
    for (const struct vv_variant *v = vv_gdn_step.variants; v->name; v++) {
        if ((v->needs & ~vv_cpu_features()) != 0) {
            continue;
        }
        int32_t one = 1;
        enter_states(s, 1, &first);
        int error = run_window(check, v, s, new_window(check, 1, &first, &count, false));
        uint8_t *moved = copy(check, state->base, state->bytes);
        const float *y = s->args.y;

        enter_states(s, 1, &first);
        struct vv_window *shuffled = new_window(check, 1, &first, &count, true);
        error = error ? error : run_window(check, v, s, shuffled);
        bool equal = memcmp(moved, state->base, state->bytes) == 0;
        for (int32_t r = 0; r < count; r++) {
            const float *mine = s->args.y + (size_t)shuffled->sequence_row[r] * values;
            equal = equal && memcmp(mine, y + (size_t)r * values, values * sizeof *y) == 0;
        }
        vv_check_true(check, !error && equal, "%s: the order of %d rows matters", v->name, count);

        enter_states(s, 1, &first);
        equal = true;
        for (int32_t r = 0; r < count && !error; r++) {
            int32_t position = first + r;
            error = run_window(check, v, s, new_window(check, 1, &position, &one, false));
            equal = equal && memcmp(s->args.y, y + (size_t)r * values, values * sizeof *y) == 0;
        }
        equal = equal && memcmp(moved, state->base, state->bytes) == 0;
        vv_check_true(check, !error && equal, "%s: %d rows at %d one by one differ from one window",
                      v->name, count, first);
    }
    vv_check_reset(check);
}

/* Inputs as nasty as they come; a decay of 0 and of 1; β of 0 and 1. */
static void check_extremes(struct vv_check *check, struct shape shape) {
    struct story *s = new_story(check, shape, 1);
    int32_t first = 3, count = 8;
    size_t channels = vv_gdn_channels(&s->args);
    const float *nasty = vv_check_adversarial(check, SLOTS * LENGTH * channels);
    for (size_t i = 0; i < SLOTS * LENGTH * channels; i++) {
        s->qkv[i] = fminf(fmaxf(nasty[i], -1e6f), 1e6f);
    }
    for (size_t i = 0; i < SLOTS * LENGTH * shape.value_heads; i++) {
        static const float edges[] = {-200, -100, 0, 100, 3e38f};
        s->alpha[i] = edges[vv_check_below(check, 5)];
        s->beta[i] = edges[vv_check_below(check, 5)];
    }
    enter_states(s, 1, &first);
    enter_window(check, s, new_window(check, 1, &first, &count, true), VV_GDN_ADVANCE);
    run_variants(check, s, "adversarial", shape, count, first);
    vv_check_reset(check);
}

static void check_errors(struct vv_check *check) {
    static const float bad[] = {NAN, INFINITY, 1e30f};
    struct shape shape = {2, 4, 40, 33, 4};
    size_t last[] = {0, 80, 159, 160, 291}; /* a channel of q, k (first and last), v (both) */
    for (size_t i = 0; i < 3; i++) {
        for (size_t c = 0; c < sizeof last / sizeof *last; c++) {
            struct story *s = new_story(check, shape, 1);
            int32_t first = 2, count = 5;
            enter_states(s, 1, &first);
            s->qkv[at(SLOTS - 1, 6) * vv_gdn_channels(&s->args) + last[c]] = bad[i];
            for (size_t n = 0; n < vv_gdn_channels(&s->args) * 4; n++) {
                ((float *)(uintptr_t)s->args.conv)[n] = fabsf(s->args.conv[n]);
            }
            enter_window(check, s, new_window(check, 1, &first, &count, false), VV_GDN_ADVANCE);
            vv_check_refuses(check, &vv_gdn_step, &s->args, VV_ERROR_NOT_FINITE,
                             "qkv of %g in channel %zu", (double)bad[i], last[c]);
            vv_check_reset(check);
        }
    }
    struct story *s = new_story(check, shape, 1);
    int32_t first = 0, count = 5;
    enter_states(s, 1, &first);
    s->alpha[at(SLOTS - 1, 0) * shape.value_heads + 1] = NAN; /* decays a state of zeros */
    enter_window(check, s, new_window(check, 1, &first, &count, false), VV_GDN_ADVANCE);
    vv_check_refuses(check, &vv_gdn_step, &s->args, VV_ERROR_NOT_FINITE, "alpha of NaN at 0");
    vv_check_reset(check);
    static const struct shape unsupported[] = {{1, 1, VV_GDN_KEY_DIM_MAX + 1, 2, 4},
                                               {1, 1, 2, 2, VV_GDN_KERNEL_MAX + 1}};
    for (size_t i = 0; i < sizeof unsupported / sizeof *unsupported; i++) {
        s = new_story(check, unsupported[i], 1);
        count = 1;
        enter_states(s, 1, &first);
        enter_window(check, s, new_window(check, 1, &first, &count, false), VV_GDN_ADVANCE);
        vv_check_refuses(check, &vv_gdn_step, &s->args, VV_ERROR_UNSUPPORTED,
                         "key_dim %zu, kernel %zu", unsupported[i].key_dim, unsupported[i].kernel);
        vv_check_reset(check);
    }
}

void vv_gdn_step_check(struct vv_check *check) {
    static const struct shape shapes[] = {
        {1, 1, 1, 1, 1},     {1, 2, 4, 3, 3},    {2, 4, 16, 16, 4},  {2, 6, 17, 33, 4},
        {3, 6, 64, 32, 3},   {1, 3, 128, 80, 4}, {2, 4, 129, 40, 4}, {4, 12, 16, 8, 4},
        {2, 6, 128, 128, 4}, {1, 1, 256, 65, 2}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct shape s = shapes[i];
        int32_t step = vv_check_quick(check) && s.key_dim * s.value_dim > 4096 ? 3 : 1;
        for (int32_t n = 1; n <= 8; n += step) {
            int32_t one[1] = {n % 5}, firsts[3] = {n - 1, 7, 0}, counts[3] = {n, 9 - n, 1 + n % 3};
            check_window(check, s, 1, one, &n, n % 2 ? 1 : 1e-3f);
            check_window(check, s, 3, firsts, counts, 1);
        }
        int32_t zero = 0, five = 5, many = s.key_dim * s.value_dim > 512 ? 21 : 66;
        check_window(check, s, 1, &zero, &five, 1e-3f);
        check_window(check, s, 1, &five, &many, 1);
        for (int32_t k = 0; k <= 8; k += step) {
            check_commit(check, s, k % 5, k);
            check_commit(check, s, 0, k);
        }
        for (int32_t first = 0; first < 5; first += step) {
            check_windowing(check, s, first, 8);
        }
        check_windowing(check, s, 3, 19);
        check_extremes(check, s);
    }
    check_errors(check);
}

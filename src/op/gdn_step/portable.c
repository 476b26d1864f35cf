/*
 * 32 value columns at a time, in vector lanes: their part of S, at most 32 KB, is copied out and
 * stays in the first cache while up to 8 rows go over it. The contract's 16 lanes over k are
 * separate sums of 32 columns each; all k of one lane are taken together, so that a lane's sums
 * stay in registers. One sweep over S does a row's update and readout, and the decay and the dot
 * with k̂ of the next row.
 */
#include "base/dot.h"
#include "base/isa.h"
#include "op/gdn_step/internal.h"

#define INLINE static inline __attribute__((always_inline))

enum { COLUMNS = VV_GDN_COLUMNS, ROWS = VV_GDN_ROWS, KEYS = VV_GDN_KEY_DIM_MAX };

/* ---- the delta rule ---- */

/* Sums of the 16 lanes, [lane][column], added 8, 4, 2, 1 apart and onto `total`. */
static void add_lanes(float (*lane)[COLUMNS], float *total) {
    for (size_t apart = VV_LANES / 2; apart > 0; apart /= 2) {
        for (size_t l = 0; l < apart; l++) {
            for (size_t c = 0; c < COLUMNS; c++) {
                lane[l][c] += lane[l + apart][c];
            }
        }
    }
    for (size_t c = 0; c < COLUMNS; c++) {
        total[c] += lane[0][c];
    }
}

/* One k of r = Sᵀ k. A lane's first product is no fma onto +0, which spares clearing its sums. */
INLINE void dot_row(const float *s, float k, bool first, float *restrict r) {
    for (size_t c = 0; c < COLUMNS; c++) {
        r[c] = first ? s[c] * k : fmaf(s[c], k, r[c]);
    }
}

INLINE void dot_lane(const float (*s)[COLUMNS], const float *k, size_t begin, size_t end,
                     float *restrict r) {
    if (begin >= end) {
        memset(r, 0, COLUMNS * sizeof *r);
        return;
    }
    float sum[COLUMNS]; /* stays in registers */
    dot_row(s[begin], k[begin], true, sum);
    for (size_t i = begin + VV_LANES; i < end; i += VV_LANES) {
        dot_row(s[i], k[i], false, sum);
    }
    memcpy(r, sum, sizeof sum);
}

static void dot(const float (*s)[COLUMNS], const float *k, size_t key_dim, float *r) {
    float lane[VV_LANES][COLUMNS];
    for (size_t c = 0; c < COLUMNS; c++) {
        r[c] = 0.0f;
    }
    for (size_t at = 0; at < key_dim; at += VV_SEGMENT) {
        size_t end = key_dim - at < VV_SEGMENT ? key_dim : at + VV_SEGMENT;
        for (size_t l = 0; l < VV_LANES; l++) {
            dot_lane(s, k, at + l, end, lane[l]);
        }
        add_lanes(lane, r);
    }
}

/* What a sweep does to a row of S, and the two sums that it takes meanwhile. */
struct sweep {
    const float *k, *delta; /* S = S + k δᵀ */
    const float *q;         /* y = Sᵀ q */
    float decay;            /* then S = S · decay … */
    const float *next;      /* … and r = Sᵀ next */
};

/* One k. `more` (there is a next row), `read` (y is wanted) and `first` are constants. */
INLINE void sweep_row(float *restrict s, const struct sweep *w, bool more, bool read, bool first,
                      size_t i, float *restrict y, float *restrict r) {
    const float *restrict delta = w->delta;
    float k = w->k[i], q = read ? w->q[i] : 0.0f, next = more ? w->next[i] : 0.0f;
    for (size_t c = 0; c < COLUMNS; c++) {
        float x = fmaf(k, delta[c], s[c]);
        if (read) {
            y[c] = first ? x * q : fmaf(x, q, y[c]);
        }
        if (more) {
            x = x * w->decay;
            r[c] = first ? x * next : fmaf(x, next, r[c]);
        }
        s[c] = x;
    }
}

INLINE void sweep_lane(float (*s)[COLUMNS], const struct sweep *w, bool more, bool read,
                       size_t begin, size_t end, float *restrict y, float *restrict r) {
    if (begin >= end) {
        memset(y, 0, COLUMNS * sizeof *y);
        memset(r, 0, COLUMNS * sizeof *r);
        return;
    }
    float sum_y[COLUMNS], sum_r[COLUMNS]; /* stay in registers */
    sweep_row(s[begin], w, more, read, true, begin, sum_y, sum_r);
    for (size_t i = begin + VV_LANES; i < end; i += VV_LANES) {
        sweep_row(s[i], w, more, read, false, i, sum_y, sum_r);
    }
    if (read) {
        memcpy(y, sum_y, sizeof sum_y);
    }
    if (more) {
        memcpy(r, sum_r, sizeof sum_r);
    }
}

INLINE void sweep(float (*s)[COLUMNS], const struct sweep *w, bool more, bool read, size_t key_dim,
                  float *y, float *r) {
    float lane_y[VV_LANES][COLUMNS], lane_r[VV_LANES][COLUMNS];
    for (size_t c = 0; c < COLUMNS; c++) {
        y[c] = r[c] = 0.0f;
    }
    for (size_t at = 0; at < key_dim; at += VV_SEGMENT) {
        size_t end = key_dim - at < VV_SEGMENT ? key_dim : at + VV_SEGMENT;
        for (size_t l = 0; l < VV_LANES; l++) {
            sweep_lane(s, w, more, read, at + l, end, lane_y[l], lane_r[l]);
        }
        if (read) {
            add_lanes(lane_y, y);
        }
        if (more) {
            add_lanes(lane_r, r);
        }
    }
}

static void sweep_as(float (*s)[COLUMNS], const struct sweep *w, bool more, bool read,
                     size_t key_dim, float *y, float *r) {
    if (more && read) {
        sweep(s, w, true, true, key_dim, y, r);
    } else if (more) {
        sweep(s, w, true, false, key_dim, y, r);
    } else if (read) {
        sweep(s, w, false, true, key_dim, y, r);
    } else {
        sweep(s, w, false, false, key_dim, y, r);
    }
}

/* n columns, often all of them. */
static void copy_columns(float *to, const float *from, size_t n) {
    if (n == COLUMNS) {
        memcpy(to, from, COLUMNS * sizeof *to);
    } else {
        memcpy(to, from, n * sizeof *to);
    }
}

/* The block's part of S after the first row's decay, padded to 32 columns. */
static void load(const struct vv_gdn_block *b, float (*s)[COLUMNS]) {
    if (!b->from || b->columns < COLUMNS) {
        memset(s, 0, b->key_dim * sizeof *s);
    }
    for (size_t i = 0; b->from && i < b->key_dim; i++) {
        copy_columns(s[i], b->from + i * b->stride, b->columns);
        for (size_t c = 0; c < COLUMNS; c++) {
            s[i][c] *= b->decay[0];
        }
    }
}

void VV_ISA(vv_gdn_delta_portable)(const struct vv_gdn_block *b) {
    float s[KEYS][COLUMNS], r[COLUMNS], y[COLUMNS], delta[COLUMNS];
    load(b, s);
    dot((const float(*)[COLUMNS])s, b->k, b->key_dim, r);
    for (size_t t = 0; t < b->rows; t++) {
        bool more = t + 1 < b->rows;
        struct sweep w = {.k = b->k + t * b->key_dim,
                          .delta = delta,
                          .q = b->q + t * b->key_dim,
                          .decay = more ? b->decay[t + 1] : 1.0f,
                          .next = b->k + (t + 1) * b->key_dim};
        for (size_t c = 0; c < COLUMNS; c++) {
            delta[c] = b->beta[t] * (b->v[t * COLUMNS + c] - r[c]);
        }
        sweep_as(s, &w, more, b->y != NULL, b->key_dim, y, r);
        if (b->y) {
            copy_columns(b->y + t * b->y_stride, y, b->columns);
        }
    }
    for (size_t i = 0; b->to && i < b->key_dim; i++) {
        copy_columns(b->to + i * b->stride, s[i], b->columns);
    }
}

/* ---- what comes before and after it ---- */

/* The qkv row `distance` positions before a row's own, or NULL: before the sequence's start. */
static const float *input(const struct vv_gdn_step *a, int32_t row, size_t distance) {
    int64_t position = a->window->position[row] - (int64_t)distance;
    if (position < 0) {
        return NULL;
    }
    int32_t source =
        a->mode == VV_GDN_COMMIT ? -1 : vv_window_back(a->window, row, (int32_t)distance);
    return source >= 0 ? a->qkv + (size_t)source * vv_gdn_channels(a)
                       : vv_state_at(&a->conv_ring, a->window->slot[row], position);
}

/* `kernel` is a constant where that pays. */
static inline void convolve(const struct vv_gdn_step *a, size_t kernel, int32_t row, size_t channel,
                            size_t n, float *restrict to) {
    const float *weight = a->conv + channel * kernel;
    for (size_t i = 0; i < n; i++) {
        to[i] = 0.0f;
    }
    for (size_t m = 0; m < kernel; m++) {
        const float *x = input(a, row, kernel - 1 - m);
        for (size_t i = 0; x && i < n; i++) {
            to[i] = fmaf(weight[i * kernel + m], x[channel + i], to[i]);
        }
    }
    for (size_t i = 0; i < n; i++) {
        to[i] = vv_silu(to[i]);
    }
}

static void channels(const struct vv_gdn_step *a, int32_t row, size_t channel, size_t n,
                     float *to) {
    if (a->kernel == 4) {
        convolve(a, 4, row, channel, n, to);
    } else {
        convolve(a, a->kernel, row, channel, n, to);
    }
}

/* A convolved head as a vector of length `length`. */
static int unit_vector(const struct vv_gdn_step *a, int32_t row, size_t channel, float *x) {
    channels(a, row, channel, a->key_dim, x);
    float squares = vv_dot(x, x, a->key_dim);
    if (!isfinite(squares)) {
        return VV_ERROR_NOT_FINITE;
    }
    float inverse = 1.0f / sqrtf(squares + a->eps);
    for (size_t i = 0; i < a->key_dim; i++) {
        x[i] *= inverse;
    }
    return VV_OK;
}

/* Rows of one sequence on the way through one value head. */
struct batch {
    const int32_t *row; /* [rows] */
    size_t rows, head;
    float q[ROWS * KEYS], k[ROWS * KEYS]; /* [rows][key_dim] */
    float decay[ROWS], beta[ROWS];
};

static void gates(const struct vv_gdn_step *a, int32_t row, size_t head, float *decay,
                  float *beta) {
    const float *alpha, *raw_beta;
    if (a->mode == VV_GDN_COMMIT) {
        alpha = vv_state_at(&a->gate_ring, a->window->slot[row], a->window->position[row]);
        raw_beta = alpha + a->value_heads;
    } else {
        alpha = a->alpha + (size_t)row * a->value_heads;
        raw_beta = a->beta + (size_t)row * a->value_heads;
    }
    *decay = vv_exp(a->a[head] * vv_softplus(alpha[head] + a->dt_bias[head]));
    *beta = vv_sigmoid(raw_beta[head]);
}

static int prepare(const struct vv_gdn_step *a, struct batch *b) {
    size_t dim = a->key_dim, key_head = b->head % a->key_heads;
    float scale = (float)(1 / sqrt((double)dim));
    for (size_t t = 0; t < b->rows; t++) {
        float *q = b->q + t * dim;
        int error = unit_vector(a, b->row[t], (a->key_heads + key_head) * dim, b->k + t * dim);
        if (error == VV_OK && a->mode != VV_GDN_COMMIT) {
            error = unit_vector(a, b->row[t], key_head * dim, q);
        }
        if (error != VV_OK) {
            return error;
        }
        for (size_t i = 0; a->mode != VV_GDN_COMMIT && i < dim; i++) {
            q[i] *= scale;
        }
        gates(a, b->row[t], b->head, b->decay + t, b->beta + t);
    }
    return VV_OK;
}

/* Where the head's outputs for a row are. */
static float *output(const struct vv_gdn_step *a, const struct batch *b, size_t t) {
    return a->y + ((size_t)b->row[t] * a->value_heads + b->head) * a->value_dim;
}

static void recur(const struct vv_gdn_step *a, const struct batch *b, const float *from,
                  float *to) {
    float v[ROWS][COLUMNS], y[ROWS][COLUMNS];
    size_t values = 2 * a->key_heads * a->key_dim + b->head * a->value_dim;
    bool read = a->mode != VV_GDN_COMMIT;
    memset(v, 0, sizeof v);
    for (size_t at = 0; at < a->value_dim; at += COLUMNS) {
        size_t n = a->value_dim - at < COLUMNS ? a->value_dim - at : COLUMNS;
        struct vv_gdn_block block = {.from = from ? from + at : NULL,
                                     .to = to ? to + at : NULL,
                                     .stride = a->value_dim,
                                     .columns = n,
                                     .key_dim = a->key_dim,
                                     .rows = b->rows,
                                     .q = b->q,
                                     .k = b->k,
                                     .v = v[0],
                                     .decay = b->decay,
                                     .beta = b->beta,
                                     .y = read ? y[0] : NULL,
                                     .y_stride = COLUMNS};
        for (size_t t = 0; t < b->rows; t++) {
            channels(a, b->row[t], values + at, n, v[t]);
        }
        VV_ISA(vv_gdn_delta_portable)(&block);
        for (size_t t = 0; read && t < b->rows; t++) {
            copy_columns(output(a, b, t) + at, y[t], n);
        }
    }
}

static int finish(const struct vv_gdn_step *a, const struct batch *b) {
    for (size_t t = 0; t < b->rows; t++) {
        float *y = output(a, b, t);
        const float *z = a->z + (y - a->y);
        float squares = vv_dot(y, y, a->value_dim);
        if (!isfinite(squares)) {
            return VV_ERROR_NOT_FINITE;
        }
        float inverse = 1.0f / sqrtf(squares / (float)a->value_dim + a->eps);
        for (size_t i = 0; i < a->value_dim; i++) {
            y[i] = ((y[i] * inverse) * a->norm[i]) * vv_sigmoid(z[i]);
        }
    }
    return VV_OK;
}

/* All rows of a sequence, `work` in between where S must stay as it is. */
static int run_head(const struct vv_gdn_step *a, size_t sequence, size_t head) {
    const int32_t *bounds = a->window->sequence_begin + sequence;
    const int32_t *row = a->window->sequence_row + bounds[0];
    size_t rows = (size_t)(bounds[1] - bounds[0]), n = a->key_dim * a->value_dim;
    for (size_t at = 0; at < rows; at += ROWS) {
        struct batch b;
        b.row = row + at;
        b.rows = rows - at < ROWS ? rows - at : ROWS;
        b.head = head;
        float *own = (float *)vv_state_at(&a->state, a->window->slot[row[0]], 0) + head * n;
        bool keep = a->mode == VV_GDN_VERIFY, last = at + b.rows == rows;
        float *work = keep ? a->work + (sequence * a->value_heads + head) * n : own;
        const float *from = at > 0 ? work : a->window->position[row[0]] > 0 ? own : NULL;
        int error = prepare(a, &b);
        if (error != VV_OK) {
            return error;
        }
        recur(a, &b, from, keep && last ? NULL : work);
        error = a->mode == VV_GDN_COMMIT ? VV_OK : finish(a, &b);
        if (error != VV_OK) {
            return error;
        }
    }
    return VV_OK;
}

int VV_ISA(vv_gdn_step_portable)(const void *args, size_t begin, size_t end) {
    const struct vv_gdn_step *a = args;
    if (a->key_dim > KEYS) {
        return VV_ERROR_UNSUPPORTED;
    }
    for (size_t unit = begin; unit < end; unit++) {
        int error = run_head(a, unit / a->value_heads, unit % a->value_heads);
        if (error != VV_OK) {
            return error;
        }
    }
    return VV_OK;
}

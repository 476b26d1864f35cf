/*
 * A few value columns at a time, in vector lanes: their part of S, at most 32 KB, stays in the
 * first cache while up to 16 rows go over it. The contract's 16 lanes over k are separate sums of
 * those columns; lanes 8 apart, which the tree adds first, are taken together, so that eight sums
 * stay in registers. One sweep over S does a row's update and readout, and the decay and the dot
 * with k̂ of the next row: four operations an element, and no more. The first sweep takes S from the
 * slot, the last one puts it back.
 */
#include "base/dot.h"
#include "base/isa.h"
#include "base/vector.h"
#include "op/gdn_step/internal.h"

#define INLINE static inline __attribute__((always_inline))

enum {
    ROWS = VV_GDN_ROWS,
    CHUNK = VV_GDN_COLUMNS, /* value columns that are convolved together … */
    VECTORS = 2,
    BLOCK = VECTORS * VV_WIDTH, /* … and those of them that are swept together */
    KEYS = VV_GDN_KEY_DIM_MAX,
    HALF = VV_LANES / 2,
};

/* ---- the delta rule ---- */

enum stage { FIRST, MIDDLE, LAST };

/* What a sweep does to S, and the two sums that it takes meanwhile. q, k and next by slot. */
struct sweep {
    const float *from; /* first: rows of S, `stride` apart */
    float *to;         /* last: the same; NULL: not wanted */
    size_t from_stride, to_stride;
    const float *k, *q; /* S = S + k δᵀ; y = Sᵀ q */
    const float *next;  /* S = S · decay; r = Sᵀ next */
    vv_vector delta[VECTORS];
    vv_vector decay;
};

/* Element (l + 8h) + 16j of a segment that begins at `at`; y and r are the sums of its lane. */
INLINE void sweep_row(enum stage stage, bool read, bool write, const struct sweep *w,
                      const vv_vector *delta, vv_vector decay, size_t i, size_t slot, vv_vector *s,
                      vv_vector *y, vv_vector *r) {
    vv_vector k, q, next;
    if (stage != FIRST) {
        k = vv_splat(w->k[slot]);
        q = vv_splat(read ? w->q[slot] : 0.0f);
    }
    if (stage != LAST) {
        next = vv_splat(w->next[slot]);
    }
    for (size_t c = 0; c < VECTORS; c++) {
        vv_vector x = stage == FIRST ? vv_load(w->from + i * w->from_stride + c * VV_WIDTH) : s[c];
        if (stage != FIRST) {
            x = vv_fma(k, delta[c], x);
            y[c] = read ? vv_fma(x, q, y[c]) : y[c];
        }
        if (stage != LAST) {
            s[c] = x = x * decay;
            r[c] = vv_fma(x, next, r[c]);
        } else if (write) {
            vv_store(w->to + i * w->to_stride + c * VV_WIDTH, x);
        }
    }
}

/* Lanes l and l + 8 of a segment of n values, and the tree's first addition. */
INLINE void sweep_lanes(enum stage stage, bool read, bool write, const struct sweep *w, size_t at,
                        size_t n, size_t l, vv_vector (*s)[VECTORS], vv_vector *y, vv_vector *r) {
    vv_vector sum_y[2][VECTORS] = {{{0}}}, sum_r[2][VECTORS] = {{{0}}}, delta[VECTORS];
    vv_vector decay = w->decay;
    size_t slot = at + l * VV_LANES, i = at + l,
           pairs = n > l + HALF ? (n - l + HALF - 1) / VV_LANES : 0;
    for (size_t c = 0; c < VECTORS; c++) {
        delta[c] = w->delta[c];
    }
    for (size_t j = 0; j < pairs; j++, slot += 2, i += VV_LANES) {
        for (size_t h = 0; h < 2; h++) {
            sweep_row(stage, read, write, w, delta, decay, i + h * HALF, slot + h, s[slot + h],
                      sum_y[h], sum_r[h]);
        }
    }
    if (l + pairs * VV_LANES < n) {
        sweep_row(stage, read, write, w, delta, decay, i, slot, s[slot], sum_y[0], sum_r[0]);
    }
    for (size_t c = 0; c < VECTORS; c++) {
        y[c] = sum_y[0][c] + sum_y[1][c];
        r[c] = sum_r[0][c] + sum_r[1][c];
    }
}

/* The tree's other additions, and the segment's onto the total. */
INLINE void add_lanes(vv_vector (*sum)[VECTORS], vv_vector *total) {
    for (size_t apart = HALF / 2; apart > 0; apart /= 2) {
        for (size_t l = 0; l < apart; l++) {
            for (size_t c = 0; c < VECTORS; c++) {
                sum[l][c] += sum[l + apart][c];
            }
        }
    }
    for (size_t c = 0; c < VECTORS; c++) {
        total[c] += sum[0][c];
    }
}

/* `stage`, `read` (y is wanted) and `write` are constants. */
INLINE void sweep_as(enum stage stage, bool read, bool write, const struct sweep *w, size_t key_dim,
                     vv_vector (*s)[VECTORS], vv_vector *y, vv_vector *r) {
    vv_vector sum_y[HALF][VECTORS], sum_r[HALF][VECTORS];
    for (size_t c = 0; c < VECTORS; c++) {
        y[c] = r[c] = vv_splat(0.0f);
    }
    for (size_t at = 0; at < key_dim; at += VV_SEGMENT) {
        for (size_t l = 0; l < HALF; l++) {
            if (key_dim - at >= VV_SEGMENT) { /* a constant number of rounds */
                sweep_lanes(stage, read, write, w, at, VV_SEGMENT, l, s, sum_y[l], sum_r[l]);
            } else {
                sweep_lanes(stage, read, write, w, at, key_dim - at, l, s, sum_y[l], sum_r[l]);
            }
        }
        if (read) {
            add_lanes(sum_y, y);
        }
        if (stage != LAST) {
            add_lanes(sum_r, r);
        }
    }
}

static void sweep(enum stage stage, bool read, const struct sweep *w, size_t key_dim,
                  vv_vector (*s)[VECTORS], vv_vector *y, vv_vector *r) {
    if (stage == FIRST) {
        sweep_as(FIRST, false, false, w, key_dim, s, y, r);
    } else if (stage == MIDDLE && read) {
        sweep_as(MIDDLE, true, false, w, key_dim, s, y, r);
    } else if (stage == MIDDLE) {
        sweep_as(MIDDLE, false, false, w, key_dim, s, y, r);
    } else if (read && w->to) {
        sweep_as(LAST, true, true, w, key_dim, s, y, r);
    } else if (read) {
        sweep_as(LAST, true, false, w, key_dim, s, y, r);
    } else {
        sweep_as(LAST, false, true, w, key_dim, s, y, r);
    }
}

/* BLOCK columns through all rows. */
static void delta_columns(const struct vv_gdn_block *b) {
    vv_vector s[KEYS][VECTORS], r[VECTORS], y[VECTORS];
    struct sweep w = {.from = b->from,
                      .to = b->to,
                      .from_stride = b->from_stride,
                      .to_stride = b->to_stride,
                      .next = b->k,
                      .decay = vv_splat(b->decay[0])};
    sweep(FIRST, false, &w, b->key_dim, s, y, r);
    for (size_t t = 0; t < b->rows; t++) {
        bool more = t + 1 < b->rows;
        vv_vector beta = vv_splat(b->beta[t]);
        w.k = w.next;
        w.next = more ? w.k + VV_GDN_SLOTS : NULL;
        w.q = b->q + t * VV_GDN_SLOTS;
        w.decay = vv_splat(more ? b->decay[t + 1] : 1.0f);
        for (size_t c = 0; c < VECTORS; c++) {
            w.delta[c] = beta * (vv_load(b->v + t * CHUNK + c * VV_WIDTH) - r[c]);
        }
        sweep(more ? MIDDLE : LAST, b->y != NULL, &w, b->key_dim, s, y, r);
        for (size_t c = 0; b->y && c < VECTORS; c++) {
            vv_store(b->y + t * CHUNK + c * VV_WIDTH, y[c]);
        }
    }
}

static void copy_columns(float *to, size_t to_stride, const float *from, size_t from_stride,
                         size_t rows, size_t columns) {
    for (size_t i = 0; i < rows; i++) {
        memcpy(to + i * to_stride, from + i * from_stride, columns * sizeof *to);
    }
}

/* A padded copy of S stands in where fewer than BLOCK columns are left. */
static void delta_few_columns(const struct vv_gdn_block *b, size_t columns) {
    float padded[KEYS][BLOCK] = {{0}};
    struct vv_gdn_block few = *b;
    few.from = few.to = padded[0];
    few.from_stride = few.to_stride = BLOCK;
    copy_columns(padded[0], BLOCK, b->from, b->from_stride, b->key_dim, columns);
    delta_columns(&few);
    if (b->to) {
        copy_columns(b->to, b->to_stride, padded[0], BLOCK, b->key_dim, columns);
    }
}

void VV_ISA(vv_gdn_delta_portable)(const struct vv_gdn_block *all) {
    static const float zeros[BLOCK];
    struct vv_gdn_block b = *all;
    if (!b.from) {
        b.from = zeros;
        b.from_stride = 0;
    }
    for (size_t at = 0; at < all->columns; at += BLOCK) {
        if (all->columns - at < BLOCK) {
            delta_few_columns(&b, all->columns - at);
        } else {
            delta_columns(&b);
        }
        b.from += all->from ? BLOCK : 0;
        b.to = b.to ? b.to + BLOCK : NULL;
        b.v += BLOCK;
        b.y = b.y ? b.y + BLOCK : NULL;
    }
}

/* ---- what comes before and after it ---- */

/* Rows of one sequence on the way through the value heads of one key head. */
struct batch {
    const struct vv_gdn_step *a;
    const int32_t *row; /* [rows] */
    size_t rows;
    const float *input[ROWS + VV_GDN_KERNEL_MAX]; /* qkv of each tap of the first row, then of the
                                                   * rows after it; NULL: before the start */
    float q[ROWS][VV_GDN_SLOTS], k[ROWS][VV_GDN_SLOTS];
};

/* Rows lie farther apart than the hardware looks ahead. */
static void prefetch(const float *at, size_t n) {
    for (size_t i = 0; i < n; i += 64 / sizeof *at) {
        __builtin_prefetch(at + i);
    }
}

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

static void find_inputs(struct batch *b) {
    size_t before = b->a->kernel - 1;
    for (size_t m = 0; m < before; m++) {
        b->input[m] = input(b->a, b->row[0], before - m);
    }
    for (size_t t = 0; t < b->rows; t++) {
        b->input[before + t] = input(b->a, b->row[t], 0);
    }
}

/* n channels of one row; `n` is a constant where it is CHUNK, the weights are [kernel][CHUNK]. */
INLINE void convolve_row(const float *const *tap, const float (*weight)[CHUNK], size_t kernel,
                         size_t channel, size_t n, float *restrict to) {
    for (size_t i = 0; i + VV_WIDTH <= n; i += VV_WIDTH) {
        vv_vector sum = vv_splat(0.0f);
        for (size_t m = 0; m < kernel; m++) {
            if (tap[m]) {
                sum = vv_fma(vv_load(weight[m] + i), vv_load(tap[m] + channel + i), sum);
            }
        }
        vv_store(to + i, sum);
    }
    for (size_t i = n / VV_WIDTH * VV_WIDTH; i < n; i++) {
        to[i] = 0.0f;
        for (size_t m = 0; m < kernel; m++) {
            to[i] = tap[m] ? fmaf(weight[m][i], tap[m][channel + i], to[i]) : to[i];
        }
    }
    for (size_t i = 0; i < n; i++) {
        to[i] = vv_silu(to[i]);
    }
}

/* to [rows][stride] = n <= CHUNK convolved channels of each row. */
static void convolve(const struct batch *b, size_t channel, size_t n, float *to, size_t stride) {
    float weight[VV_GDN_KERNEL_MAX][CHUNK];
    size_t kernel = b->a->kernel;
    const float *from = b->a->conv + channel * kernel;
    for (size_t t = 0; t < b->rows; t++) {
        prefetch(b->input[kernel - 1 + t] + channel, n);
    }
    for (size_t m = 0; m < kernel; m++) {
        for (size_t i = 0; i < n; i++) {
            weight[m][i] = from[i * kernel + m];
        }
    }
    for (size_t t = 0; t < b->rows; t++) {
        const float(*w)[CHUNK] = (const float(*)[CHUNK])weight;
        if (n == CHUNK) {
            convolve_row(b->input + t, w, kernel, channel, CHUNK, to + t * stride);
        } else {
            convolve_row(b->input + t, w, kernel, channel, n, to + t * stride);
        }
    }
}

/* to [rows], by slot: convolved heads as vectors of length 1, times `scale` if that isn't 1. */
static int unit_vectors(const struct batch *b, size_t channel, float scale,
                        float (*to)[VV_GDN_SLOTS]) {
    size_t dim = b->a->key_dim;
    float x[ROWS][KEYS];
    for (size_t at = 0; at < dim; at += CHUNK) {
        convolve(b, channel + at, dim - at < CHUNK ? dim - at : CHUNK, x[0] + at, KEYS);
    }
    for (size_t t = 0; t < b->rows; t++) {
        float squares = vv_dot(x[t], x[t], dim);
        if (!isfinite(squares)) {
            return VV_ERROR_NOT_FINITE;
        }
        float inverse = 1.0f / sqrtf(squares + b->a->eps);
        for (size_t i = 0; i < dim; i++) {
            to[t][vv_gdn_slot(i)] = (x[t][i] * inverse) * scale;
        }
    }
    return VV_OK;
}

static int prepare(struct batch *b, size_t key_head) {
    const struct vv_gdn_step *a = b->a;
    size_t dim = a->key_dim;
    find_inputs(b);
    int error = unit_vectors(b, (a->key_heads + key_head) * dim, 1.0f, b->k);
    if (error == VV_OK && a->mode != VV_GDN_COMMIT) {
        error = unit_vectors(b, key_head * dim, (float)(1 / sqrt((double)dim)), b->q);
    }
    return error;
}

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

/* Where a value head's outputs for a row are. */
static float *output(const struct batch *b, size_t head, size_t t) {
    return b->a->y + ((size_t)b->row[t] * b->a->value_heads + head) * b->a->value_dim;
}

static void recur(const struct batch *b, size_t head, const float *from, float *to) {
    const struct vv_gdn_step *a = b->a;
    float v[ROWS][CHUNK], y[ROWS][CHUNK], decay[ROWS], beta[ROWS];
    size_t values = 2 * a->key_heads * a->key_dim + head * a->value_dim;
    bool read = a->mode != VV_GDN_COMMIT;
    for (size_t t = 0; t < b->rows; t++) {
        gates(a, b->row[t], head, decay + t, beta + t);
    }
    for (size_t at = 0; at < a->value_dim; at += CHUNK) {
        size_t n = a->value_dim - at < CHUNK ? a->value_dim - at : CHUNK;
        struct vv_gdn_block block = {.from = from ? from + at : NULL,
                                     .to = to ? to + at : NULL,
                                     .from_stride = a->value_dim,
                                     .to_stride = a->value_dim,
                                     .columns = n,
                                     .key_dim = a->key_dim,
                                     .rows = b->rows,
                                     .q = b->q[0],
                                     .k = b->k[0],
                                     .v = v[0],
                                     .decay = decay,
                                     .beta = beta,
                                     .y = read ? y[0] : NULL};
        if (n < CHUNK) {
            memset(v, 0, sizeof v);
        }
        convolve(b, values + at, n, v[0], CHUNK);
        for (size_t t = 0; read && t < b->rows; t++) {
            prefetch(a->z + (output(b, head, t) - a->y) + at, n);
            prefetch(output(b, head, t) + at, n);
        }
        VV_ISA(vv_gdn_delta_portable)(&block);
        for (size_t t = 0; read && t < b->rows; t++) {
            if (n == CHUNK) { /* a constant size */
                memcpy(output(b, head, t) + at, y[t], sizeof y[t]);
            } else {
                memcpy(output(b, head, t) + at, y[t], n * sizeof *y[t]);
            }
        }
    }
}

static int finish_row(const struct vv_gdn_step *a, float *restrict y, const float *restrict z) {
    float squares = vv_dot(y, y, a->value_dim);
    if (!isfinite(squares)) {
        return VV_ERROR_NOT_FINITE;
    }
    float inverse = 1.0f / sqrtf(squares / (float)a->value_dim + a->eps);
    for (size_t i = 0; i < a->value_dim; i++) {
        y[i] = ((y[i] * inverse) * a->norm[i]) * vv_sigmoid(z[i]);
    }
    return VV_OK;
}

/* A batch through one value head; `work` holds S in between where the slot's must stay as it is. */
static int run_head(const struct batch *b, size_t sequence, size_t head, bool first, bool last) {
    const struct vv_gdn_step *a = b->a;
    size_t n = a->key_dim * a->value_dim;
    float *own = (float *)vv_state_at(&a->state, a->window->slot[b->row[0]], 0) + head * n;
    bool keep = a->mode == VV_GDN_VERIFY;
    float *work = keep ? a->work + (sequence * a->value_heads + head) * n : own;
    bool fresh = a->window->position[b->row[0]] == 0;
    recur(b, head, fresh ? NULL : first ? own : work, keep && last ? NULL : work);
    for (size_t t = 0; t < b->rows && a->mode != VV_GDN_COMMIT; t++) {
        float *y = output(b, head, t);
        int error = finish_row(a, y, a->z + (y - a->y));
        if (error != VV_OK) {
            return error;
        }
    }
    return VV_OK;
}

/* All rows of a sequence through some value heads that share a key head: units from `unit` on. */
static int run_heads(const struct vv_gdn_step *a, size_t unit, size_t count) {
    size_t sequence = unit / a->value_heads;
    const int32_t *bounds = a->window->sequence_begin + sequence;
    size_t rows = (size_t)(bounds[1] - bounds[0]);
    struct batch b = {.a = a};
    for (size_t at = 0; at < rows; at += b.rows) {
        b.row = a->window->sequence_row + bounds[0] + at;
        b.rows = rows - at < ROWS ? rows - at : ROWS;
        int error = prepare(&b, vv_gdn_head(a, unit) % a->key_heads);
        for (size_t u = unit; u < unit + count && error == VV_OK; u++) {
            error = run_head(&b, sequence, vv_gdn_head(a, u), at == 0, at + b.rows == rows);
        }
        if (error != VV_OK) {
            return error;
        }
    }
    return VV_OK;
}

int VV_ISA(vv_gdn_step_portable)(const void *args, size_t begin, size_t end) {
    const struct vv_gdn_step *a = args;
    size_t group = a->value_heads / a->key_heads;
    if (a->key_dim > KEYS || a->kernel > VV_GDN_KERNEL_MAX) {
        return VV_ERROR_UNSUPPORTED;
    }
    for (size_t unit = begin, count; unit < end; unit += count) {
        count = group - unit % group;
        count = count < end - unit ? count : end - unit;
        int error = run_heads(a, unit, count);
        if (error != VV_OK) {
            return error;
        }
    }
    return VV_OK;
}

/*
 * Experts against double precision on the same planes, and the misreadings of who takes what from
 * where; the sum's misreadings include orders, which show in the last bits alone.
 */
#include "op/check_oracle.h"
#include "op/experts/contract.h"
#include "op/experts/internal.h"
#include "op/quantize_rows/check_planes.h"
#include "op/route/contract.h"
#include "quant/format.h"

/* Rows, the experts they use, and the groups that route_group makes of them. */
struct mixture {
    struct vv_window *window;
    struct vv_rows rows;
    size_t experts, used, pairs;
    int32_t *expert, *active, *begin, *pair;
};

static struct mixture new_mixture(struct vv_check *check, int32_t rows, size_t experts,
                                  size_t used) {
    struct mixture m = {.experts = experts, .used = used, .pairs = (size_t)rows * used};
    m.window = vv_check_window(check, rows, 1, NULL, 10);
    m.rows = (struct vv_rows){&m.window->rows, 1};
    m.expert = vv_check_memory(check, m.pairs * sizeof *m.expert);
    m.active = vv_check_memory(check, (1 + experts) * sizeof *m.active);
    m.begin = vv_check_memory(check, (1 + experts) * sizeof *m.begin);
    m.pair = vv_check_memory(check, m.pairs * sizeof *m.pair);
    for (size_t row = 0; row < (size_t)rows; row++) { /* `used` different ones, ascending */
        size_t n = 0;
        for (size_t e = 0; e < experts; e++) {
            size_t left = experts - e;
            if (vv_check_below(check, left) < used - n) {
                m.expert[row * used + n++] = (int32_t)e;
            }
        }
    }
    struct vv_route_group group = {m.expert, m.rows, experts, used, m.active, m.begin, m.pair};
    vv_check_true(check, vv_route_group.variants->run(&group, 0, 1) == VV_OK, "no groups");
    return m;
}

static struct vv_planes new_planes(struct vv_check *check, size_t rows, size_t width) {
    unsigned sets = width % 32 == 0 ? VV_PLANES_COARSE | VV_PLANES_FINE : 0;
    return vv_check_planes(check, vv_check_normals(check, rows * width), rows, width, sets);
}

static struct vv_weight *new_weight(struct vv_check *check, int type, size_t width, size_t rows,
                                    size_t experts) {
    struct vv_weight *w = vv_check_weight(check, type, width, rows, experts);
    if (type == VV_TYPE_NVFP4 || vv_check_below(check, 3) == 0) { /* others may have them, too */
        float *scale = vv_check_floats(check, experts);
        for (size_t e = 0; e < experts; e++) {
            scale[e] = vv_check_uniform(check, 0.2f, 3);
        }
        w->scale = scale;
    }
    return w;
}

/* ---- products in double precision ---- */

/* Value i of a row of activations, as the format meets it. */
static double activation(const struct vv_planes *x, const struct vv_format *f, size_t row,
                         size_t i) {
    size_t at = row * x->width + i;
    if (f->arithmetic == VV_ARITHMETIC_FLOAT || x->float_only) {
        return (double)x->x[at];
    }
    if (f->arithmetic == VV_ARITHMETIC_SUPER) {
        size_t unit = row * vv_plane_scales(x->width, VV_COARSE_UNIT) + i / VV_COARSE_UNIT;
        return (double)x->coarse_scale[unit] * x->coarse_q[at];
    }
    size_t unit = row * vv_plane_scales(x->width, VV_FINE_UNIT) + i / VV_FINE_UNIT;
    return (double)x->fine_scale[unit] * x->fine_q[at];
}

static double product(const struct vv_weight *w, size_t e, size_t output, const struct vv_planes *x,
                      size_t row) {
    const struct vv_format *f = vv_format(w->type);
    float value[1024];
    double sum = 0;
    f->decode(w->data + (e * w->rows + output) * w->row_bytes, value, w->width);
    for (size_t i = 0; i < w->width; i++) {
        sum += (double)value[i] * activation(x, f, row, i);
    }
    return w->scale ? sum * (double)w->scale[e] : sum;
}

/* ---- expert_up ---- */

enum up_misreading {
    UP_RIGHT,
    UP_NEXT_EXPERT,
    UP_SWAPPED, /* silu of up, times gate */
    UP_NO_SILU,
    UP_SIGMOID,  /* sigmoid of the gate */
    UP_PAIR_ROW, /* activations of row number `pair` */
    UP_FROM_TOP, /* fused: up's rows taken from the weight's start */
    UP_NO_LIMIT,
    UP_BOTH_ENDS, /* the gate's lower end cut */
    UP_UNWEIGHTED,
    UP_ROW_WEIGHT, /* weight number `row` */
    UP_MISREADINGS,
};

static const char *const up_misreadings[] = {"",
                                             "next expert's weights",
                                             "gate and up swapped",
                                             "no silu",
                                             "sigmoid for silu",
                                             "row number for pair number",
                                             "up's rows from the top",
                                             "no limit",
                                             "the gate's lower end cut",
                                             "unweighted",
                                             "row number for pair number of the weight"};

static double up_oracle(const struct vv_expert_up *a, const struct mixture *m, size_t pair,
                        size_t output, enum up_misreading how) {
    size_t e = (size_t)m->expert[pair], row = pair / m->used;
    e = how == UP_NEXT_EXPERT ? (e + 1) % m->experts : e;
    row = how == UP_PAIR_ROW ? pair % vv_rows(m->rows) : row;
    double gate = product(a->gate, e, output, &a->u, row);
    double up = product(a->up, e, (how == UP_FROM_TOP ? 0 : a->up_row) + output, &a->u, row);
    double weight = a->weight && how != UP_UNWEIGHTED ? (double)a->weight[pair] : 1;
    weight = how == UP_ROW_WEIGHT ? (double)a->weight[row] : weight;
    if (a->limit > 0 && how != UP_NO_LIMIT) {
        gate = fmin(gate, (double)a->limit);
        gate = how == UP_BOTH_ENDS ? fmax(gate, -(double)a->limit) : gate;
        up = fmax(fmin(up, (double)a->limit), -(double)a->limit);
    }
    switch (how) {
    case UP_SWAPPED:
        return weight * vv_check_silu(up) * gate;
    case UP_NO_SILU:
        return weight * gate * up;
    case UP_SIGMOID:
        return weight * vv_check_sigmoid(gate) * up;
    default:
        return weight * vv_check_silu(gate) * up;
    }
}

static bool up_applies(const struct vv_expert_up *a, enum up_misreading how) {
    switch (how) {
    case UP_FROM_TOP:
        return a->up_row > 0;
    case UP_NO_LIMIT:
    case UP_BOTH_ENDS:
        return a->limit > 0;
    case UP_UNWEIGHTED:
    case UP_ROW_WEIGHT:
        return a->weight != NULL;
    default:
        return true;
    }
}

static void compare_up(struct vv_check *check, const struct vv_expert_up *a,
                       const struct mixture *m) {
    size_t n = m->pairs * a->hidden;
    double *truth = vv_check_doubles(check, n);
    for (int how = UP_RIGHT; how < UP_MISREADINGS; how++) {
        if (!up_applies(a, (enum up_misreading)how)) {
            continue;
        }
        for (size_t i = 0; i < n; i++) {
            truth[i] = up_oracle(a, m, i / a->hidden, i % a->hidden, (enum up_misreading)how);
        }
        if (how == UP_RIGHT) {
            /* A limit makes the largest one small against what it is made of. */
            vv_check_near(check, "hidden", a->h, truth, n, a->limit > 0 ? 5e-5 : 1e-5);
        } else {
            vv_check_misreading(check, up_misreadings[how], a->h, vv_check_narrow(check, truth, n),
                                n, 1e-3);
        }
    }
}

static void check_up(struct vv_check *check, int gate_type, int up_type, size_t width,
                     size_t hidden, int32_t rows, size_t experts, size_t used, bool compare) {
    struct mixture m = new_mixture(check, rows, experts, used);
    bool fused = gate_type == up_type;
    struct vv_weight *gate =
        new_weight(check, gate_type, width, fused ? 2 * hidden : hidden, experts);
    struct vv_expert_up a = {.u = new_planes(check, (size_t)rows, width),
                             .gate = gate,
                             .up =
                                 fused ? gate : new_weight(check, up_type, width, hidden, experts),
                             .up_row = fused ? hidden : 0,
                             .hidden = hidden,
                             .active = m.active,
                             .begin = m.begin,
                             .pair = m.pair,
                             .used = used,
                             .h = vv_check_floats(check, m.pairs * hidden),
                             .rows = m.rows};
    a.u.float_only = vv_check_below(check, 8) == 0;
    if (rows % 2) {
        a.weight = vv_check_normals(check, m.pairs);
        a.limit = 0.05f * sqrtf((float)width);
    }
    vv_check_variants(check, &vv_expert_up, &a, "%s and %s, %zu x %zu, %zu of %zu, %d rows",
                      vv_format(gate_type)->name, vv_format(up_type)->name, hidden, width, used,
                      experts, rows);
    if (compare) {
        compare_up(check, &a, &m);
    }
    vv_check_reset(check);
}

/* ---- expert_down ---- */

enum down_misreading {
    DOWN_RIGHT,
    DOWN_NEXT_EXPERT,
    DOWN_ROW, /* activations of the row, not of the pair */
    DOWN_NEXT_OUTPUT,
    DOWN_MISREADINGS,
};

static const char *const down_misreadings[] = {"", "next expert's weights",
                                               "pair number for row number", "next output"};

static void compare_down(struct vv_check *check, const struct vv_expert_down *a,
                         const struct mixture *m) {
    size_t n = m->pairs * a->width;
    double *truth = vv_check_doubles(check, n);
    for (int how = DOWN_RIGHT; how < DOWN_MISREADINGS; how++) {
        for (size_t i = 0; i < n; i++) {
            size_t pair = i / a->width, output = i % a->width, e = (size_t)m->expert[pair];
            e = how == DOWN_NEXT_EXPERT ? (e + 1) % m->experts : e;
            output = how == DOWN_NEXT_OUTPUT ? (output + 1) % a->width : output;
            truth[i] = product(a->down, e, output, &a->h, how == DOWN_ROW ? pair / m->used : pair);
        }
        if (how == DOWN_RIGHT) {
            vv_check_near(check, "outputs", a->y, truth, n, 1e-5);
        } else {
            vv_check_misreading(check, down_misreadings[how], a->y,
                                vv_check_narrow(check, truth, n), n, 1e-3);
        }
    }
}

static void check_down(struct vv_check *check, int type, size_t hidden, size_t width, int32_t rows,
                       size_t experts, size_t used, bool compare) {
    struct mixture m = new_mixture(check, rows, experts, used);
    struct vv_expert_down a = {.h = new_planes(check, m.pairs, hidden),
                               .down = new_weight(check, type, hidden, width, experts),
                               .active = m.active,
                               .begin = m.begin,
                               .pair = m.pair,
                               .y = vv_check_floats(check, m.pairs * width),
                               .width = width,
                               .rows = m.rows,
                               .used = used};
    a.h.float_only = vv_check_below(check, 8) == 0;
    vv_check_variants(check, &vv_expert_down, &a, "%s, %zu x %zu, %zu of %zu, %d rows",
                      vv_format(type)->name, width, hidden, used, experts, rows);
    if (compare) {
        compare_down(check, &a, &m);
    }
    vv_check_reset(check);
}

/* ---- expert_sum ---- */

enum sum_misreading {
    SUM_RIGHT,
    SUM_BY_RANK,      /* largest weight first: other last bits */
    SUM_DESCENDING,   /* last expert first: other last bits */
    SUM_SHARED_FIRST, /* the shared expert begins the sum: other last bits */
    SUM_UNFUSED,      /* products rounded: other last bits */
    SUM_NO_SHARED,
    SUM_GATE_RAW, /* the shared gate without its sigmoid */
    SUM_NO_GATE,  /* the shared expert as it is */
    SUM_UNWEIGHTED,
    SUM_NEXT_WEIGHT,
    SUM_MISREADINGS,
};

static const char *const sum_misreadings[] = {"",
                                              "sum by rank",
                                              "sum from the last expert",
                                              "shared expert first",
                                              "products rounded",
                                              "no shared expert",
                                              "shared gate without sigmoid",
                                              "no shared gate",
                                              "unweighted",
                                              "next expert's weight"};

/* The order in which experts are added. */
static void expert_order(const struct vv_expert_sum *a, size_t row, enum sum_misreading how,
                         size_t *order) {
    for (size_t j = 0; j < a->used; j++) {
        order[j] = how == SUM_DESCENDING ? a->used - 1 - j : j;
    }
    for (size_t i = 1; how == SUM_BY_RANK && i < a->used; i++) {
        for (size_t j = i;
             j > 0 && a->weight[row * a->used + order[j]] > a->weight[row * a->used + order[j - 1]];
             j--) {
            size_t swap = order[j];
            order[j] = order[j - 1];
            order[j - 1] = swap;
        }
    }
}

static float sum_reading(const struct vv_expert_sum *a, size_t row, size_t i,
                         enum sum_misreading how) {
    size_t order[64];
    float raw = a->shared_gate ? a->shared_gate[row] : INFINITY;
    float gate = how == SUM_GATE_RAW ? raw : vv_sigmoid(raw);
    float shared = a->shared[row * a->width + i], sum = 0.0f;
    gate = how == SUM_NO_GATE ? 1.0f : how == SUM_NO_SHARED ? 0.0f : gate;
    sum = how == SUM_SHARED_FIRST ? gate * shared : sum;
    expert_order(a, row, how, order);
    for (size_t n = 0; n < a->used; n++) {
        size_t pair = row * a->used + order[n], next = (order[n] + 1) % a->used;
        float y = a->y[pair * a->width + i], weight = a->weight ? a->weight[pair] : 1.0f;
        weight = how == SUM_UNWEIGHTED    ? 1.0f
                 : how == SUM_NEXT_WEIGHT ? a->weight[row * a->used + next]
                                          : weight;
        sum = how == SUM_UNFUSED ? sum + weight * y : fmaf(weight, y, sum);
    }
    return how == SUM_SHARED_FIRST ? sum : fmaf(gate, shared, sum);
}

static bool sum_applies(const struct vv_expert_sum *a, enum sum_misreading how) {
    switch (how) {
    case SUM_BY_RANK:
    case SUM_UNFUSED:
    case SUM_UNWEIGHTED:
    case SUM_NEXT_WEIGHT:
        return a->weight != NULL;
    case SUM_GATE_RAW:
    case SUM_NO_GATE:
        return a->shared_gate != NULL;
    default:
        return true;
    }
}

static void compare_sum(struct vv_check *check, const struct vv_expert_sum *a) {
    size_t n = vv_rows(a->rows) * a->width;
    float *reading = vv_check_floats(check, n);
    for (int how = SUM_RIGHT; how < SUM_MISREADINGS; how++) {
        if (!sum_applies(a, (enum sum_misreading)how)) {
            continue;
        }
        for (size_t i = 0; i < n; i++) {
            reading[i] = sum_reading(a, i / a->width, i % a->width, (enum sum_misreading)how);
        }
        if (how == SUM_RIGHT) {
            vv_check_true(check, memcmp(a->o, reading, n * sizeof *reading) == 0,
                          "the check's own formula differs from the reference");
        } else {
            vv_check_misreading(check, sum_misreadings[how], a->o, reading, n,
                                how <= SUM_UNFUSED ? 0 : 1e-3);
        }
    }
}

static void check_sum(struct vv_check *check, size_t width, size_t used, int32_t rows) {
    struct vv_window *w = vv_check_window(check, rows, 1, NULL, 10);
    size_t n = (size_t)rows;
    float *weight = vv_check_floats(check, n * used);
    for (size_t i = 0; i < n * used; i++) {
        weight[i] = vv_check_uniform(check, 0, 1);
    }
    struct vv_expert_sum a = {.y = vv_check_normals(check, n * used * width),
                              .weight = weight,
                              .shared = vv_check_normals(check, n * width),
                              .shared_gate = vv_check_normals(check, n),
                              .o = vv_check_floats(check, n * width),
                              .rows = {&w->rows, 1},
                              .used = used,
                              .width = width};
    vv_check_variants(check, &vv_expert_sum, &a, "%zu wide, %zu experts, %d rows", width, used,
                      rows);
    if (width >= 127 && used > 2) {
        compare_sum(check, &a);
        a.weight = used % 2 ? a.weight : NULL;
        a.shared_gate = NULL;
        vv_check_variants(check, &vv_expert_sum, &a, "no shared gate, %zu wide", width);
        compare_sum(check, &a);
    }
    a.y = vv_check_adversarial(check, n * used * width);
    vv_check_variants(check, &vv_expert_sum, &a, "adversarial, %zu wide, %zu experts, %d rows",
                      width, used, rows);
    vv_check_reset(check);
}

/* ---- all ---- */

static void check_products(struct vv_check *check) {
    static const int types[] = {VV_TYPE_F32,  VV_TYPE_BF16,   VV_TYPE_Q8_0,
                                VV_TYPE_Q5_1, VV_TYPE_IQ4_NL, VV_TYPE_NVFP4,
                                VV_TYPE_Q2_0, VV_TYPE_Q4_K,   VV_TYPE_IQ3_S};
    enum { TYPES = sizeof types / sizeof *types };
    static const size_t mixtures[][2] = {{1, 1}, {2, 2}, {3, 1}, {8, 3}, {16, 4}};
    for (size_t t = 0; t < TYPES; t++) {
        size_t block = vv_format(types[t])->block_values, wide = block == 256 ? 512 : 320;
        size_t ragged = block == 1 ? 33 : block == 256 ? 256 : 64 + block;
        for (size_t m = 0; m < sizeof mixtures / sizeof *mixtures; m++) {
            size_t experts = mixtures[m][0], used = mixtures[m][1];
            int32_t rows = 1 + (int32_t)((t + 3 * m) % 8);
            check_up(check, types[t], types[t], ragged, 3, rows, experts, used, false);
            check_down(check, types[t], ragged, 5, rows, experts, used, false);
        }
        int other = types[(t + 1) % TYPES], mixed = vv_format(other)->block_values == 256 ? 512 : 0;
        check_up(check, types[t], types[t], wide, 35, 9, 16, 4, true); /* panels have 16 */
        check_up(check, types[t], other, mixed ? 512 : wide == 320 ? 320 : 512, 6, 7, 8, 3, true);
        check_down(check, types[t], wide, 33, 6, 16, 4, true);
    }
    check_up(check, VV_TYPE_Q8_0, VV_TYPE_Q8_0, 64, 2, 130, 2, 2, false); /* 130 pairs an expert */
    check_down(check, VV_TYPE_Q8_0, 64, 2, 130, 2, 2, false);
    check_up(check, VV_TYPE_Q4_K, VV_TYPE_Q8_0, 256, 2, 300, 2, 2, false);
    check_down(check, VV_TYPE_Q8_0, 64, 2, 300, 2, 2, false);
}

static struct vv_expert_up up_of(struct vv_check *check, const struct mixture *m, size_t rows,
                                 size_t used, struct vv_weight *gate, struct vv_weight *up) {
    return (struct vv_expert_up){.u = new_planes(check, rows, gate->width),
                                 .gate = gate,
                                 .up = up,
                                 .hidden = gate->rows,
                                 .active = m->active,
                                 .begin = m->begin,
                                 .pair = m->pair,
                                 .used = used,
                                 .h = vv_check_floats(check, rows * used * gate->rows),
                                 .rows = m->rows};
}

static struct vv_expert_down down_of(struct vv_check *check, const struct mixture *m, size_t rows,
                                     size_t used, struct vv_weight *down) {
    return (struct vv_expert_down){.h = new_planes(check, rows * used, down->width),
                                   .down = down,
                                   .active = m->active,
                                   .begin = m->begin,
                                   .pair = m->pair,
                                   .y = vv_check_floats(check, rows * used * down->rows),
                                   .width = down->rows,
                                   .rows = m->rows,
                                   .used = used};
}

static void check_errors(struct vv_check *check) {
    struct mixture m = new_mixture(check, 3, 4, 2);
    struct vv_expert_up a = up_of(check, &m, 3, 2, new_weight(check, VV_TYPE_F32, 40, 5, 4),
                                  new_weight(check, VV_TYPE_F32, 40, 5, 4));
    struct vv_weight *both[] = {a.gate, a.up};
    size_t last = ((size_t)m.expert[5] * 5 + 4) * 40 + 39; /* of the last pair's expert */
    for (size_t i = 0; i < 2; i++) {
        float *value = (float *)(uintptr_t)both[i]->data + last, was = *value;
        *value = INFINITY;
        vv_check_refuses(check, &vv_expert_up, &a, VV_ERROR_NOT_FINITE, "an infinite weight");
        *value = was;
    }
    struct vv_expert_down d = down_of(check, &m, 3, 2, a.gate);
    ((float *)(uintptr_t)a.gate->data)[last] = NAN;
    vv_check_refuses(check, &vv_expert_down, &d, VV_ERROR_NOT_FINITE, "a weight that is NaN");
    vv_check_reset(check);
}

/* The last of several rows that an expert serves is not finite, the others are. */
static void check_bad_rows(struct vv_check *check) {
    struct mixture m = new_mixture(check, 3, 2, 2);
    struct vv_weight *weight = new_weight(check, VV_TYPE_F32, 40, 5, 2);
    struct vv_expert_up up = up_of(check, &m, 3, 2, weight, weight);
    struct vv_expert_down down = down_of(check, &m, 3, 2, weight);
    ((float *)(uintptr_t)up.u.x)[3 * 40 - 1] = NAN;
    vv_check_refuses(check, &vv_expert_up, &up, VV_ERROR_NOT_FINITE, "NaN in the last row");
    ((float *)(uintptr_t)down.h.x)[6 * 40 - 1] = INFINITY;
    vv_check_refuses(check, &vv_expert_down, &down, VV_ERROR_NOT_FINITE, "inf in the last pair");
    vv_check_reset(check);
}

/* Quantised weights, which other variants take: one row of several, or one expert's scale. */
static void check_bad_quantised(struct vv_check *check) {
    enum { ROWS = 3, EXPERTS = 2, USED = 2, PAIRS = ROWS * USED, OUTPUTS = 20, WIDTH = 160 };
    for (size_t bad = 0; bad < PAIRS; bad++) {
        struct mixture m = new_mixture(check, ROWS, EXPERTS, USED);
        struct vv_weight *gate = vv_check_weight(check, VV_TYPE_Q8_0, WIDTH, OUTPUTS, EXPERTS);
        struct vv_weight *other = vv_check_weight(check, VV_TYPE_Q8_0, WIDTH, OUTPUTS, EXPERTS);
        struct vv_expert_up up = up_of(check, &m, ROWS, USED, gate, other);
        struct vv_expert_down down = down_of(check, &m, ROWS, USED, gate);
        vv_check_spoil_row(&down.h, PAIRS, bad);
        vv_check_refuses(check, &vv_expert_down, &down, VV_ERROR_NOT_FINITE, "pair %zu", bad);
        if (bad < ROWS) {
            vv_check_spoil_row(&up.u, ROWS, bad);
        } else {
            float *scale = vv_check_floats(check, EXPERTS);
            scale[0] = 1.0f;
            scale[1] = INFINITY;
            (bad % 2 ? up.up : up.gate)->scale = scale;
        }
        vv_check_refuses(check, &vv_expert_up, &up, VV_ERROR_NOT_FINITE, "trouble %zu", bad);
        vv_check_reset(check);
    }
}

void vv_experts_check(struct vv_check *check) {
    static const size_t widths[] = {1, 7, 16, 33, 63, 64, 65, 127, 128, 320};
    check_products(check);
    check_errors(check);
    check_bad_rows(check);
    check_bad_quantised(check);
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        for (int32_t rows = 1; rows <= 8; rows++) {
            check_sum(check, widths[i], 1 + (size_t)(rows + (int32_t)i) % 10, rows);
        }
        check_sum(check, widths[i], 10, 33);
        check_sum(check, widths[i], 9, 65);
    }
}

/* The block scores against double precision, and six misreadings of them. */
#include "op/check_oracle.h"
#include "op/index_score/internal.h"

enum misreading {
    RIGHT,
    SIGNED_SUM,  /* no ReLU */
    RELU_OF_SUM, /* ReLU after the sum over heads */
    NO_SCALE,
    ABSOLUTE,       /* |z| */
    NEXT_BLOCK,     /* key of block b + 1 */
    OTHER_SEQUENCE, /* keys of another slot */
};

static const char *const misreadings[] = {"",
                                          "signed sum without ReLU",
                                          "ReLU of the sum",
                                          "scale missing",
                                          "absolute values",
                                          "next block's key",
                                          "another sequence's keys"};

struct shape {
    size_t heads, width, ratio, keep;
};

static struct vv_index_score *new_score(struct vv_check *check, int32_t rows, int32_t sequences,
                                        int32_t first, struct shape s) {
    struct vv_index_score *a = vv_check_memory(check, sizeof *a);
    int32_t firsts[3] = {first, first / 2, 0};
    struct vv_window *w = vv_check_window(check, rows, sequences, firsts, 10);
    size_t n = (size_t)rows, blocks = ((size_t)first + n) / s.ratio + 2;
    *a = (struct vv_index_score){
        vv_check_normals(check, n * s.heads * s.width),
        vv_check_empty_state(check, VV_TYPE_F32, s.width, blocks, (size_t)sequences, false),
        vv_check_floats(check, n * blocks),
        blocks,
        s.heads,
        s.width,
        s.ratio,
        s.keep,
        0.088f,
        w,
        {&w->rows, 1}};
    for (size_t r = 0; r < n; r++) { /* the keys that a row may see, and no others */
        size_t slot = (size_t)w->slot[r];
        for (size_t b = 0; b < ((size_t)w->position[r] + 1) / s.ratio; b++) {
            if (isnan(*(float *)vv_state_at(&a->pooled, (int32_t)slot, (int64_t)b))) {
                vv_check_entry(check, &a->pooled, slot, (int64_t)b);
            }
        }
    }
    return a;
}

static double oracle(const struct vv_index_score *a, size_t row, size_t block,
                     enum misreading which) {
    int32_t slot = a->window->slot[row];
    slot = which == OTHER_SEQUENCE ? (slot + 1) % a->window->sequences : slot;
    block += which == NEXT_BLOCK;
    const float *key = vv_state_at(&a->pooled, slot, (int64_t)block);
    double sum = 0;
    for (size_t h = 0; h < a->heads; h++) {
        double z = 0;
        for (size_t i = 0; i < a->width; i++) {
            z += (double)a->q[(row * a->heads + h) * a->width + i] * (double)key[i];
        }
        z = which == ABSOLUTE ? fabs(z) : z;
        sum += which == SIGNED_SUM || which == RELU_OF_SUM ? z : fmax(z, 0);
    }
    sum = which == RELU_OF_SUM ? fmax(sum, 0) : sum;
    return which == NO_SCALE ? sum : sum * (double)a->scale;
}

/* Compares what the reference left with every reading; and that it wrote nothing else. */
static void compare_with_oracle(struct vv_check *check, const struct vv_index_score *a,
                                const float *before) {
    size_t n = vv_rows(a->rows) * a->stride;
    double *truth = vv_check_doubles(check, n);
    for (int which = RIGHT; which <= OTHER_SEQUENCE; which++) {
        for (size_t i = 0; i < n; i++) {
            size_t row = i / a->stride, block = i % a->stride;
            truth[i] =
                block < vv_index_blocks(a, row) ? oracle(a, row, block, which) : (double)before[i];
        }
        if (which == RIGHT) {
            vv_check_near(check, "scores", a->score, truth, n, 1e-6);
        } else if (which != OTHER_SEQUENCE || a->window->sequences > 1) {
            vv_check_misreading(check, misreadings[which], a->score,
                                vv_check_narrow(check, truth, n), n, 1e-3);
        }
    }
    bool untouched = true;
    for (size_t i = 0; i < n; i++) {
        untouched = untouched && (i % a->stride < vv_index_blocks(a, i / a->stride) ||
                                  vv_bits(a->score[i]) == vv_bits(before[i]));
    }
    vv_check_true(check, untouched, "scores beyond a row's blocks are let be");
}

static void check_case(struct vv_check *check, int32_t rows, int32_t sequences, int32_t first,
                       struct shape s) {
    struct vv_index_score *a = new_score(check, rows, sequences, first, s);
    size_t n = (size_t)rows * a->stride;
    float *before = vv_check_floats(check, n);
    memcpy(before, a->score, n * sizeof *before);
    vv_check_variants(check, &vv_index_score, a,
                      "%zu heads of %zu, ratio %zu, keep %zu, %d rows of %d sequences at %d",
                      s.heads, s.width, s.ratio, s.keep, rows, sequences, first);
    if (s.heads > 1 && s.width > 8 && first / (int32_t)s.ratio > 4 + (int32_t)s.keep) {
        compare_with_oracle(check, a, before);
    }
    vv_check_reset(check);
}

static void check_shapes(struct vv_check *check) {
    static const struct shape shapes[] = {
        {1, 1, 1, 1},    {1, 16, 4, 2},   {2, 15, 4, 3},   {3, 33, 3, 2},
        {4, 64, 4, 8},   {4, 127, 4, 2},  {4, 128, 4, 16}, {4, 129, 3, 16},
        {2, 160, 4, 16}, {5, 300, 4, 12}, {4, 128, 2, 32},
    };
    static const int32_t firsts[] = {0, 3, 60, 127, 251, 252, 255, 256, 259, 516};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        for (size_t f = 0; f < sizeof firsts / sizeof *firsts; f++) {
            int32_t rows = 1 + (int32_t)((i + f) % 8), sequences = rows < 3 ? 1 : 1 + rows % 3;
            check_case(check, rows, sequences, firsts[f], shapes[i]);
        }
        check_case(check, 37, 3, 200, shapes[i]);
    }
}

static void check_extremes(struct vv_check *check) {
    struct vv_index_score *a = new_score(check, 3, 1, 300, (struct shape){4, 144, 4, 16});
    a->q = vv_check_adversarial(check, 3 * a->heads * a->width);
    vv_check_variants(check, &vv_index_score, a, "adversarial queries");
    float *key = vv_state_at(&a->pooled, 0, 5);
    for (size_t i = 0; i < a->width; i++) {
        key[i] = 0;
    }
    vv_check_variants(check, &vv_index_score, a, "a key of zeros");
    vv_check_true(check, vv_bits(a->score[5]) == 0, "a key of zeros scores +0");
    key[0] = NAN;
    for (const struct vv_variant *v = vv_index_score.variants; v->name; v++) {
        if ((v->needs & ~vv_cpu_features()) == 0) {
            v->run(a, 0, vv_index_score.units(a));
            vv_check_true(check, isnan(a->score[5]), "%s: NaN is passed on", v->name);
        }
    }
    vv_check_reset(check);
}

void vv_index_score_check(struct vv_check *check) {
    check_shapes(check);
    check_extremes(check);
}

/* The selection against a sorted list, and five misreadings of it. */
#include "op/check_oracle.h"
#include "op/top_k/contract.h"
#include "op/top_k/internal.h"

enum misreading {
    RIGHT,
    HIGHER_ON_TIES, /* of equal scores the higher block */
    OWN_BLOCK,      /* the newest block takes the last place */
    FIRST_BLOCK,    /* as does block 0, an attention sink */
    SMALLEST,       /* ascending scores */
    ONE_BLOCK_MORE, /* an incomplete block is a candidate */
};

static const char *const misreadings[] = {"",
                                          "higher block on ties",
                                          "own block forced",
                                          "first block forced",
                                          "smallest scores",
                                          "incomplete block counted"};

static struct vv_top_k *new_top_k(struct vv_check *check, int32_t rows, int32_t first, size_t ratio,
                                  size_t keep) {
    struct vv_top_k *a = vv_check_memory(check, sizeof *a);
    int32_t firsts[3] = {first, first / 2, 0}, sequences = rows < 3 ? 1 : 3;
    struct vv_window *w = vv_check_window(check, rows, sequences, firsts, 10);
    size_t n = (size_t)rows, stride = ((size_t)first + n) / ratio + 1;
    *a = (struct vv_top_k){vv_check_normals(check, n * stride),
                           stride,
                           ratio,
                           keep,
                           vv_check_memory(check, n * keep * sizeof(int32_t)),
                           vv_check_memory(check, n * sizeof(int32_t)),
                           w,
                           {&w->rows, 1}};
    return a;
}

/* One row as `which` reads it, by repeated search for the best block that is left. */
static void oracle(struct vv_check *check, const struct vv_top_k *a, size_t row,
                   enum misreading which, int32_t *list) {
    const float *score = a->score + row * a->stride;
    size_t blocks = ((size_t)a->window->position[row] + 1) / a->ratio;
    blocks += which == ONE_BLOCK_MORE;
    bool *taken = vv_check_memory(check, blocks);
    memset(taken, 0, blocks);
    size_t n = blocks < a->keep ? blocks : a->keep;
    for (size_t j = 0; j < n; j++) {
        size_t best = blocks;
        for (size_t i = 0; i < blocks; i++) {
            size_t b = which == HIGHER_ON_TIES ? blocks - 1 - i : i;
            bool better = best == blocks || score[b] > score[best];
            if (which == SMALLEST) {
                better = best == blocks || score[b] < score[best];
            }
            best = !taken[b] && better ? b : best;
        }
        if (j == n - 1 && which == OWN_BLOCK) {
            best = blocks - 1;
        }
        if (j == n - 1 && which == FIRST_BLOCK) {
            best = 0;
        }
        taken[best] = true;
    }
    size_t listed = 0;
    for (size_t b = 0; b < blocks && listed < a->keep; b++) {
        if (taken[b]) {
            list[listed++] = (int32_t)b;
        }
    }
    while (listed < a->keep) {
        list[listed++] = -1;
    }
}

static void compare_with_oracle(struct vv_check *check, const struct vv_top_k *a, bool ties) {
    size_t n = vv_rows(a->rows) * a->keep;
    int32_t *list = vv_check_memory(check, n * sizeof *list);
    const float *right = vv_check_as_floats(check, a->list, n);
    for (int which = RIGHT; which <= ONE_BLOCK_MORE; which++) {
        for (size_t r = 0; r < vv_rows(a->rows); r++) {
            oracle(check, a, r, which, list + r * a->keep);
        }
        if (which == RIGHT) {
            vv_check_true(check, memcmp(a->list, list, n * sizeof *list) == 0, "list");
        } else if (which != HIGHER_ON_TIES || ties) {
            vv_check_misreading(check, misreadings[which], right,
                                vv_check_as_floats(check, list, n), n, 0);
        }
    }
}

static void check_shapes(struct vv_check *check) {
    static const int32_t firsts[] = {0, 1, 6, 62, 130, 255, 1000, 2049};
    for (size_t keep = 1; keep <= 256; keep *= 4) {
        for (size_t f = 0; f < sizeof firsts / sizeof *firsts; f++) {
            for (int32_t rows = 1; rows <= 9; rows++) {
                size_t ratio = rows % 3 == 0 ? 3 : rows % 3 == 1 ? 4 : 1;
                bool ties = rows % 2 == 0;
                struct vv_top_k *a =
                    new_top_k(check, rows == 9 ? 30 : rows, firsts[f], ratio, keep);
                float *score = (float *)(uintptr_t)a->score;
                for (size_t i = 0; ties && i < vv_rows(a->rows) * a->stride; i++) {
                    score[i] =
                        score[i] < 0 ? -0.0f * score[i] : rintf(score[i]); /* as after ReLU */
                }
                vv_check_variants(check, &vv_top_k, a, "position %d, ratio %zu, keep %zu, %d rows",
                                  firsts[f], ratio, keep, rows);
                if (rows >= 7 && keep >= 16 && firsts[f] >= 1000 &&
                    (size_t)firsts[f] / ratio > 4 * keep) {
                    compare_with_oracle(check, a, ties);
                }
                vv_check_reset(check);
            }
        }
    }
}

static void check_extremes(struct vv_check *check) {
    static const float edges[] = {0.0f,           -0.0f,    0x1p-149f, -0x1p-149f, 3.4028235e38f,
                                  -3.4028235e38f, INFINITY, -INFINITY, 1.0f,       -1.0f};
    for (size_t keep = 1; keep <= 90; keep += 11) {
        struct vv_top_k *a = new_top_k(check, 5, 400, 4, keep);
        float *score = (float *)(uintptr_t)a->score;
        for (size_t i = 0; i < 5 * a->stride; i++) {
            score[i] = edges[vv_check_below(check, sizeof edges / sizeof *edges)];
        }
        vv_check_variants(check, &vv_top_k, a, "edges of the order, keep %zu", keep);
        for (size_t i = 0; i < a->stride; i++) {
            score[i] = i % 2 ? 0.0f : -0.0f;
        }
        vv_check_variants(check, &vv_top_k, a, "all scores zero, keep %zu", keep);
        vv_check_true(check, a->list[keep - 1] == (int32_t)keep - 1,
                      "of equal scores the lowest %zu blocks are listed", keep);
        size_t blocks = (size_t)(a->window->position[0] + 1) / 4;
        score[blocks] = NAN; /* not the row's: it must not matter */
        vv_check_variants(check, &vv_top_k, a, "NaN beyond the blocks, keep %zu", keep);
        score[blocks - 1] = NAN;
        vv_check_refuses(check, &vv_top_k, a, VV_ERROR_NOT_FINITE, "NaN, keep %zu", keep);
        score[blocks - 1] = -NAN;
        vv_check_refuses(check, &vv_top_k, a, VV_ERROR_NOT_FINITE, "negative NaN, keep %zu", keep);
        vv_check_reset(check);
    }
}

void vv_top_k_check(struct vv_check *check) {
    check_shapes(check);
    check_extremes(check);
}

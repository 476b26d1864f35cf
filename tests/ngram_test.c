/*
 * Row numbers of the n-gram table of Qwen3.8-Flash-Next against the test vectors of its
 * specification (section 13), in one window, token by token, and in every split between (case C046
 * of docs/cases.md). The table has as many rows as the released one, all lying on one another.
 */
#include "gguf/types.h"
#include "op/ngram_embed/contract.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { TOKENS = 6, HEADS = 16, RING = 8, SEPARATOR = 248044 };

static const int32_t ids[TOKENS] = {9707, 11, 1879, SEPARATOR, 9707, 0};

static const uint64_t multipliers[3] = {23703573157769, 20109073645365, 8052911324071};

static const uint64_t vocab[HEADS] = {20000003, 20000023, 20000033, 20000047, 20000059, 20000063,
                                      20000069, 20000077, 20000081, 20000093, 20000107, 20000147,
                                      20000153, 20000159, 20000161, 20000171};

static const uint64_t offset[HEADS] = {
    0,         20000003,  40000026,  60000059,  80000106,  100000165, 120000228, 140000297,
    160000374, 180000455, 200000548, 220000655, 240000802, 260000955, 280001114, 300001275};

static const int64_t want[TOKENS][HEADS] = {
    {16410909, 39682429, 55103279, 60931720, 87006904, 116506179, 131512017, 152932897, 169641436,
     182022480, 209277433, 237891023, 256841529, 277007269, 290665954, 300984276},
    {18158303, 36390029, 45652312, 70783524, 98191154, 114024957, 127804916, 159566246, 175132467,
     192583600, 217919476, 237199054, 259336807, 261799367, 289359313, 307699687},
    {6380558, 26411572, 56460672, 78566983, 94693008, 106742196, 124822692, 148942556, 164226950,
     190352573, 210933682, 238908951, 242182004, 265475238, 299910982, 312121804},
    {18827606, 27700912, 56521518, 65780303, 81132822, 100518937, 120474864, 142052741, 163793416,
     184135950, 219854666, 227756662, 248975183, 271245822, 285569892, 318943450},
    {16410909, 39682429, 55103279, 60931720, 87006904, 116506179, 131512017, 152932897, 169641436,
     182022480, 209277433, 237891023, 256841529, 277007269, 290665954, 300984276},
    {15745768, 37221671, 58106044, 79508135, 80862143, 101344770, 122097965, 143156866, 160799514,
     183951932, 219272446, 224220869, 259208891, 274521684, 286364872, 306122020},
};

static const float nothing;

struct example {
    struct vv_window window;
    int32_t token[TOKENS], position[TOKENS], slot[TOKENS], before[TOKENS];
    int32_t ring[RING];
    struct vv_weight table;
    float e[TOKENS * HEADS];
    int64_t row_ids[TOKENS * HEADS];
    struct vv_ngram_embed args;
};

static void begin(struct example *x) {
    *x = (struct example){.table = {.type = VV_TYPE_F32,
                                    .width = 1,
                                    .rows = 320001536,
                                    .slices = 1,
                                    .data = (const uint8_t *)&nothing}};
    x->window = (struct vv_window){
        .token = x->token, .position = x->position, .slot = x->slot, .before = x->before};
    x->args = (struct vv_ngram_embed){.window = &x->window,
                                      .rows = {&x->window.rows, 1},
                                      .history = {.base = (uint8_t *)x->ring,
                                                  .slot_stride = sizeof x->ring,
                                                  .entry_stride = sizeof *x->ring,
                                                  .ring = RING,
                                                  .type = VV_TYPE_I32,
                                                  .width = 1,
                                                  .bytes = sizeof x->ring},
                                      .table = &x->table,
                                      .e = x->e,
                                      .row_ids = x->row_ids,
                                      .multipliers = multipliers,
                                      .vocab = vocab,
                                      .offset = offset,
                                      .order = 3,
                                      .heads_per = 8,
                                      .separator = SEPARATOR};
}

/* Positions [from, to) as a window; their ids are kept after it. */
static void run(struct example *x, int32_t from, int32_t to) {
    x->window.rows = to - from;
    for (int32_t p = from; p < to; p++) {
        x->token[p - from] = ids[p];
        x->position[p - from] = p;
        x->before[p - from] = p - from - 1;
    }
    size_t rows = vv_ngram_embed.units(&x->args);
    assert_int_equal(vv_ngram_embed.variants->run(&x->args, 0, rows), VV_OK);
    for (int32_t p = from; p < to; p++) {
        x->ring[p % RING] = ids[p];
        assert_memory_equal(x->row_ids + (p - from) * HEADS, want[p], sizeof want[p]);
    }
}

static void rows_of_the_specification(void **state) {
    (void)state;
    struct example x;
    begin(&x);
    run(&x, 0, TOKENS);
}

static void rows_do_not_depend_on_windows(void **state) {
    (void)state;
    struct example x;
    for (int32_t first = 1; first < TOKENS; first++) {
        for (int32_t second = first; second < TOKENS; second++) {
            begin(&x);
            run(&x, 0, first);
            if (second > first) {
                run(&x, first, second);
            }
            run(&x, second, TOKENS);
        }
    }
    begin(&x);
    for (int32_t p = 0; p < TOKENS; p++) {
        run(&x, p, p + 1);
    }
}

/* The hash itself shows when nothing is taken of it. */
static void hash_of_the_first_bigram(void **state) {
    (void)state;
    static const uint64_t all[HEADS] = {UINT64_MAX, UINT64_MAX}, none[HEADS];
    struct example x;
    begin(&x);
    x.table.rows = SIZE_MAX;
    x.args.order = 2;
    x.args.heads_per = 2;
    x.args.vocab = all;
    x.args.offset = none;
    x.window.rows = 1;
    x.token[0] = ids[0];
    x.before[0] = -1;
    assert_int_equal(vv_ngram_embed.variants->run(&x.args, 0, 1), VV_OK);
    assert_int_equal(x.row_ids[0], 5046783289313790751);
    assert_int_equal(x.row_ids[1], 5046783289313790751);
}

/* The row of the first head of position 0 if the hash were a double. */
static int64_t rounded_row(void) {
    double a = (double)ids[0] * (double)multipliers[0],
           b = (double)SEPARATOR * (double)multipliers[1];
    return (int64_t)(((uint64_t)a ^ (uint64_t)b) % vocab[0]);
}

/* Products here are beyond 2^53: every variant keeps all of their bits, which doubles would not. */
static void c046_hashes_are_exact_in_every_variant(void **state) {
    (void)state;
    assert_true((uint64_t)ids[0] * multipliers[0] > UINT64_C(1) << 53);
    assert_int_not_equal(rounded_row(), want[0][0]);
    size_t ran = 0;
    for (const struct vv_variant *v = vv_ngram_embed.variants; v->name; v++) {
        struct example x;
        begin(&x);
        x.window.rows = TOKENS;
        for (int32_t p = 0; p < TOKENS; p++) {
            x.token[p] = ids[p];
            x.position[p] = p;
            x.before[p] = p - 1;
        }
        if ((v->needs & ~vv_cpu_features()) == 0) {
            assert_int_equal(v->run(&x.args, 0, vv_ngram_embed.units(&x.args)), VV_OK);
            assert_memory_equal(x.row_ids, want, sizeof want);
            ran++;
        }
    }
    assert_true(ran > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(c046_hashes_are_exact_in_every_variant),
        cmocka_unit_test(rows_of_the_specification),
        cmocka_unit_test(rows_do_not_depend_on_windows),
        cmocka_unit_test(hash_of_the_first_bigram),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

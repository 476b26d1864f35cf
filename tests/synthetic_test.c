/* Models without weights: what is described, what is made up, and what doesn't fit. */
#include "gguf/writer.h"
#include "memory/synthetic.h"
#include "model/model.h"
#include "quant/random.h"
#include "quant/split.h"
#include "support/opened.h"
#include "tune/geometry.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DATA VARVE_SOURCE_DIR "/tests/data/qwen4exp/"
static const uint64_t no_limit = UINT64_MAX;

/* ---- weights ---- */

/* Valid blocks of about the size that was asked for, with a mean near zero, in every format. */
static void weights_have_the_size_asked_for(void **state) {
    (void)state;
    enum { VALUES = 1 << 16 };
    static float x[VALUES];
    static uint8_t blocks[VALUES * 4], again[VALUES * 4];
    const struct vv_format *f;
    for (size_t i = 0; (f = vv_format_at(i)) != NULL; i++) {
        if (f->arithmetic == VV_ARITHMETIC_NONE) {
            continue;
        }
        size_t count = VALUES / f->block_values;
        double sum = 0, square = 0;
        vv_random_blocks(f, 5, 0.05f, 0, blocks, count);
        assert_int_equal(vv_first_bad_block(f, blocks, count), count);
        f->decode(blocks, x, VALUES);
        for (size_t k = 0; k < VALUES; k++) {
            sum += (double)x[k];
            square += (double)x[k] * (double)x[k];
        }
        double deviation = sqrt(square / VALUES), mean = sum / VALUES;
        if (!(deviation > 0.03 && deviation < 0.08 && fabs(mean) < 0.005)) {
            fail_msg("%s: deviation %g, mean %g", f->name, deviation, mean);
        }
        vv_random_blocks(f, 5, 0.05f, 0, again, count);
        assert_memory_equal(blocks, again, count * f->block_bytes);
        vv_random_blocks(f, 6, 0.05f, 0, again, count);
        assert_memory_not_equal(blocks, again, count * f->block_bytes);
    }
}

/* The same bytes however they are cut; no piece like another. */
static void matrices_are_the_same_however_cut(void **state) {
    (void)state;
    static const int types[] = {VV_TYPE_Q8_0, VV_TYPE_F32};
    static const uint64_t cuts[] = {34 * 4, 34 * 40000, 34 * 52, 34 * 123456};
    for (size_t k = 0; k < 2; k++) {
        struct vv_gguf_tensor t = {.name = "blk.0.ffn_up_exps.weight",
                                   .type = types[k],
                                   .dimensions = 3,
                                   .ne = {64, 1000, 50, 1},
                                   .elements = 64 * 1000 * 50};
        struct vv_synthetic *s = vv_synthetic_new(NULL);
        struct vv_made_up m;
        struct vv_error error;
        assert_true(vv_type_bytes(t.type, t.elements, &t.bytes));
        assert_int_equal(vv_synthetic_begin(s, &t, &m, &error), VV_OK);
        uint8_t *whole = malloc(t.bytes), *cut = malloc(t.bytes);
        vv_made_up_bytes(&m, 0, t.bytes, whole);
        for (uint64_t at = 0, i = 0; at < t.bytes; i++) {
            uint64_t n = cuts[i % 4] < t.bytes - at ? cuts[i % 4] : t.bytes - at;
            vv_made_up_bytes(&m, at, n, cut + at);
            at += n;
        }
        assert_memory_equal(whole, cut, t.bytes);
        size_t piece = (1 << 20) / 34 * 34;
        assert_memory_not_equal(whole, whole + piece, piece);
        t.type = VV_TYPE_I32;
        assert_int_equal(vv_synthetic_begin(s, &t, &m, &error), VV_ERROR_UNSUPPORTED);
        assert_non_null(strstr(error.message, "I32"));
        vv_synthetic_free(s);
        free(whole);
        free(cut);
    }
}

static void assert_placed(struct vv_device *device, struct vv_synthetic *s, int type,
                          uint64_t width, uint64_t rows, const char *name) {
    struct vv_gguf_tensor t = {
        .name = name, .type = type, .dimensions = 2, .ne = {width, rows, 1, 1}};
    struct vv_made_up m;
    struct vv_error error;
    t.elements = width * rows;
    assert_true(vv_type_bytes(type, t.elements, &t.bytes));
    assert_int_equal(vv_synthetic_begin(s, &t, &m, &error), VV_OK);
    uint8_t *plain = malloc(t.bytes);
    vv_made_up_bytes(&m, 0, t.bytes, plain);
    struct vv_weight weight = {.type = type,
                               .width = width,
                               .rows = rows / 2,
                               .slices = 2,
                               .row_bytes = t.bytes / rows,
                               .data = plain};
    size_t bytes = device->layout ? device->layout->bytes(&weight) : t.bytes;
    uint8_t *want = malloc(bytes), *got = malloc(bytes);
    void *at = device->calls->allocate(device, bytes);
    if (device->layout) {
        device->layout->pack(&weight, want);
    } else {
        memcpy(want, plain, bytes);
    }
    assert_int_equal(vv_made_up_place(s, &m, &weight, at, &error), VV_OK);
    device->calls->read(device, got, at, bytes);
    assert_memory_equal(want, got, bytes);
    device->calls->release(device, at);
    free(plain);
    free(want);
    free(got);
}

/* What is copied within a device is what would have been brought there; a larger tensor's pattern
 * takes the place of a smaller one's. */
static void devices_hold_the_same_matrices(void **state) {
    (void)state;
    static const struct vv_layout *const layouts[] = {NULL, &vv_layout_split};
    const struct vv_cpu_options options = {0};
    struct vv_error error;
    for (size_t i = 0; i < 2; i++) {
        struct vv_device *device;
        assert_int_equal(vv_mock_device(&options, &device, &error), VV_OK);
        device->layout = layouts[i];
        struct vv_synthetic *s = vv_synthetic_new(device);
        assert_placed(device, s, VV_TYPE_Q4_K, 256, 100, "small");
        assert_placed(device, s, VV_TYPE_Q4_K, 256, 20000, "large");
        assert_placed(device, s, VV_TYPE_Q4_K, 256, 7282, "blk.1");
        assert_placed(device, s, VV_TYPE_Q5_1, 160, 30000, "blk.2");
        assert_placed(device, s, VV_TYPE_Q8_0, 2 << 20, 6, "wide");
        vv_synthetic_free(s);
        device->calls->close(device);
    }
}

/* ---- descriptions ---- */

static void a_description_has_no_data(void **state) {
    (void)state;
    struct vv_gguf_writer *w;
    struct vv_gguf *g;
    struct vv_error error;
    uint32_t value;
    char byte;
    const uint64_t ne[] = {64, 1000000000}; /* far more than a file in memory could have */
    assert_int_equal(vv_gguf_writer_new("a model", &w, &error), VV_OK);
    assert_int_equal(vv_gguf_writer_u32(w, "some.key", 7, &error), VV_OK);
    assert_int_equal(vv_gguf_writer_tensor(w, "t", VV_TYPE_Q8_0, 2, ne, &error), VV_OK);
    assert_int_equal(vv_gguf_writer_describe(w, &g, &error), VV_OK);
    assert_int_equal(vv_gguf_get_u32(g, "some.key", &value, &error), VV_OK);
    assert_int_equal(value, 7);
    const struct vv_gguf_tensor *t = vv_gguf_find_tensor(g, "t");
    assert_int_equal(t->bytes, ne[1] * 68);
    assert_true(vv_gguf_described(g));
    assert_false(vv_gguf_mapped(g));
    assert_null(vv_gguf_tensor_data(g, t));
    assert_int_equal(vv_gguf_read_tensor(g, t, 0, 1, &byte, &error), VV_ERROR_INVALID);
    assert_non_null(strstr(error.message, "has no data"));
    vv_gguf_close(g);
}

static uint64_t bytes_of(const struct vv_gguf *g) {
    uint64_t sum = 0;
    for (size_t i = 0; i < vv_gguf_tensor_count(g); i++) {
        sum += vv_gguf_tensor_at(g, i)->bytes;
    }
    return sum;
}

static struct vv_gguf *named(const char *types) {
    struct vv_gguf *g;
    struct vv_error error;
    assert_int_equal(vv_geometry_named("qwen3.8-flash-next", types, &g, &error), VV_OK);
    return g;
}

/* Everything that the family asks for is there, in its shape, and nothing else. */
static void assert_complete(const struct vv_gguf *g, size_t layers) {
    struct vv_error error;
    struct vv_model_facts facts;
    struct vv_weights *weights;
    void *geometry;
    const struct vv_family *family = vv_family_of(g, &error);
    assert_non_null(family);
    if (family->open(g, &geometry, &error) != VV_OK) {
        fail_msg("%s", error.message);
    }
    family->facts(geometry, &facts);
    assert_int_equal(facts.layers, layers);
    assert_int_equal(vv_weights_new(g, NULL, &weights, &error), VV_OK);
    void *bound = family->bind(geometry, weights);
    if (vv_weights_end(weights, &error) != VV_OK) {
        fail_msg("%s", error.message);
    }
    family->unbind(bound);
    vv_weights_free(weights);
    family->close(geometry);
}

static void with_its_draft_block(void **state) {
    (void)state;
    struct vv_gguf *g, *without = named("q4");
    struct vv_error error;
    assert_int_equal(vv_geometry_named("qwen3.8-flash-next-mtp", "q4", &g, &error), VV_OK);
    assert_complete(g, 48);
    /* A layer with attention has 26 tensors, and six of its own (docs/spec/qwen4exp.md, 3.2, 3.3).
     */
    assert_int_equal(vv_gguf_tensor_count(g), vv_gguf_tensor_count(without) + 26 + 6);
    assert_true(vv_gguf_has(g, "qwen4exp.nextn_predict_layers"));
    vv_gguf_close(without);
    vv_gguf_close(g);
}

static struct vv_gguf *part_of(const struct vv_gguf *whole, uint32_t layers, uint64_t room) {
    const struct vv_geometry_part part = {layers, room};
    struct vv_gguf *g;
    struct vv_error error = {0};
    if (vv_geometry_part(whole, &part, &g, &error) != VV_OK) {
        fail_msg("%s", error.message);
    }
    return g;
}

/* Tensors and bytes as tools/bench_model.py --plan counts them, with --layers 48 or 4, --vocab
 * released and --ngram-rows 320001536. */
static void a_released_model_is_described(void **state) {
    (void)state;
    static const struct {
        const char *types;
        uint64_t bytes, bytes_of_4;
    } sizes[] = {{"q3", 92870023680, 35534787200},
                 {"q4", 111323630080, 37299139200},
                 {"q8", 188251548160, 66831422080}};
    for (size_t i = 0; i < 3; i++) {
        struct vv_gguf *g = named(sizes[i].types), *four = part_of(g, 4, no_limit);
        assert_int_equal(vv_gguf_tensor_count(g), 1224);
        assert_int_equal(bytes_of(g), sizes[i].bytes);
        assert_complete(g, 48);
        assert_int_equal(vv_gguf_tensor_count(four), 113);
        assert_int_equal(bytes_of(four), sizes[i].bytes_of_4);
        assert_complete(four, 4);
        vv_gguf_close(four);
        vv_gguf_close(g);
    }
}

static struct vv_gguf *deepseek(const char *name, const char *types) {
    struct vv_gguf *g;
    struct vv_error error;
    assert_int_equal(vv_geometry_named(name, types, &g, &error), VV_OK);
    return g;
}

/* By the same tool, with --arch deepseek4. */
static void the_other_released_model_is_described(void **state) {
    (void)state;
    static const struct {
        const char *types;
        uint64_t bytes, bytes_of_4;
    } sizes[] = {{"q2", 86710403420, 9509148020},
                 {"q3", 135300399452, 13348197748},
                 {"q4", 164623794524, 16756905332},
                 {"q8", 302640054620, 29145372020},
                 {"mxfp4", 155966751068, 15951598964}};
    for (size_t i = 0; i < 5; i++) {
        struct vv_gguf *g = deepseek("deepseek-v4-flash", sizes[i].types);
        struct vv_gguf *four = part_of(g, 4, no_limit), *two = part_of(g, 2, no_limit);
        assert_int_equal(vv_gguf_tensor_count(g), 1328); /* as its specification counts them */
        assert_int_equal(bytes_of(g), sizes[i].bytes);
        assert_complete(g, 43);
        assert_int_equal(vv_gguf_tensor_count(four), 116);
        assert_int_equal(bytes_of(four), sizes[i].bytes_of_4);
        assert_complete(four, 4);
        assert_complete(two, 2); /* fewer than have a table of experts */
        vv_gguf_close(two);
        vv_gguf_close(four);
        vv_gguf_close(g);
    }
    struct vv_gguf *g = deepseek("deepseek-v4-flash-mtp", "q2");
    assert_complete(g, 43);
    /* A layer of the window alone has 24 tensors, and eight of its own. */
    assert_int_equal(vv_gguf_tensor_count(g), 1328 + 24 + 8);
    vv_gguf_close(g);
}

/* Numbers of experts: in range, all of a row different, rows different. */
static void tables_of_integers_are_made_up(void **state) {
    (void)state;
    enum { WIDTH = 6, ROWS = 500 };
    static const size_t below[] = {6, 7, 256};
    static int32_t table[ROWS * WIDTH];
    struct vv_gguf_tensor t = {.name = "blk.0.ffn_gate_tid2eid.weight",
                               .type = VV_TYPE_I32,
                               .dimensions = 2,
                               .ne = {WIDTH, ROWS, 1, 1},
                               .elements = WIDTH * ROWS};
    for (size_t k = 0; k < 3; k++) {
        size_t equal = 0;
        vv_synthetic_integers(&t, below[k], table);
        for (size_t r = 0; r < ROWS; r++) {
            const int32_t *row = table + r * WIDTH;
            for (size_t i = 0; i < WIDTH; i++) {
                assert_in_range(row[i], 0, below[k] - 1);
                for (size_t j = 0; j < i; j++) {
                    assert_int_not_equal(row[i], row[j]);
                }
            }
            equal += r > 0 && memcmp(row, row - WIDTH, WIDTH * sizeof *row) == 0;
        }
        assert_true(equal < ROWS / 3);
    }
}

/* The table gets a quarter of what the other weights leave; heads stay within it. */
static void the_ngram_table_is_cut(void **state) {
    (void)state;
    struct vv_gguf *whole = named("q4"), *g = part_of(whole, 4, UINT64_C(12000000000));
    uint64_t others = 37299139200 - UINT64_C(28800138240), sum = 0;
    const struct vv_gguf_tensor *t = vv_gguf_find_tensor(g, "per_layer_token_embd.weight");
    uint64_t rows = (UINT64_C(12000000000) - others) / 4 / 90 / 16 * 16; /* 90 bytes a row */
    assert_int_equal(t->ne[1], rows);
    assert_int_equal(bytes_of(g), others + rows * 90);
    uint64_t heads[16], offsets[16];
    struct vv_error error;
    assert_int_equal(vv_gguf_array_u64(g, "qwen4exp.ple.head_vocab_sizes", 16, heads, &error), 0);
    assert_int_equal(vv_gguf_array_u64(g, "qwen4exp.ple.head_offsets", 16, offsets, &error), 0);
    for (size_t k = 0; k < 16; k++) {
        assert_int_equal(offsets[k], sum);
        sum += heads[k];
    }
    assert_int_equal(sum, rows);
    assert_complete(g, 4);
    vv_gguf_close(g);
    vv_gguf_close(whole);
}

/* With numbers: what it takes, what there is, what would fit: 10 layers, and not 11 (20.38 GB). */
static void what_does_not_fit_is_refused(void **state) {
    (void)state;
    struct vv_gguf *whole = named("q4"), *g;
    struct vv_error error;
    const struct vv_geometry_part part = {0, UINT64_C(20000000000)};
    assert_int_equal(vv_geometry_part(whole, &part, &g, &error), VV_ERROR_MEMORY);
    static const char *const words[] = {"82.52 GB with 48 layers", "20.00 GB", "--layers 10 "};
    for (size_t i = 0; i < 3; i++) {
        if (!strstr(error.message, words[i])) {
            fail_msg("\"%s\" is not in: %s", words[i], error.message);
        }
    }
    vv_gguf_close(part_of(whole, 10, part.room));
    const struct vv_geometry_part tight = {0, UINT64_C(1000000000)};
    assert_int_equal(vv_geometry_part(whole, &tight, &g, &error), VV_ERROR_MEMORY);
    assert_non_null(strstr(error.message, "not even one layer would fit"));
    vv_gguf_close(whole);
    assert_int_equal(vv_geometry_named("qwen", "q4", &g, &error), VV_ERROR_INVALID);
    assert_non_null(strstr(error.message, "qwen3.8-flash-next"));
    assert_int_equal(vv_geometry_named("qwen3.8-flash-next", "q5", &g, &error), VV_ERROR_INVALID);
    assert_non_null(strstr(error.message, "q3, q4 and q8"));
}

/* Files of the tests, one with a draft block: whole, and their first layers alone. */
static void a_file_is_described(void **state) {
    (void)state;
    static const char *const files[] = {DATA "micro.f32.gguf", DATA "hq.ud.gguf",
                                        DATA "odd.f32.gguf"};
    struct vv_error error;
    for (size_t i = 0; i < 3; i++) {
        struct vv_gguf *file, *g;
        struct vv_model_facts facts;
        void *geometry;
        if (vv_gguf_open(files[i], NULL, &file, &error) != VV_OK) {
            fail_msg("%s", error.message);
        }
        const struct vv_family *family = vv_family_of(file, &error);
        assert_int_equal(family->open(file, &geometry, &error), VV_OK);
        family->facts(geometry, &facts);
        family->close(geometry);
        g = part_of(file, 0, no_limit);
        assert_int_equal(bytes_of(g), bytes_of(file));
        assert_complete(g, facts.layers);
        vv_gguf_close(g);
        g = part_of(file, 2, no_limit);
        assert_complete(g, 2);
        vv_gguf_close(g);
        g = part_of(file, 1000, no_limit);
        assert_complete(g, facts.layers);
        vv_gguf_close(g);
        vv_gguf_close(file);
    }
}

/* ---- a session ---- */

static float *logits(const char *path, const struct varve_session_options *options, size_t *count) {
    enum { TOKENS = 20 };
    const struct varve_geometry_options geometry = {0};
    struct opened o = {0};
    struct varve_error error;
    int32_t tokens[TOKENS];
    assert_int_equal(varve_geometry_open(path, &geometry, &o.file, &error), 0);
    assert_int_equal(varve_model_open(o.file, NULL, NULL, &o.model, &error), 0);
    varve_model_info(o.model, &o.info);
    random_tokens(&o, 3, tokens, TOKENS);
    float *list = logits_of(&o, options, tokens, TOKENS);
    *count = TOKENS * o.info.vocabulary;
    close_model(&o);
    return list;
}

/* Logits are finite, differ among themselves, and are the same whatever computes them. */
static void a_made_up_model_runs(void **state) {
    (void)state;
    static const struct varve_session_options ways[] = {
        {.threads = 1},
        {.threads = 2, .isa = "portable"},
        {.threads = 2, .device = VARVE_DEVICE_MOCK}};
    static const char *const files[] = {DATA "hq.ud.gguf", DATA "../deepseek4/tiny.gguf"};
    for (size_t f = 0; f < 2; f++) {
        size_t count;
        float *first = logits(files[f], &ways[0], &count), least = first[0], most = first[0];
        for (size_t i = 0; i < count; i++) {
            assert_true(isfinite(first[i]));
            least = fminf(least, first[i]);
            most = fmaxf(most, first[i]);
        }
        assert_true(most - least > 0.1f && most - least < 1000);
        for (size_t w = 1; w < 3; w++) {
            float *other = logits(files[f], &ways[w], &count);
            assert_memory_equal(first, other, count * sizeof *first);
            free(other);
        }
        free(first);
    }
}

/*
 * Keys and values of Qwen3.8-Flash-Next, q4: a token of the twelve layers that attend has two heads
 * of 256 keys and 256 values, and a quarter of an index key of 128 floats. What doesn't grow is 113
 * MB of matrices a slot (36 layers, 48 heads of 128 x 128 floats), and rings. Whoever needs more
 * for the same session has to say so here.
 */
static void c096_planned_sizes_are_golden_figures(void **state) {
    (void)state;
    enum { LINES = 4, CONTEXT = 4096, SLOTS = 2 };
    static const struct {
        bool f16;
        uint64_t grown, fixed, activations;
    } want[] = {{false, UINT64_C(12) * (2 * 512 * 4 + 128) * CONTEXT * SLOTS, 285249680, 355360008},
                {true, UINT64_C(12) * (2 * 512 * 2 + 128) * CONTEXT * SLOTS, 285249680, 355360008}};
    const struct varve_geometry_options geometry = {.types = "q4"};
    struct opened o = {0};
    struct varve_error error;
    assert_int_equal(varve_geometry_open("qwen3.8-flash-next", &geometry, &o.file, &error), 0);
    assert_int_equal(varve_model_open(o.file, NULL, NULL, &o.model, &error), 0);
    for (size_t i = 0; i < 2; i++) {
        struct varve_plan_line lines[LINES];
        const struct varve_session_options options = {
            .context = CONTEXT, .slots = SLOTS, .window = 512, .kv_f16 = want[i].f16};
        assert_int_equal(varve_session_plan(o.model, &options, lines, LINES), LINES);
        assert_int_equal(lines[0].bytes, UINT64_C(111323630080));
        assert_int_equal(lines[1].bytes, want[i].grown);
        assert_int_equal(lines[2].bytes, want[i].fixed);
        assert_int_equal(lines[3].bytes, want[i].activations);
    }
    close_model(&o);
}

struct loading {
    uint64_t calls, done, total, most; /* calls before it is ended */
};

static bool on_loading(void *context, const char *what, uint64_t done, uint64_t total) {
    struct loading *l = context;
    assert_string_equal(what, "loading");
    assert_true(done > l->done && done <= total);
    l->done = done;
    l->total = total;
    return ++l->calls < l->most;
}

/* Bytes up to all of the file's; ended early it leaves nothing behind. */
static void loading_tells_how_far_it_is(void **state) {
    (void)state;
    static const enum varve_device devices[] = {VARVE_DEVICE_CPU, VARVE_DEVICE_MOCK};
    struct opened o = open_model("qwen4exp/micro.f32.gguf");
    for (size_t i = 0; i < 2; i++) {
        struct loading all = {.most = UINT64_MAX}, some = {.most = 3};
        struct varve_session_options options = {
            .device = devices[i], .progress = on_loading, .progress_context = &all};
        struct varve_session *session;
        struct varve_error error;
        varve_session_close(open_session(&o, &options));
        assert_true(all.calls > 10);
        assert_int_equal(all.done, all.total);
        options.progress_context = &some;
        assert_int_equal(varve_session_open(o.model, &options, &session, &error),
                         VARVE_ERROR_CANCELLED);
        assert_non_null(strstr(error.message, "ended early"));
        assert_int_equal(some.calls, 3);
    }
    close_model(&o);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(with_its_draft_block),
        cmocka_unit_test(weights_have_the_size_asked_for),
        cmocka_unit_test(matrices_are_the_same_however_cut),
        cmocka_unit_test(devices_hold_the_same_matrices),
        cmocka_unit_test(c096_planned_sizes_are_golden_figures),
        cmocka_unit_test(loading_tells_how_far_it_is),
        cmocka_unit_test(a_description_has_no_data),
        cmocka_unit_test(a_released_model_is_described),
        cmocka_unit_test(the_other_released_model_is_described),
        cmocka_unit_test(tables_of_integers_are_made_up),
        cmocka_unit_test(the_ngram_table_is_cut),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(a_file_is_described),
        cmocka_unit_test(a_made_up_model_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

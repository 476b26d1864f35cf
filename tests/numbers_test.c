/*
 * Activations as integers, in products and in whole programs: cases C020, C022 and C023 of
 * docs/cases.md.
 */
#include "model/model.h"
#include "op/gather_rows/contract.h"
#include "op/gemv/contract.h"
#include "op/quantize_rows/contract.h"
#include "program/internal.h"
#include "quant/format.h"
#include "session/session.h"
#include "support/edited.h"
#include "support/folder.h"
#include "support/opened.h"
#include "support/quant_golden.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t random_bits(uint64_t *seed) {
    uint64_t v = *seed += 0x9E3779B97F4A7C15u;
    v = (v ^ v >> 30) * 0xBF58476D1CE4E5B9u;
    v = (v ^ v >> 27) * 0x94D049BB133111EBu;
    return v ^ v >> 31;
}

static float uniform(uint64_t *seed) {
    return (float)((double)random_bits(seed) * 0x1p-63 - 1);
}

/* Runs one variant over all its units. */
static int run(const struct vv_operation *operation, const struct vv_variant *variant,
               const void *args) {
    return variant->run(args, 0, operation->units(args));
}

static bool runs_here(const struct vv_variant *variant, const void *args) {
    return (variant->needs & ~vv_cpu_features()) == 0 && !variant->layout &&
           (!variant->fits || variant->fits(args));
}

/* ---- C020: one large value beside small ones ---- */

enum { WIDTH = 256 };

struct prepared {
    float x[WIDTH];
    int8_t coarse_q[WIDTH], fine_q[WIDTH];
    float coarse_scale[2], fine_scale[8];
    int16_t coarse_sum16[16], fine_sum16[16];
    struct vv_planes planes;
    int32_t rows;
};

static void prepare(struct prepared *p, uint64_t seed, float large) {
    for (size_t i = 0; i < WIDTH; i++) {
        p->x[i] = 0.01f * uniform(&seed);
    }
    p->x[37] = large;
    p->rows = 1;
    p->planes = (struct vv_planes){.width = WIDTH,
                                   .x = p->x,
                                   .coarse_q = p->coarse_q,
                                   .coarse_scale = p->coarse_scale,
                                   .coarse_sum16 = p->coarse_sum16,
                                   .fine_q = p->fine_q,
                                   .fine_scale = p->fine_scale,
                                   .fine_sum16 = p->fine_sum16};
}

/* What a product may be off: half a step of each value's unit, and rounding. */
static double allowed(const struct prepared *p, const struct vv_format *f, const float *w) {
    size_t unit = f->arithmetic == VV_ARITHMETIC_SUPER ? 128 : 32;
    double most = 0;
    for (size_t i = 0; i < WIDTH; i++) {
        double amax = 0;
        for (size_t j = i / unit * unit; j < (i / unit + 1) * unit; j++) {
            amax = fmax(amax, fabs((double)p->x[j]));
        }
        double step = f->arithmetic == VV_ARITHMETIC_FLOAT ? 0 : amax / 254;
        most += fabs((double)w[i]) * (step + 1e-5 * fabs((double)p->x[i]) + 1e-5 * amax);
    }
    return most;
}

/* As many outputs as the widest variant takes at a time, all of the same row. */
enum { OUTPUTS = 16, ROW_BYTES_MAX = WIDTH * 4 };

static void check_product(const struct vv_format *f, const uint8_t *blocks, float large) {
    static uint8_t rows[OUTPUTS * ROW_BYTES_MAX];
    struct prepared p;
    float w[WIDTH], y[OUTPUTS];
    double want = 0;
    size_t row_bytes = WIDTH / f->block_values * f->block_bytes;
    prepare(&p, (uint64_t)f->type, large);
    f->decode(blocks, w, WIDTH);
    for (size_t i = 0; i < WIDTH; i++) {
        want += (double)w[i] * (double)p.x[i];
    }
    for (size_t o = 0; o < OUTPUTS; o++) {
        memcpy(rows + o * row_bytes, blocks, row_bytes);
    }
    struct vv_weight weight = {.name = f->name,
                               .type = f->type,
                               .width = WIDTH,
                               .rows = OUTPUTS,
                               .slices = 1,
                               .row_bytes = row_bytes,
                               .data = rows};
    struct vv_quantize_rows quantise = {p.planes, {&p.rows, 1}};
    struct vv_gemv product = {p.planes, &weight, y, OUTPUTS, {&p.rows, 1}};
    for (const struct vv_variant *q = vv_quantize_rows.variants; q->name; q++) {
        for (const struct vv_variant *v = vv_gemv.variants; v->name; v++) {
            if (!runs_here(q, &quantise) || !runs_here(v, &product)) {
                continue;
            }
            assert_int_equal(run(&vv_quantize_rows, q, &quantise), VV_OK);
            assert_int_equal(run(&vv_gemv, v, &product), VV_OK);
            for (size_t o = 0; o < OUTPUTS; o++) {
                if (!(fabs((double)y[o] - want) <= allowed(&p, f, w))) {
                    fail_msg("%s, %s with %g among small values: %g, not %g", f->name, v->name,
                             (double)large, (double)y[o], want);
                }
            }
        }
    }
}

static void c020_a_large_value_beside_small_ones(void **state) {
    (void)state;
    static const float values[] = {6e4f, -6e4f, 1e15f, -0x1.fffffep+79f};
    size_t formats = 0;
    for (size_t i = 0; vv_format_at(i); i++) {
        const struct vv_format *f = vv_format_at(i);
        if (f->arithmetic == VV_ARITHMETIC_NONE || f->type == VV_TYPE_Q2_0_128) {
            continue;
        }
        struct golden g = {0};
        size_t rows;
        const uint8_t *blocks = quant_golden_blocks(&g, "tests/data/quant", f, &rows);
        assert_non_null(blocks);
        for (size_t k = 0; k < sizeof values / sizeof *values; k++) {
            check_product(f, blocks, values[k]);
        }
        golden_close(&g);
        formats++;
    }
    assert_int_equal(formats, 28);
}

/* From 2^80 on it is an error, never a NaN (docs/arithmetic.md, section 1). */
static void c020_what_is_too_large_is_an_error(void **state) {
    (void)state;
    static const float values[] = {0x1p+80f, -1e30f, 3e38f, INFINITY, NAN};
    for (size_t k = 0; k < sizeof values / sizeof *values; k++) {
        struct prepared p;
        prepare(&p, k, values[k]);
        struct vv_quantize_rows args = {p.planes, {&p.rows, 1}};
        for (const struct vv_variant *v = vv_quantize_rows.variants; v->name; v++) {
            if (runs_here(v, &args)) {
                assert_int_equal(run(&vv_quantize_rows, v, &args), VV_ERROR_NOT_FINITE);
            }
        }
    }
}

/* `model` with one value of a norm's weight replaced. */
static struct opened with_norm_value(const char *model, float value) {
    struct edited *e = edited_open(model);
    struct edited_tensor *t = edited_tensor(e, "blk.0.hc_attn_norm.weight");
    memcpy(t->data + 11 * sizeof value, &value, sizeof value);
    edited_write(e, temporary_file(&folder, "large.gguf"));
    edited_close(e);
    return open_path(temporary_file(&folder, "large.gguf"), false);
}

/* In a model: the text goes on, other tokens come out. */
static void c020_a_model_with_a_large_value(void **state) {
    (void)state;
    enum { STEPS = 40 };
    struct opened o = with_norm_value("qwen4exp/hq.ud.gguf", 6e4f);
    struct varve_session *s = open_session(&o, &(struct varve_session_options){.threads = 1});
    struct varve_error error = {0};
    int32_t written[STEPS], next = 3;
    size_t changes = 0;
    for (size_t i = 0; i < STEPS; i++) {
        struct varve_row row = {0, next, true};
        if (varve_session_evaluate(s, &row, 1, VARVE_ADVANCE, NULL, NULL, &error) != VARVE_OK) {
            fail_msg("%s", error.message);
        }
        const float *logits = varve_session_logits(s, 0);
        next = 0;
        for (size_t t = 0; t < o.info.vocabulary; t++) {
            assert_true(isfinite(logits[t]));
            next = logits[t] > logits[next] ? (int32_t)t : next;
        }
        written[i] = next;
        changes += i > 0 && written[i] != written[i - 1];
    }
    assert_true(changes > STEPS / 4);
    varve_session_close(s);
    close_model(&o);

    o = with_norm_value("qwen4exp/hq.ud.gguf", 1e30f);
    s = open_session(&o, &(struct varve_session_options){.threads = 1});
    assert_int_equal(varve_session_evaluate(s, &(struct varve_row){0, 3, true}, 1, VARVE_ADVANCE,
                                            NULL, NULL, &error),
                     VARVE_ERROR_NOT_FINITE);
    message_has(&error, WORDS("blk.0.hc_attn_norm", "beyond 2^80"));
    varve_session_close(s);
    close_model(&o);
}

/* ---- C022: planes of a million blocks ---- */

enum { BATCH_ROWS = 32, BATCH_WIDTH = 1024, BATCH = BATCH_ROWS * BATCH_WIDTH };

struct batch {
    int8_t coarse_q[BATCH], fine_q[BATCH];
    float coarse_scale[BATCH / 128], fine_scale[BATCH / 32];
    int16_t coarse_sum16[BATCH / 16], fine_sum16[BATCH / 16];
};

/* Each block has a magnitude of its own; some of its values lie on ties of the rounding. */
static void fill(float *x, uint64_t *seed) {
    for (size_t b = 0; b < BATCH / 32; b++) {
        uint64_t bits = random_bits(seed);
        float top = ldexpf(1 + (float)(bits & 0xffff) * 0x1p-16f, (int)(bits >> 16) % 64);
        for (size_t i = 0; i < 32; i++) {
            x[b * 32 + i] = top * uniform(seed);
        }
        size_t at = b * 32 + (size_t)(bits >> 40) % 32;
        x[at] = top;
        x[b * 32 + (size_t)(bits >> 48) % 32] *= bits >> 63 ? 1 : 0;
        for (size_t i = 0; i < 8; i++) {
            size_t tie = b * 32 + (size_t)random_bits(seed) % 32;
            x[tie] = tie == at ? top : top / 127 * ((float)(random_bits(seed) % 127) + 0.5f);
        }
    }
}

/* There is no fused form; every variant of the separate one gives the reference's planes. */
static void c022_planes_of_a_million_blocks(void **state) {
    (void)state;
    enum { BLOCKS = 1000000 };
    static float x[BATCH];
    static struct batch want, got;
    int32_t rows = BATCH_ROWS;
    uint64_t seed = 22;
    for (size_t done = 0; done < BLOCKS; done += BATCH / 32) {
        fill(x, &seed);
        for (const struct vv_variant *v = vv_quantize_rows.variants; v->name; v++) {
            struct batch *to = v == vv_quantize_rows.variants ? &want : &got;
            struct vv_quantize_rows args = {{.width = BATCH_WIDTH,
                                             .x = x,
                                             .coarse_q = to->coarse_q,
                                             .coarse_scale = to->coarse_scale,
                                             .coarse_sum16 = to->coarse_sum16,
                                             .fine_q = to->fine_q,
                                             .fine_scale = to->fine_scale,
                                             .fine_sum16 = to->fine_sum16},
                                            {&rows, 1}};
            if (runs_here(v, &args)) {
                memset(to, 0x5a, sizeof *to);
                assert_int_equal(run(&vv_quantize_rows, v, &args), VV_OK);
                assert_true(to == &want || memcmp(&want, &got, sizeof want) == 0);
            }
        }
    }
}

/* ---- C023: planes of what has been written over ---- */

static bool overlap(const struct vv_buffer *a, const struct vv_buffer *b) {
    uintptr_t a0 = (uintptr_t)a->at, b0 = (uintptr_t)b->at;
    return a->bytes > 0 && b->bytes > 0 && a0 < b0 + b->bytes && b0 < a0 + a->bytes;
}

static size_t buffers(const struct vv_step *s, struct vv_buffer *out) {
    return s->operation->buffers(s->args, out);
}

static bool writes(const struct vv_step *s, const struct vv_buffer *what) {
    struct vv_buffer b[VV_BUFFERS_MAX];
    for (size_t i = 0, n = buffers(s, b); i < n; i++) {
        if (b[i].written && overlap(&b[i], what)) {
            return true;
        }
    }
    return false;
}

/* The rows that step `maker` prepared, if they were written to before step `user`. */
static bool stale(const struct vv_program *p, size_t maker, size_t user) {
    struct vv_buffer b[VV_BUFFERS_MAX];
    size_t n = buffers(&p->steps[maker], b);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = maker + 1; b[i].read && k < user; k++) {
            if (writes(&p->steps[k], &b[i])) {
                return true;
            }
        }
    }
    return false;
}

/*
 * Uses of planes in a program whose source was written to since they were made, as if step
 * `without` were not there; `*uses` counts all. Planes are what quantize_rows writes.
 */
static size_t stale_uses(const struct vv_program *p, size_t without, size_t *uses) {
    size_t found = 0;
    *uses = 0;
    for (size_t user = 0; user < p->count; user++) {
        struct vv_buffer b[VV_BUFFERS_MAX];
        size_t n = buffers(&p->steps[user], b);
        for (size_t i = 0; i < n; i++) {
            size_t last = SIZE_MAX;
            bool planes = false;
            for (size_t k = 0; k < p->count && b[i].read; k++) {
                if (p->steps[k].operation == &vv_quantize_rows && writes(&p->steps[k], &b[i])) {
                    planes = true;
                    last = k < user && k != without ? k : last;
                }
            }
            if (planes) {
                (*uses)++;
                found += last == SIZE_MAX || stale(p, last, user);
            }
        }
    }
    return found;
}

/* A session of the inside, with all its programs recorded. */
struct inside {
    struct vv_gguf *file;
    const struct vv_family *family;
    void *geometry;
    struct vv_session *session;
};

static void must(int code, const struct vv_error *error) {
    if (code != VV_OK) {
        fail_msg("%s", error->message);
    }
}

static struct inside open_inside(const char *path, bool mtp) {
    struct inside in;
    struct vv_error e;
    struct vv_session_options options = {.slots = 1,
                                         .context = 64,
                                         .window = 8,
                                         .outputs = 8,
                                         .threads = 1,
                                         .features = UINT32_MAX,
                                         .mtp = mtp};
    const struct vv_row rows[] = {{0, 1, true}, {0, 2, true}, {0, 3, true}};
    int32_t drafts[2];
    must(vv_gguf_open(path, NULL, &in.file, &e), &e);
    in.family = vv_family_of(in.file, &e);
    assert_non_null(in.family);
    must(in.family->open(in.file, &in.geometry, &e), &e);
    must(vv_session_new(in.file, in.family, in.geometry, &options, &in.session, &e), &e);
    must(vv_session_run(in.session, rows, 3, VV_ADVANCE, &e), &e);
    must(vv_session_run(in.session, rows, 3, VV_VERIFY, &e), &e);
    must(vv_session_commit(in.session, 0, 2, &e), &e);
    if (mtp) {
        must(vv_session_draft(in.session, 0, 5, 2, drafts, NULL, &e), &e);
    }
    return in;
}

static void close_inside(struct inside *in) {
    vv_session_free(in->session);
    in->family->close(in->geometry);
    vv_gguf_close(in->file);
}

/* No program reads planes of rows that were written to since; and without any one of its
 * quantize_rows it would. */
static void check_programs(const char *path, bool mtp, size_t programs) {
    struct inside in = open_inside(path, mtp);
    size_t count = 0, uses, none;
    const struct vv_program *p;
    for (; (p = vv_session_program(in.session, count)); count++) {
        p->window->rows = p->window->sequences = p->rows; /* as it was planned */
        p->window->outputs = p->outputs;
        size_t found = stale_uses(p, SIZE_MAX, &uses);
        if (found > 0) {
            fail_msg("program %zu of %s: %zu of %zu uses of planes are stale", count, path, found,
                     uses);
        }
        for (size_t k = 0; k < p->count; k++) {
            if (p->steps[k].operation == &vv_quantize_rows && stale_uses(p, k, &none) == 0) {
                fail_msg("program %zu of %s: %s is prepared for nobody", count, path,
                         p->steps[k].what);
            }
        }
        assert_true(uses > 0 || p->count < 20); /* commit has no products */
    }
    assert_int_equal(count, programs);
    close_inside(&in);
}

static void c023_programs_prepare_again_after_a_write(void **state) {
    (void)state;
    check_programs(VARVE_SOURCE_DIR "/tests/data/qwen4exp/hq.ud.gguf", false, 3);
    struct edited *e = edited_open("qwen4exp/micro.f32.gguf"); /* with a draft block */
    for (size_t i = 0; i < e->tensor_count; i++) {
        struct edited_tensor *t = e->tensors[i];
        if (t->dimensions > 1 && t->ne[0] % 32 == 0) {
            edited_retype(t, VV_TYPE_Q8_0);
        }
    }
    edited_write(e, temporary_file(&folder, "planes.gguf"));
    edited_close(e);
    check_programs(temporary_file(&folder, "planes.gguf"), true, 6);
}

/* Two products of one input that is written to between them; `again`: and prepared again. */
static void two_products(bool again, float *y /* [2] */) {
    struct vv_cpu_options options = {.threads = 1, .features = UINT32_MAX};
    struct vv_error e;
    struct vv_device *d;
    struct vv_forward f = {.rows = 1, .outputs = 1};
    must(vv_cpu_device(&options, &d, &e), &e);
    must(vv_program_new(d, 1, 1, &f.program, &e), &e);
    f.window = vv_program_window(f.program);
    struct vv_rows rows = vv_all_rows(&f, 1);
    struct vv_input input = vv_input(&f, 32, rows, 1);
    float *first = vv_row_floats(&f, 32), *second = vv_row_floats(&f, 32);
    float *out = vv_row_floats(&f, 2);
    uint8_t block[34] = {0x00, 0x3c}; /* Q8_0 of scale 1 */
    for (size_t i = 0; i < 32; i++) {
        first[i] = 1;
        second[i] = -2;
        block[2 + i] = 3;
    }
    struct vv_weight weight = {.name = "w",
                               .type = VV_TYPE_Q8_0,
                               .width = 32,
                               .rows = 1,
                               .slices = 1,
                               .row_bytes = 34,
                               .data = block},
                     *readers[] = {&weight};
    struct vv_gather_rows copy = {
        .from = first, .to = input.x, .row_bytes = 128, .rows = rows, .from_rows = rows};
    vv_step(&f, &vv_gather_rows, &copy, "first");
    struct vv_planes planes = vv_prepare(&f, &input, readers, 1, "first");
    vv_product(&f, &planes, rows, &weight, out, "first");
    copy.from = second;
    vv_step(&f, &vv_gather_rows, &copy, "second");
    if (again) {
        planes = vv_prepare(&f, &input, readers, 1, "second");
    }
    vv_product(&f, &planes, rows, &weight, out + 1, "second");
    must(vv_program_finish(f.program, &(struct vv_program_options){0}, NULL, &e), &e);
    size_t uses, found = stale_uses(f.program, SIZE_MAX, &uses);
    assert_int_equal(found > 0, !again);
    must(vv_program_run(f.program, &e), &e);
    memcpy(y, out, 2 * sizeof *y);
    vv_program_free(f.program);
    d->calls->close(d);
}

static void c023_a_write_between_two_uses(void **state) {
    (void)state;
    float fresh[2], kept[2];
    two_products(true, fresh);
    assert_true(fresh[0] == 96 && fresh[1] == -192);
    two_products(false, kept); /* what the test above would find in a program */
    assert_true(kept[0] == 96 && kept[1] == 96);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(c020_a_large_value_beside_small_ones),
        cmocka_unit_test(c020_what_is_too_large_is_an_error),
        cmocka_unit_test(c020_a_model_with_a_large_value),
        cmocka_unit_test(c022_planes_of_a_million_blocks),
        cmocka_unit_test(c023_programs_prepare_again_after_a_write),
        cmocka_unit_test(c023_a_write_between_two_uses),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

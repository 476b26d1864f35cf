/*
 * Short steps that a GPU launches as chains: which go together, and that they leave the bits of the
 * references, part by part.
 */
#include "op/cache_write/contract.h"
#include "op/quantize_rows/contract.h"
#include "op/rms_norm/contract.h"
#include "op/rope_pairs/contract.h"
#include "op/round_half/contract.h"
#include "program/internal.h"
#include "registry/open.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ROWS = 3, HEADS = 2, DIM = 128, ROTATED = 32, RING = 8, FIRST = 5 };

/* Everything of one side. */
struct side {
    struct vv_program *program;
    struct vv_rms_norm query_norm, key_norm;
    struct vv_rope_pairs rope;
    struct vv_quantize_rows planes;
    struct vv_round_half half;
    struct vv_cache_write keep;
};

static void *zeros(struct side *s, size_t bytes) {
    return s->program ? vv_program_memory(s->program, bytes) : calloc(1, bytes);
}

static float *numbers(struct side *s, size_t n, uint32_t seed) {
    float *x = zeros(s, n * sizeof *x);
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = (float)(int32_t)seed * 0x1p-31f;
    }
    return x;
}

static struct vv_rms_norm norm(struct side *s, const struct vv_window *w, size_t groups,
                               uint32_t seed) {
    float *x = numbers(s, ROWS * groups * DIM, seed);
    return (struct vv_rms_norm){.x = x,
                                .weight = numbers(s, DIM, seed + 1),
                                .y = x,
                                .rows = {&w->rows, 1},
                                .groups = groups,
                                .width = DIM,
                                .x_row = groups * DIM,
                                .x_group = DIM,
                                .y_row = groups * DIM,
                                .y_group = DIM,
                                .eps = 1e-6f};
}

/* The emulated device's memory is the host's. `rotated` values of each of `heads` heads. */
static void fill(struct side *s, const struct vv_window *w, size_t heads, size_t rotated) {
    size_t width = HEADS * DIM, head = width / heads;
    uint64_t *turn = zeros(s, width / 2 * sizeof *turn);
    for (size_t i = 0; i < width / 2; i++) {
        turn[i] = UINT64_MAX / (7 + i);
    }
    s->query_norm = norm(s, w, HEADS, 1);
    s->key_norm = norm(s, w, 1, 3);
    float *q = s->query_norm.y, *key = s->key_norm.y;
    s->rope = (struct vv_rope_pairs){.x = q + head - rotated,
                                     .rows = {&w->rows, 1},
                                     .window = w,
                                     .heads = heads,
                                     .row_stride = width,
                                     .head_stride = head,
                                     .dims = rotated,
                                     .turn = turn};
    s->planes = (struct vv_quantize_rows){
        .planes = {.width = width,
                   .x = q,
                   .fine_q = zeros(s, ROWS * width),
                   .fine_scale = zeros(s, ROWS * width / 32 * sizeof(float)),
                   .fine_sum16 = zeros(s, ROWS * width / 16 * sizeof(int16_t))},
        .rows = {&w->rows, 1}};
    s->half = (struct vv_round_half){key, DIM, {&w->rows, 1}};
    size_t bytes = DIM * sizeof(float);
    s->keep = (struct vv_cache_write){
        .from = key,
        .row_stride = DIM,
        .to = {zeros(s, RING * bytes), RING * bytes, bytes, RING, VV_TYPE_F32, DIM, RING * bytes},
        .window = w,
        .rows = {&w->rows, 1}};
}

static void enter(struct vv_window *w, int32_t rows) {
    w->rows = rows;
    w->sequences = 1;
    w->sequence_begin[0] = 0;
    w->sequence_begin[1] = rows;
    for (int32_t r = 0; r < rows; r++) {
        w->slot[r] = 0;
        w->position[r] = FIRST + r;
        w->before[r] = r - 1;
        w->sequence_row[r] = r;
    }
}

struct device_side {
    struct vv_device *device;
    struct vv_window *window;
    struct side s;
};

static struct device_side recorded(size_t heads, size_t rotated) {
    struct device_side d = {0};
    struct vv_error error = {0};
    struct vv_program_options options = {0};
    assert_int_equal(vv_device_open(VV_DEVICE_CUDA_EMULATED, NULL, &d.device, &error), VV_OK);
    assert_int_equal(vv_program_new(d.device, ROWS, ROWS, &d.s.program, &error), VV_OK);
    struct vv_program *p = d.s.program;
    d.window = vv_program_window(p);
    enter(d.window, ROWS);
    fill(&d.s, d.window, heads, rotated);
    vv_program_add(p, &vv_rms_norm, &d.s.query_norm, "queries");
    vv_program_add(p, &vv_rope_pairs, &d.s.rope, "queries");
    vv_program_add(p, &vv_quantize_rows, &d.s.planes, "queries");
    vv_program_add(p, &vv_rms_norm, &d.s.key_norm, "keys");
    vv_program_add(p, &vv_round_half, &d.s.half, "keys");
    vv_program_add(p, &vv_cache_write, &d.s.keep, "keys");
    assert_int_equal(vv_program_finish(p, &options, NULL, &error), VV_OK);
    enter(d.window, ROWS);
    return d;
}

static void end(struct device_side *d) {
    vv_program_free(d->s.program);
    d->device->calls->close(d->device);
}

/* ---- which go together ---- */

/* All steps wait, in the program's order; what one launch takes of them. */
static size_t take_all(struct device_side *d, struct vv_order *order, struct vv_chain *chains) {
    vv_select_variants(d->s.program);
    order->taken = calloc(d->s.program->count, sizeof *order->taken);
    for (size_t i = 0; i < d->s.program->count; i++) {
        assert_true(vv_may_wait(&d->s.program->steps[i], i));
        vv_wait(order, i);
    }
    return vv_take_chains(d->s.program, order, chains);
}

static void steps_of_the_same_parts(void **state) {
    (void)state;
    struct device_side d = recorded(HEADS, ROTATED);
    struct vv_order order = {0};
    struct vv_chain chains[VV_CHAINS_MOST];
    assert_int_equal(take_all(&d, &order, chains), 2);
    assert_int_equal(chains[0].count, 3); /* norm, rotation, planes */
    assert_int_equal(chains[1].count, 2); /* norm, rounding */
    /* A ring is shared by rows. */
    assert_int_equal(order.waiting, 1);
    assert_int_equal(vv_take_chains(d.s.program, &order, chains), 1);
    assert_ptr_equal(d.s.program->steps[chains[0].step[0].step].operation, &vv_cache_write);
    free(order.taken);
    end(&d);
}

/* A rotation that reaches over two groups of the norm before it. */
static void steps_of_other_parts_wait(void **state) {
    (void)state;
    struct device_side d = recorded(1, DIM + ROTATED);
    struct vv_order order = {0};
    struct vv_chain chains[VV_CHAINS_MOST];
    assert_int_equal(take_all(&d, &order, chains), 2);
    assert_int_equal(chains[0].count, 1);
    assert_int_equal(order.waiting, 3);
    assert_int_equal(vv_take_chains(d.s.program, &order, chains), 2);
    assert_int_equal(chains[0].count, 2); /* rotation, planes */
    free(order.taken);
    end(&d);
}

/* ---- their results ---- */

static void reference(const struct vv_operation *operation, const void *args) {
    assert_int_equal(operation->variants[0].run(args, 0, operation->units(args)), VV_OK);
}

static void same(const struct side *a, const struct side *b, size_t rows) {
    const struct vv_planes *p = &a->planes.planes, *q = &b->planes.planes;
    size_t n = rows * HEADS * DIM;
    assert_memory_equal(a->query_norm.y, b->query_norm.y, n * sizeof(float));
    assert_memory_equal(p->fine_q, q->fine_q, n);
    assert_memory_equal(p->fine_scale, q->fine_scale, n / 32 * sizeof(float));
    assert_memory_equal(p->fine_sum16, q->fine_sum16, n / 16 * sizeof(int16_t));
    assert_memory_equal(a->key_norm.y, b->key_norm.y, rows * DIM * sizeof(float));
    assert_memory_equal(a->keep.to.base, b->keep.to.base, a->keep.to.bytes);
}

static void release(struct side *s) {
    struct vv_planes *p = &s->planes.planes;
    void *all[] = {s->query_norm.y,      (void *)s->query_norm.weight,
                   s->key_norm.y,        (void *)s->key_norm.weight,
                   (void *)s->rope.turn, p->fine_q,
                   p->fine_scale,        p->fine_sum16,
                   s->keep.to.base};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        free(all[i]);
    }
}

static void as_the_references(size_t heads, size_t rotated, int32_t rows) {
    struct device_side d = recorded(heads, rotated);
    struct side cpu = {0};
    struct vv_error error = {0};
    fill(&cpu, d.window, heads, rotated);
    enter(d.window, rows);
    for (int run = 0; run < 3; run++) { /* queued, recorded, played */
        assert_int_equal(vv_program_run(d.s.program, &error), VV_OK);
        reference(&vv_rms_norm, &cpu.query_norm);
        reference(&vv_rope_pairs, &cpu.rope);
        reference(&vv_quantize_rows, &cpu.planes);
        reference(&vv_rms_norm, &cpu.key_norm);
        reference(&vv_round_half, &cpu.half);
        reference(&vv_cache_write, &cpu.keep);
        same(&d.s, &cpu, (size_t)rows);
    }
    release(&cpu);
    end(&d);
}

static void one_row_and_several(void **state) {
    (void)state;
    as_the_references(HEADS, ROTATED, 1);
    as_the_references(HEADS, ROTATED, ROWS);
    as_the_references(1, DIM + ROTATED, ROWS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_of_the_same_parts),
        cmocka_unit_test(steps_of_other_parts_wait),
        cmocka_unit_test(one_row_and_several),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

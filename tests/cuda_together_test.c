/*
 * Steps that a GPU launches as one: the delta rule and the planes of its rows, whose head is as
 * wide as a segment only in models that are too large for tests. Outputs, planes and the state have
 * the bits of the references.
 */
#include "op/gdn_step/contract.h"
#include "op/quantize_rows/contract.h"
#include "program/program.h"
#include "registry/open.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ROWS = 3, HEADS = 2, DIM = 128, KERNEL = 4, RING = 16, FIRST = 5 };
enum { CHANNELS = 2 * DIM + HEADS * DIM, VALUES = HEADS * DIM, STATE = HEADS * DIM * DIM };

/* Where one side keeps everything. */
struct side {
    struct vv_program *program;
    struct vv_gdn_step step;
    struct vv_quantize_rows planes;
};

static void *zeros(struct side *s, size_t bytes) {
    return s->program ? vv_program_memory(s->program, bytes) : calloc(1, bytes);
}

/* Equal on both sides: `seed` names the numbers. */
static float *numbers(struct side *s, size_t n, uint32_t seed) {
    float *x = zeros(s, n * sizeof *x);
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = (float)(int32_t)seed * 0x1p-31f;
    }
    return x;
}

static struct vv_state_view view(uint8_t *base, uint32_t ring, size_t width) {
    size_t bytes = width * sizeof(float), all = (ring ? ring : 1) * bytes;
    return (struct vv_state_view){base, all, bytes, ring, VV_TYPE_F32, width, all};
}

/* The emulated device's memory is the host's. */
static void fill(struct side *s, const struct vv_window *w, enum vv_gdn_mode mode) {
    s->step = (struct vv_gdn_step){
        .qkv = numbers(s, ROWS * CHANNELS, 1),
        .z = numbers(s, ROWS * VALUES, 2),
        .alpha = numbers(s, ROWS * HEADS, 3),
        .beta = numbers(s, ROWS * HEADS, 4),
        .conv = numbers(s, CHANNELS * KERNEL, 5),
        .a = numbers(s, HEADS, 6),
        .dt_bias = numbers(s, HEADS, 7),
        .norm = numbers(s, DIM, 8),
        .state = view((uint8_t *)numbers(s, STATE, 9), 0, STATE),
        .conv_ring = view((uint8_t *)numbers(s, RING * CHANNELS, 10), RING, CHANNELS),
        .gate_ring = view((uint8_t *)numbers(s, RING * 2 * HEADS, 11), RING, 2 * HEADS),
        .work = mode == VV_GDN_VERIFY ? zeros(s, STATE * sizeof(float)) : NULL,
        .y = zeros(s, ROWS * VALUES * sizeof(float)),
        .window = w,
        .key_heads = 1,
        .value_heads = HEADS,
        .key_dim = DIM,
        .value_dim = DIM,
        .kernel = KERNEL,
        .eps = 1e-6f,
        .mode = mode};
    s->planes = (struct vv_quantize_rows){
        .planes = {.width = VALUES,
                   .x = s->step.y,
                   .coarse_q = zeros(s, ROWS * VALUES),
                   .coarse_scale = zeros(s, ROWS * VALUES / 128 * sizeof(float)),
                   .coarse_sum16 = zeros(s, ROWS * VALUES / 16 * sizeof(int16_t)),
                   .fine_q = zeros(s, ROWS * VALUES),
                   .fine_scale = zeros(s, ROWS * VALUES / 32 * sizeof(float)),
                   .fine_sum16 = zeros(s, ROWS * VALUES / 16 * sizeof(int16_t))},
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

static void reference(const struct vv_operation *operation, const void *args) {
    assert_int_equal(operation->variants[0].run(args, 0, operation->units(args)), VV_OK);
}

static void same(const struct side *a, const struct side *b, size_t rows) {
    const struct vv_planes *p = &a->planes.planes, *q = &b->planes.planes;
    size_t n = rows * VALUES;
    assert_memory_equal(a->step.y, b->step.y, n * sizeof(float));
    assert_memory_equal(a->step.state.base, b->step.state.base, STATE * sizeof(float));
    assert_memory_equal(p->coarse_q, q->coarse_q, n);
    assert_memory_equal(p->coarse_scale, q->coarse_scale, n / 128 * sizeof(float));
    assert_memory_equal(p->coarse_sum16, q->coarse_sum16, n / 16 * sizeof(int16_t));
    assert_memory_equal(p->fine_q, q->fine_q, n);
    assert_memory_equal(p->fine_scale, q->fine_scale, n / 32 * sizeof(float));
    assert_memory_equal(p->fine_sum16, q->fine_sum16, n / 16 * sizeof(int16_t));
}

static void release(struct side *s) {
    struct vv_planes *p = &s->planes.planes;
    void *all[] = {(void *)s->step.qkv,
                   (void *)s->step.z,
                   (void *)s->step.alpha,
                   (void *)s->step.beta,
                   (void *)s->step.conv,
                   (void *)s->step.a,
                   (void *)s->step.dt_bias,
                   (void *)s->step.norm,
                   s->step.state.base,
                   s->step.conv_ring.base,
                   s->step.gate_ring.base,
                   s->step.work,
                   s->step.y,
                   p->coarse_q,
                   p->coarse_scale,
                   p->coarse_sum16,
                   p->fine_q,
                   p->fine_scale,
                   p->fine_sum16};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        free(all[i]);
    }
}

static void delta_rule_and_planes(enum vv_gdn_mode mode, int32_t rows) {
    struct vv_device *device;
    struct vv_error error = {0};
    struct side gpu = {0}, cpu = {0};
    assert_int_equal(vv_device_open(VV_DEVICE_CUDA_EMULATED, NULL, &device, &error), VV_OK);
    assert_int_equal(vv_program_new(device, ROWS, ROWS, &gpu.program, &error), VV_OK);
    struct vv_window *w = vv_program_window(gpu.program);
    enter(w, ROWS);
    fill(&gpu, w, mode);
    fill(&cpu, w, mode);
    vv_program_add(gpu.program, &vv_gdn_step, &gpu.step, "the rule");
    vv_program_add(gpu.program, &vv_quantize_rows, &gpu.planes, "its planes");
    struct vv_program_options options = {0};
    assert_int_equal(vv_program_finish(gpu.program, &options, NULL, &error), VV_OK);
    enter(w, rows);
    for (int run = 0; run < 3; run++) { /* queued, recorded, played */
        if (vv_program_run(gpu.program, &error) != VV_OK) {
            fail_msg("%s", error.message);
        }
        reference(&vv_gdn_step, &cpu.step);
        reference(&vv_quantize_rows, &cpu.planes);
        same(&gpu, &cpu, (size_t)rows);
    }
    release(&cpu);
    vv_program_free(gpu.program);
    device->calls->close(device);
}

static void one_row_and_several(void **state) {
    (void)state;
    delta_rule_and_planes(VV_GDN_ADVANCE, 1);
    delta_rule_and_planes(VV_GDN_ADVANCE, ROWS);
    delta_rule_and_planes(VV_GDN_VERIFY, ROWS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_row_and_several),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * The read of residual streams that a GPU launches as a whole: all that its steps write has the
 * bits of the references, and one kernel wrote it. `test_cuda_hyper cuda` does the same on a real
 * GPU, of a released model's shape, too.
 */
#include "op/hyper_read/contract.h"
#include "op/quantize_rows/contract.h"
#include "program/program.h"
#include "quant/random.h"
#include "registry/open.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { STEPS = 6, RUNS = 3 };

static enum vv_device_kind kind = VV_DEVICE_CUDA_EMULATED;

struct shape {
    size_t streams, width, rank;
    int down, up, inject; /* types; inject -1: nobody writes */
    bool first;           /* nothing is written before the norm */
    bool u_planes;        /* they are wanted */
    int32_t rows;
    bool whole; /* else it is done step by step */
};

/* Where one side keeps everything. */
struct side {
    struct vv_device *device; /* NULL: the host */
    struct vv_program *program;
    struct vv_weight weight[3];
    struct vv_hyper_norm norm;
    struct vv_quantize_rows h, a, u;
    struct vv_hyper_down down;
    struct vv_hyper_up up;
    void *memory[32];
    size_t count;
};

static void *place(struct side *s, const void *from, size_t bytes) {
    void *at = s->device ? s->device->calls->allocate(s->device, bytes) : calloc(1, bytes);
    assert_non_null(at);
    if (from && s->device) {
        s->device->calls->write(s->device, at, from, bytes);
    } else if (from) {
        memcpy(at, from, bytes);
    }
    return s->memory[s->count++] = at;
}

static float *numbers(struct side *s, size_t n, uint64_t seed) {
    float *x = malloc(n * sizeof *x);
    assert_non_null(x);
    vv_random_normals(seed, 0, 1, x, n);
    float *at = place(s, x, n * sizeof *x);
    free(x);
    return at;
}

/* In the order that the side multiplies. */
static struct vv_weight *weight(struct side *s, int which, int type, size_t width, size_t rows) {
    const struct vv_format *f = vv_format(type);
    struct vv_weight *w = &s->weight[which];
    size_t blocks = rows * width / f->block_values, bytes = blocks * f->block_bytes;
    uint8_t *data = malloc(bytes);
    assert_non_null(data);
    vv_random_blocks(f, 50 + (uint64_t)which, 0.05f, 0, data, blocks);
    *w = (struct vv_weight){.name = "random",
                            .type = type,
                            .width = width,
                            .rows = rows,
                            .slices = 1,
                            .row_bytes = width / f->block_values * f->block_bytes,
                            .data = data};
    if (s->device) {
        size_t split = s->device->layout->bytes(w);
        uint8_t *packed = malloc(split);
        assert_non_null(packed);
        s->device->layout->pack(w, packed);
        w->data = place(s, packed, split);
        w->layout = s->device->layout;
        free(packed);
    } else {
        w->data = place(s, data, bytes);
    }
    free(data);
    return w;
}

static struct vv_planes planes(struct side *s, const float *x, size_t width, size_t rows) {
    return (struct vv_planes){.width = width,
                              .x = x,
                              .fine_q = place(s, NULL, rows * width),
                              .fine_scale = place(s, NULL, rows * width / 32 * sizeof(float)),
                              .fine_sum16 = place(s, NULL, rows * width / 16 * sizeof(int16_t))};
}

static void fill(struct side *s, const struct shape *is, const int32_t *rows) {
    size_t wide = is->streams * is->width, n = (size_t)is->rows;
    struct vv_rows all = {rows, 1};
    float *gamma = numbers(s, n * is->streams, 2);
    s->norm = (struct vv_hyper_norm){.x = numbers(s, n * wide, 1),
                                     .o = is->first ? NULL : numbers(s, n * is->width, 3),
                                     .gamma = is->first ? NULL : gamma,
                                     .weight = numbers(s, wide, 4),
                                     .h = place(s, NULL, n * wide * sizeof(float)),
                                     .rows = all,
                                     .streams = is->streams,
                                     .width = is->width,
                                     .eps = 1e-6f};
    s->h = (struct vv_quantize_rows){.planes = planes(s, s->norm.h, wide, n), .rows = all};
    s->down = (struct vv_hyper_down){
        .h = s->h.planes,
        .down = weight(s, 0, is->down, wide, is->rank),
        .inject = is->inject < 0 ? NULL : weight(s, 1, is->inject, wide, is->streams),
        .a = place(s, NULL, n * is->rank * sizeof(float)),
        .gamma = gamma,
        .rows = all,
        .streams = is->streams};
    s->a = (struct vv_quantize_rows){.planes = planes(s, s->down.a, is->rank, n), .rows = all};
    s->up = (struct vv_hyper_up){.a = s->a.planes,
                                 .up = weight(s, 2, is->up, is->rank, wide),
                                 .h = s->norm.h,
                                 .u = place(s, NULL, n * is->width * sizeof(float)),
                                 .rows = all,
                                 .streams = is->streams,
                                 .width = is->width};
    s->u = (struct vv_quantize_rows){.planes = planes(s, s->up.u, is->width, n), .rows = all};
}

struct step {
    const struct vv_operation *operation;
    const void *args;
};
static size_t list_steps(const struct side *s, const struct shape *is, struct step *steps) {
    const struct step all[STEPS] = {{&vv_hyper_norm, &s->norm}, {&vv_quantize_rows, &s->h},
                                    {&vv_hyper_down, &s->down}, {&vv_quantize_rows, &s->a},
                                    {&vv_hyper_up, &s->up},     {&vv_quantize_rows, &s->u}};
    memcpy(steps, all, sizeof all);
    return is->u_planes ? STEPS : STEPS - 1;
}

/* Whatever a step writes. */
static void same(const struct side *gpu, const struct side *cpu, const struct shape *is) {
    struct step mine[STEPS], theirs[STEPS];
    size_t count = list_steps(gpu, is, mine);
    list_steps(cpu, is, theirs);
    for (size_t i = 0; i < count; i++) {
        struct vv_buffer a[VV_BUFFERS_MAX], b[VV_BUFFERS_MAX];
        size_t n = mine[i].operation->buffers(mine[i].args, a);
        assert_int_equal(theirs[i].operation->buffers(theirs[i].args, b), n);
        for (size_t k = 0; k < n; k++) {
            if (a[k].written) {
                void *got = malloc(a[k].bytes);
                assert_non_null(got);
                gpu->device->calls->read(gpu->device, got, a[k].at, a[k].bytes);
                assert_memory_equal(got, b[k].at, b[k].bytes);
                free(got);
            }
        }
    }
}

static void release(struct side *s) {
    for (size_t i = 0; i < s->count; i++) {
        if (s->device) {
            s->device->calls->release(s->device, s->memory[i]);
        } else {
            free(s->memory[i]);
        }
    }
}

/* Kernels that the emulated device starts meanwhile: as many launches as are left of a thousand. */
static uint64_t allow(uint64_t launches) {
    static uint64_t (*refuse)(uint64_t launches);
    if (!refuse) {
        void *module = dlopen(VARVE_EMULATED_MODULE, RTLD_NOW | RTLD_LOCAL);
        assert_non_null(module);
        void *symbol = dlsym(module, "vv_emulated_refuse");
        assert_non_null(symbol);
        memcpy(&refuse, &symbol, sizeof refuse);
    }
    return refuse(launches);
}

static void run(struct side *gpu, uint64_t kernels) {
    enum { MANY = 1000 };
    struct vv_error error = {0};
    if (kernels && kind == VV_DEVICE_CUDA_EMULATED) {
        allow(MANY);
    }
    if (vv_program_run(gpu->program, &error) != VV_OK) {
        fail_msg("%s", error.message);
    }
    if (kernels && kind == VV_DEVICE_CUDA_EMULATED) {
        assert_int_equal(MANY - allow(0), kernels);
    }
}

static void read_streams(const struct shape *is, bool all_barriers) {
    struct vv_error error = {0};
    struct side gpu = {0}, cpu = {0};
    struct step mine[STEPS], theirs[STEPS];
    if (vv_device_open(kind, NULL, &gpu.device, &error) != VV_OK) {
        fail_msg("%s", error.message);
    }
    assert_int_equal(vv_program_new(gpu.device, is->rows, is->rows, &gpu.program, &error), VV_OK);
    struct vv_window *w = vv_program_window(gpu.program);
    fill(&gpu, is, &w->rows);
    fill(&cpu, is, &w->rows);
    size_t count = list_steps(&gpu, is, mine);
    list_steps(&cpu, is, theirs);
    for (size_t i = 0; i < count; i++) {
        vv_program_add(gpu.program, mine[i].operation, mine[i].args, "a step");
    }
    struct vv_program_options options = {.all_barriers = all_barriers};
    if (vv_program_finish(gpu.program, &options, NULL, &error) != VV_OK) {
        fail_msg("%s", error.message);
    }
    w->rows = is->rows;
    w->sequences = w->outputs = 1;
    for (int turn = 0; turn < RUNS; turn++) {      /* queued, recorded, played */
        run(&gpu, turn == 0 && is->whole ? 2 : 0); /* the norm with its planes, and the rest */
        for (size_t i = 0; i < count; i++) {
            const struct vv_operation *o = theirs[i].operation;
            assert_int_equal(o->variants[0].run(theirs[i].args, 0, o->units(theirs[i].args)),
                             VV_OK);
        }
        same(&gpu, &cpu, is);
    }
    vv_program_free(gpu.program);
    release(&cpu);
    release(&gpu);
    gpu.device->calls->close(gpu.device);
}

static const struct shape shapes[] = {
    {4, 256, 64, VV_TYPE_Q8_0, VV_TYPE_Q8_0, VV_TYPE_F32, false, true, 1, true},
    {4, 256, 64, VV_TYPE_Q8_0, VV_TYPE_Q8_0, -1, true, false, 1, true},
    {2, 384, 96, VV_TYPE_Q8_0, VV_TYPE_Q8_0, VV_TYPE_BF16, false, true, 1, true},
    {3, 128, 32, VV_TYPE_Q8_0, VV_TYPE_Q8_0, VV_TYPE_Q8_0, true, true, 1, true},
    {4, 256, 64, VV_TYPE_Q8_0, VV_TYPE_Q8_0, VV_TYPE_F32, false, true, 2, true},
    {2, 384, 96, VV_TYPE_Q8_0, VV_TYPE_Q8_0, VV_TYPE_F16, true, false, 3, true},
    {3, 128, 32, VV_TYPE_Q8_0, VV_TYPE_Q8_0, VV_TYPE_Q8_0, false, true, 3, true},
    {4, 256, 64, VV_TYPE_Q8_0, VV_TYPE_Q8_0, VV_TYPE_F32, false, true, 4, false},
    {4, 256, 64, VV_TYPE_Q8_0, VV_TYPE_F32, VV_TYPE_F32, false, true, 1, false},
    {4, 96, 32, VV_TYPE_Q8_0, VV_TYPE_Q8_0, VV_TYPE_F32, false, true, 1, false},
};

static void a_row(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        read_streams(&shapes[i], i % 2);
    }
}

static void of_a_released_model(void **state) {
    (void)state;
    struct shape is = {4, 2560, 320, VV_TYPE_Q8_0, VV_TYPE_Q8_0, VV_TYPE_F32, false, true, 1, true};
    for (int turn = 0; kind == VV_DEVICE_CUDA && turn < 5; turn++) {
        is.u_planes = turn != 1;
        is.rows = turn < 2 ? 1 : turn;
        read_streams(&is, false);
    }
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row),
        cmocka_unit_test(of_a_released_model),
    };
    kind = argc > 1 && strcmp(argv[1], "cuda") == 0 ? VV_DEVICE_CUDA : kind;
    return cmocka_run_group_tests(tests, NULL, NULL);
}

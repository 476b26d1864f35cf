/* Layers of several steps, as a program runs them: what they take together. */
#include "device/launch.h"
#include "quant/format.h"
#include "tune/bench_internal.h"
#include "tune/series.h"

#include <stdlib.h>
#include <string.h>

enum { LAYERS_MOST = 48, ROWS_OF_ALL = 8 * LAYERS_MOST, RUNS_MOST = 1 << 16 };
enum { FIRST = 100 }; /* the position at which a window begins */
static const double round_seconds = 4e-3;

struct vv_bench_timed {
    struct vv_program *program;
    const char *variant;
    int32_t rows;
    size_t layers, runs; /* of the program; in a round */
    double seconds[VV_SAMPLES_MAX];
};

/* ---- what folders see ---- */

int32_t vv_bench_rows_within(const struct vv_bench *bench, int32_t least, int32_t most) {
    int32_t rows, found = 0;
    for (size_t i = 0; (rows = vv_bench_rows(bench, i)) != 0; i++) {
        found = rows >= least && rows <= most && rows > found ? rows : found;
    }
    return found;
}

size_t vv_bench_layer_count(const struct vv_bench *bench, size_t bytes) {
    size_t count = vv_bench_set_bytes(bench) / bytes + 1;
    return count < LAYERS_MOST ? count : LAYERS_MOST;
}

/* The first one is random, the others have the same numbers elsewhere. */
struct vv_weight *vv_bench_weights(struct vv_bench *bench, int type, size_t width, size_t rows,
                                   size_t layers) {
    const size_t line = 256;
    const struct vv_layout *layout = bench->device->layout;
    struct vv_weight *first = vv_check_weight(&bench->check, type, width, rows, 1);
    struct vv_weight *all = vv_check_memory(&bench->check, layers * sizeof *all);
    size_t bytes = layout ? layout->bytes(first) : rows * first->row_bytes;
    size_t stride = (bytes + line - 1) / line * line;
    uint8_t *data = vv_check_memory(&bench->check, layers * stride);
    if (layout) {
        layout->pack(first, data);
    } else {
        memcpy(data, first->data, bytes);
    }
    for (size_t i = 0; i < layers; i++) {
        all[i] = *first;
        all[i].layout = layout;
        all[i].data = data + i * stride;
        if (i > 0) {
            memcpy(data + i * stride, data, bytes);
        }
    }
    return all;
}

const struct vv_window *vv_bench_window(const struct vv_bench *bench) {
    return vv_program_window(bench->recorded);
}

void vv_bench_step(struct vv_bench *bench, const struct vv_operation *operation, const void *args) {
    vv_program_add(bench->recorded, operation, args, operation->name);
}

/* ---- programs ---- */

void vv_bench_forget_layers(struct vv_bench *bench) {
    for (size_t i = 0; i < bench->timed_count; i++) {
        vv_program_free(bench->timed[i].program);
    }
    free(bench->timed);
    bench->timed = NULL;
    bench->timed_count = 0;
}

/* Rows of one sequence, in the midst of it. */
static void enter(struct vv_window *w, int32_t rows) {
    w->rows = rows;
    w->sequences = w->outputs = 1;
    w->sequence_begin[0] = 0;
    w->sequence_begin[1] = rows;
    for (int32_t r = 0; r < rows; r++) {
        w->slot[r] = 0;
        w->position[r] = FIRST + r;
        w->before[r] = r - 1;
        w->sequence_row[r] = r;
    }
}

/* Of long windows fewer layers: they leave the caches by themselves, and take their time. */
static size_t layers_for(const struct vv_bench_layers *layers, int32_t rows) {
    size_t most = rows < ROWS_OF_ALL ? (size_t)(ROWS_OF_ALL / rows) : 1;
    return layers->count < most ? layers->count : most;
}

/* States a program, and runs it until a device that records windows has done so. */
static int add(struct vv_bench *b, const struct vv_bench_layers *layers, int32_t rows, bool apart) {
    enum { RUNS_BEFORE = 2 }; /* the second one is recorded */
    const struct vv_program_options options = {.all_barriers = apart};
    struct vv_bench_timed *t = &b->timed[b->timed_count];
    int code = vv_program_new(b->device, rows, 1, &t->program, b->error);
    if (code != VV_OK) {
        return code;
    }
    b->timed_count++;
    b->recorded = t->program;
    t->variant = apart ? layers->apart : layers->way;
    t->rows = rows;
    t->layers = layers_for(layers, rows);
    t->runs = 1;
    for (size_t i = 0; i < t->layers; i++) {
        layers->record(b, layers->context, i);
    }
    code = vv_program_finish(t->program, &options, NULL, b->error);
    enter(vv_program_window(t->program), rows);
    for (int i = 0; i < RUNS_BEFORE && code == VV_OK; i++) {
        code = vv_program_run(t->program, b->error);
    }
    return code;
}

static int add_all(struct vv_bench *b, const struct vv_bench_layers *layers) {
    size_t room = 2 * b->options->row_count + 1;
    int code = VV_OK;
    b->timed = calloc(room, sizeof *b->timed);
    if (!b->timed) {
        return vv_fail_memory(b->error, room * sizeof *b->timed, "programs to be measured");
    }
    for (size_t i = 0; code == VV_OK && vv_bench_rows(b, i); i++) {
        int32_t rows = vv_bench_rows(b, i);
        if (rows >= layers->least && rows <= layers->most) {
            code = add(b, layers, rows, false);
            code = code == VV_OK && layers->apart ? add(b, layers, rows, true) : code;
        }
    }
    return code;
}

/* ---- rounds ---- */

/* As many runs as make a round long enough to be timed. */
static int set_runs(struct vv_bench *b, struct vv_bench_timed *t) {
    double took = 0;
    int code = VV_OK;
    while (code == VV_OK && t->runs < RUNS_MOST) {
        code = vv_program_seconds(t->program, t->runs, &took, b->error);
        if (took * (double)t->runs >= round_seconds) {
            break;
        }
        t->runs *= 2;
    }
    return code;
}

static int run_rounds(struct vv_bench *b) {
    const struct vv_bench_lines_options *o = b->options;
    int code = VV_OK;
    for (size_t i = 0; i < b->timed_count && code == VV_OK; i++) {
        code = set_runs(b, &b->timed[i]);
    }
    for (uint32_t round = 0; round < o->rounds && !b->ended && code == VV_OK; round++) {
        for (size_t i = 0; i < b->timed_count && code == VV_OK; i++) {
            struct vv_bench_timed *t = &b->timed[i];
            code = vv_program_seconds(t->program, t->runs, &t->seconds[round], b->error);
            t->seconds[round] /= (double)t->layers;
        }
        b->ended = o->going_on && !o->going_on(o->context);
    }
    return code;
}

static void tell(const struct vv_bench *b, const struct vv_bench_layers *layers) {
    const struct vv_bench_lines_options *o = b->options;
    for (size_t i = 0; i < b->timed_count && !b->ended; i++) {
        const struct vv_bench_timed *t = &b->timed[i];
        const struct vv_bench_line line = {
            .operation = layers->name,
            .variant = t->variant,
            .shape = layers->shape,
            .rows = (uint32_t)t->rows,
            .seconds = t->seconds,
            .rounds = o->rounds,
            .bytes = (double)vv_program_bytes(t->program) / (double)t->layers,
            .operations = layers->work.operations * t->rows,
            .int8 = layers->work.int8,
            .rule = true,
            .type = -1,
        };
        o->line(o->context, &line);
    }
}

void vv_bench_layers(struct vv_bench *bench, const struct vv_bench_layers *layers) {
    int code = add_all(bench, layers);
    code = code == VV_OK ? run_rounds(bench) : code;
    if (code != VV_OK) {
        bench->ended = true;
        bench->code = code;
    }
    tell(bench, layers);
    vv_bench_forget_layers(bench);
    vv_check_reset(&bench->check);
}

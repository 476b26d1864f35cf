#include "base/clock.h"
#include "device/launch.h"
#include "tune/bench_internal.h"
#include "tune/cache.h"
#include "tune/series.h"

#include <stdlib.h>
#include <string.h>

enum { RECORDED = 32 };
enum { VARIANTS_MOST = 24, ORDERS_MOST = 8, COPIES_MOST = 4096, CALLS_MOST = 1 << 20 };
static const double round_seconds = 4e-3;
static const size_t set_most = (size_t)512 << 20;
static const size_t device_cache = (size_t)64 << 20; /* more than GPUs have */

/* The weights in one of the orders that variants want, copy after copy. */
struct order {
    const struct vv_layout *layout;
    uint8_t *data[VV_WEIGHTS_MAX]; /* [copies][bytes] */
    size_t bytes[VV_WEIGHTS_MAX];
};

struct candidate {
    const struct vv_variant *variant;
    const struct order *order;
    size_t calls;
    void *recording; /* on a device that launches kernels: RECORDED calls */
    void *scratch;
    double seconds[VV_SAMPLES_MAX];
};

struct bench_case {
    struct vv_bench *bench;
    const struct vv_operation *operation;
    const void *args;
    struct vv_weight *weights[VV_WEIGHTS_MAX];
    struct vv_weight original[VV_WEIGHTS_MAX];
    size_t weight_count, copies, next; /* the copy that comes next */
    struct order orders[ORDERS_MOST];
    size_t order_count;
    struct candidate *candidates; /* [VARIANTS_MOST] */
    size_t candidate_count;
    const struct candidate *running;
    _Atomic int failed;
};

/* ---- what folders see ---- */

struct vv_check *vv_bench_check(struct vv_bench *bench) {
    return &bench->check;
}

int32_t vv_bench_rows(const struct vv_bench *bench, size_t i) {
    return i < bench->options->row_count ? (int32_t)bench->options->rows[i] : 0;
}

static bool named(const struct vv_bench_lines_options *o, const char *folder, const char *name) {
    for (size_t i = 0; i < o->name_count; i++) {
        if (strcmp(o->names[i], folder) == 0 || strcmp(o->names[i], name) == 0) {
            return true;
        }
    }
    return o->name_count == 0;
}

bool vv_bench_wants(struct vv_bench *bench, const struct vv_operation *operation,
                    const char *shape) {
    const struct vv_bench_lines_options *o = bench->options;
    return !bench->ended && !o->layers && named(o, bench->folder->name, operation->name) &&
           (!o->shape || strstr(shape, o->shape));
}

bool vv_bench_wants_layers(struct vv_bench *bench, const char *shape) {
    const struct vv_bench_lines_options *o = bench->options;
    return !bench->ended && o->layers && named(o, bench->folder->name, bench->folder->name) &&
           (!o->shape || strstr(shape, o->shape));
}

bool vv_bench_on_host(const struct vv_bench *bench) {
    return !bench->device->launcher;
}

/* ---- weights ---- */

static void show_copy(struct bench_case *c, const struct order *order, size_t copy) {
    for (size_t i = 0; i < c->weight_count; i++) {
        c->weights[i]->data = order->data[i] + copy * order->bytes[i];
        c->weights[i]->layout = order->layout;
    }
}

static void restore_weights(struct bench_case *c) {
    for (size_t i = 0; i < c->weight_count; i++) {
        *c->weights[i] = c->original[i];
    }
}

static size_t bytes_in(const struct vv_weight *w, const struct vv_layout *layout) {
    return layout ? layout->bytes(w) : w->slices * w->rows * w->row_bytes;
}

size_t vv_bench_set_bytes(const struct vv_bench *bench) {
    size_t cache = vv_cache_bytes();
    cache = !vv_bench_on_host(bench) && cache < device_cache ? device_cache : cache;
    return 2 * cache < set_most ? 2 * cache : set_most;
}

/* More copies than caches hold. */
static void count_copies(struct bench_case *c) {
    size_t set = vv_bench_set_bytes(c->bench), one = 0;
    for (size_t i = 0; i < c->weight_count; i++) {
        one += bytes_in(c->weights[i], NULL);
    }
    c->copies = one ? set / one + 1 : 1;
    c->copies = c->copies < COPIES_MOST ? c->copies : COPIES_MOST;
}

static const struct order *order_of(struct bench_case *c, const struct vv_layout *layout) {
    for (size_t i = 0; i < c->order_count; i++) {
        if (c->orders[i].layout == layout) {
            return &c->orders[i];
        }
    }
    if (c->order_count == ORDERS_MOST) {
        return NULL;
    }
    struct order *o = &c->orders[c->order_count++];
    o->layout = layout;
    for (size_t i = 0; i < c->weight_count; i++) {
        size_t bytes = o->bytes[i] = bytes_in(c->weights[i], layout);
        o->data[i] = vv_check_memory(&c->bench->check, c->copies * bytes);
        if (layout) {
            layout->pack(c->weights[i], o->data[i]);
        } else {
            memcpy(o->data[i], c->weights[i]->data, bytes);
        }
        for (size_t copy = 1; copy < c->copies; copy++) {
            memcpy(o->data[i] + copy * bytes, o->data[i], bytes);
        }
    }
    return o;
}

/* ---- calls ---- */

static void take_next_copy(void *context) {
    struct bench_case *c = context;
    c->next = (c->next + 1) % c->copies;
    show_copy(c, c->running->order, c->next);
}

/* As a program's replay does it: each thread its share, then all meet. */
static void run_calls(void *context, struct vv_team *team, unsigned thread) {
    struct bench_case *c = context;
    struct vv_share s = vv_team_share(team, thread, 0);
    size_t units = c->operation->units(c->args);
    size_t begin = units * s.before / s.all, end = units * (s.before + s.own) / s.all;
    for (size_t i = 0; i < c->running->calls; i++) {
        int code = begin < end ? c->running->variant->run(c->args, begin, end) : VV_OK;
        if (code != VV_OK) {
            c->failed = code;
        }
        vv_team_meet(team, take_next_copy, c);
    }
}

/* ---- calls of a device's kernels ---- */

/* One call after another, each on the next copy, as a recording: starting them takes the host
 * longer than they take the device. */
static int record(struct bench_case *c, struct candidate *candidate) {
    struct vv_bench *b = c->bench;
    const struct vv_launcher *launcher = b->device->launcher;
    struct vv_launch launch = {.processors = b->device->processors, .depth = b->check.depth};
    const struct vv_variant *v = candidate->variant;
    if (v->scratch) { /* no memory can be taken while the device records */
        candidate->scratch = vv_check_memory(&b->check, v->scratch(c->args, &launch));
    }
    int code = launcher->begin(b->device, true, &launch, b->error);
    launch.scratch = candidate->scratch;
    for (size_t i = 0; i < RECORDED && code == VV_OK; i++) {
        take_next_copy(c);
        if (v->launch(c->args, &launch) != VV_OK) {
            code = vv_fail(b->error, VV_ERROR_DEVICE, "the GPU refuses to run %s", v->name);
        }
    }
    struct vv_error other;
    int ended = launcher->end(b->device, &candidate->recording, code == VV_OK ? b->error : &other);
    return code == VV_OK ? ended : code;
}

static double seconds_on_device(struct bench_case *c, struct candidate *candidate) {
    struct vv_bench *b = c->bench;
    const struct vv_launcher *launcher = b->device->launcher;
    uint64_t status = UINT64_MAX;
    int code = candidate->recording ? VV_OK : record(c, candidate);
    code = code == VV_OK ? launcher->mark(b->device, 0, b->error) : code;
    size_t plays = (candidate->calls + RECORDED - 1) / RECORDED;
    for (size_t i = 0; i < plays && code == VV_OK; i++) {
        code = launcher->play(b->device, candidate->recording, b->error);
    }
    code = code == VV_OK ? launcher->mark(b->device, 1, b->error) : code;
    code = code == VV_OK ? launcher->wait(b->device, &status, b->error) : code;
    if (code != VV_OK || status != UINT64_MAX) {
        c->failed = code != VV_OK ? code : -(int)(status & 0xff);
        return round_seconds;
    }
    return launcher->seconds(b->device, 0, 1) / (double)(plays * RECORDED);
}

static void forget_recordings(struct bench_case *c) {
    for (size_t i = 0; i < c->candidate_count; i++) {
        if (c->candidates[i].recording) {
            c->bench->device->launcher->forget(c->bench->device, c->candidates[i].recording);
        }
    }
}

static double seconds_of(struct bench_case *c, struct candidate *candidate) {
    c->running = candidate;
    if (!vv_bench_on_host(c->bench)) {
        return seconds_on_device(c, candidate);
    }
    show_copy(c, candidate->order, c->next);
    double began = vv_seconds();
    c->bench->device->calls->run(c->bench->device, run_calls, c);
    return (vv_seconds() - began) / (double)candidate->calls;
}

/* As many calls as make a round long enough to be timed. */
static void set_calls(struct bench_case *c, struct candidate *candidate) {
    candidate->calls = 1;
    seconds_of(c, candidate);
    while (candidate->calls < CALLS_MOST) {
        double took = seconds_of(c, candidate) * (double)candidate->calls;
        if (took >= round_seconds) {
            break;
        }
        double more = took > 0 ? 1.2 * round_seconds / took : 16;
        more = more < 2 ? 2 : more < 16 ? more : 16;
        candidate->calls = (size_t)((double)candidate->calls * more);
    }
}

/* ---- a case ---- */

static bool chosen(const struct bench_case *c, const struct vv_variant *v) {
    const struct vv_bench_lines_options *o = c->bench->options;
    bool wanted = o->variant ? strstr(v->name, o->variant) != NULL : v != c->operation->variants;
    return wanted && vv_variant_runs(v, o->features) && (!v->fits || v->fits(c->args));
}

static void list_candidates(struct bench_case *c) {
    const struct vv_variant *v;
    for (size_t i = 0; (v = vv_variant_at(c->operation, i)) != NULL; i++) {
        if (chosen(c, v) && c->candidate_count < VARIANTS_MOST) {
            const struct order *order = order_of(c, v->layout);
            if (order) {
                struct candidate *candidate = &c->candidates[c->candidate_count++];
                candidate->variant = v;
                candidate->order = order;
                candidate->recording = candidate->scratch = NULL;
            }
        }
    }
}

static void run_rounds(struct bench_case *c) {
    const struct vv_bench_lines_options *o = c->bench->options;
    for (size_t i = 0; i < c->candidate_count; i++) {
        set_calls(c, &c->candidates[i]);
    }
    for (uint32_t round = 0; round < o->rounds && !c->bench->ended; round++) {
        for (size_t i = 0; i < c->candidate_count; i++) {
            c->candidates[i].seconds[round] = seconds_of(c, &c->candidates[i]);
        }
        c->bench->ended = o->going_on && !o->going_on(o->context);
    }
}

/* The last one that reads weights in the order in which the device has them. */
static const struct vv_variant *rule_of(const struct bench_case *c) {
    const struct vv_layout *layout = c->bench->device->layout;
    const struct vv_variant *rule = NULL;
    for (size_t i = 0; i < c->candidate_count; i++) {
        const struct vv_variant *v = c->candidates[i].variant;
        rule = v->exact && (!v->layout || v->layout == layout) ? v : rule;
    }
    return rule;
}

static void tell(const struct bench_case *c, int32_t rows, const char *shape,
                 struct vv_bench_work work) {
    const struct vv_bench_lines_options *o = c->bench->options;
    for (size_t i = 0; i < c->candidate_count && !c->bench->ended; i++) {
        const struct candidate *k = &c->candidates[i];
        const struct vv_bench_line line = {
            .operation = c->operation->name,
            .variant = k->variant->name,
            .shape = shape,
            .rows = (uint32_t)rows,
            .seconds = k->seconds,
            .rounds = o->rounds,
            .bytes = (double)vv_operation_bytes(c->operation, c->args),
            .operations = work.operations,
            .int8 = work.int8,
            .rule = k->variant == rule_of(c),
            .type = c->weight_count ? c->weights[0]->type : -1,
            .inputs = c->weight_count ? c->weights[0]->width : 0,
            .outputs = c->weight_count ? c->weights[0]->rows : 0,
        };
        o->line(o->context, &line);
    }
}

void vv_bench_case(struct vv_bench *bench, const struct vv_operation *operation, const void *args,
                   int32_t rows, const char *shape, struct vv_bench_work work) {
    struct bench_case c = {.bench = bench, .operation = operation, .args = args};
    c.candidates = vv_check_memory(&bench->check, VARIANTS_MOST * sizeof *c.candidates);
    c.weight_count = operation->weights ? operation->weights(args, c.weights) : 0;
    for (size_t i = 0; i < c.weight_count; i++) {
        c.original[i] = *c.weights[i];
    }
    count_copies(&c);
    list_candidates(&c);
    run_rounds(&c);
    forget_recordings(&c);
    restore_weights(&c);
    if (c.failed != VV_OK) {
        bench->ended = true;
        bench->code = vv_fail(bench->error, c.failed, "%s fails with %d on %s, %d rows",
                              operation->name, c.failed, shape, rows);
    }
    tell(&c, rows, shape, work);
    vv_check_reset(&bench->check);
}

/* ---- folders ---- */

static void bench_folder(struct vv_bench *bench, const struct vv_operation_folder *folder) {
    bench->folder = folder;
    bench->check.folder = folder->name;
    bench->check.seed = bench->check.state = bench->options->seed;
    if (setjmp(bench->check.out_of_memory) == 0) {
        folder->bench(bench);
    } else {
        bench->ended = true;
        bench->code = vv_fail(bench->error, VV_ERROR_MEMORY,
                              "no memory for the next case of %s: --shape leaves large ones out",
                              folder->name);
    }
    vv_bench_forget_layers(bench);
    vv_check_reset(&bench->check);
}

static bool has(const struct vv_operation_folder *folder, const char *name) {
    bool found = strcmp(folder->name, name) == 0;
    for (const struct vv_operation *const *o = folder->operations; *o; o++) {
        found = found || strcmp((*o)->name, name) == 0;
    }
    return found && folder->bench;
}

static int check_names(const struct vv_bench_lines_options *o, struct vv_error *error) {
    char list[600] = "";
    for (const struct vv_operation_folder *const *f = vv_operation_folders; *f; f++) {
        if ((*f)->bench && strlen(list) + strlen((*f)->name) + 2 < sizeof list) {
            strcat(strcat(list, " "), (*f)->name);
        }
    }
    for (size_t i = 0; i < o->name_count; i++) {
        const struct vv_operation_folder *const *f = vv_operation_folders;
        while (*f && !has(*f, o->names[i])) {
            f++;
        }
        if (!*f) {
            return vv_fail(error, VV_ERROR_INVALID,
                           "no operation called \"%s\" is measured; there are:%s", o->names[i],
                           list);
        }
    }
    return VV_OK;
}

static int open_device(struct vv_bench *bench) {
    const struct vv_bench_lines_options *o = bench->options;
    const struct vv_cpu_options cpu = {o->threads, o->features, o->numa};
    enum vv_device_kind kind = vv_device_is_host(o->device) ? VV_DEVICE_CPU : o->device;
    int code = vv_device_open(kind, &cpu, &bench->device, bench->error);
    if (code == VV_OK) {
        bench->check.device = vv_bench_on_host(bench) ? NULL : bench->device;
        bench->check.features = bench->device->features;
    }
    return code;
}

int vv_bench_operations(const struct vv_bench_lines_options *options, struct vv_error *error) {
    struct vv_bench_lines_options o = *options;
    struct vv_bench bench = {.options = &o, .error = error};
    if (o.rounds < 1 || o.rounds > VV_SAMPLES_MAX) {
        return vv_fail(error, VV_ERROR_INVALID, "%u rounds are asked for; 1 to %d can be measured",
                       o.rounds, VV_SAMPLES_MAX);
    }
    int code = check_names(&o, error);
    if (code != VV_OK) {
        return code;
    }
    if ((code = open_device(&bench)) != VV_OK) {
        return code;
    }
    o.features = bench.device->features;
    for (const struct vv_operation_folder *const *f = vv_operation_folders; *f; f++) {
        if ((*f)->bench && !bench.ended) {
            bench_folder(&bench, *f);
        }
    }
    bench.device->calls->close(bench.device);
    if (bench.ended && bench.code == VV_OK) {
        return vv_fail(error, VV_ERROR_CANCELLED, "the measurement was ended early");
    }
    return bench.code;
}

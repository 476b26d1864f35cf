#include "registry/check.h"
#include "base/math.h"
#include "device/launch.h"
#include "registry/check_internal.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { POISON = 0xA5, CASE_TEXT = 240 };

bool vv_check_quick(const struct vv_check *check) {
    return check->quick;
}

/* ---- random numbers: splitmix64 ---- */

uint64_t vv_check_random(struct vv_check *check) {
    uint64_t v = check->state += 0x9E3779B97F4A7C15u;
    v = (v ^ v >> 30) * 0xBF58476D1CE4E5B9u;
    v = (v ^ v >> 27) * 0x94D049BB133111EBu;
    return v ^ v >> 31;
}

size_t vv_check_below(struct vv_check *check, size_t n) {
    return (size_t)(vv_check_random(check) % n);
}

float vv_check_uniform(struct vv_check *check, float low, float high) {
    return low + (high - low) * ((float)(vv_check_random(check) >> 40) * 0x1p-24f);
}

float vv_check_normal(struct vv_check *check) {
    float sum = -6.0f; /* of 12 uniform numbers: near enough */
    for (int i = 0; i < 12; i++) {
        sum += vv_check_uniform(check, 0.0f, 1.0f);
    }
    return sum;
}

/* ---- memory with a guard page behind it ---- */

/* A device's own tools watch its memory: no guard page here. */
static void *shared_memory(struct vv_check *check, size_t bytes) {
    const struct vv_launcher *launcher = check->device->launcher;
    struct vv_check_block *block = malloc(sizeof *block);
    void *at = launcher->share(check->device, bytes ? bytes : 1);
    if (!block || !at) {
        free(block);
        longjmp(check->out_of_memory, 1);
    }
    *block = (struct vv_check_block){check->blocks, at, 0};
    check->blocks = block;
    memset(at, POISON, bytes);
    return at;
}

void *vv_check_memory(struct vv_check *check, size_t bytes) {
    if (check->device) {
        return shared_memory(check, bytes);
    }
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t room = (bytes + 64 + page - 1) / page * page, map_bytes = room + page;
    struct vv_check_block *block = malloc(sizeof *block);
    uint8_t *map =
        mmap(NULL, map_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!block || map == MAP_FAILED || mprotect(map + room, page, PROT_NONE) != 0) {
        free(block);
        longjmp(check->out_of_memory, 1);
    }
    *block = (struct vv_check_block){check->blocks, map, map_bytes};
    check->blocks = block;
    memset(map, POISON, room);
    /* Ends at the guard page, but for what the alignment of a float needs. */
    return map + (room - bytes) / 4 * 4;
}

void vv_check_reset(struct vv_check *check) {
    while (check->blocks) {
        struct vv_check_block *block = check->blocks;
        check->blocks = block->next;
        if (block->map_bytes) {
            munmap(block->map, block->map_bytes);
        } else {
            check->device->launcher->unshare(check->device, block->map);
        }
        free(block);
    }
    check->depth = 0;
}

float *vv_check_floats(struct vv_check *check, size_t n) {
    return vv_check_memory(check, n * sizeof(float));
}

float *vv_check_normals(struct vv_check *check, size_t n) {
    float *x = vv_check_floats(check, n);
    for (size_t i = 0; i < n; i++) {
        x[i] = vv_check_normal(check);
    }
    return x;
}

float *vv_check_adversarial(struct vv_check *check, size_t n) {
    float *x = vv_check_normals(check, n);
    for (size_t i = 0; i < n; i++) {
        switch (vv_check_below(check, 24)) {
        case 0:
            x[i] = 0.0f;
            break;
        case 1:
            x[i] = -0.0f;
            break;
        case 2:
            x[i] *= 0x1p-130f; /* denormal */
            break;
        case 3:
            x[i] *= 1e-30f;
            break;
        case 4:
            x[i] *= 1e15f;
            break;
        default:
            break;
        }
    }
    return x;
}

/* ---- windows ---- */

struct vv_window *vv_check_window(struct vv_check *check, int32_t rows, int32_t sequences,
                                  const int32_t *first, int32_t vocabulary) {
    size_t n = (size_t)rows, s = (size_t)sequences;
    struct vv_window *w = vv_check_memory(check, sizeof *w);
    *w = (struct vv_window){.rows = rows, .sequences = sequences, .outputs = rows};
    int32_t **arrays[] = {&w->token,  &w->position,     &w->slot,
                          &w->before, &w->sequence_row, &w->output_row};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        *arrays[i] = vv_check_memory(check, n * sizeof(int32_t));
    }
    w->sequence_begin = vv_check_memory(check, (s + 1) * sizeof(int32_t));
    int32_t *last = vv_check_memory(check, s * sizeof(int32_t));
    for (size_t i = 0; i < s; i++) {
        last[i] = -1;
    }
    for (int32_t r = 0; r < rows; r++) {
        /* Every sequence has a row; beyond that they mix. */
        size_t slot = r < sequences ? (size_t)r : vv_check_below(check, s);
        w->token[r] = (int32_t)vv_check_below(check, (size_t)vocabulary);
        w->slot[r] = (int32_t)slot;
        w->before[r] = last[slot];
        w->position[r] = last[slot] >= 0 ? w->position[last[slot]] + 1 : first ? first[slot] : 0;
        w->output_row[r] = r;
        last[slot] = r;
        check->depth = w->position[r] >= check->depth ? w->position[r] + 1 : check->depth;
    }
    int32_t at = 0;
    for (int32_t i = 0; i < sequences; i++) {
        w->sequence_begin[i] = at;
        for (int32_t r = 0; r < rows; r++) {
            if (w->slot[r] == i) {
                w->sequence_row[at++] = r;
            }
        }
    }
    w->sequence_begin[sequences] = at;
    return w;
}

/* ---- verdicts ---- */

void vv_check_fail(struct vv_check *check, const char *format, ...) {
    char line[600];
    int n = snprintf(line, sizeof line, "%s (seed %llu): ", check->folder,
                     (unsigned long long)check->seed);
    va_list list;
    va_start(list, format);
    vsnprintf(line + n, sizeof line - (size_t)n, format, list);
    va_end(list);
    check->failed++;
    if (check->report) {
        check->report(check->context, line);
    }
}

void vv_check_true(struct vv_check *check, bool ok, const char *what, ...) {
    char text[CASE_TEXT];
    va_list list;
    va_start(list, what);
    vsnprintf(text, sizeof text, what, list);
    va_end(list);
    if (ok) {
        check->passed++;
    } else {
        vv_check_fail(check, "%s", text);
    }
}

void vv_check_misreading(struct vv_check *check, const char *name, const float *right,
                         const float *wrong, size_t n, double least) {
    double largest = 0, far = 0;
    for (size_t i = 0; i < n; i++) {
        double r = fabs((double)right[i]), d = fabs((double)right[i] - (double)wrong[i]);
        largest = r > largest ? r : largest;
        far = d > far || isnan(d) ? (isnan(d) ? (double)INFINITY : d) : far;
    }
    if (far > least * largest && far > 0) {
        check->passed++;
    } else {
        vv_check_fail(check, "blind to the misreading \"%s\" (differs by %g of %g)", name, far,
                      largest);
    }
}

/* ---- one case on every variant ---- */

/* Copies of the operation's buffers: as they were before, and as the reference left them. */
struct snapshot {
    struct vv_buffer buffer[VV_BUFFERS_MAX];
    size_t count;
    uint8_t *before[VV_BUFFERS_MAX], *after[VV_BUFFERS_MAX];
};

static void save(struct vv_check *check, const struct snapshot *s, uint8_t *const *to) {
    (void)check;
    for (size_t i = 0; i < s->count; i++) {
        memcpy(to[i], s->buffer[i].at, s->buffer[i].bytes);
    }
}

static void take(struct vv_check *check, const struct vv_operation *operation, const void *args,
                 struct snapshot *s) {
    s->count = operation->buffers(args, s->buffer);
    for (size_t i = 0; i < s->count; i++) {
        s->before[i] = vv_check_memory(check, s->buffer[i].bytes);
        s->after[i] = vv_check_memory(check, s->buffer[i].bytes);
    }
    save(check, s, s->before);
}

/* Inputs as they were, outputs poisoned. */
static void prepare(const struct snapshot *s) {
    for (size_t i = 0; i < s->count; i++) {
        const struct vv_buffer *b = &s->buffer[i];
        if (b->written) {
            memcpy((void *)(uintptr_t)b->at, s->before[i], b->bytes);
        }
    }
    for (size_t i = 0; i < s->count; i++) {
        const struct vv_buffer *b = &s->buffer[i];
        if (b->written && !b->read) {
            memset((void *)(uintptr_t)b->at, POISON, b->bytes);
        }
    }
}

/* All units, cut where threads might cut them, the pieces in random order of two halves. */
static int run_in_pieces(struct vv_check *check, const struct vv_variant *v, const void *args,
                         size_t units) {
    size_t cut = units > 1 ? vv_check_below(check, units + 1) : 0;
    int error = v->run(args, cut, units); /* the later piece first: no order is promised */
    for (size_t at = 0; at < cut && error == VV_OK;) {
        size_t end = at + 1 + vv_check_below(check, cut - at);
        error = v->run(args, at, end);
        at = end;
    }
    return error;
}

/* Puts the weights of `args` into the variant's order, or back. */
static void order_weights(struct vv_check *check, const struct vv_operation *operation,
                          const void *args, const struct vv_layout *layout,
                          struct vv_weight *saved) {
    struct vv_weight *weights[VV_WEIGHTS_MAX];
    size_t n = operation->weights ? operation->weights(args, weights) : 0;
    for (size_t i = 0; i < n; i++) {
        saved[i] = *weights[i];
        if (layout) {
            uint8_t *to = vv_check_memory(check, layout->bytes(weights[i]));
            layout->pack(weights[i], to);
            weights[i]->data = to;
            weights[i]->layout = layout;
        }
    }
}

static void restore_weights(const struct vv_operation *operation, const void *args,
                            const struct vv_weight *saved) {
    struct vv_weight *weights[VV_WEIGHTS_MAX];
    size_t n = operation->weights ? operation->weights(args, weights) : 0;
    for (size_t i = 0; i < n; i++) {
        *weights[i] = saved[i];
    }
}

/* All units at once, as a device runs them. */
static int run_launched(struct vv_check *check, const struct vv_variant *v, const void *args) {
    struct vv_device *device = check->device;
    struct vv_launch launch = {.depth = check->depth};
    struct vv_error error;
    uint64_t status = 0;
    int code = device->launcher->begin(device, false, &launch, &error);
    if (code == VV_OK && v->scratch) {
        launch.scratch = vv_check_memory(check, v->scratch(args, &launch));
    }
    code = code == VV_OK ? v->launch(args, &launch) : code;
    int ended = device->launcher->end(device, NULL, &error);
    code = code == VV_OK ? ended : code;
    ended = device->launcher->wait(device, &status, &error);
    code = code == VV_OK ? ended : code;
    return code == VV_OK && status != UINT64_MAX ? -(int)(status & 0xff) : code;
}

static int run_whole(struct vv_check *check, const struct vv_variant *v, const void *args,
                     size_t units) {
    return v->launch ? run_launched(check, v, args) : v->run(args, 0, units);
}

/* Of a kind are a variant's cases with weights of the same formats and about as much memory. */
static uint64_t kind_of(const struct vv_operation *operation, const struct vv_variant *v,
                        const void *args) {
    struct vv_buffer buffers[VV_BUFFERS_MAX];
    struct vv_weight *weights[VV_WEIGHTS_MAX];
    uint64_t key = (uint64_t)(uintptr_t)v, bytes = 0, size = 0;
    for (size_t i = operation->buffers(args, buffers); i-- > 0;) {
        bytes += buffers[i].bytes;
    }
    while (bytes >>= 4) {
        size++;
    }
    for (size_t i = operation->weights ? operation->weights(args, weights) : 0; i-- > 0;) {
        key = key * 0x9e3779b97f4a7c15u + (uint64_t)weights[i]->type + 1;
    }
    key = key * 0x9e3779b97f4a7c15u + size;
    return key ? key : 1;
}

/* Whether there were not enough of its kind yet; counts it. */
static bool another(struct vv_check *check, uint64_t key) {
    for (size_t i = 0; i < VV_CASE_KINDS; i++) {
        struct vv_case_kind *k = &check->kinds[(key + i) % VV_CASE_KINDS];
        if (k->key == 0 || k->key == key) {
            k->key = key;
            return k->count++ < check->cases;
        }
    }
    return true;
}

static bool wanted(struct vv_check *check, const struct vv_operation *operation,
                   const struct vv_variant *v, const void *args) {
    return vv_variant_runs(v, check->features) && (!v->fits || v->fits(args)) &&
           (!check->filter || strstr(v->name, check->filter)) &&
           (check->cases == 0 || another(check, kind_of(operation, v, args)));
}

/* Which NaN an operation makes is the processor's affair, and nothing here depends on it; an NVIDIA
 * GPU makes this one. */
enum { DEVICE_NAN = 0x7fffffff };

static bool same_byte(const struct vv_check *check, const uint8_t *got, const uint8_t *want,
                      size_t at) {
    uint32_t a;
    float b;
    if (got[at] == want[at]) {
        return true;
    }
    at -= at % sizeof a;
    memcpy(&a, got + at, sizeof a);
    memcpy(&b, want + at, sizeof b);
    return check->device && a == DEVICE_NAN && isnan(b);
}

static void compare(struct vv_check *check, const struct vv_variant *v, const struct snapshot *s,
                    const char *text) {
    for (size_t i = 0; i < s->count; i++) {
        const uint8_t *got = s->buffer[i].at;
        if (memcmp(got, s->after[i], s->buffer[i].bytes) != 0) {
            size_t at = 0;
            while (at < s->buffer[i].bytes && same_byte(check, got, s->after[i], at)) {
                at++;
            }
            if (at == s->buffer[i].bytes) {
                continue;
            }
            vv_check_fail(check, "%s, %s: buffer %zu differs from the reference at byte %zu of %zu",
                          v->name, text, i, at, s->buffer[i].bytes);
            return;
        }
    }
    check->passed++;
}

void vv_check_variants(struct vv_check *check, const struct vv_operation *operation, void *args,
                       const char *what, ...) {
    char text[CASE_TEXT];
    va_list list;
    va_start(list, what);
    vsnprintf(text, sizeof text, what, list);
    va_end(list);

    struct snapshot s;
    struct vv_weight saved[VV_WEIGHTS_MAX];
    take(check, operation, args, &s);
    prepare(&s);
    size_t units = operation->units(args);
    int error = operation->variants->run(args, 0, units);
    if (error != VV_OK) {
        vv_check_fail(check, "%s, %s: the reference fails with %d", operation->name, text, error);
        return;
    }
    save(check, &s, s.after);
    const struct vv_variant *v;
    for (size_t i = 0; (v = vv_variant_at(operation, i)) != NULL; i++) {
        if (!wanted(check, operation, v, args)) {
            continue;
        }
        order_weights(check, operation, args, v->layout, saved);
        prepare(&s);
        error = v->launch ? run_launched(check, v, args) : run_in_pieces(check, v, args, units);
        restore_weights(operation, args, saved);
        if (error != VV_OK) {
            vv_check_fail(check, "%s, %s: fails with %d", v->name, text, error);
        } else {
            compare(check, v, &s, text);
        }
    }
    for (size_t i = 0; i < s.count; i++) { /* leave the reference's outputs */
        if (s.buffer[i].written) {
            memcpy((void *)(uintptr_t)s.buffer[i].at, s.after[i], s.buffer[i].bytes);
        }
    }
}

void vv_check_refuses(struct vv_check *check, const struct vv_operation *operation, void *args,
                      int code, const char *what, ...) {
    char text[CASE_TEXT];
    va_list list;
    va_start(list, what);
    vsnprintf(text, sizeof text, what, list);
    va_end(list);
    struct vv_weight saved[VV_WEIGHTS_MAX];
    size_t units = operation->units(args);
    const struct vv_variant *v;
    for (size_t i = 0; (v = vv_variant_at(operation, i)) != NULL; i++) {
        if (!wanted(check, operation, v, args)) {
            continue;
        }
        order_weights(check, operation, args, v->layout, saved);
        int error = run_whole(check, v, args, units);
        restore_weights(operation, args, saved);
        if (error == code) {
            check->passed++;
        } else {
            vv_check_fail(check, "%s, %s: returns %d, not %d", v->name, text, error, code);
        }
    }
}

/*
 * A program on a device that launches kernels. The window is copied there, then the steps are
 * queued, those of a phase on branches that run side by side. What one window queued serves all
 * windows of the same counts and depth, so it is recorded when it comes a second time, and played
 * from then on: a played recording costs the host one call. Long prompts are queued anew each time,
 * which their kernels hide.
 */
#include "device/launch.h"
#include "program/internal.h"

#include <stdlib.h>
#include <string.h>

enum { RECORDINGS = 48, RECORDED_ROWS_MOST = 64, BRANCHES = 4, DEPTH_LEAST = 256 };

/* Of so few rows steps are queued one behind the other: each is launched, and asks for its weights,
 * while those in front of it run, which gives more than running side by side. */
enum { CHAINED_ROWS_MOST = 8 };

/* What a launch may depend on. */
struct key {
    int32_t rows, outputs, draws, sequences, depth;
    int32_t beside_rows, beside_outputs, beside_sequences, beside_depth;
};

struct recording {
    struct key key;
    void *played;  /* the device's; NULL: seen once */
    uint64_t used; /* when, for the oldest to make room */
};

struct vv_launched {
    const struct vv_program *beside;
    struct vv_window *image; /* host: the window with the device's addresses */
    uint8_t *window;         /* device */
    uint8_t *scratch;        /* device; each phase deals it out anew */
    size_t scratch_bytes;
    bool no_recordings;
    struct recording recordings[RECORDINGS];
    uint64_t clock;
};

int vv_launched_new(struct vv_program *program, const struct vv_program_options *options,
                    struct vv_error *error) {
    struct vv_launched *l = calloc(1, sizeof *l);
    size_t bytes = vv_window_bytes(program);
    if (!l) {
        return vv_fail_memory(error, sizeof *l, "a program");
    }
    program->launched = l;
    l->beside = options->beside;
    l->no_recordings = options->no_recordings;
    l->image = malloc(bytes);
    l->window = program->device->calls->allocate(program->device, bytes);
    return l->image && l->window ? VV_OK : vv_fail_memory(error, bytes, "a window");
}

static void release(struct vv_program *program, void *at) {
    if (at) {
        program->device->calls->release(program->device, at);
    }
}

static void forget(struct vv_program *program, struct recording *r) {
    if (r->played) {
        program->device->launcher->forget(program->device, r->played);
    }
    *r = (struct recording){0};
}

void vv_launched_free(struct vv_program *program) {
    struct vv_launched *l = program->launched;
    if (!l) {
        return;
    }
    for (size_t i = 0; i < RECORDINGS; i++) {
        forget(program, &l->recordings[i]);
    }
    release(program, l->window);
    release(program, l->scratch);
    free(l->image);
    free(l);
    program->launched = NULL;
}

/* ---- the window ---- */

static void *moved(const struct vv_window *w, const void *at, uint8_t *to) {
    return to + ((const uint8_t *)at - (const uint8_t *)w);
}

static int upload_window(struct vv_program *program, struct vv_error *error) {
    struct vv_launched *l = program->launched;
    const struct vv_window *w = program->window;
    size_t bytes = vv_window_bytes(program);
    memcpy(l->image, w, bytes);
    l->image->token = moved(w, w->token, l->window);
    l->image->position = moved(w, w->position, l->window);
    l->image->slot = moved(w, w->slot, l->window);
    l->image->before = moved(w, w->before, l->window);
    l->image->sequence_begin = moved(w, w->sequence_begin, l->window);
    l->image->sequence_row = moved(w, w->sequence_row, l->window);
    l->image->output_row = moved(w, w->output_row, l->window);
    l->image->draw = moved(w, w->draw, l->window);
    l->image->source = moved(w, w->source, l->window);
    return program->device->launcher->upload(program->device, l->window, l->image, bytes, error);
}

/* A power of two above all positions. */
static int32_t depth_of(const struct vv_window *w) {
    int32_t depth = DEPTH_LEAST;
    for (int32_t r = 0; r < w->rows; r++) {
        while (depth <= w->position[r] && depth < INT32_MAX / 2) {
            depth *= 2;
        }
    }
    return depth;
}

static struct key key_of(const struct vv_program *program) {
    const struct vv_window *w = program->window;
    struct key key = {w->rows, w->outputs, w->draws, w->sequences, depth_of(w), 0, 0, 0, 0};
    if (program->launched->beside) {
        const struct vv_window *b = program->launched->beside->window;
        key.beside_rows = b->rows;
        key.beside_outputs = b->outputs;
        key.beside_sequences = b->sequences;
        key.beside_depth = depth_of(b);
    }
    return key;
}

/* ---- queueing ---- */

static struct vv_mirror mirror(const struct vv_program *program) {
    return (struct vv_mirror){(const uint8_t *)program->window, program->launched->window,
                              vv_window_bytes(program)};
}

static size_t aligned(size_t bytes) {
    return (bytes + 255) / 256 * 256;
}

/* Enough for the phase that needs most. */
static int provide_scratch(struct vv_program *program, const struct vv_launch *launch,
                           struct vv_error *error) {
    struct vv_launched *l = program->launched;
    size_t most = 0;
    for (size_t k = 0; k < program->phase_count; k++) {
        size_t bytes = 0;
        for (size_t i = program->phases[k].begin; i < program->phases[k].end; i++) {
            const struct vv_step *s = &program->steps[i];
            bytes += s->variant->scratch ? aligned(s->variant->scratch(s->args, launch)) : 0;
        }
        most = bytes > most ? bytes : most;
    }
    if (most <= l->scratch_bytes) {
        return VV_OK;
    }
    for (size_t i = 0; i < RECORDINGS; i++) {
        forget(program, &l->recordings[i]); /* they know the old one */
    }
    release(program, l->scratch);
    l->scratch = program->device->calls->allocate(program->device, most);
    l->scratch_bytes = l->scratch ? most : 0;
    return l->scratch ? VV_OK : vv_fail_memory(error, most, "the scratch memory of a window");
}

/* The steps of the phase that are launched together with its step `first`, itself the first of
 * them; none: it went with an earlier one. */
static size_t together(const struct vv_program *program, const struct vv_phase *phase, size_t first,
                       struct vv_launched_step *steps /* [VV_TOGETHER_MAX] */) {
    const struct vv_variant *variant = program->steps[first].variant;
    size_t before = 0, count = 0;
    for (size_t i = phase->begin; i < first && variant->launch_all; i++) {
        before += program->steps[i].variant->launch_all == variant->launch_all;
    }
    if (before % VV_TOGETHER_MAX) {
        return 0;
    }
    for (size_t i = first; i < phase->end && count < VV_TOGETHER_MAX; i++) {
        const struct vv_step *s = &program->steps[i];
        if (i == first || (variant->launch_all && s->variant->launch_all == variant->launch_all)) {
            steps[count++] = (struct vv_launched_step){s->args, (uint32_t)i};
        }
    }
    return count;
}

static int start(const struct vv_variant *variant, const struct vv_launched_step *steps,
                 size_t count, const struct vv_launch *launch) {
    return count > 1 ? variant->launch_all(steps, count, launch)
                     : variant->launch(steps->args, launch);
}

/* Where the queue of a phase is: what is left of `scratch`; which branch comes next. */
struct place {
    uint8_t *scratch;
    unsigned branch, branches;
};

/* Gives the next step its scratch memory. */
static void deal_scratch(const struct vv_step *s, struct place *at, struct vv_launch *launch) {
    size_t bytes = s->variant->scratch ? s->variant->scratch(s->args, launch) : 0;
    launch->scratch = at->scratch;
    at->scratch = bytes > 0 ? at->scratch + aligned(bytes) : at->scratch; /* there may be none */
}

static int refused(const struct vv_step *s, struct vv_error *error) {
    return vv_fail(error, VV_ERROR_DEVICE, "%s (%s): the GPU refuses to run %s", s->what,
                   s->operation->name, s->variant->name);
}

/* Queues one launch of steps that wait. */
static int queue_chains(struct vv_program *program, struct vv_order *order,
                        struct vv_launch *launch, struct vv_error *error) {
    struct vv_chain chains[VV_CHAINS_MOST];
    size_t count = vv_take_chains(program, order, chains);
    const struct vv_step *s = &program->steps[chains[0].step[0].step];
    int code = program->device->launcher->branch(program->device, 0, launch, error);
    if (code != VV_OK) {
        return code;
    }
    launch->step = chains[0].step[0].step;
    launch->scratch = program->launched->scratch;
    code = count == 1 && chains[0].count == 1 ? s->variant->launch(s->args, launch)
                                              : s->variant->chaining->launch(chains, count, launch);
    return code == VV_OK ? VV_OK : refused(s, error);
}

/* Queues what waits and has to come before a step, which is queued among those of `phase`. */
static int queue_before(struct vv_program *program, size_t phase, size_t step,
                        struct vv_order *order, struct vv_launch *launch, struct vv_error *error) {
    int code = VV_OK;
    while (code == VV_OK && vv_waits_for(program, order, step)) {
        vv_look_ahead(program, phase, order);
        code = queue_chains(program, order, launch, error);
    }
    return code;
}

/* Goes to the next branch, where what has to come before the steps is queued; the first one has
 * scratch memory then. */
static int prepare(struct vv_program *program, const struct vv_launched_step *steps, size_t count,
                   struct place *at, struct vv_order *order, struct vv_launch *launch,
                   struct vv_error *error) {
    const struct vv_launcher *launcher = program->device->launcher;
    int code = launcher->branch(program->device, at->branch++ % at->branches, launch, error);
    for (size_t i = 0; i < count && code == VV_OK; i++) {
        code = queue_before(program, program->steps[steps->step].phase, steps[i].step, order,
                            launch, error);
    }
    launch->step = steps->step;
    deal_scratch(&program->steps[steps->step], at, launch);
    return code == VV_OK && program->profile ? launcher->mark(program->device, steps->step, error)
                                             : code;
}

/* Queues a step, or several of its phase at once. */
static int queue_steps(struct vv_program *program, const struct vv_launched_step *steps,
                       size_t count, struct place *at, struct vv_order *order,
                       struct vv_launch *launch, struct vv_error *error) {
    const struct vv_step *s = &program->steps[steps->step];
    int code = prepare(program, steps, count, at, order, launch, error);
    if (code != VV_OK) {
        return code;
    }
    return start(s->variant, steps, count, launch) == VV_OK ? VV_OK : refused(s, error);
}

/* Queues a step with as many behind it as go as a whole, which are taken. VV_ERROR_UNSUPPORTED: it
 * goes alone, and was not queued. */
static int queue_whole(struct vv_program *program, size_t step, struct place *at,
                       struct vv_order *order, struct vv_launch *launch, struct vv_error *error) {
    const struct vv_step *s = &program->steps[step];
    struct place before = *at;
    struct vv_whole whole;
    vv_find_whole(program, step, order, &whole);
    if (whole.count == 1) {
        return VV_ERROR_UNSUPPORTED;
    }
    int code = prepare(program, whole.step, whole.count, at, order, launch, error);
    if (code != VV_OK) {
        return code;
    }
    int started = s->variant->whole->launch(&whole, launch);
    while (started == VV_ERROR_UNSUPPORTED && --whole.count > 1) {
        started = s->variant->whole->launch(&whole, launch);
    }
    if (started == VV_ERROR_UNSUPPORTED) {
        *at = before;
        return VV_ERROR_UNSUPPORTED;
    }
    for (size_t i = 0; i < whole.count; i++) {
        order->taken[whole.step[i].step] = true;
    }
    return started == VV_OK ? VV_OK : refused(s, error);
}

/* Lets a step wait to be launched with others. */
static int let_wait(struct vv_program *program, size_t step, struct vv_order *order,
                    struct vv_launch *launch, struct vv_error *error) {
    int code =
        order->waiting < VV_WAITING_MOST ? VV_OK : queue_chains(program, order, launch, error);
    vv_wait(order, step);
    return code;
}

/* Queues a step of a window of few rows, with all that goes with it. */
static int queue_chained(struct vv_program *program, const struct vv_phase *phase, size_t step,
                         struct place *at, struct vv_order *order, struct vv_launch *launch,
                         struct vv_error *error) {
    const struct vv_step *s = &program->steps[step];
    struct vv_launched_step steps[VV_TOGETHER_MAX];
    int code = s->variant->whole ? queue_whole(program, step, at, order, launch, error)
                                 : VV_ERROR_UNSUPPORTED;
    if (code != VV_ERROR_UNSUPPORTED) {
        return code;
    }
    if (vv_may_wait(s, step)) {
        return let_wait(program, step, order, launch, error);
    }
    size_t count = together(program, phase, step, steps);
    code = count > 0 ? queue_steps(program, steps, count, at, order, launch, error) : VV_OK;
    order->taken[step] = true; /* until then, what it leads to may not wait early */
    return code;
}

/*
 * Of few rows, steps that may take some of the next phases with them are queued behind the phase's
 * others; short ones wait, of one phase with those of the next ones.
 */
static int queue_phase(struct vv_program *program, const struct vv_phase *phase,
                       struct vv_launch *launch, struct vv_order *order, struct vv_error *error) {
    bool chained = program->window->rows <= CHAINED_ROWS_MOST && !program->profile;
    struct place at = {program->launched->scratch, 0, chained || program->profile ? 1 : BRANCHES};
    int code = VV_OK;
    for (int turn = 0; turn < 1 + chained; turn++) {
        for (size_t i = phase->begin; i < phase->end && code == VV_OK; i++) {
            const struct vv_step *s = &program->steps[i];
            struct vv_launched_step one = {s->args, (uint32_t)i};
            bool last = chained && s->variant->whole;
            if (order->taken[i] || last != (turn == 1)) {
                continue;
            }
            code = chained ? queue_chained(program, phase, i, &at, order, launch, error)
                           : queue_steps(program, &one, 1, &at, order, launch, error);
        }
    }
    return code == VV_OK ? program->device->launcher->join(program->device, launch, error) : code;
}

/* All steps, to run at once or (`recording`) to be recorded. */
static int queue(struct vv_program *program, const struct vv_launch *shape, void **recording,
                 struct vv_error *error) {
    const struct vv_launcher *launcher = program->device->launcher;
    struct vv_launch launch = *shape;
    struct vv_order order = {.taken = calloc(program->count + 1, sizeof *order.taken)};
    if (!order.taken) {
        return vv_fail_memory(error, program->count, "the queue of a window");
    }
    int code = launcher->begin(program->device, recording != NULL, &launch, error);
    if (code != VV_OK) {
        free(order.taken);
        return code;
    }
    for (size_t k = 0; k < program->phase_count && code == VV_OK; k++) {
        code = queue_phase(program, &program->phases[k], &launch, &order, error);
    }
    while (code == VV_OK && order.waiting > 0) {
        code = queue_chains(program, &order, &launch, error);
    }
    free(order.taken);
    if (code == VV_OK && program->profile) {
        code = launcher->mark(program->device, program->count, error);
    }
    struct vv_error other;
    int ended = launcher->end(program->device, recording, code == VV_OK ? error : &other);
    return code == VV_OK ? ended : code;
}

/* The recording of such windows, or the place for one. */
static struct recording *find(struct vv_program *program, const struct key *key) {
    struct vv_launched *l = program->launched;
    struct recording *oldest = &l->recordings[0];
    for (size_t i = 0; i < RECORDINGS; i++) {
        struct recording *r = &l->recordings[i];
        if (r->used && memcmp(&r->key, key, sizeof *key) == 0) {
            r->used = ++l->clock;
            return r;
        }
        oldest = r->used < oldest->used ? r : oldest;
    }
    forget(program, oldest);
    oldest->key = *key;
    return oldest;
}

static int play(struct vv_program *program, const struct recording *r, struct vv_error *error) {
    return program->device->launcher->play(program->device, r->played, error);
}

bool vv_program_joins(const struct vv_variant *variant, uint32_t rows) {
    return rows <= CHAINED_ROWS_MOST && (variant->launch_all || variant->whole);
}

struct vv_launch vv_launched_shape(const struct vv_program *program) {
    const struct vv_launched *l = program->launched;
    struct key key = key_of(program);
    struct vv_launch shape = {
        .depth = key.depth > key.beside_depth ? key.depth : key.beside_depth,
        .processors = program->device->processors, /* `scratch` may ask for it, before any queue */
    };
    shape.mirror[0] = mirror(program);
    if (l->beside) {
        shape.mirror[1] = mirror(l->beside);
    }
    return shape;
}

static int queue_or_play(struct vv_program *program, struct vv_error *error) {
    struct vv_launched *l = program->launched;
    struct key key = key_of(program);
    bool record = key.rows <= RECORDED_ROWS_MOST && !l->no_recordings && !program->profile;
    struct recording *r = record ? find(program, &key) : NULL;
    if (r && r->played) {
        return play(program, r, error);
    }
    struct vv_launch shape = vv_launched_shape(program);
    vv_select_variants(program);
    int code = provide_scratch(program, &shape, error);
    bool again = r && r->used; /* worth the recording */
    if (r) {
        program->prepared++;
        r->key = key; /* it may have been forgotten with the scratch memory */
        r->used = ++l->clock;
    }
    if (code != VV_OK || !again) {
        return code == VV_OK ? queue(program, &shape, NULL, error) : code;
    }
    code = queue(program, &shape, &r->played, error);
    return code == VV_OK ? play(program, r, error) : code;
}

/* Brings the result to the host, behind all steps. */
static int download_result(struct vv_program *program, struct vv_error *error) {
    size_t bytes = (size_t)program->window->outputs * program->result_bytes;
    program->result_left = false;
    return program->result_copy && bytes
               ? program->device->launcher->download(program->device, program->result_copy,
                                                     program->result, bytes, error)
               : VV_OK;
}

static bool draws_all(const struct vv_window *w) {
    int32_t drawn = 0;
    for (int32_t i = 0; i < w->outputs; i++) {
        drawn += w->draw[i].wanted;
    }
    return drawn == w->outputs;
}

/* What was drawn; and the result, unless that is all that is asked for. */
static int download(struct vv_program *program, struct vv_error *error) {
    const struct vv_window *w = program->window;
    if (!program->drawn_copy || w->draws == VV_DRAWS_NONE) {
        return download_result(program, error);
    }
    int code =
        program->device->launcher->download(program->device, program->drawn_copy, program->drawn,
                                            (size_t)w->outputs * sizeof *program->drawn, error);
    program->result_left = draws_all(w);
    return code == VV_OK && !program->result_left ? download_result(program, error) : code;
}

int vv_launched_fetch(struct vv_program *program, struct vv_error *error) {
    uint64_t status;
    int code = download_result(program, error);
    return code == VV_OK ? program->device->launcher->wait(program->device, &status, error) : code;
}

/* ---- a run ---- */

/* What the device's status says. */
static int explained(const struct vv_program *program, uint64_t status, struct vv_error *error) {
    return status == UINT64_MAX
               ? VV_OK
               : vv_explain(program, (size_t)(status >> 8), -(int)(status & 0xff), error);
}

static void profile_steps(struct vv_program *program) {
    for (size_t i = 0; i < program->count; i++) {
        double seconds = program->device->launcher->seconds(program->device, i, i + 1);
        vv_profile_add(program, i, (int64_t)(seconds * 1e9));
    }
    vv_profile_end(program, vv_nanoseconds());
}

int vv_launched_seconds(struct vv_program *program, size_t runs, double *seconds,
                        struct vv_error *error) {
    const struct vv_launcher *launcher = program->device->launcher;
    uint64_t status = UINT64_MAX;
    int code = launcher->mark(program->device, 0, error);
    for (size_t i = 0; i < runs && code == VV_OK; i++) {
        code = queue_or_play(program, error);
    }
    code = code == VV_OK ? launcher->mark(program->device, 1, error) : code;
    struct vv_error other;
    int waited = launcher->wait(program->device, &status, code == VV_OK ? error : &other);
    code = code == VV_OK ? waited : code;
    *seconds = code == VV_OK ? launcher->seconds(program->device, 0, 1) : 0;
    return code == VV_OK ? explained(program, status, error) : code;
}

int vv_launched_run(struct vv_program *program, struct vv_error *error) {
    uint64_t status = UINT64_MAX;
    if (program->profile) {
        vv_profile_begin(program);
    }
    int code = upload_window(program, error);
    code = code == VV_OK ? queue_or_play(program, error) : code;
    code = code == VV_OK ? download(program, error) : code;
    struct vv_error other;
    int waited =
        program->device->launcher->wait(program->device, &status, code == VV_OK ? error : &other);
    code = code == VV_OK ? waited : code;
    if (code == VV_OK && program->profile) {
        profile_steps(program);
    }
    return code == VV_OK ? explained(program, status, error) : code;
}

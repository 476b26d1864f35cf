#include "session/session.h"
#include "op/sample/contract.h"
#include "session/internal.h"
#include "session/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- state ---- */

static int declare_state(struct vv_session *s, struct vv_error *error) {
    struct vv_state_options options = {s->options.kv_type, s->options.rounded_cache,
                                       s->options.mtp};
    s->part_count = s->family->state(s->geometry, &options, NULL);
    s->parts = calloc(s->part_count, sizeof *s->parts);
    s->views = calloc(s->part_count, sizeof *s->views);
    if (s->part_count == 0 || !s->parts || !s->views ||
        s->family->state(s->geometry, &options, s->parts) != s->part_count) {
        return vv_fail_memory(error, s->part_count * sizeof *s->parts, "the list of state parts");
    }
    return VV_OK;
}

static int allocate_state(struct vv_session *s, struct vv_error *error) {
    const struct vv_session_options *o = &s->options;
    for (size_t i = 0; i < s->part_count; i++) {
        struct vv_state_view *v = &s->views[i];
        s->device->calls->layout(s->device, &s->parts[i], o->slots, o->context, VV_VERIFY_ROWS_MAX,
                                 v);
        v->base = s->device->calls->allocate(s->device, v->bytes);
        if (!v->base) {
            return vv_fail_memory(error, v->bytes,
                                  "the state of the sequences (a smaller context needs less)");
        }
    }
    return VV_OK;
}

/* ---- passes ---- */

static void set_up_forward(const struct vv_session *s, enum vv_pass which, struct vv_forward *f) {
    const struct vv_session_options *o = &s->options;
    bool single = which == PASS_DRAFT;
    bool all = which == PASS_VERIFY || (which == PASS_MTP && o->observe); /* rows may be outputs */
    size_t rows = o->window, verify = (size_t)o->slots * VV_VERIFY_ROWS_MAX;
    if (which == PASS_VERIFY || which == PASS_COMMIT) {
        rows = verify < rows ? verify : rows;
    }
    *f = (struct vv_forward){
        .state = s->views,
        .mode = which == PASS_VERIFY   ? VV_VERIFY
                : which == PASS_COMMIT ? VV_COMMIT
                                       : VV_ADVANCE,
        .rows = single ? 1 : rows,
        .outputs = single                     ? 1
                   : all && rows > o->outputs ? rows
                                              : o->outputs,
        .context = o->context,
        .float_activations = o->float_activations,
        .panels = vv_device_is_host(o->device),
        .rounded_cache = o->rounded_cache,
        .index_score = o->index_score,
        .observe = o->observe,
        .mtp = o->mtp,
        .draft = single,
    };
    f->sequences = f->rows < o->slots ? f->rows : o->slots;
}

static void record(const struct vv_session *s, enum vv_pass which, struct vv_forward *f) {
    switch (which) {
    case PASS_COMMIT:
        s->family->commit(s->geometry, s->bound, f);
        break;
    case PASS_MTP:
    case PASS_MTP_COMMIT:
    case PASS_DRAFT:
        s->family->mtp(s->geometry, s->bound, f);
        break;
    default:
        s->family->trunk(s->geometry, s->bound, f);
    }
}

/* Where a copy of the logits would be one to another memory, tokens are drawn behind them. Returns
 * where they are; NULL: nowhere. */
static int32_t *record_draws(const struct vv_session *s, struct vv_forward *f) {
    if (!s->device->launcher || !f->logits) {
        return NULL;
    }
    const struct vv_sample draw = {
        .logits = f->logits,
        .token = vv_program_memory(f->program, f->outputs * sizeof *draw.token),
        .vocabulary = s->facts.vocabulary,
        .window = f->window,
        .rows = vv_output_rows(f, 1),
    };
    vv_step(f, &vv_sample, &draw, "draw");
    return draw.token;
}

int vv_session_pass(struct vv_session *s, enum vv_pass which, struct pass **pass,
                    struct vv_error *error) {
    struct pass *p = *pass = &s->passes[which];
    if (p->program) {
        return VV_OK;
    }
    set_up_forward(s, which, &p->forward);
    const struct vv_forward *trunk = &s->passes[PASS_TRUNK].forward;
    p->forward.wide = trunk->wide;
    p->forward.wide_rows = trunk->wide_rows;
    p->forward.trunk = which == PASS_MTP ? trunk->window : NULL;
    int code = vv_program_new(s->device, (int32_t)p->forward.rows, (int32_t)p->forward.outputs,
                              &p->program, error);
    if (code != VV_OK) {
        return code;
    }
    p->forward.program = p->program;
    p->forward.window = vv_program_window(p->program);
    record(s, which, &p->forward);
    struct vv_program_options options = {
        .all_barriers = s->options.all_barriers,
        .profile = s->options.profile,
        .no_recordings = s->options.no_recordings,
        .beside = which == PASS_MTP ? s->passes[PASS_TRUNK].program : NULL,
        .events = s->options.profile_events,
        .tuning = s->options.tuning,
        .result = p->forward.logits,
        .result_bytes = s->facts.vocabulary * sizeof(float),
        .drawn = record_draws(s, &p->forward),
    };
    code = vv_program_finish(p->program, &options, s->weights, error);
    if (code != VV_OK) {
        vv_program_free(p->program);
        free(p->forward.taps);
        *p = (struct pass){0};
    }
    return code;
}

uint64_t vv_session_prepared(const struct vv_session *s) {
    uint64_t prepared = 0;
    for (size_t i = 0; i < PASSES; i++) {
        prepared += s->passes[i].program ? 1 + vv_program_prepared(s->passes[i].program) : 0;
    }
    return prepared;
}

const struct vv_program *vv_session_program(const struct vv_session *session, size_t index) {
    for (size_t i = 0; i < PASSES; i++) {
        if (session->passes[i].program && index-- == 0) {
            return session->passes[i].program;
        }
    }
    return NULL;
}

/* ---- life ---- */

static int open_device(struct vv_session *s, struct vv_error *error) {
    struct vv_cpu_options cpu = {s->options.threads, s->options.features, s->options.numa};
    return vv_device_open(s->options.device, &cpu, &s->device, error);
}

static const double share_most = 0.9; /* of a device's memory; the rest is for what no plan has */

/* Whether tables go to the host's memory. */
static bool tables_to_host(const struct vv_session *s) {
    const struct vv_session_options *o = &s->options;
    struct vv_session_bytes b;
    struct vv_error ignored;
    if (!s->device || o->tables != VV_TABLES_AUTO || s->device->memory == 0) {
        return o->tables == VV_TABLES_HOST;
    }
    int code = vv_session_measure(s->file, s->family, s->geometry, o, &b, &ignored);
    uint64_t all = b.weights + b.growing + b.fixed + b.activations;
    return code == VV_OK && (double)all > share_most * (double)s->device->memory;
}

uint64_t vv_session_host_tables(const struct vv_session *session) {
    return vv_weights_bytes_in_host(session->weights);
}

static int bind(struct vv_session *s, const struct vv_gguf *file, struct vv_error *error) {
    int code = vv_weights_new(file, s->device, &s->weights, error);
    if (code == VV_OK) {
        if (tables_to_host(s)) {
            vv_weights_tables_to_host(s->weights);
        }
        snprintf(s->draft_block, sizeof s->draft_block, "blk.%zu.", s->facts.layers);
        vv_weights_watch(s->weights, s->options.progress, s->options.progress_context);
        vv_weights_recode(s->weights, s->options.mtp_q8_0 ? s->draft_block : NULL);
        s->bound = s->family->bind(s->geometry, s->weights);
        code = s->bound ? vv_weights_end(s->weights, error)
                        : vv_fail_memory(error, sizeof *s, "the model's weights");
    }
    return code;
}

/* Checkpoints take half of what may be kept. They are some whole windows apart: one can only be
 * made where a window ends. */
static void set_spacing(struct vv_session *s) {
    const struct vv_session_options *o = &s->options;
    uint64_t bytes = vv_session_mark_bytes(s);
    uint64_t room = o->keep_bytes / 2 / o->slots;
    uint64_t count = bytes > 0 ? room / bytes : 0, spacing = o->checkpoint_every;
    if (spacing == 0 && count > 0) {
        spacing = (o->context + count - 1) / count;
        spacing = (spacing + o->window - 1) / o->window * o->window;
    }
    s->spacing = (size_t)spacing;
}

/* Beside a device with memory of its own: what is kept lies where copies are fast. Room for all
 * that slots may hold, and as much again for one more, is got ahead. Without, keeping is slower. */
static void provide_pool(struct vv_session *s) {
    const struct vv_session_options *o = &s->options;
    if (!s->device->launcher || o->keep_bytes == 0) {
        return;
    }
    struct vv_extent all = {VV_EXTENT_ALL, 0, o->context};
    uint64_t ahead = (o->slots + 1) * (uint64_t)vv_extent_bytes(s->parts, s->part_count, all);
    s->store.pool = vv_pool_new(s->device, o->keep_bytes);
    if (s->store.pool) {
        vv_pool_provide(s->store.pool, ahead < o->keep_bytes ? ahead : o->keep_bytes);
    }
}

int vv_session_new(const struct vv_gguf *file, const struct vv_family *family, const void *geometry,
                   const struct vv_session_options *options, struct vv_session **session,
                   struct vv_error *error) {
    struct vv_session *s = calloc(1, sizeof *s);
    struct slot *slots = calloc(options->slots, sizeof *slots);
    int32_t *tokens = calloc((size_t)options->slots * options->context, sizeof *tokens);
    if (!s || !slots || !tokens) {
        free(s);
        free(slots);
        free(tokens);
        return vv_fail_memory(error, options->slots * (options->context * sizeof *tokens),
                              "a session's tokens");
    }
    for (size_t i = 0; i < options->slots; i++) {
        slots[i].has.tokens = tokens + i * options->context;
    }
    s->mapped = vv_gguf_mapped(file) ? file : NULL;
    s->file = file;
    s->family = family;
    s->geometry = geometry;
    s->options = *options;
    s->slots = slots;
    s->tokens = tokens;
    s->store.budget = options->keep_bytes;
    family->facts(geometry, &s->facts);
    struct pass *trunk;
    int code = open_device(s, error);
    code = code == VV_OK ? bind(s, file, error) : code;
    code = code == VV_OK ? declare_state(s, error) : code;
    code = code == VV_OK ? allocate_state(s, error) : code;
    code = code == VV_OK ? vv_session_pass(s, PASS_TRUNK, &trunk, error) : code;
    if (code != VV_OK) {
        vv_session_free(s);
        return code;
    }
    set_spacing(s);
    provide_pool(s);
    *session = s;
    return VV_OK;
}

void vv_session_free(struct vv_session *s) {
    if (!s) {
        return;
    }
    for (size_t i = 0; i < PASSES; i++) {
        vv_program_free(s->passes[i].program);
        free(s->passes[i].forward.taps);
    }
    for (size_t i = 0; s->views && s->device && i < s->part_count; i++) {
        if (s->views[i].base) {
            s->device->calls->release(s->device, s->views[i].base);
        }
    }
    vv_session_forget(s);
    vv_pool_free(s->store.pool);
    s->family->unbind(s->bound);
    vv_weights_free(s->weights);
    if (s->device) {
        s->device->calls->close(s->device);
    }
    free(s->parts);
    free(s->views);
    free(s->slots);
    free(s->tokens);
    free(s->shown);
    free(s);
}

void vv_session_follow(struct vv_session *session, bool follow) {
    session->unfollowed = !follow;
}

const struct vv_session_options *vv_session_options_of(const struct vv_session *session) {
    return &session->options;
}

/* ---- the plan ---- */

int vv_session_measure(const struct vv_gguf *file, const struct vv_family *family,
                       const void *geometry, const struct vv_session_options *options,
                       struct vv_session_bytes *bytes, struct vv_error *error) {
    struct vv_session s = {.family = family, .geometry = geometry, .options = *options};
    family->facts(geometry, &s.facts);
    struct vv_forward f;
    *bytes = (struct vv_session_bytes){0};
    int code = declare_state(&s, error);
    for (size_t i = 0; code == VV_OK && i < s.part_count; i++) {
        const struct vv_state_part *p = &s.parts[i];
        uint64_t entry = vv_state_entry_bytes(p->type, p->width);
        uint64_t all = vv_state_entries(p, options->context, VV_VERIFY_ROWS_MAX) * entry;
        if (p->kind == VV_STATE_ROWS) {
            bytes->per_token += entry / p->every;
            bytes->growing += all * options->slots;
        } else {
            bytes->fixed += all * options->slots;
        }
    }
    code = code == VV_OK ? bind(&s, file, error) : code;
    if (code == VV_OK) {
        bytes->weights = vv_weights_bytes(s.weights);
        bytes->tables = vv_weights_table_bytes(s.weights);
        set_up_forward(&s, PASS_TRUNK, &f);
        code = vv_program_new(NULL, (int32_t)f.rows, (int32_t)f.outputs, &f.program, error);
    }
    if (code == VV_OK) {
        f.window = vv_program_window(f.program);
        f.observe = false;
        record(&s, PASS_TRUNK, &f);
        bytes->activations = vv_program_memory_bytes(f.program);
        vv_program_free(f.program);
    }
    family->unbind(s.bound);
    vv_weights_free(s.weights);
    free(s.parts);
    free(s.views);
    return code;
}

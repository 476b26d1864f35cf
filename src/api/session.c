#include "api/internal.h"
#include "gguf/types.h"
#include "program/program.h"
#include "registry/operation.h"

#include <stdlib.h>
#include <string.h>

static const uint64_t keep_default = (uint64_t)1 << 30;
_Static_assert((int)VARVE_NUMA_NODE == (int)VV_NUMA_NODE, "where threads run");

/* A GPU reads all experts for a window: 2048 rows take 1.5 times as many tokens a second as 512
 * (docs/measurements/2026-11-30-cuda-held.md). */
enum {
    CONTEXT_DEFAULT = 4096,
    WINDOW_DEFAULT = 512,
    WINDOW_DEFAULT_CUDA = 2048,
    LOGITS_DEFAULT = 16
};

_Static_assert(sizeof(struct varve_tuning) == sizeof(struct vv_tuning) &&
                   sizeof(struct varve_tuning_choice) == sizeof(struct vv_tuning_choice),
               "two forms of one tuning");

int vv_translate_options(const struct varve_model *model, const struct varve_session_options *from,
                         struct vv_session_options *to, struct vv_error *error) {
    size_t context =
        model->facts.context < CONTEXT_DEFAULT ? model->facts.context : CONTEXT_DEFAULT;
    uint32_t slots = from->slots ? from->slots : 1;
    uint32_t window = from->window                        ? from->window
                      : from->device == VARVE_DEVICE_CUDA ? WINDOW_DEFAULT_CUDA
                                                          : WINDOW_DEFAULT;
    uint32_t logits = from->logits ? from->logits : LOGITS_DEFAULT;
    context = from->context ? from->context : context;
    if (context > model->facts.context) {
        return vv_fail(error, VV_ERROR_INVALID,
                       "a context of %zu tokens is asked for; this model was made for up to %zu",
                       context, model->facts.context);
    }
    window = window < context * slots ? window : (uint32_t)(context * slots);
    *to = (struct vv_session_options){
        .slots = slots,
        .context = (uint32_t)context,
        .window = window,
        .outputs = logits < window ? logits : window,
        .threads = from->threads,
        .numa = (enum vv_numa)from->numa,
        .kv_type = from->kv_f16 ? VV_TYPE_F16 : VV_TYPE_F32,
        .rounded_cache = model->facts.rounded_cache && !from->exact_cache,
        .index_score = (enum vv_index_arithmetic)from->index_score, /* one list under two names */
        .float_activations = from->float_activations,
        .all_barriers = from->all_barriers,
        .device = (enum vv_device_kind)from->device, /* one list under two names */
        .tables = (enum vv_tables)from->tables,      /* one list under two names */
        .no_recordings = from->no_recordings,
        .observe = from->observe,
        .mtp = from->mtp,
        .mtp_q8_0 = from->mtp_q8_0,
        .profile = from->profile,
        .profile_events = from->profile_events,
        .tuning = (const struct vv_tuning *)from->tuning, /* one struct under two names */
        .progress = from->progress,
        .progress_context = from->progress_context,
    };
    if (to->index_score == VV_INDEX_AUTO) {
        to->index_score = to->rounded_cache ? VV_INDEX_INTEGER : VV_INDEX_FLOAT;
    } else if (to->index_score == VV_INDEX_INTEGER && !to->rounded_cache) {
        return vv_fail(error, VV_ERROR_UNSUPPORTED,
                       "index vectors can't be multiplied as integers: the cache keeps them as "
                       "floats (take half, float or auto for --index-score)");
    }
    if (from->mtp && model->facts.mtp_layers == 0) {
        return vv_fail(error, VV_ERROR_UNSUPPORTED,
                       "%s has no MTP block, so nothing can be drafted with it",
                       vv_gguf_path(model->file->gguf, 0));
    }
    to->features = UINT32_MAX;
    return from->isa ? vv_cpu_level(from->isa, &to->features, error) : VV_OK;
}

int varve_session_open(const struct varve_model *model, const struct varve_session_options *options,
                       struct varve_session **session, struct varve_error *error) {
    struct vv_session_options o;
    int code = vv_translate_options(model, options, &o, vv_internal(error));
    if (code != VV_OK) {
        return code;
    }
    o.keep_bytes = options->keep_bytes ? options->keep_bytes : keep_default;
    o.checkpoint_every = options->checkpoint_every;
    struct varve_session *s = calloc(1, sizeof *s);
    struct vv_row *rows = calloc(o.window, sizeof *rows);
    if (!s || !rows) {
        free(s);
        free(rows);
        return vv_fail_memory(vv_internal(error), o.window * sizeof *rows, "a session");
    }
    *s = (struct varve_session){NULL, o.slots, o.window, o.outputs, model->facts.vocabulary, rows};
    code = vv_session_new(model->file->gguf, model->family, model->geometry, &o, &s->session,
                          vv_internal(error));
    if (code != VV_OK) {
        varve_session_close(s);
        return code;
    }
    *session = s;
    return VARVE_OK;
}

struct vv_session *vv_session_of(const struct varve_session *session) {
    return session->session;
}

void varve_session_close(struct varve_session *session) {
    if (session) {
        vv_session_free(session->session);
        free(session->rows);
        free(session);
    }
}

size_t varve_session_plan(const struct varve_model *model,
                          const struct varve_session_options *options,
                          struct varve_plan_line *lines, size_t room) {
    struct vv_session_options o;
    struct vv_error ignored;
    return vv_translate_options(model, options, &o, &ignored) == VV_OK
               ? vv_plan_lines(model, &o, lines, room)
               : 0;
}

size_t vv_plan_lines(const struct varve_model *model, const struct vv_session_options *options,
                     struct varve_plan_line *lines, size_t room) {
    struct vv_session_bytes b;
    struct vv_error ignored;
    if (vv_session_measure(model->file->gguf, model->family, model->geometry, options, &b,
                           &ignored) != VV_OK) {
        return 0;
    }
    bool described = vv_gguf_described(model->file->gguf);
    uint64_t tables = options->tables == VV_TABLES_HOST ? b.tables : 0;
    const struct varve_plan_line all[] = {
        {described ? "weights (made up)" : "weights (in the file)", b.weights - tables, 0},
        {"keys and values", b.growing, b.per_token},
        {"recurrent state", b.fixed, 0},
        {"activations of a window", b.activations, 0},
        {"tables, in the host's memory", tables, 0},
    };
    size_t count = sizeof all / sizeof *all - (tables == 0);
    for (size_t i = 0; i < count && i < room; i++) {
        lines[i] = all[i];
    }
    return count;
}

uint64_t varve_session_host_tables(const struct varve_session *session) {
    return vv_session_host_tables(session->session);
}

size_t varve_session_length(const struct varve_session *session, uint32_t slot) {
    return slot < session->slots ? vv_session_length(session->session, slot) : 0;
}

void varve_session_clear(struct varve_session *session, uint32_t slot) {
    if (slot < session->slots) {
        vv_session_clear(session->session, slot);
    }
}

/* Takes rows until the window or its wanted logits are full. */
static size_t take_window(struct varve_session *s, const struct varve_row *rows, size_t count) {
    size_t n = 0, wanted = 0;
    while (n < count && n < s->window) {
        wanted += rows[n].logits;
        if (wanted > s->outputs) {
            break;
        }
        s->rows[n] = (struct vv_row){rows[n].slot, rows[n].token, rows[n].logits};
        n++;
    }
    return n;
}

/* Before anything runs, so that a bad id at the end of a long prompt costs nothing. */
static int check_tokens(const struct varve_session *s, const struct varve_row *rows, size_t count,
                        struct vv_error *error) {
    for (size_t i = 0; i < count; i++) {
        if (rows[i].token < 0 || (size_t)rows[i].token >= s->vocabulary) {
            return vv_fail(error, VV_ERROR_INVALID,
                           "token %zu is %d; ids of this model are 0 to %zu", i, rows[i].token,
                           s->vocabulary - 1);
        }
    }
    return VV_OK;
}

int varve_session_evaluate(struct varve_session *session, const struct varve_row *rows,
                           size_t count, enum varve_mode mode, varve_sink sink, void *context,
                           struct varve_error *error) {
    enum vv_mode inner = mode == VARVE_VERIFY ? VV_VERIFY : VV_ADVANCE;
    if (check_tokens(session, rows, count, vv_internal(error)) != VV_OK) {
        return error->code;
    }
    for (size_t at = 0; at < count;) {
        size_t n = take_window(session, rows + at, count - at);
        if (mode == VARVE_VERIFY && n < count) {
            return vv_fail(vv_internal(error), VV_ERROR_INVALID,
                           "%zu rows are more than one window, which a verification must fit in",
                           count);
        }
        int code = vv_session_run(session->session, session->rows, n, inner, vv_internal(error));
        size_t wanted = 0;
        for (size_t r = at; code == VV_OK && sink && r < at + n; r++) {
            if (rows[r].logits) {
                code = sink(context, r, vv_session_logits(session->session, wanted++), error);
            }
        }
        if (code != VV_OK) {
            return code;
        }
        at += n;
    }
    return VARVE_OK;
}

int varve_session_commit(struct varve_session *session, uint32_t slot, uint32_t keep,
                         struct varve_error *error) {
    return vv_session_commit(session->session, slot, keep, vv_internal(error));
}

const float *varve_session_logits(const struct varve_session *session, size_t i) {
    return vv_session_logits(session->session, i);
}

int varve_session_draft(struct varve_session *session, uint32_t slot, int32_t token, uint32_t steps,
                        int32_t *drafts, float *logits, struct varve_error *error) {
    return vv_session_draft(session->session, slot, token, steps, drafts, logits,
                            vv_internal(error));
}

int varve_session_observed(const struct varve_session *session, const char *name,
                           struct varve_observed *observed, struct varve_error *error) {
    struct vv_observed o;
    int code = vv_session_observed(session->session, name, &o, vv_internal(error));
    if (code == VV_OK) {
        *observed = (struct varve_observed){o.rows, o.width, o.f32, o.i32};
    }
    return code;
}

int varve_session_state(const struct varve_session *session, uint32_t slot, void *out, size_t room,
                        size_t *bytes, struct varve_error *error) {
    if (slot >= session->slots) {
        return vv_fail(vv_internal(error), VV_ERROR_INVALID, "slot %u is asked for; there are %zu",
                       slot, session->slots);
    }
    *bytes = vv_session_state(session->session, slot, out, room);
    return VARVE_OK;
}

/* ---- state that is kept ---- */

int varve_session_checkpoint(struct varve_session *session, uint32_t slot,
                             struct varve_error *error) {
    return vv_session_checkpoint(session->session, slot, vv_internal(error));
}

int varve_session_truncate(struct varve_session *session, uint32_t slot, size_t length,
                           struct varve_error *error) {
    return vv_session_truncate(session->session, slot, length, vv_internal(error));
}

int varve_session_fork(struct varve_session *session, uint32_t slot, uint32_t to,
                       struct varve_error *error) {
    return vv_session_fork(session->session, slot, to, vv_internal(error));
}

int varve_session_keep(struct varve_session *session, uint32_t slot, struct varve_error *error) {
    return vv_session_keep(session->session, slot, vv_internal(error));
}

int varve_session_resume(struct varve_session *session, uint32_t slot, const int32_t *tokens,
                         size_t count, struct varve_resumed *resumed, struct varve_error *error) {
    struct vv_resumed r;
    int code = vv_session_resume(session->session, slot, tokens, count, &r, vv_internal(error));
    if (code == VV_OK) {
        *resumed = (struct varve_resumed){r.held, r.shared};
    }
    return code;
}

const int32_t *varve_session_tokens(const struct varve_session *session, uint32_t slot) {
    return slot < session->slots ? vv_session_tokens(session->session, slot) : NULL;
}

int varve_session_save(struct varve_session *session, uint32_t slot, const char *path,
                       const void *note, size_t note_length, struct varve_error *error) {
    return vv_session_save(session->session, slot, path, note, note_length, vv_internal(error));
}

int varve_session_load(struct varve_session *session, uint32_t slot, const char *path,
                       struct varve_note *note, struct varve_error *error) {
    struct vv_note loaded;
    int code = vv_session_load(session->session, slot, path, &loaded, vv_internal(error));
    if (code == VV_OK) {
        *note = (struct varve_note){loaded.text, loaded.length};
    }
    return code;
}

void varve_note_free(struct varve_note *note) {
    free(note->text);
    *note = (struct varve_note){0};
}

void varve_session_kept(const struct varve_session *session, struct varve_kept *kept) {
    struct vv_session_kept k;
    vv_session_kept(session->session, &k);
    *kept = (struct varve_kept){k.bytes, k.budget, k.sequences, k.checkpoint_bytes, k.spacing};
}

/* ---- profile ---- */

void varve_session_profile(const struct varve_session *session, struct varve_profile *profile) {
    const struct vv_program *p;
    *profile = (struct varve_profile){0};
    for (size_t i = 0; (p = vv_session_program(session->session, i)); i++) {
        struct vv_program_totals totals;
        vv_program_totals(p, &totals);
        profile->threads = totals.threads;
        profile->runs += totals.runs;
        profile->rows += totals.rows;
        profile->wall += totals.wall;
        profile->barrier += totals.barrier;
        profile->idle += totals.idle;
        profile->looking += totals.looking;
    }
}

/* The programs of all passes count one after the other. */
bool varve_session_profile_step(const struct varve_session *session, size_t index,
                                struct varve_profile_step *step) {
    const struct vv_program *p;
    size_t pass = 0;
    while ((p = vv_session_program(session->session, pass)) && index >= vv_program_steps(p)) {
        index -= vv_program_steps(p);
        pass++;
    }
    if (!p) {
        return false;
    }
    struct vv_program_step s;
    vv_program_step(p, index, &s);
    *step = (struct varve_profile_step){.pass = pass,
                                        .what = s.what,
                                        .step_class = s.class,
                                        .variant = s.variant,
                                        .barrier = s.barrier,
                                        .alone = s.alone,
                                        .after = s.after,
                                        .after_class = s.after_class,
                                        .hazard_bytes = s.hazard_bytes,
                                        .reads = s.reads,
                                        .writes = s.writes,
                                        .seconds = s.seconds,
                                        .bytes = s.bytes};
    return true;
}

size_t varve_session_profile_events(const struct varve_session *session, unsigned thread,
                                    struct varve_profile_event *events, size_t room) {
    const struct vv_program *p;
    size_t count = 0, before = 0;
    for (size_t i = 0; (p = vv_session_program(session->session, i)); i++) {
        const struct vv_program_event *ring;
        size_t first, n = vv_program_events(p, thread, &ring, &first);
        for (size_t k = 0; k < n; k++, count++) {
            const struct vv_program_event *e = &ring[(first + k) % n];
            if (count < room) {
                events[count] = (struct varve_profile_event){
                    e->step == VV_EVENT_WAIT ? (size_t)VARVE_PROFILE_WAIT : before + e->step,
                    e->begin, e->end};
            }
        }
        before += vv_program_steps(p);
    }
    return count;
}

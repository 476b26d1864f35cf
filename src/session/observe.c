/* What can be seen of a session: inner tensors of the last window. */
#include "gguf/types.h"
#include "session/internal.h"

#include <stdlib.h>
#include <string.h>

static const struct vv_tap *find_tap(const struct pass *p, const char *name) {
    for (size_t i = 0; p && i < p->forward.tap_count; i++) {
        if (strcmp(p->forward.taps[i].name, name) == 0) {
            return &p->forward.taps[i];
        }
    }
    return NULL;
}

/* A host copy of `bytes` of device memory, or NULL. */
static void *fetch(const struct vv_session *s, const void *at, size_t bytes) {
    void *copy = malloc(bytes ? bytes : 1);
    if (copy) {
        s->device->calls->read(s->device, copy, at, bytes);
    }
    return copy;
}

/* [rows][context]: 1 where a token is attended, the tail of each row included. */
static int32_t *expand_selected(const struct vv_session *s, const struct pass *p,
                                const struct vv_tap *tap, size_t rows) {
    size_t context = s->options.context;
    int32_t *list = fetch(s, tap->at, rows * tap->width * sizeof *list);
    int32_t *listed = fetch(s, tap->other, rows * sizeof *listed);
    int32_t *out = calloc(rows * context + 1, sizeof *out);
    for (size_t r = 0; list && listed && out && r < rows; r++) {
        int32_t *row = out + r * context;
        size_t seen = (size_t)p->forward.window->position[r] + 1;
        for (int32_t i = 0; i < listed[r]; i++) {
            for (size_t t = 0; t < tap->ratio; t++) {
                row[(size_t)list[r * tap->width + (size_t)i] * tap->ratio + t] = 1;
            }
        }
        for (size_t t = seen / tap->ratio * tap->ratio; t < seen; t++) {
            row[t] = 1;
        }
    }
    if (!list || !listed) {
        free(out);
        out = NULL;
    }
    free(list);
    free(listed);
    return out;
}

static float *difference(const struct vv_session *s, const struct vv_tap *tap, size_t n) {
    float *after = fetch(s, tap->at, n * sizeof *after);
    float *before = fetch(s, tap->other, n * sizeof *before);
    for (size_t i = 0; after && before && i < n; i++) {
        after[i] -= before[i];
    }
    if (!before) {
        free(after);
        after = NULL;
    }
    free(before);
    return after;
}

static int32_t *narrow(const struct vv_session *s, const struct vv_tap *tap, size_t n) {
    int64_t *wide = fetch(s, tap->at, n * sizeof *wide);
    int32_t *out = wide ? malloc(n * sizeof *out + 1) : NULL;
    for (size_t i = 0; out && i < n; i++) {
        out[i] = (int32_t)wide[i];
    }
    free(wide);
    return out;
}

static void *show(const struct vv_session *s, const struct pass *p, const struct vv_tap *tap,
                  size_t rows) {
    size_t n = rows * tap->width;
    switch (tap->form) {
    case VV_TAP_SELECTED:
        return expand_selected(s, p, tap, rows);
    case VV_TAP_DIFFERENCE:
        return difference(s, tap, n);
    default:
        return tap->type == VV_TYPE_I64 ? (void *)narrow(s, tap, n)
                                        : fetch(s, tap->at, n * sizeof(float));
    }
}

/* The draft block's logits are those of its program, not a tap. */
static int show_mtp_logits(struct vv_session *s, struct vv_observed *observed,
                           struct vv_error *error) {
    const struct pass *p = &s->passes[PASS_MTP];
    size_t rows = p->program ? (size_t)p->forward.window->outputs : 0;
    s->shown = fetch(s, p->forward.logits, rows * s->facts.vocabulary * sizeof(float));
    if (!s->shown) {
        return vv_fail_memory(error, rows * s->facts.vocabulary * sizeof(float), "logits");
    }
    *observed = (struct vv_observed){rows, s->facts.vocabulary, s->shown, NULL};
    return VV_OK;
}

int vv_session_observed(struct vv_session *s, const char *name, struct vv_observed *observed,
                        struct vv_error *error) {
    free(s->shown);
    s->shown = NULL;
    if (strcmp(name, "mtp.logits") == 0 && s->options.observe && s->passes[PASS_MTP].program) {
        return show_mtp_logits(s, observed, error);
    }
    const struct pass *p = s->observed;
    const struct vv_tap *tap = find_tap(p, name);
    if (!tap) {
        p = s->passes[PASS_MTP].program ? &s->passes[PASS_MTP] : NULL;
        tap = find_tap(p, name);
    }
    if (!tap) {
        return vv_fail(error, VV_ERROR_INVALID,
                       "no inner tensor \"%s\" was kept: the model has none of that name, or the "
                       "session does not observe",
                       name);
    }
    size_t rows = (size_t)(tap->outputs ? p->forward.window->outputs : p->forward.window->rows);
    s->shown = show(s, p, tap, rows);
    if (!s->shown) {
        return vv_fail_memory(error, rows * tap->width * sizeof(float), name);
    }
    bool floats = tap->type == VV_TYPE_F32;
    *observed = (struct vv_observed){
        .rows = rows,
        .width = tap->form == VV_TAP_SELECTED ? s->options.context : tap->width,
        .f32 = floats ? s->shown : NULL,
        .i32 = floats ? NULL : s->shown,
    };
    return VV_OK;
}

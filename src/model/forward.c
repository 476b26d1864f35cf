#include "model/forward.h"
#include "gguf/types.h"
#include "op/cache_write/contract.h"
#include "op/embed/contract.h"
#include "op/gather_rows/contract.h"
#include "op/gemv/contract.h"
#include "op/quantize_rows/contract.h"
#include "quant/format.h"

#include <stdio.h>
#include <stdlib.h>

enum { WHAT_BYTES = 96, TAPS_STEP = 32 };

#define VV_TEXT(text, format)                                                                      \
    char text[WHAT_BYTES];                                                                         \
    do {                                                                                           \
        va_list list_;                                                                             \
        va_start(list_, format);                                                                   \
        vsnprintf(text, sizeof text, format, list_);                                               \
        va_end(list_);                                                                             \
    } while (0)

struct vv_rows vv_all_rows(const struct vv_forward *f, size_t times) {
    return (struct vv_rows){&f->window->rows, times};
}

struct vv_rows vv_output_rows(const struct vv_forward *f, size_t times) {
    return (struct vv_rows){&f->window->outputs, times};
}

float *vv_row_floats(struct vv_forward *f, size_t per_row) {
    return vv_program_memory(f->program, f->rows * per_row * sizeof(float));
}

int32_t *vv_row_integers(struct vv_forward *f, size_t per_row) {
    return vv_program_memory(f->program, f->rows * per_row * sizeof(int32_t));
}

float *vv_output_floats(struct vv_forward *f, size_t per_row) {
    return vv_program_memory(f->program, f->outputs * per_row * sizeof(float));
}

void vv_step(struct vv_forward *f, const struct vv_operation *operation, const void *args,
             const char *what, ...) {
    VV_TEXT(text, what);
    vv_program_add(f->program, operation, args, text);
}

/* ---- products and their inputs ---- */

struct vv_input vv_input(struct vv_forward *f, size_t width, struct vv_rows rows, size_t capacity) {
    struct vv_input input = {.rows = rows, .capacity = capacity};
    input.x = vv_program_memory(f->program, capacity * width * sizeof(float));
    input.planes = (struct vv_planes){.width = width, .x = input.x};
    return input;
}

/* Memory for one kind of planes, the first time a consumer needs it. */
static void planes_memory(struct vv_forward *f, size_t rows, size_t width, size_t unit, int8_t **q,
                          float **scale, int16_t **sum16, struct vv_panel_row **panel) {
    if (!*q) {
        size_t segments = vv_plane_scales(width, VV_COARSE_UNIT);
        if (f->panels) {
            *panel = vv_program_memory(f->program, segments * rows * sizeof **panel);
        }
        *q = vv_program_memory(f->program, rows * width);
        *scale =
            vv_program_memory(f->program, rows * vv_plane_scales(width, unit) * sizeof **scale);
        *sum16 = vv_program_memory(f->program,
                                   rows * vv_plane_scales(width, VV_SUM_UNIT) * sizeof **sum16);
    }
}

static bool any_of(struct vv_weight *const *weights, size_t count, enum vv_arithmetic arithmetic) {
    for (size_t i = 0; i < count; i++) {
        if (weights[i] && vv_format(weights[i]->type)->arithmetic == arithmetic) {
            return true;
        }
    }
    return false;
}

struct vv_planes vv_prepare(struct vv_forward *f, struct vv_input *input,
                            struct vv_weight *const *weights, size_t count, const char *what, ...) {
    VV_TEXT(text, what);
    struct vv_planes *all = &input->planes, made = {.width = all->width, .x = input->x};
    if (f->float_activations) {
        made.float_only = true;
        return made;
    }
    if (any_of(weights, count, VV_ARITHMETIC_SUPER)) {
        planes_memory(f, input->capacity, all->width, VV_COARSE_UNIT, &all->coarse_q,
                      &all->coarse_scale, &all->coarse_sum16, &all->coarse_panel);
        made.coarse_panel = all->coarse_panel;
        made.coarse_q = all->coarse_q;
        made.coarse_scale = all->coarse_scale;
        made.coarse_sum16 = all->coarse_sum16;
    }
    if (any_of(weights, count, VV_ARITHMETIC_BLOCK)) {
        planes_memory(f, input->capacity, all->width, VV_FINE_UNIT, &all->fine_q, &all->fine_scale,
                      &all->fine_sum16, &all->fine_panel);
        made.fine_panel = all->fine_panel;
        made.fine_q = all->fine_q;
        made.fine_scale = all->fine_scale;
        made.fine_sum16 = all->fine_sum16;
    }
    if (made.coarse_q || made.fine_q) {
        struct vv_quantize_rows args = {.planes = made, .rows = input->rows};
        vv_program_add(f->program, &vv_quantize_rows, &args, text);
    }
    return made;
}

void vv_product(struct vv_forward *f, const struct vv_planes *x, struct vv_rows rows,
                struct vv_weight *weight, float *y, const char *what, ...) {
    VV_TEXT(text, what);
    struct vv_gemv args = {.x = *x, .weight = weight, .y = y, .y_row = weight->rows, .rows = rows};
    vv_program_add(f->program, &vv_gemv, &args, text);
}

/* ---- rows in and out ---- */

void vv_embedding(struct vv_forward *f, struct vv_weight *table, float *x, size_t streams) {
    struct vv_embed args = {
        .window = f->window, .rows = vv_all_rows(f, 1), .table = table, .x = x, .streams = streams};
    vv_program_add(f->program, &vv_embed, &args, "token_embd");
}

void vv_keep(struct vv_forward *f, const void *from, size_t stride,
             const struct vv_state_view *part, const char *what, ...) {
    VV_TEXT(text, what);
    struct vv_cache_write args = {.from = from,
                                  .row_stride = stride,
                                  .to = *part,
                                  .window = f->window,
                                  .rows = vv_all_rows(f, 1)};
    vv_program_add(f->program, &vv_cache_write, &args, text);
}

void vv_keep_streams(struct vv_forward *f, const float *x, size_t width,
                     const struct vv_window *window, int32_t shift,
                     const struct vv_state_view *part, const char *what, ...) {
    VV_TEXT(text, what);
    struct vv_cache_write args = {.from = x,
                                  .row_stride = width,
                                  .to = *part,
                                  .window = window,
                                  .rows = {&window->rows, 1},
                                  .shift = shift};
    vv_program_add(f->program, &vv_cache_write, &args, text);
}

void vv_gather_outputs(struct vv_forward *f, const float *from, size_t width, float *to,
                       const char *what, ...) {
    VV_TEXT(text, what);
    struct vv_gather_rows args = {.from = from,
                                  .to = to,
                                  .row_bytes = width * sizeof *to,
                                  .index = f->window->output_row,
                                  .rows = vv_output_rows(f, 1),
                                  .from_rows = vv_all_rows(f, 1)};
    vv_program_add(f->program, &vv_gather_rows, &args, text);
}

/* ---- observing ---- */

static struct vv_tap *observe(struct vv_forward *f, const void *from, int type, size_t width,
                              bool outputs, const char *name) {
    if (!f->observe) {
        return NULL;
    }
    if (f->tap_count % TAPS_STEP == 0) {
        struct vv_tap *more = realloc(f->taps, (f->tap_count + TAPS_STEP) * sizeof *more);
        if (!more) {
            return NULL;
        }
        f->taps = more;
    }
    struct vv_tap *tap = &f->taps[f->tap_count++];
    size_t row_bytes = width * vv_type_info(type)->block_bytes;
    *tap = (struct vv_tap){.outputs = outputs, .type = type, .width = width};
    snprintf(tap->name, sizeof tap->name, "%s", name);
    tap->at = vv_program_memory(f->program, (outputs ? f->outputs : f->rows) * row_bytes);
    struct vv_rows rows = outputs ? vv_output_rows(f, 1) : vv_all_rows(f, 1);
    struct vv_gather_rows args = {
        .from = from, .to = tap->at, .row_bytes = row_bytes, .rows = rows, .from_rows = rows};
    vv_program_add(f->program, &vv_gather_rows, &args, name);
    return tap;
}

struct vv_tap *vv_observe(struct vv_forward *f, const void *from, int type, size_t width,
                          const char *name, ...) {
    VV_TEXT(text, name);
    return observe(f, from, type, width, false, text);
}

struct vv_tap *vv_observe_outputs(struct vv_forward *f, const void *from, int type, size_t width,
                                  const char *name, ...) {
    VV_TEXT(text, name);
    return observe(f, from, type, width, true, text);
}

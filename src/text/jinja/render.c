#include "text/jinja/compile.h"
#include "text/jinja/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct vv_jinja_limits default_limits = {
    .steps = 100000000, .depth = 600, .memory = (size_t)1 << 30, .output = (size_t)1 << 28};

int vv_jinja_refuse(struct vv_jinja_run *run, const char *format, ...) {
    va_list list;
    va_start(list, format);
    vv_fail_va(run->error, VV_ERROR_INVALID, format, list);
    va_end(list);
    return VV_ERROR_INVALID;
}

int vv_jinja_charge(struct vv_jinja_run *run, size_t steps) {
    if (steps > run->limits.steps) {
        run->limits.steps = 0;
        return vv_jinja_refuse(run, "the template takes more steps than it may");
    }
    run->limits.steps -= steps;
    return VV_OK;
}

int vv_jinja_charge_bytes(struct vv_jinja_run *run, size_t bytes) {
    return vv_jinja_charge(run, bytes / 64);
}

int vv_jinja_enter(struct vv_jinja_run *run) {
    run->limits.depth--;
    return run->limits.depth > 0 ? VV_OK
                                 : vv_jinja_refuse(run, "the template, or what it works on, is "
                                                        "nested more deeply than it may be");
}

void vv_jinja_leave(struct vv_jinja_run *run) {
    run->limits.depth++;
}

static struct vv_jinja_limits limits_of(const struct vv_jinja_options *options) {
    struct vv_jinja_limits limits = options->limits;
    limits.steps = limits.steps ? limits.steps : default_limits.steps;
    limits.depth = limits.depth ? limits.depth : default_limits.depth;
    limits.memory = limits.memory ? limits.memory : default_limits.memory;
    limits.output = limits.output ? limits.output : default_limits.output;
    return limits;
}

/* The output, copied out of the arena, and its stretches. */
static int make_pieces(const struct vv_buffer *output, struct vv_jinja_rendering *out,
                       struct vv_error *error) {
    char *text = malloc(output->used + 1);
    struct vv_jinja_piece *pieces = malloc((output->mark_count + 1) * sizeof *pieces);
    if (!text || !pieces) {
        free(text);
        free(pieces);
        return vv_fail_memory(error, output->used, "a rendered conversation");
    }
    memcpy(text, output->bytes, output->used);
    size_t begin = 0;
    for (size_t i = 0; i < output->mark_count; i++) {
        size_t end = output->marks[i].end;
        pieces[i] = (struct vv_jinja_piece){{text + begin, end - begin}, output->marks[i].data};
        begin = end;
    }
    *out = (struct vv_jinja_rendering){{text, output->used}, pieces, output->mark_count};
    return VV_OK;
}

/* Where it happened, for a sentence about it. */
static void locate(const struct vv_jinja_run *run) {
    char where[80] = "";
    size_t index;
    if (run->options->counted_name && vv_jinja_counted_item(run, &index)) {
        snprintf(where, sizeof where, " (%.40s %zu)", run->options->counted_name, index);
    }
    vv_jinja_locate(run->template, run->at, where, run->error);
}

int vv_jinja_render(const struct vv_jinja *template, const struct vv_value *variables,
                    const struct vv_jinja_options *options, struct vv_jinja_rendering *out,
                    struct vv_error *error) {
    static const struct vv_jinja_options no_options;
    options = options ? options : &no_options;
    struct vv_jinja_run run = {.template = template,
                               .options = options,
                               .limits = limits_of(options),
                               .variables = *variables,
                               .error = error};
    run.arena.limit = run.limits.memory;
    run.frame = vv_jinja_open_frame(&run, NULL);
    run.output = run.out = run.frame ? vv_jinja_buffer(&run, 4096) : NULL;
    int status = run.out ? vv_jinja_execute(&run, template->body) : error->code;
    status = status == VV_OK ? make_pieces(run.output, out, error) : status;
    if (status == VV_ERROR_INVALID || status == VV_ERROR_UNSUPPORTED) {
        locate(&run);
    }
    vv_arena_free(&run.arena);
    return status;
}

void vv_jinja_rendering_free(struct vv_jinja_rendering *rendering) {
    free((char *)(uintptr_t)rendering->text.at);
    free(rendering->pieces);
    *rendering = (struct vv_jinja_rendering){0};
}

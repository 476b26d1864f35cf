/*
 * Chat templates: the Jinja language, in the environment in which transformers renders them
 * (trim_blocks and lstrip_blocks, {% break %} and {% continue %}, {% generation %}, tojson without
 * HTML escapes, raise_exception, strftime_now), and from_json. README.md lists what there is and
 * where it differs.
 *
 * A template comes from a model file, so it is not trusted: it sees nothing but the values it is
 * given, it can change none of them, and its time, memory, depth and output are limited.
 *
 * A rendering says of each stretch of its text whether the template wrote it or it came from the
 * values, so that no message can spell a control token.
 */
#pragma once
#include "text/jinja/value.h"

#include <time.h>

struct vv_jinja;

/*
 * `source` may be any bytes. VV_ERROR_INVALID with line and column if it is no template, or uses
 * what there isn't. A template never changes, so threads may share it.
 */
int vv_jinja_compile(struct vv_text source, struct vv_jinja **out, struct vv_error *error);
void vv_jinja_free(struct vv_jinja *template); /* NULL is let be */

/* 0 stands for the default. */
struct vv_jinja_limits {
    uint64_t
        steps; /* 100 million: what is evaluated, and 64 bytes or an item that are gone through */
    unsigned depth; /* 600: expressions, blocks, calls and data within one another; 1 MB of stack */
    size_t memory;  /* 1 GB, of all that is made on the way */
    size_t output;  /* 256 MB */
};

struct vv_jinja_options {
    struct vv_jinja_limits limits;
    const struct tm *now; /* for strftime_now, which is refused without it */
    /* A list; if a loop stands at one of its dicts, an error says "NAME 3", counted from 0. */
    struct vv_value counted;
    const char *counted_name; /* NULL: nothing is counted */
};

/* A stretch of one origin. */
struct vv_jinja_piece {
    struct vv_text text;
    bool data;
};

/* `text.at` and `pieces` come from malloc. */
struct vv_jinja_rendering {
    struct vv_text text; /* all of it: the pieces, one behind the other */
    struct vv_jinja_piece *pieces;
    size_t count;
};

/*
 * `variables` is a dict, which the template sees by its keys. `options` may be NULL.
 * VV_ERROR_INVALID (with line and column): the template refuses (raise_exception), does what is not
 * possible, or needs more than the limits.
 */
int vv_jinja_render(const struct vv_jinja *template, const struct vv_value *variables,
                    const struct vv_jinja_options *options, struct vv_jinja_rendering *out,
                    struct vv_error *error);
void vv_jinja_rendering_free(struct vv_jinja_rendering *rendering);

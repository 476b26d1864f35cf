#include "text/stop.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/*
 * One stop string and how much of it the text ends with (Knuth, Morris, Pratt): `matched` is the
 * longest beginning of it that is a suffix of the text; fallback[n], the longest that is a proper
 * suffix of its own first n bytes.
 */
struct pattern {
    char *at;
    size_t length, matched;
    size_t *fallback; /* [length + 1]; 1 and up are used */
};

/*
 * What is held back is the longest `matched` of all, and so the first bytes of that string: no copy
 * of the text is needed.
 */
struct vv_stop {
    struct pattern *patterns; /* [count] */
    size_t count;
    int found; /* -1: none yet */
};

/* The match after one more byte. */
static size_t advance(const struct pattern *p, size_t matched, char byte) {
    while (matched > 0 && p->at[matched] != byte) {
        matched = p->fallback[matched];
    }
    return p->at[matched] == byte ? matched + 1 : 0;
}

static int set_pattern(struct pattern *p, struct vv_text string, struct vv_error *error) {
    if (string.length == 0) {
        return vv_fail(error, VV_ERROR_INVALID,
                       "a stop string is empty, which would end every text: leave it out");
    }
    p->length = string.length;
    p->at = malloc(string.length);
    p->fallback = calloc(string.length + 1, sizeof *p->fallback);
    if (!p->at || !p->fallback) {
        return vv_fail_memory(error, string.length * (1 + sizeof *p->fallback), "a stop string");
    }
    memcpy(p->at, string.at, string.length);
    for (size_t n = 1; n < p->length; n++) {
        p->fallback[n + 1] = advance(p, p->fallback[n], p->at[n]);
    }
    return VV_OK;
}

int vv_stop_new(const struct vv_text *strings, size_t count, struct vv_stop **out,
                struct vv_error *error) {
    struct vv_stop *stop = calloc(1, sizeof *stop);
    struct pattern *patterns = calloc(count + 1, sizeof *patterns);
    *out = NULL;
    if (!stop || !patterns) {
        free(stop);
        free(patterns);
        return vv_fail_memory(error, count * sizeof *patterns, "stop strings");
    }
    *stop = (struct vv_stop){patterns, count, -1};
    for (size_t i = 0; i < count; i++) {
        int status = set_pattern(&patterns[i], strings[i], error);
        if (status != VV_OK) {
            vv_stop_free(stop);
            return status;
        }
    }
    *out = stop;
    return VV_OK;
}

void vv_stop_free(struct vv_stop *stop) {
    if (stop) {
        for (size_t i = 0; i < stop->count; i++) {
            free(stop->patterns[i].at);
            free(stop->patterns[i].fallback);
        }
        free(stop->patterns);
        free(stop);
    }
}

/* What is held back now. */
static struct vv_text held(const struct vv_stop *stop) {
    struct vv_text longest = {"", 0};
    for (size_t i = 0; i < stop->count; i++) {
        const struct pattern *p = &stop->patterns[i];
        if (p->matched > longest.length) {
            longest = (struct vv_text){p->at, p->matched};
        }
    }
    return longest;
}

/* Advances all patterns; the length of the longest one completed, or 0. */
static size_t complete(struct vv_stop *stop, char byte) {
    size_t length = 0;
    for (size_t i = 0; i < stop->count; i++) {
        struct pattern *p = &stop->patterns[i];
        p->matched = advance(p, p->matched, byte);
        if (p->matched == p->length && p->length > length) {
            length = p->length;
            stop->found = (int)i;
        }
    }
    return length;
}

int vv_stop_feed(struct vv_stop *stop, struct vv_text part, struct vv_bytes *out, int *found,
                 struct vv_error *error) {
    int status = VV_OK;
    struct vv_text before = held(stop);
    for (size_t i = 0; i < part.length && stop->found < 0 && status == VV_OK; i++) {
        size_t kept = complete(stop, part.at[i]); /* of `before` and the byte: its last `kept` */
        struct vv_text after = held(stop);
        kept = stop->found < 0 ? after.length : kept;
        size_t passed = before.length + 1 - kept;
        size_t of_before = passed < before.length ? passed : before.length;
        status = vv_bytes_append(out, before.at, of_before, error);
        if (status == VV_OK && passed > of_before) {
            status = vv_bytes_append(out, &part.at[i], 1, error);
        }
        before = after;
    }
    *found = stop->found;
    return status;
}

int vv_stop_end(struct vv_stop *stop, struct vv_bytes *out, struct vv_error *error) {
    struct vv_text rest = stop->found < 0 ? held(stop) : (struct vv_text){"", 0};
    int status = vv_bytes_append(out, rest.at, rest.length, error);
    for (size_t i = 0; i < stop->count; i++) {
        stop->patterns[i].matched = 0;
    }
    return status;
}

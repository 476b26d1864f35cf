/*
 * What an answer's events told, as one line: "[R]thoughts[C]text[call 0]name[arguments]{…}[end]",
 * "[broken 0]" for a call that the answer ended in, "[END]" at the end. Neighbours of one kind are
 * joined, so that the line doesn't depend on how the answer was cut.
 */
#pragma once
#include "text/answer/answer.h"
#include "text/grow.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct told {
    struct vv_bytes line, raw;
    enum vv_answer_kind last; /* kind of the last event with a text */
    struct vv_error error;
};

static inline void told_add(struct vv_bytes *bytes, struct vv_text text) {
    struct vv_error error;
    if (vv_bytes_append(bytes, text.at, text.length, &error) != VV_OK) {
        abort();
    }
}

static inline int told_take(void *context, const struct vv_answer_event *event,
                            struct vv_error *error) {
    struct told *told = context;
    char mark[40] = "";
    (void)error;
    told_add(&told->raw, event->raw);
    switch (event->kind) {
    case VV_ANSWER_MARKUP:
        return VV_OK;
    case VV_ANSWER_REASONING:
    case VV_ANSWER_CONTENT:
    case VV_ANSWER_ARGUMENTS:
        if (event->text.length == 0) {
            abort(); /* an empty piece is no event */
        }
        if (told->line.length == 0 || told->last != event->kind) {
            snprintf(mark, sizeof mark, "%s",
                     event->kind == VV_ANSWER_REASONING ? "[R]"
                     : event->kind == VV_ANSWER_CONTENT ? "[C]"
                                                        : "[arguments]");
        }
        break;
    case VV_ANSWER_CALL:
        snprintf(mark, sizeof mark, "[call %zu]", event->call);
        break;
    case VV_ANSWER_CALL_END:
        snprintf(mark, sizeof mark, "[end]");
        break;
    case VV_ANSWER_UNFINISHED:
        snprintf(mark, sizeof mark, "[broken %zu]", event->call);
        break;
    case VV_ANSWER_END:
        snprintf(mark, sizeof mark, "[END]");
        break;
    }
    told->last = event->kind;
    told_add(&told->line, (struct vv_text){mark, strlen(mark)});
    told_add(&told->line, event->text);
    return VV_OK;
}

static inline void told_free(struct told *told) {
    vv_bytes_free(&told->line);
    vv_bytes_free(&told->raw);
}

struct answer_setting {
    const char *family;
    enum vv_thinking thinking;
    const char *tools; /* JSON, or NULL */
};

static inline struct vv_answer *told_begin(const struct answer_setting *setting) {
    struct vv_error error;
    struct vv_answer *answer = NULL;
    struct vv_text tools = {setting->tools, setting->tools ? strlen(setting->tools) : 0};
    if (vv_answer_new(setting->family, setting->thinking, setting->tools ? &tools : NULL, &answer,
                      &error) != VV_OK) {
        fprintf(stderr, "%s\n", error.message);
        abort();
    }
    return answer;
}

/* Parses `text` in pieces that end where `cut` says (given the place, it returns the length of the
 * next piece, at least 1); NULL: in one. */
static inline struct told told_of(const struct answer_setting *setting, struct vv_text text,
                                  size_t (*cut)(size_t at, void *context), void *context) {
    struct told told = {0};
    struct vv_answer *answer = told_begin(setting);
    int status = VV_OK;
    for (size_t at = 0, piece; at < text.length && status == VV_OK; at += piece) {
        size_t left = text.length - at;
        piece = cut ? cut(at, context) : left;
        piece = piece < left ? piece : left;
        /* a copy of its own, so that reading beyond it is seen */
        char *copy = malloc(piece);
        memcpy(copy, text.at + at, piece);
        status =
            vv_answer_push(answer, (struct vv_text){copy, piece}, told_take, &told, &told.error);
        free(copy);
    }
    status = status == VV_OK ? vv_answer_end(answer, told_take, &told, &told.error) : status;
    if (status != VV_OK) {
        fprintf(stderr, "%s\n", told.error.message);
        abort();
    }
    vv_answer_free(answer);
    return told;
}

static inline size_t told_cut_bytes(size_t at, void *context) {
    (void)at;
    (void)context;
    return 1;
}

/* Once, at the place that the context points to. */
static inline size_t told_cut_once(size_t at, void *context) {
    const size_t *place = context;
    return at < *place ? *place - at : (size_t)-1;
}

static inline bool told_same(const struct told *a, const struct told *b) {
    return a->line.length == b->line.length && a->raw.length == b->raw.length &&
           memcmp(a->line.at, b->line.at, a->line.length) == 0 &&
           (a->raw.length == 0 || memcmp(a->raw.at, b->raw.at, a->raw.length) == 0);
}

#include "input.h"
#include "options.h"
#include "report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int read_all(int descriptor, const char *name, struct text *text) {
    size_t room = 1 << 16;
    *text = (struct text){.at = malloc(room)};
    while (text->at) {
        ssize_t n = read(descriptor, text->at + text->length, room - text->length - 1);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return fail("%s cannot be read: %s", name, strerror(errno));
        }
        if (n == 0) {
            text->at[text->length] = 0;
            return EXIT_DONE;
        }
        text->length += (size_t)n;
        if (text->length > INPUT_MOST) {
            return fail("%s is longer than %d MB: give less text", name, INPUT_MOST >> 20);
        }
        if (room - text->length - 1 == 0) {
            room *= 2;
            char *larger = realloc(text->at, room);
            if (!larger) {
                break;
            }
            text->at = larger;
        }
    }
    return fail("no memory for the text of %s", name);
}

int text_append(struct text *text, size_t *room, const char *more, size_t length) {
    if (*room - text->length <= length) {
        size_t larger_room = 2 * (text->length + length) + 64;
        char *larger = realloc(text->at, larger_room);
        if (!larger) {
            return fail("no memory for a text of %zu bytes", text->length + length);
        }
        text->at = larger;
        *room = larger_room;
    }
    memcpy(text->at + text->length, more, length);
    text->length += length;
    text->at[text->length] = 0;
    return EXIT_DONE;
}

int input_read_from(int descriptor, const char *name, struct text *text) {
    int code = read_all(descriptor, name, text);
    if (code != EXIT_DONE) {
        free(text->at);
        *text = (struct text){0};
    }
    return code;
}

int input_read(const char *path, struct text *text) {
    bool standard = strcmp(path, "-") == 0;
    int descriptor = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    *text = (struct text){0};
    if (descriptor < 0) {
        return fail("%s cannot be opened: %s", path, strerror(errno));
    }
    int code = input_read_from(descriptor, standard ? "standard input" : path, text);
    if (!standard) {
        close(descriptor);
    }
    return code;
}

static bool between(char c) {
    return c == ' ' || c == ',' || (c >= '\t' && c <= '\r');
}

/* The decimal number at `*at`, which moves behind it; -1 for anything else. */
static int32_t take_id(const char **at, const char *end) {
    int64_t id = 0;
    const char *from = *at;
    while (*at < end && **at >= '0' && **at <= '9' && id <= INT32_MAX) {
        id = id * 10 + (*(*at)++ - '0');
    }
    bool ended = *at == end || between(**at);
    return *at > from && ended && id <= INT32_MAX ? (int32_t)id : -1;
}

int input_tokens(const struct text *text, const char *where, struct token_list *tokens) {
    const char *at = text->at, *end = text->at + text->length;
    *tokens = (struct token_list){.at = malloc((text->length / 2 + 1) * sizeof *tokens->at)};
    if (!tokens->at) {
        return fail("no memory for the tokens of %s", where);
    }
    for (;;) {
        while (at < end && between(*at)) {
            at++;
        }
        if (at == end) {
            return EXIT_DONE;
        }
        const char *from = at;
        int32_t id = take_id(&at, end);
        if (id < 0) {
            int shown = 0;
            while (from + shown < end && !between(from[shown]) && shown < 40) {
                shown++;
            }
            free(tokens->at);
            tokens->at = NULL;
            return fail("%s: \"%.*s\" in place %zu is no token id (a number from 0 on)", where,
                        shown, from, tokens->count);
        }
        tokens->at[tokens->count++] = id;
    }
}

#include "line.h"
#include "interrupt.h"
#include "output.h"

#include <errno.h>
#include <locale.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#ifdef VARVE_LIBEDIT
#include <histedit.h>
#endif

struct lines {
    bool edited;
    char *line; /* as long as the longest so far */
    size_t room;
    char chunk[4096]; /* read already: what is at `at` and behind is of the next lines */
    size_t at, filled;
#ifdef VARVE_LIBEDIT
    const char *prompt;
    EditLine *edit;
    History *history;
    mbstate_t character; /* the one being typed */
#endif
};

static bool append(struct lines *lines, size_t length, size_t more) {
    if (length + more + 1 > lines->room) {
        size_t room = 2 * (length + more + 1);
        char *line = realloc(lines->line, room);
        if (!line) {
            return false;
        }
        lines->line = line;
        lines->room = room;
    }
    memcpy(lines->line + length, lines->chunk + lines->at, more);
    lines->line[length + more] = '\0';
    lines->at += more;
    return true;
}

/* Up to a newline or the end of the input; NULL if there is nothing, or a signal came. */
static const char *plain_line(struct lines *lines, size_t *length) {
    *length = 0;
    for (;;) {
        if (lines->at == lines->filled) {
            ssize_t n = interrupt_wait(STDIN_FILENO)
                            ? read(STDIN_FILENO, lines->chunk, sizeof lines->chunk)
                            : -1;
            lines->at = 0;
            lines->filled = n > 0 ? (size_t)n : 0;
            if (n <= 0) {
                return n == 0 && *length > 0 ? lines->line : NULL;
            }
        }
        const char *from = lines->chunk + lines->at;
        const char *end = memchr(from, '\n', lines->filled - lines->at);
        size_t more = end ? (size_t)(end - from) + 1 : lines->filled - lines->at;
        if (!append(lines, *length, more)) {
            return NULL;
        }
        *length += more;
        if (end) {
            return lines->line;
        }
    }
}

#ifdef VARVE_LIBEDIT

enum { HISTORY_LINES = 1000 };

static char *prompt_of(EditLine *edit) {
    struct lines *lines;
    el_get(edit, EL_CLIENTDATA, &lines);
    return (char *)(uintptr_t)lines->prompt;
}

/* Libedit's own function tries again after a signal; this one gives up, so that Ctrl-C is seen. */
static int read_character(EditLine *edit, wchar_t *character) {
    struct lines *lines;
    char byte;
    el_get(edit, EL_CLIENTDATA, &lines);
    for (;;) {
        ssize_t n = interrupt_wait(STDIN_FILENO) ? read(STDIN_FILENO, &byte, 1) : -1;
        if (n <= 0) {
            return n == 0 ? 0 : -1;
        }
        size_t used = mbrtowc(character, &byte, 1, &lines->character);
        if (used <= 1) {
            return 1;
        }
        if (used == (size_t)-1) {
            memset(&lines->character, 0, sizeof lines->character);
        }
    }
}

/* Without it lines are read as they come. */
static void open_editor(struct lines *lines) {
    HistEvent event;
    if (!setlocale(LC_CTYPE, "") || MB_CUR_MAX == 1) {
        setlocale(LC_CTYPE, "C.UTF-8");
    }
    lines->edit = el_init("varve", stdin, stdout, stderr);
    lines->history = history_init();
    if (!lines->edit || !lines->history) {
        lines->edited = false;
        return;
    }
    history(lines->history, &event, H_SETSIZE, HISTORY_LINES);
    history(lines->history, &event, H_SETUNIQUE, 1);
    el_set(lines->edit, EL_CLIENTDATA, lines);
    el_set(lines->edit, EL_PROMPT, prompt_of);
    el_set(lines->edit, EL_EDITOR, "emacs");
    el_set(lines->edit, EL_HIST, history, lines->history);
    el_set(lines->edit, EL_GETCFN, read_character);
    el_set(lines->edit, EL_BIND, "^R", "em-inc-search-prev", NULL);
    el_source(lines->edit, NULL);
}

static void close_editor(struct lines *lines) {
    if (lines->edit) {
        el_end(lines->edit);
    }
    if (lines->history) {
        history_end(lines->history);
    }
}

static const char *edit_line(struct lines *lines, const char *prompt, size_t *length) {
    int count = 0;
    lines->prompt = prompt;
    el_resize(lines->edit);
    const char *text = el_gets(lines->edit, &count);
    *length = count > 0 ? (size_t)count : 0;
    return *length ? text : NULL;
}

void lines_remember(struct lines *lines, const char *text) {
    HistEvent event;
    if (lines->edited && text[0]) {
        history(lines->history, &event, H_ENTER, text);
    }
}

#else

static void open_editor(struct lines *lines) {
    (void)lines;
}

static void close_editor(struct lines *lines) {
    (void)lines;
}

static const char *edit_line(struct lines *lines, const char *prompt, size_t *length) {
    output_write(prompt, strlen(prompt));
    output_flush();
    return plain_line(lines, length);
}

void lines_remember(struct lines *lines, const char *text) {
    (void)lines;
    (void)text;
}

#endif

struct lines *lines_open(bool edited) {
    struct lines *lines = calloc(1, sizeof *lines);
    if (lines && edited) {
        lines->edited = true;
        open_editor(lines);
    }
    return lines;
}

void lines_close(struct lines *lines) {
    if (lines) {
        close_editor(lines);
        free(lines->line);
        free(lines);
    }
}

enum line_end lines_read(struct lines *lines, const char *prompt, const char **text,
                         size_t *length) {
    *text = lines->edited ? edit_line(lines, prompt, length) : plain_line(lines, length);
    if (interrupted()) {
        return LINE_INTERRUPTED;
    }
    if (!*text) {
        return LINE_ENDED;
    }
    *length -= (*text)[*length - 1] == '\n';
    return LINE_READ;
}

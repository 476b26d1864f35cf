#include "progress.h"
#include "interrupt.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { DELAY_MS = 300, EVERY_MS = 100 }; /* short work shows nothing */

static struct {
    const char *what; /* the work that began last */
    double began, shown;
    bool visible;
} line;

double seconds_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* True when it is time to show the line again. */
static bool due(const char *what, double now) {
    if (!line.what || strcmp(line.what, what) != 0) {
        line.what = what;
        line.began = line.shown = now;
    }
    return now - line.began >= DELAY_MS * 1e-3 && now - line.shown >= EVERY_MS * 1e-3 &&
           isatty(STDERR_FILENO);
}

bool progress_bytes(void *context, const char *what, uint64_t done, uint64_t total) {
    (void)context;
    double now = seconds_now();
    if (done == total) {
        progress_clear();
    } else if (due(what, now)) {
        fprintf(stderr, "\r%s %.1f of %.1f MB, %.0f MB/s\033[K", what, (double)done * 1e-6,
                (double)total * 1e-6, (double)done * 1e-6 / (now - line.began));
        line.shown = now;
        line.visible = true;
    }
    return !interrupted();
}

bool progress_tokens(void *context, const char *what, uint64_t done, uint64_t total) {
    (void)context;
    double now = seconds_now();
    if (due(what, now)) {
        fprintf(stderr, "\r%s %llu of %llu tokens, %.0f a second\033[K", what,
                (unsigned long long)done, (unsigned long long)total,
                (double)done / (now - line.began));
        line.shown = now;
        line.visible = true;
    }
    return !interrupted();
}

bool progress_steps(void *context, const char *what, uint64_t done, uint64_t total) {
    (void)context;
    double now = seconds_now();
    if (due(what, now)) {
        fprintf(stderr, "\r%s %llu of %llu\033[K", what, (unsigned long long)done,
                (unsigned long long)total);
        line.shown = now;
        line.visible = true;
    }
    return !interrupted();
}

void progress_clear(void) {
    if (line.visible) {
        fputs("\r\033[K", stderr);
        line.visible = false;
    }
}

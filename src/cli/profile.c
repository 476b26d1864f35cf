#include "profile.h"

#include <stdio.h>
#include <stdlib.h>

enum { CLASSES_MOST = 64 };

static int longest_first(const void *a, const void *b) {
    const struct varve_profile_line *x = a, *y = b;
    return (x->seconds < y->seconds) - (x->seconds > y->seconds);
}

void profile_report(const struct varve_session *session) {
    struct varve_profile_line lines[CLASSES_MOST];
    size_t count = varve_session_profile(session, lines, CLASSES_MOST);
    count = count < CLASSES_MOST ? count : CLASSES_MOST;
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += lines[i].seconds;
    }
    qsort(lines, count, sizeof lines[0], longest_first);
    for (size_t i = 0; i < count; i++) {
        fprintf(stderr, "%-20s %6zu steps %10.3f s %5.1f %%\n", lines[i].step_class, lines[i].steps,
                lines[i].seconds, sum > 0 ? 100 * lines[i].seconds / sum : 0);
    }
}

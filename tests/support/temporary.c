#include "support/temporary.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>

struct temporary temporary_make(void) {
    struct temporary t;
    const char *root = getenv("TMPDIR");
    snprintf(t.path, sizeof t.path, "%s/varve-test-XXXXXX", root ? root : "/tmp");
    if (!mkdtemp(t.path)) {
        perror(t.path);
        abort();
    }
    return t;
}

const char *temporary_file(const struct temporary *t, const char *name) {
    static char paths[8][600];
    static int next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", t->path, name);
    return path;
}

const char *temporary_write(const struct temporary *t, const char *name, const char *text) {
    const char *path = temporary_file(t, name);
    FILE *file = fopen(path, "wb");
    if (!file || fputs(text, file) < 0 || fclose(file) != 0) {
        perror(path);
        abort();
    }
    return path;
}

static int remove_one(const char *path, const struct stat *s, int kind, struct FTW *at) {
    (void)s, (void)kind, (void)at;
    return remove(path);
}

void temporary_remove(const struct temporary *t) {
    nftw(t->path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

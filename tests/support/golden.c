#include "support/golden.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void golden_open(struct golden *g, const char *path) {
    struct vv_error error;
    g->path = path;
    g->file = NULL;
    if (vv_gguf_open(path, NULL, &g->file, &error) != VV_OK) {
        g->file = NULL;
        golden_verdict(g, false, "%s", error.message);
    }
}

void golden_close(struct golden *g) {
    vv_gguf_close(g->file);
    g->file = NULL;
}

const void *golden_tensor(struct golden *g, const char *name, int type, size_t elements) {
    const struct vv_gguf_tensor *t = g->file ? vv_gguf_find_tensor(g->file, name) : NULL;
    if (!t || t->type != type || t->elements != elements) {
        golden_verdict(g, false, "there is no tensor %s of %zu values of type %s", name, elements,
                       vv_type_name(type));
        return NULL;
    }
    return vv_gguf_tensor_data(g->file, t);
}

void golden_verdict(struct golden *g, bool passed, const char *what, ...) {
    if (passed) {
        g->passed++;
        return;
    }
    va_list list;
    va_start(list, what);
    printf("%s: ", g->path);
    vprintf(what, list);
    printf("\n");
    va_end(list);
    g->failed++;
}

bool golden_same_floats(const float *a, const float *b, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (memcmp(&a[i], &b[i], sizeof *a) != 0 && !(isnan(a[i]) && isnan(b[i]))) {
            return false;
        }
    }
    return true;
}

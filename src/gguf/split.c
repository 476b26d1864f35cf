#include "gguf/internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_SHARDS = 99999, NAME_TAIL = sizeof "-00001-of-00003.gguf" - 1 };

/* The numbers in PREFIX-000NN-of-000MM.gguf; false if the path does not end so. */
static bool read_name(const char *path, unsigned *number, unsigned *count) {
    size_t length = strlen(path);
    char again[NAME_TAIL + 1];
    if (length < NAME_TAIL ||
        sscanf(path + length - NAME_TAIL, "-%5u-of-%5u.gguf", number, count) != 2) {
        return false;
    }
    snprintf(again, sizeof again, "-%05u-of-%05u.gguf", *number % 100000, *count % 100000);
    return strcmp(again, path + length - NAME_TAIL) == 0;
}

/* The path of file `number` (from 1) of the set that PATH, of that form, belongs to; NULL: no
 * memory. */
static char *path_of(const char *path, unsigned number, unsigned count) {
    size_t length = strlen(path);
    char *other = malloc(length + 1);
    if (other) {
        memcpy(other, path, length + 1);
        snprintf(other + length - NAME_TAIL, NAME_TAIL + 1, "-%05u-of-%05u.gguf", number % 100000,
                 count % 100000);
    }
    return other;
}

/* Lists all files of the set that are not there: "FILE and N more". */
static int check_present(const char *path, unsigned count, struct vv_error *error) {
    char names[600] = "";
    size_t used = 0;
    unsigned missing = 0, shown = 0;
    for (unsigned number = 1; number <= count; number++) {
        char *other = path_of(path, number, count);
        if (!other) {
            return vv_fail_memory(error, strlen(path) + 1, "a file name");
        }
        if (access(other, F_OK) != 0) {
            const char *slash = strrchr(other, '/'), *name = slash ? slash + 1 : other;
            missing++;
            if (used + strlen(name) + 3 < sizeof names) {
                used += (size_t)snprintf(names + used, sizeof names - used, "%s%s",
                                         shown ? ", " : "", name);
                shown++;
            }
        }
        free(other);
    }
    if (missing == 0) {
        return VV_OK;
    }
    char more[32] = "";
    if (missing > shown) {
        snprintf(more, sizeof more, " and %u more", missing - shown);
    }
    return vv_fail(error, VV_ERROR_INVALID,
                   "%s is one of %u files, of which %u %s missing beside it: %s%s",
                   vv_path_tail(path), count, missing, missing == 1 ? "is" : "are", names, more);
}

static int open_others(struct vv_gguf *g, unsigned opened, unsigned count, struct vv_error *error) {
    struct vv_gguf_shard *shards = calloc(count, sizeof *shards);
    if (!shards) {
        return vv_fail_memory(error, count * sizeof *shards, "the files of a model");
    }
    shards[0] = g->shards[0];
    free(g->shards);
    g->shards = shards;
    int code = VV_OK;
    for (unsigned number = 1; number <= count && code == VV_OK; number++) {
        if (number == opened) {
            continue;
        }
        char *path = path_of(shards[0].file.path, number, count);
        if (!path) {
            return vv_fail_memory(error, strlen(shards[0].file.path) + 1, "a file name");
        }
        struct vv_gguf_shard *next = &shards[g->shard_count];
        code = vv_file_open(path, &next->file, error);
        free(path);
        if (code == VV_OK) {
            g->shard_count++;
            code = vv_gguf_parse(next, error);
        }
    }
    return code;
}

int vv_gguf_open_set(struct vv_gguf *g, struct vv_error *error) {
    const struct vv_gguf_shard *first = &g->shards[0];
    const char *path = first->file.path, *label = vv_gguf_label(first);
    uint64_t declared = 1;
    unsigned number, count;
    int code = vv_gguf_shard_integer(first, "split.count", MOST_SHARDS, &declared, error);
    if (code != VV_OK || declared <= 1) {
        return code;
    }
    if (!read_name(path, &number, &count)) {
        return vv_fail(error, VV_ERROR_INVALID,
                       "%s is one of %u files, and its name does not tell which: give them their "
                       "names of the form NAME-00001-of-%05u.gguf back",
                       label, (unsigned)declared, (unsigned)declared);
    }
    if (count != declared || number < 1 || number > count) {
        return vv_fail(error, VV_ERROR_INVALID,
                       "%s is file %u of %u by its name and belongs to a set of %u by its key "
                       "'split.count': give it its own name back",
                       label, number, count, (unsigned)declared);
    }
    code = check_present(path, count, error);
    return code == VV_OK ? open_others(g, number, count, error) : code;
}

static int compare_numbers(const void *a, const void *b) {
    const struct vv_gguf_shard *x = a, *y = b;
    return (x->number > y->number) - (x->number < y->number);
}

/* Every file knows how many there are and which it is; together they are all of them. */
static int check_numbers(struct vv_gguf *g, struct vv_error *error) {
    for (uint32_t k = 0; k < g->shard_count; k++) {
        struct vv_gguf_shard *s = &g->shards[k];
        uint64_t count = 1, number = 0;
        int code = vv_gguf_shard_integer(s, "split.count", MOST_SHARDS, &count, error);
        if (code == VV_OK) {
            code = vv_gguf_shard_integer(s, "split.no", MOST_SHARDS, &number, error);
        }
        if (code != VV_OK) {
            return code;
        }
        if (count > 1 ? count != g->shard_count || number >= count : g->shard_count > 1) {
            return vv_fail(error, VV_ERROR_INVALID,
                           "%s says that it is file %u of %u (keys 'split.no' and 'split.count'), "
                           "in a set of %u: these files do not belong together",
                           vv_gguf_label(s), (unsigned)number + 1, (unsigned)count, g->shard_count);
        }
        s->number = count > 1 ? (uint32_t)number : 0;
    }
    qsort(g->shards, g->shard_count, sizeof *g->shards, compare_numbers);
    for (uint32_t k = 1; k < g->shard_count; k++) {
        if (g->shards[k].number == g->shards[k - 1].number) {
            return vv_fail(error, VV_ERROR_INVALID,
                           "%s and %s both say that they are file %u of %u: one is in the place "
                           "of another",
                           vv_gguf_label(&g->shards[k - 1]), vv_gguf_label(&g->shards[k]),
                           g->shards[k].number + 1, g->shard_count);
        }
    }
    return VV_OK;
}

static int check_tensor_count(const struct vv_gguf *g, struct vv_error *error) {
    uint64_t declared = g->tensor_count;
    int code =
        vv_gguf_shard_integer(&g->shards[0], "split.tensors.count", UINT64_MAX, &declared, error);
    if (code == VV_OK && g->shard_count > 1 && declared != g->tensor_count) {
        code = vv_fail(error, VV_ERROR_INVALID,
                       "%s and its %u other files hold %zu tensors together, and key "
                       "'split.tensors.count' says %llu: these files do not belong together",
                       vv_gguf_label(&g->shards[0]), g->shard_count - 1, g->tensor_count,
                       (unsigned long long)declared);
    }
    return code;
}

static int compare_names(const void *a, const void *b) {
    return strcmp((*(const struct vv_gguf_tensor *const *)a)->name,
                  (*(const struct vv_gguf_tensor *const *)b)->name);
}

const struct vv_gguf_tensor *vv_gguf_find_tensor(const struct vv_gguf *g, const char *name) {
    struct vv_gguf_tensor wanted = {.name = name};
    const struct vv_gguf_tensor *at = &wanted, **found;
    found = bsearch(&at, g->by_name, g->tensor_count, sizeof *g->by_name, compare_names);
    return found ? *found : NULL;
}

int vv_gguf_index(struct vv_gguf *g, struct vv_error *error) {
    for (size_t i = 0; i < g->tensor_count; i++) {
        g->by_name[i] = &g->tensors[i];
    }
    qsort(g->by_name, g->tensor_count, sizeof *g->by_name, compare_names);
    for (size_t i = 1; i < g->tensor_count; i++) {
        const struct vv_gguf_tensor *t = g->by_name[i - 1], *u = g->by_name[i];
        if (strcmp(t->name, u->name) == 0) {
            return vv_fail(error, VV_ERROR_INVALID, "%s: tensor '%.*s' is there twice%s%s",
                           vv_gguf_label(&g->shards[t->shard]), VV_GGUF_NAME_SHOWN, t->name,
                           t->shard != u->shard ? ", the other time in " : "",
                           t->shard != u->shard ? vv_gguf_label(&g->shards[u->shard]) : "");
        }
    }
    return VV_OK;
}

/* One list of the tensors of all files, and its index. */
static int gather(struct vv_gguf *g, struct vv_error *error) {
    size_t n = g->tensor_count, at = 0;
    g->tensors = malloc((n ? n : 1) * sizeof *g->tensors);
    g->by_name = malloc((n ? n : 1) * sizeof *g->by_name);
    if (!g->tensors || !g->by_name) {
        return vv_fail_memory(error, n * sizeof *g->tensors, "the tensors of a model");
    }
    for (uint32_t k = 0; k < g->shard_count; k++) {
        struct vv_gguf_shard *s = &g->shards[k];
        for (size_t i = 0; i < s->tensor_count; i++, at++) {
            g->tensors[at] = s->tensors[i];
            g->tensors[at].shard = k;
        }
    }
    return vv_gguf_index(g, error);
}

int vv_gguf_join(struct vv_gguf *g, struct vv_error *error) {
    int code = check_numbers(g, error);
    if (code != VV_OK) {
        return code;
    }
    for (uint32_t k = 0; k < g->shard_count; k++) {
        g->tensor_count += g->shards[k].tensor_count;
    }
    if ((code = check_tensor_count(g, error)) != VV_OK ||
        (code = vv_gguf_place(g, error)) != VV_OK) {
        return code;
    }
    return gather(g, error);
}

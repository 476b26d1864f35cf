#include "tune/geometry_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_MOST = 100, HEADS_MOST = 64 };
#define TABLE "per_layer_token_embd.weight"

/* ---- released models ---- */

static const struct {
    const char *name;
    int (*declare)(struct vv_gguf_writer *w, const char *types, struct vv_error *error);
} released[] = {{"qwen3.8-flash-next", vv_geometry_qwen4exp},
                {"qwen3.8-flash-next-mtp", vv_geometry_qwen4exp_mtp},
                {"deepseek-v4-flash", vv_geometry_deepseek4},
                {"deepseek-v4-flash-mtp", vv_geometry_deepseek4_mtp}};
enum { RELEASED = sizeof released / sizeof *released };

static size_t find(const char *name) {
    size_t i = 0;
    while (i < RELEASED && strcmp(released[i].name, name) != 0) {
        i++;
    }
    return i;
}

bool vv_geometry_is_named(const char *name) {
    return find(name) < RELEASED;
}

int vv_geometry_named(const char *name, const char *types, struct vv_gguf **out,
                      struct vv_error *error) {
    struct vv_gguf_writer *w;
    size_t i = find(name);
    *out = NULL;
    if (i == RELEASED) {
        return vv_fail(error, VV_ERROR_INVALID,
                       "no released model is called \"%.60s\"; there are %s and %s, and both with "
                       "-mtp behind the name",
                       name, released[0].name, released[2].name);
    }
    int code = vv_gguf_writer_new(name, &w, error);
    if (code == VV_OK && (code = released[i].declare(w, types, error)) != VV_OK) {
        vv_gguf_writer_abandon(w);
        return code;
    }
    return code == VV_OK ? vv_gguf_writer_describe(w, out, error) : code;
}

/* ---- a part of a model ---- */

struct cut {
    const struct vv_gguf *file;
    char architecture[60];
    uint64_t blocks, drafts; /* that the file has: all layers, and those of them that draft */
    uint64_t layers;         /* of the trunk that are kept */
    bool all;                /* drafts, too */
    uint64_t table_rows;     /* that are kept; 0: no table, or all */
    uint64_t heads;          /* of the table */
};

static void key_of(const struct cut *c, const char *key, char out[KEY_MOST]) {
    snprintf(out, KEY_MOST, "%s.%s", c->architecture, key);
}

static uint64_t number_or(const struct cut *c, const char *name, uint64_t missing) {
    char key[KEY_MOST];
    uint64_t value;
    struct vv_error ignored;
    key_of(c, name, key);
    return vv_gguf_has(c->file, key) && vv_gguf_get_u64(c->file, key, &value, &ignored) == VV_OK
               ? value
               : missing;
}

static bool is(const struct cut *c, const struct vv_gguf_entry *e, const char *name) {
    char key[KEY_MOST];
    key_of(c, name, key);
    return strlen(key) == e->key_length && memcmp(key, e->key, e->key_length) == 0;
}

static bool begins(const struct vv_gguf_entry *e, const char *with) {
    return e->key_length > strlen(with) && memcmp(e->key, with, strlen(with)) == 0;
}

/* The layer of "blk.7.…", or -1. */
static long long layer_of(const struct vv_gguf_tensor *t) {
    unsigned layer;
    return sscanf(t->name, "blk.%u.", &layer) == 1 ? (long long)layer : -1;
}

static bool is_kept(const struct cut *c, const struct vv_gguf_tensor *t) {
    return layer_of(t) < (long long)c->layers || c->all;
}

/* ---- what it takes ---- */

struct sizes {
    uint64_t layers, rest, table; /* bytes: of the layers kept, of the model, of the n-gram table */
    uint64_t row;                 /* of that table */
};

static struct sizes measure(const struct cut *c) {
    struct sizes s = {0};
    for (size_t i = 0; i < vv_gguf_tensor_count(c->file); i++) {
        const struct vv_gguf_tensor *t = vv_gguf_tensor_at(c->file, i);
        if (strcmp(t->name, TABLE) == 0) {
            s.table = t->bytes;
            s.row = t->bytes / t->ne[1];
        } else if (layer_of(t) >= 0) {
            s.layers += is_kept(c, t) ? t->bytes : 0;
        } else {
            s.rest += t->bytes;
        }
    }
    return s;
}

/* So many of the first layers would fit. */
static uint64_t fitting_layers(const struct cut *c, uint64_t room) {
    struct cut fewer = *c;
    fewer.all = false;
    for (fewer.layers = c->layers; fewer.layers > 0; fewer.layers--) {
        struct sizes s = measure(&fewer);
        if (s.layers + s.rest <= room) {
            break;
        }
    }
    return fewer.layers;
}

static int refuse(const struct cut *c, const struct sizes *s, uint64_t room,
                  struct vv_error *error) {
    unsigned long long fit = fitting_layers(c, room);
    char advice[64] = "not even one layer would fit: take smaller --types";
    if (fit > 0) {
        snprintf(advice, sizeof advice, "--layers %llu would fit", fit);
    }
    return vv_fail(error, VV_ERROR_MEMORY,
                   "%s: its weights take %.2f GB with %llu layers%s, and there is room for "
                   "%.2f GB: %s",
                   vv_gguf_path(c->file, 0), (double)(s->layers + s->rest) * 1e-9,
                   (unsigned long long)(c->layers + (c->all ? c->drafts : 0)),
                   s->table ? " and no n-gram table" : "", (double)room * 1e-9, advice);
}

/* Each head keeps an equal share of the rows. */
static int fit_table(struct cut *c, uint64_t room, struct vv_error *error) {
    struct sizes s = measure(c);
    if (s.layers + s.rest > room) {
        return refuse(c, &s, room, error);
    }
    uint64_t left = room - s.layers - s.rest;
    if (s.table <= left) {
        return VV_OK;
    }
    struct vv_error ignored;
    const struct vv_gguf_entry *heads;
    char key[KEY_MOST];
    key_of(c, "ple.head_vocab_sizes", key);
    c->heads = vv_gguf_get_array(c->file, key, &heads, &ignored) == VV_OK ? heads->count : 0;
    c->table_rows = c->heads ? left / 4 / s.row / c->heads * c->heads : 0;
    return c->table_rows && c->heads <= HEADS_MOST ? VV_OK : refuse(c, &s, room, error);
}

/* ---- what is written ---- */

static int put_rows(const struct cut *c, struct vv_gguf_writer *w, const char *name, bool offsets,
                    struct vv_error *error) {
    char key[KEY_MOST];
    uint64_t values[HEADS_MOST], share = c->table_rows / c->heads;
    for (uint64_t k = 0; k < c->heads; k++) {
        values[k] = offsets ? k * share : share;
    }
    key_of(c, name, key);
    return vv_gguf_writer_array(w, key, VV_GGUF_U64, values, c->heads, error);
}

/* An entry with a value a layer loses those of the layers that go. Of a split set each file has its
 * number, which means nothing here. */
static int put_entry(const struct cut *c, struct vv_gguf_writer *w, const struct vv_gguf_entry *e,
                     struct vv_error *error) {
    char key[KEY_MOST];
    struct vv_gguf_entry shorter = *e;
    if (begins(e, "split.") || (!c->all && is(c, e, "nextn_predict_layers"))) {
        return VV_OK;
    }
    if (!c->all && is(c, e, "block_count")) {
        key_of(c, "block_count", key);
        return vv_gguf_writer_u32(w, key, (uint32_t)c->layers, error);
    }
    uint64_t hashed = number_or(c, "hash_layer_count", 0);
    if (!c->all && is(c, e, "hash_layer_count") && hashed > c->layers) {
        key_of(c, "hash_layer_count", key);
        return vv_gguf_writer_u32(w, key, (uint32_t)c->layers, error);
    }
    if (c->table_rows && is(c, e, "ple.head_vocab_sizes")) {
        return put_rows(c, w, "ple.head_vocab_sizes", false, error);
    }
    if (c->table_rows && is(c, e, "ple.head_offsets")) {
        return put_rows(c, w, "ple.head_offsets", true, error);
    }
    if (!c->all && e->type == VV_GGUF_ARRAY && e->count == c->blocks && !e->strings &&
        begins(e, c->architecture)) {
        shorter.count = c->layers;
        shorter.size = e->size / e->count * c->layers;
    }
    return vv_gguf_writer_entry(w, &shorter, error);
}

static int put_tensor(const struct cut *c, struct vv_gguf_writer *w, const struct vv_gguf_tensor *t,
                      struct vv_error *error) {
    uint64_t ne[4];
    memcpy(ne, t->ne, sizeof ne);
    if (c->table_rows && strcmp(t->name, TABLE) == 0) {
        ne[1] = c->table_rows;
    }
    return is_kept(c, t) ? vv_gguf_writer_tensor(w, t->name, t->type, t->dimensions, ne, error)
                         : VV_OK;
}

static int put_all(const struct cut *c, struct vv_gguf_writer *w, struct vv_error *error) {
    int code = VV_OK;
    for (size_t i = 0; code == VV_OK && i < vv_gguf_entry_count(c->file); i++) {
        code = put_entry(c, w, vv_gguf_entry_at(c->file, i), error);
    }
    for (size_t i = 0; code == VV_OK && i < vv_gguf_tensor_count(c->file); i++) {
        code = put_tensor(c, w, vv_gguf_tensor_at(c->file, i), error);
    }
    return code;
}

static int plan(struct cut *c, const struct vv_geometry_part *part, struct vv_error *error) {
    struct vv_string name;
    int code = vv_gguf_get_string(c->file, "general.architecture", &name, error);
    if (code != VV_OK) {
        return code;
    }
    snprintf(c->architecture, sizeof c->architecture, "%.*s",
             (int)(name.length < sizeof c->architecture ? name.length : 0), name.at);
    c->blocks = number_or(c, "block_count", 0);
    c->drafts = number_or(c, "nextn_predict_layers", 0);
    uint64_t trunk = c->blocks > c->drafts ? c->blocks - c->drafts : 0;
    c->all = part->layers == 0;
    c->layers = c->all || part->layers > trunk ? trunk : part->layers;
    return fit_table(c, part->room, error);
}

int vv_geometry_part(const struct vv_gguf *file, const struct vv_geometry_part *part,
                     struct vv_gguf **out, struct vv_error *error) {
    struct cut c = {.file = file};
    struct vv_gguf_writer *w;
    *out = NULL;
    int code = plan(&c, part, error);
    code = code == VV_OK ? vv_gguf_writer_new(vv_gguf_path(file, 0), &w, error) : code;
    if (code != VV_OK) {
        return code;
    }
    code = put_all(&c, w, error);
    if (code != VV_OK) {
        vv_gguf_writer_abandon(w);
        return code;
    }
    return vv_gguf_writer_describe(w, out, error);
}

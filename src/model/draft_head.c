#include "model/draft_head.h"

#include <stdio.h>
#include <string.h>

enum { KEYS_MOST = 16, NAME_MOST = 100 };

struct join {
    struct vv_gguf *file, *head;
    struct vv_string architecture;
    const struct vv_gguf_entry *keys[KEYS_MOST]; /* of the head, to go before the file's */
    size_t key_count;
    struct vv_error *error;
};

static const char *head_path(const struct join *j) {
    return vv_gguf_path(j->head, 0);
}

static bool equal_text(struct vv_string a, struct vv_string b) {
    return a.length == b.length && memcmp(a.at, b.at, a.length) == 0;
}

static int check_architecture(struct join *j) {
    struct vv_string kind;
    int code = vv_gguf_get_string(j->file, "general.architecture", &j->architecture, j->error);
    code =
        code == VV_OK ? vv_gguf_get_string(j->head, "general.architecture", &kind, j->error) : code;
    if (code == VV_OK && !equal_text(kind, j->architecture)) {
        code = vv_fail(j->error, VV_ERROR_UNSUPPORTED,
                       "%s holds a draft head of the kind \"%.*s\", and this model drafts with one "
                       "of its own architecture, \"%.*s\"",
                       head_path(j), (int)(kind.length < 60 ? kind.length : 60), kind.at,
                       (int)(j->architecture.length < 60 ? j->architecture.length : 60),
                       j->architecture.at);
    }
    return code;
}

/* "qwen4exp.block_count" for "block_count". */
static void full_name(const struct join *j, const char *key, char name[NAME_MOST]) {
    snprintf(name, NAME_MOST, "%.*s.%s",
             (int)(j->architecture.length < 60 ? j->architecture.length : 60), j->architecture.at,
             key);
}

/* A count of `from`; where there is none `*out` stays, or it is an error if `out` is below 0. */
static int number(const struct join *j, const struct vv_gguf *from, const char *key, int64_t *out) {
    char name[NAME_MOST];
    full_name(j, key, name);
    return *out >= 0 && !vv_gguf_has(from, name) ? VV_OK
                                                 : vv_gguf_get_i64(from, name, out, j->error);
}

static int take_key(struct join *j, const struct vv_gguf_entry *entry) {
    if (j->key_count == KEYS_MOST) {
        return vv_fail(j->error, VV_ERROR_INVALID, "%s has more lists of layers than are known",
                       head_path(j));
    }
    j->keys[j->key_count++] = entry;
    return VV_OK;
}

/* The file has no block, the head one, behind as many layers. `*layers`: so many. */
static int check_layers(struct join *j, int64_t *layers) {
    int64_t own = 0, drafts = 0, all = -1;
    *layers = -1;
    int code = number(j, j->file, "nextn_predict_layers", &own);
    code = code == VV_OK ? number(j, j->head, "nextn_predict_layers", &drafts) : code;
    code = code == VV_OK ? number(j, j->file, "block_count", layers) : code;
    code = code == VV_OK ? number(j, j->head, "block_count", &all) : code;
    if (code == VV_OK && own != 0) {
        return vv_fail(j->error, VV_ERROR_INVALID, "%s has a draft block of its own: leave %s out",
                       vv_gguf_path(j->file, 0), head_path(j));
    }
    if (code == VV_OK && (drafts != 1 || all - 1 != *layers)) {
        return vv_fail(j->error, VV_ERROR_INVALID,
                       "%s holds %lld draft blocks behind %lld layers, and this model needs one "
                       "behind its %lld",
                       head_path(j), (long long)drafts, (long long)(all - drafts),
                       (long long)*layers);
    }
    return code;
}

/* The first `count` elements are the same. */
static bool begins_alike(const struct join *j, const struct vv_gguf_entry *a,
                         const struct vv_gguf_entry *b, uint64_t count) {
    struct vv_error ignored;
    if (a->element_type == b->element_type && a->count == b->count) {
        return a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0;
    }
    for (uint64_t i = 0; i < count; i++) {
        int64_t x, y;
        bool p, q;
        if (vv_gguf_entry_i64(j->file, a, i, &x, &ignored) == VV_OK &&
            vv_gguf_entry_i64(j->head, b, i, &y, &ignored) == VV_OK && x == y) {
            continue;
        }
        if (vv_gguf_entry_bool(j->file, a, i, &p, &ignored) == VV_OK &&
            vv_gguf_entry_bool(j->head, b, i, &q, &ignored) == VV_OK && p == q) {
            continue;
        }
        return false;
    }
    return true;
}

/* A key of the architecture that both have: equal, or a list of layers with one more in the head,
 * which then counts. */
static int check_key(struct join *j, const struct vv_gguf_entry *ours,
                     const struct vv_gguf_entry *theirs, uint64_t layers) {
    bool list = ours->type == VV_GGUF_ARRAY && theirs->type == VV_GGUF_ARRAY;
    bool longer = list && ours->count == layers && theirs->count == layers + 1;
    if ((ours->count != theirs->count && !longer) || !begins_alike(j, ours, theirs, ours->count)) {
        return vv_fail(j->error, VV_ERROR_INVALID,
                       "%s belongs to another model than %s: they differ in the key '%.*s'",
                       head_path(j), vv_gguf_path(j->file, 0),
                       (int)(ours->key_length < 100 ? ours->key_length : 100), ours->key);
    }
    return longer ? take_key(j, theirs) : VV_OK;
}

static bool is_key(const struct join *j, const struct vv_gguf_entry *e, const char *key) {
    size_t n = j->architecture.length;
    return e->key_length == n + 1 + strlen(key) && memcmp(e->key, j->architecture.at, n) == 0 &&
           e->key[n] == '.' && memcmp(e->key + n + 1, key, strlen(key)) == 0;
}

static bool of_architecture(const struct join *j, const struct vv_gguf_entry *e) {
    size_t n = j->architecture.length;
    return e->key_length > n && memcmp(e->key, j->architecture.at, n) == 0 && e->key[n] == '.';
}

static const struct vv_gguf_entry *same_key(const struct vv_gguf *file,
                                            const struct vv_gguf_entry *e) {
    for (size_t i = 0; i < vv_gguf_entry_count(file); i++) {
        const struct vv_gguf_entry *at = vv_gguf_entry_at(file, i);
        if (at->key_length == e->key_length && memcmp(at->key, e->key, e->key_length) == 0) {
            return at;
        }
    }
    return NULL;
}

static int check_keys(struct join *j, uint64_t layers) {
    int code = VV_OK;
    for (size_t i = 0; code == VV_OK && i < vv_gguf_entry_count(j->head); i++) {
        const struct vv_gguf_entry *theirs = vv_gguf_entry_at(j->head, i);
        if (is_key(j, theirs, "block_count") || is_key(j, theirs, "nextn_predict_layers")) {
            code = take_key(j, theirs);
        } else if (of_architecture(j, theirs)) {
            const struct vv_gguf_entry *ours = same_key(j->file, theirs);
            code = ours ? check_key(j, ours, theirs, layers) : VV_OK;
        }
    }
    return code;
}

int vv_draft_head_join(struct vv_gguf *file, struct vv_gguf *head, struct vv_error *error) {
    struct join j = {.file = file, .head = head, .error = error};
    int64_t layers = 0;
    char prefix[32];
    int code = check_architecture(&j);
    code = code == VV_OK ? check_layers(&j, &layers) : code;
    code = code == VV_OK ? check_keys(&j, (uint64_t)layers) : code;
    if (code == VV_OK) {
        if (vv_gguf_find_tensor(head, "mtp.0.enorm.weight")) { /* deepseek4's own names */
            snprintf(prefix, sizeof prefix, "mtp.0.");
        } else {
            snprintf(prefix, sizeof prefix, "blk.%lld.", (long long)layers);
        }
        code = vv_gguf_attach(file, head, prefix, j.keys, j.key_count, error);
    }
    return code;
}

/* GGUF files: opening, metadata, the list of tensors. */
#include "base/file.h"
#include "api/internal.h"
#include "gguf/types.h"
#include "model/draft_head.h"

#include <stdlib.h>
#include <string.h>

/* "" if the file names none; unusual bytes are shown as '?'. */
static void read_architecture(struct varve_file *file) {
    struct vv_string name;
    struct vv_error e;
    size_t i = 0;
    if (vv_gguf_has(file->gguf, "general.architecture") &&
        vv_gguf_get_string(file->gguf, "general.architecture", &name, &e) == VV_OK) {
        for (; i < name.length && i + 1 < sizeof file->architecture; i++) {
            file->architecture[i] = name.at[i] > ' ' && name.at[i] <= '~' ? name.at[i] : '?';
        }
    }
    file->architecture[i] = 0;
}

/* Asks the family for its weights, which says which tensors it uses. Where that fails (an unknown
 * architecture, a file that is no whole model) nothing is known. */
static void mark_used(struct varve_file *file) {
    struct vv_error e;
    struct vv_weights *weights = NULL;
    void *geometry = NULL, *bound = NULL;
    size_t count = vv_gguf_tensor_count(file->gguf);
    const struct vv_family *family = vv_family_of(file->gguf, &e);
    if (!family || family->open(file->gguf, &geometry, &e) != VV_OK) {
        return;
    }
    if (vv_weights_new(file->gguf, NULL, &weights, &e) == VV_OK) {
        bound = family->bind(geometry, weights);
        free(file->used);
        file->used = bound ? calloc(count + 1, sizeof *file->used) : NULL;
        for (size_t i = 0; file->used && i < count; i++) {
            file->used[i] = vv_weights_uses(weights, i);
        }
    }
    family->unbind(bound);
    vv_weights_free(weights);
    family->close(geometry);
}

int vv_file_of(struct vv_gguf *gguf, struct varve_file **file, struct vv_error *error) {
    struct varve_file *f = calloc(1, sizeof *f);
    if (!f) {
        vv_gguf_close(gguf);
        return vv_fail_memory(error, sizeof *f, "an open file");
    }
    f->gguf = gguf;
    read_architecture(f);
    mark_used(f);
    *file = f;
    return VARVE_OK;
}

int varve_file_open(const char *path, bool read, struct varve_file **file,
                    struct varve_error *error) {
    const struct vv_gguf_options options = {.read = read};
    struct vv_gguf *gguf;
    int code = vv_gguf_open(path, &options, &gguf, vv_internal(error));
    return code == VV_OK ? vv_file_of(gguf, file, vv_internal(error)) : code;
}

int varve_file_add_drafts(struct varve_file *file, const char *path, struct varve_error *error) {
    const struct vv_gguf_options options = {.read = !vv_gguf_mapped(file->gguf)};
    struct vv_gguf *head;
    int code = vv_gguf_open(path, &options, &head, vv_internal(error));
    if (code != VV_OK) {
        return code;
    }
    code = vv_draft_head_join(file->gguf, head, vv_internal(error));
    if (code != VV_OK) {
        vv_gguf_close(head);
        return code;
    }
    mark_used(file);
    return VARVE_OK;
}

void varve_file_close(struct varve_file *file) {
    if (file) {
        vv_gguf_close(file->gguf);
        free(file->used);
        free(file);
    }
}

int varve_guard_mappings(struct varve_error *error) {
    return vv_file_guard_mappings(vv_internal(error));
}

void varve_file_info(const struct varve_file *file, struct varve_file_info *info) {
    *info = (struct varve_file_info){
        .version = vv_gguf_version(file->gguf),
        .shards = vv_gguf_shard_count(file->gguf),
        .bytes = vv_gguf_file_bytes(file->gguf),
        .keys = vv_gguf_entry_count(file->gguf),
        .tensors = vv_gguf_tensor_count(file->gguf),
        .architecture = file->architecture,
    };
}

/* ---- metadata ---- */

void varve_file_key(const struct varve_file *file, size_t index, struct varve_key *key) {
    const struct vv_gguf_entry *entry = vv_gguf_entry_at(file->gguf, index);
    *key = (struct varve_key){
        .name = entry->key,
        .name_length = entry->key_length,
        .type = vv_gguf_type_name(entry->element_type),
        .array = entry->type == VV_GGUF_ARRAY,
        .count = entry->count,
    };
}

static enum varve_kind kind_of(int type) {
    switch (type) {
    case VV_GGUF_STRING:
        return VARVE_STRING;
    case VV_GGUF_BOOL:
        return VARVE_BOOL;
    case VV_GGUF_F32:
    case VV_GGUF_F64:
        return VARVE_FLOAT;
    case VV_GGUF_I8:
    case VV_GGUF_I16:
    case VV_GGUF_I32:
    case VV_GGUF_I64:
        return VARVE_SIGNED;
    default:
        return VARVE_UNSIGNED;
    }
}

/* NaN and infinity too, which the typed access of a model's numbers refuses. */
static double float_at(const struct vv_gguf_entry *entry, uint64_t element) {
    float f;
    double d;
    if (entry->element_type == VV_GGUF_F32) {
        memcpy(&f, entry->bytes + element * sizeof f, sizeof f);
        return (double)f;
    }
    memcpy(&d, entry->bytes + element * sizeof d, sizeof d);
    return d;
}

void varve_file_value(const struct varve_file *file, size_t index, uint64_t element,
                      struct varve_value *value) {
    const struct vv_gguf_entry *entry = vv_gguf_entry_at(file->gguf, index);
    struct vv_error e; /* the type fits, so no access fails */
    struct vv_string string = {"", 0};
    bool b = false;
    *value = (struct varve_value){.kind = kind_of(entry->element_type)};
    switch (value->kind) {
    case VARVE_STRING:
        vv_gguf_entry_string(file->gguf, entry, element, &string, &e);
        value->text = string.at;
        value->length = string.length;
        break;
    case VARVE_BOOL:
        vv_gguf_entry_bool(file->gguf, entry, element, &b, &e);
        value->u = b;
        break;
    case VARVE_FLOAT:
        value->f = float_at(entry, element);
        break;
    case VARVE_SIGNED:
        vv_gguf_entry_i64(file->gguf, entry, element, &value->i, &e);
        break;
    case VARVE_UNSIGNED:
        vv_gguf_entry_u64(file->gguf, entry, element, &value->u, &e);
        break;
    }
}

/* ---- tensors ---- */

void varve_file_tensor(const struct varve_file *file, size_t index, struct varve_tensor *tensor) {
    const struct vv_gguf_tensor *t = vv_gguf_tensor_at(file->gguf, index);
    *tensor = (struct varve_tensor){
        .name = t->name,
        .type = vv_type_name(t->type),
        .dimensions = t->dimensions,
        .elements = t->elements,
        .bytes = t->bytes,
        .offset = t->offset,
        .shard = t->shard,
        .used = !file->used || file->used[index],
    };
    memcpy(tensor->ne, t->ne, sizeof tensor->ne);
}

int varve_file_find(const struct varve_file *file, const char *name, size_t *index,
                    struct varve_error *error) {
    const struct vv_gguf_tensor *t = vv_gguf_find_tensor(file->gguf, name);
    if (!t) {
        return vv_fail(vv_internal(error), VV_ERROR_INVALID,
                       "%s has no tensor \"%.100s\" (varve inspect lists them)",
                       vv_gguf_path(file->gguf, 0), name);
    }
    *index = (size_t)(t - vv_gguf_tensor_at(file->gguf, 0));
    return VARVE_OK;
}

#include "gguf/internal.h"

#include <stdlib.h>

struct place {
    uint64_t offset;
    size_t index;
};

static int compare_places(const void *a, const void *b) {
    const struct place *x = a, *y = b;
    if (x->offset != y->offset) {
        return x->offset < y->offset ? -1 : 1;
    }
    return (x->index > y->index) - (x->index < y->index);
}

static int refuse_tensor(const struct vv_gguf_shard *s, const struct vv_gguf_tensor *t,
                         struct vv_error *error, const char *what, ...) VV_PRINTF(4, 5);
static int refuse_tensor(const struct vv_gguf_shard *s, const struct vv_gguf_tensor *t,
                         struct vv_error *error, const char *what, ...) {
    struct vv_error reason;
    va_list list;
    va_start(list, what);
    vv_fail_va(&reason, VV_ERROR_INVALID, what, list);
    va_end(list);
    return vv_fail(error, VV_ERROR_INVALID, "%s: tensor '%.*s' (%s) %.400s", vv_gguf_label(s),
                   VV_GGUF_NAME_SHOWN, t->name, vv_type_name(t->type), reason.message);
}

/* Offsets made to count from the file's beginning: aligned, and not beyond its end. */
static int find_offsets(struct vv_gguf_shard *s, struct vv_error *error) {
    for (size_t i = 0; i < s->tensor_count; i++) {
        struct vv_gguf_tensor *t = &s->tensors[i];
        if (t->offset % s->alignment != 0) {
            return refuse_tensor(s, t, error, "has offset %llu, which is no multiple of %u",
                                 (unsigned long long)t->offset, s->alignment);
        }
        if (s->data_offset > s->file.size || t->offset > s->file.size - s->data_offset) {
            return refuse_tensor(
                s, t, error,
                "begins at %llu + %llu, behind the file's end at %llu: the file was cut short",
                (unsigned long long)s->data_offset, (unsigned long long)t->offset,
                (unsigned long long)s->file.size);
        }
        t->offset += s->data_offset;
    }
    return VV_OK;
}

/* The bytes from each tensor's beginning to the next one's, or to the end of the file. */
static int find_room(struct vv_gguf_shard *s, struct vv_error *error) {
    size_t n = s->tensor_count;
    struct place *places = malloc((n ? n : 1) * sizeof *places);
    s->room = malloc((n ? n : 1) * sizeof *s->room);
    if (!places || !s->room) {
        free(places);
        return vv_fail_memory(error, n * sizeof *places, "the tensors of a model");
    }
    for (size_t i = 0; i < n; i++) {
        places[i] = (struct place){s->tensors[i].offset, i};
    }
    qsort(places, n, sizeof *places, compare_places);
    for (size_t i = 0; i < n; i++) {
        uint64_t end = i + 1 < n ? places[i + 1].offset : s->file.size;
        s->room[places[i].index] = end - places[i].offset;
    }
    free(places);
    return VV_OK;
}

/* Whether a Q2_0 tensor in blocks of 128 values fills its room exactly, with or without padding. */
static bool fills_as_128(const struct vv_gguf_tensor *t, uint64_t room, uint64_t alignment) {
    uint64_t bytes;
    return t->ne[0] % 128 == 0 && vv_type_bytes(VV_TYPE_Q2_0_128, t->elements, &bytes) &&
           (room == bytes || room == ((bytes + alignment - 1) & ~(alignment - 1)));
}

/*
 * Q2_0 has blocks of 64 values (18 bytes), or of 128 (34 bytes) in the files of a fork, which are
 * packed tighter. So the first kind it is if all its tensors of the set have room for it; else the
 * second, if that fills the room of all of them exactly. A file that was cut short fits neither.
 */
static void resolve_q2_0(struct vv_gguf *g) {
    bool fits_64 = true, fills_128 = true;
    for (uint32_t k = 0; k < g->shard_count; k++) {
        const struct vv_gguf_shard *s = &g->shards[k];
        for (size_t i = 0; i < s->tensor_count; i++) {
            const struct vv_gguf_tensor *t = &s->tensors[i];
            if (t->type == VV_TYPE_Q2_0) {
                fits_64 = fits_64 && t->bytes <= s->room[i];
                fills_128 = fills_128 && fills_as_128(t, s->room[i], s->alignment);
            }
        }
    }
    for (uint32_t k = 0; k < g->shard_count && !fits_64 && fills_128; k++) {
        const struct vv_gguf_shard *s = &g->shards[k];
        for (size_t i = 0; i < s->tensor_count; i++) {
            struct vv_gguf_tensor *t = &s->tensors[i];
            if (t->type == VV_TYPE_Q2_0) {
                t->type = VV_TYPE_Q2_0_128;
                vv_type_bytes(t->type, t->elements, &t->bytes);
            }
        }
    }
}

static int check_ends(const struct vv_gguf_shard *s, struct vv_error *error) {
    for (size_t i = 0; i < s->tensor_count; i++) {
        const struct vv_gguf_tensor *t = &s->tensors[i];
        if (t->bytes > s->file.size - t->offset) {
            return refuse_tensor(s, t, error,
                                 "takes %llu bytes from %llu on, and the file ends at %llu: it "
                                 "was cut short, download or copy it again",
                                 (unsigned long long)t->bytes, (unsigned long long)t->offset,
                                 (unsigned long long)s->file.size);
        }
        if (t->bytes > s->room[i]) {
            return refuse_tensor(s, t, error,
                                 "takes %llu bytes from %llu on, and another tensor begins "
                                 "%llu bytes behind that",
                                 (unsigned long long)t->bytes, (unsigned long long)t->offset,
                                 (unsigned long long)s->room[i]);
        }
    }
    return VV_OK;
}

int vv_gguf_place(struct vv_gguf *g, struct vv_error *error) {
    int code = VV_OK;
    if (g->described) {
        return VV_OK;
    }
    for (uint32_t k = 0; k < g->shard_count && code == VV_OK; k++) {
        code = find_offsets(&g->shards[k], error);
        if (code == VV_OK) {
            code = find_room(&g->shards[k], error);
        }
    }
    if (code == VV_OK) {
        resolve_q2_0(g);
    }
    for (uint32_t k = 0; k < g->shard_count && code == VV_OK; k++) {
        code = check_ends(&g->shards[k], error);
    }
    return code;
}

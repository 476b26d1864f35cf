#include "op/buffers.h"
#include "op/hash_route/internal.h"

int vv_hash_route_listed(const struct vv_hash_route *a, size_t row, int32_t *expert) {
    int32_t token = a->window->token[row];
    if (token < 0 || (size_t)token >= a->tokens) {
        return VV_ERROR_INVALID;
    }
    for (size_t n = 0; n < a->used; n++) {
        int32_t id = a->table[(size_t)token * a->used + n];
        if (id < 0 || (size_t)id >= a->experts) {
            return VV_ERROR_INVALID;
        }
        size_t at = n;
        for (; at > 0 && expert[at - 1] > id; at--) {
            expert[at] = expert[at - 1];
        }
        expert[at] = id;
    }
    return VV_OK;
}

static size_t units(const void *args) {
    return vv_rows(((const struct vv_hash_route *)args)->rows);
}

static size_t buffers(const void *args, struct vv_buffer *out) {
    const struct vv_hash_route *a = args;
    struct vv_buffer counted[VV_BUFFERS_MAX];
    size_t n = 0, rows = vv_rows(a->rows), row = a->experts * sizeof(float);
    out = out ? out : counted;
    out[n++] = vv_reads(a->logits, rows * row);
    if (a->table) {
        out[n++] = vv_reads(a->table, a->tokens * a->used * sizeof(int32_t));
    } else {
        out[n++] = vv_reads(a->bias, row);
        out[n++] = vv_writes(a->score, rows * row);
    }
    out[n++] = vv_writes(a->expert, rows * a->used * sizeof(int32_t));
    out[n++] = vv_writes(a->weight, rows * a->used * sizeof(float));
    return n;
}

/* Of a table one line a row. */
static size_t bytes(const void *args) {
    const struct vv_hash_route *a = args;
    return vv_rows(a->rows) * (a->table ? 4 * a->used : 2 * a->experts + 2 * a->used) *
           sizeof(float);
}

static const struct vv_variant variants[] = {
    {"hash_route/reference", VV_CPU_ANY, true, NULL, NULL, vv_hash_route_reference},
    {"hash_route/portable", VV_CPU_ANY, true, NULL, NULL, vv_hash_route_portable},
#if defined(__x86_64__)
    {"hash_route/portable_avx2", VV_CPU_AVX2, true, NULL, NULL, vv_hash_route_portable_avx2},
    {"hash_route/portable_avx512", VV_CPU_AVX512, true, NULL, NULL, vv_hash_route_portable_avx512},
#endif
    {0},
};

const struct vv_operation vv_hash_route = {
    "hash_route", sizeof(struct vv_hash_route), units, buffers, NULL, variants, .bytes = bytes};

static const struct vv_operation *const operations[] = {&vv_hash_route, NULL};

const struct vv_operation_folder vv_folder_hash_route = {"hash_route", operations,
                                                         vv_hash_route_check, vv_hash_route_bench};

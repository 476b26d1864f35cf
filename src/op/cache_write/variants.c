#include "gguf/types.h"
#include "op/buffers.h"
#include "op/cache_write/contract.h"
#include "op/cache_write/internal.h"

static size_t units(const void *args) {
    return vv_rows(((const struct vv_cache_write *)args)->rows);
}

static size_t buffers(const void *args, struct vv_buffer *out) {
    const struct vv_cache_write *a = args;
    if (out) {
        size_t part = a->second ? a->to.width / 2 : a->to.width;
        size_t bytes = vv_extent(vv_rows(a->rows), a->row_stride, part) * 4;
        out[0] = vv_reads(a->from, bytes);
        out[1] = vv_updates_state(&a->to);
        out[2] = vv_reads(a->second, bytes);
    }
    return a->second ? 3 : 2;
}

static size_t bytes(const void *args) {
    const struct vv_cache_write *a = args;
    size_t rows = vv_rows(a->rows) / (a->every ? (size_t)a->every : 1);
    return rows * a->to.width * (a->to.type == VV_TYPE_F16 ? 6u : 8u);
}

static const struct vv_variant variants[] = {
    {"cache_write/reference", VV_CPU_ANY, true, NULL, NULL, vv_cache_write_reference},
    {0},
};

const struct vv_operation vv_cache_write = {
    "cache_write", sizeof(struct vv_cache_write), units, buffers, NULL, variants, .bytes = bytes};

static const struct vv_operation *const operations[] = {&vv_cache_write, NULL};

const struct vv_operation_folder vv_folder_cache_write = {"cache_write", operations,
                                                          vv_cache_write_check, NULL};

/* The operations' variants, for this folder alone. */
#pragma once
#include "op/sinkhorn/contract.h"
#include "registry/check.h"

/* Numbers of a row of mix. */
static inline size_t vv_sinkhorn_mixes(const struct vv_sinkhorn *a) {
    return a->post ? a->streams * (2 + a->streams) : a->streams;
}

/* The columns of a unit of the operations on streams: row, first column, how many. */
struct vv_columns {
    size_t row, at, count;
};
static inline struct vv_columns vv_columns_of(size_t unit, size_t width) {
    size_t units = (width + VV_STREAM_COLUMNS - 1) / VV_STREAM_COLUMNS;
    size_t at = unit % units * VV_STREAM_COLUMNS, left = width - at;
    return (struct vv_columns){unit / units, at,
                               left < VV_STREAM_COLUMNS ? left : VV_STREAM_COLUMNS};
}

int vv_sinkhorn_reference(const void *args, size_t begin, size_t end);
int vv_sinkhorn_portable(const void *args, size_t begin, size_t end);
int vv_sinkhorn_portable_avx2(const void *args, size_t begin, size_t end);
int vv_sinkhorn_portable_avx512(const void *args, size_t begin, size_t end);

int vv_stream_read_reference(const void *args, size_t begin, size_t end);
int vv_stream_read_portable(const void *args, size_t begin, size_t end);
int vv_stream_read_portable_avx2(const void *args, size_t begin, size_t end);
int vv_stream_read_portable_avx512(const void *args, size_t begin, size_t end);

int vv_stream_write_reference(const void *args, size_t begin, size_t end);
int vv_stream_write_portable(const void *args, size_t begin, size_t end);
int vv_stream_write_portable_avx2(const void *args, size_t begin, size_t end);
int vv_stream_write_portable_avx512(const void *args, size_t begin, size_t end);

void vv_sinkhorn_check(struct vv_check *check);
void vv_sinkhorn_bench(struct vv_bench *bench);

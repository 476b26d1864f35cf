#include "op/buffers.h"
#include "op/sinkhorn/internal.h"

static size_t sinkhorn_units(const void *args) {
    return vv_rows(((const struct vv_sinkhorn *)args)->rows);
}

static size_t sinkhorn_buffers(const void *args, struct vv_buffer *out) {
    const struct vv_sinkhorn *a = args;
    struct vv_buffer counted[VV_BUFFERS_MAX];
    size_t n = 0, rows = vv_rows(a->rows), streams = a->streams, mixes = vv_sinkhorn_mixes(a);
    out = out ? out : counted;
    out[n++] = vv_reads(a->x, rows * streams * a->width * sizeof(float));
    out[n++] = vv_reads(a->mix, rows * mixes * sizeof(float));
    out[n++] = vv_reads(a->scale, (a->post ? 3 : 1) * sizeof(float));
    out[n++] = vv_reads(a->base, mixes * sizeof(float));
    out[n++] = vv_writes(a->pre, rows * streams * sizeof(float));
    if (a->post) {
        out[n++] = vv_writes(a->post, rows * streams * sizeof(float));
        out[n++] = vv_writes(a->to, rows * streams * streams * sizeof(float));
    }
    return n;
}

static size_t columns(size_t width) {
    return (width + VV_STREAM_COLUMNS - 1) / VV_STREAM_COLUMNS;
}

static size_t read_units(const void *args) {
    const struct vv_stream_read *a = args;
    return vv_rows(a->rows) * columns(a->width);
}

static size_t read_buffers(const void *args, struct vv_buffer *out) {
    const struct vv_stream_read *a = args;
    size_t rows = vv_rows(a->rows), row = a->width * sizeof(float);
    if (out) {
        out[0] = vv_reads(a->x, rows * a->streams * row);
        out[1] = vv_reads(a->pre, rows * a->streams * sizeof(float));
        out[2] = vv_writes(a->u, rows * row);
    }
    return 3;
}

static size_t write_units(const void *args) {
    const struct vv_stream_write *a = args;
    return vv_rows(a->rows) * columns(a->width);
}

static size_t write_buffers(const void *args, struct vv_buffer *out) {
    const struct vv_stream_write *a = args;
    size_t rows = vv_rows(a->rows), row = a->width * sizeof(float);
    if (out) {
        out[0] = vv_updates(a->x, rows * a->streams * row);
        out[1] = vv_reads(a->post, rows * a->streams * sizeof(float));
        out[2] = vv_reads(a->to, rows * a->streams * a->streams * sizeof(float));
        out[3] = vv_reads(a->y, rows * row);
    }
    return 4;
}

#define VARIANTS(name)                                                                             \
    static const struct vv_variant name##_variants[] = {                                           \
        {#name "/reference", VV_CPU_ANY, true, NULL, NULL, vv_##name##_reference},                 \
        {#name "/portable", VV_CPU_ANY, true, NULL, NULL, vv_##name##_portable},                   \
        X86(name){0},                                                                              \
    };
#if defined(__x86_64__)
#define X86(name)                                                                                  \
    {#name "/portable_avx2", VV_CPU_AVX2, true, NULL, NULL, vv_##name##_portable_avx2},            \
        {#name "/portable_avx512", VV_CPU_AVX512, true, NULL, NULL, vv_##name##_portable_avx512},
#else
#define X86(name)
#endif

VARIANTS(sinkhorn)
VARIANTS(stream_read)
VARIANTS(stream_write)

const struct vv_operation vv_sinkhorn = {"sinkhorn",     sizeof(struct vv_sinkhorn),
                                         sinkhorn_units, sinkhorn_buffers,
                                         NULL,           .variants = sinkhorn_variants};

const struct vv_operation vv_stream_read = {"stream_read", sizeof(struct vv_stream_read),
                                            read_units,    read_buffers,
                                            NULL,          .variants = stream_read_variants};

const struct vv_operation vv_stream_write = {"stream_write", sizeof(struct vv_stream_write),
                                             write_units,    write_buffers,
                                             NULL,           .variants = stream_write_variants};

static const struct vv_operation *const operations[] = {&vv_sinkhorn, &vv_stream_read,
                                                        &vv_stream_write, NULL};

const struct vv_operation_folder vv_folder_sinkhorn = {"sinkhorn", operations, vv_sinkhorn_check,
                                                       vv_sinkhorn_bench};

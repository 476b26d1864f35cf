#include "op/buffers.h"
#include "op/hyper_read/contract.h"
#include "op/hyper_read/internal.h"
#include "op/quantize_rows/contract.h"

/* ---- hyper_norm ---- */

static size_t norm_units(const void *args) {
    const struct vv_hyper_norm *a = args;
    return vv_rows(a->rows) * a->streams;
}

static size_t norm_buffers(const void *args, struct vv_buffer *out) {
    const struct vv_hyper_norm *a = args;
    struct vv_buffer counted[VV_BUFFERS_MAX];
    size_t n = 0, rows = vv_rows(a->rows), row_bytes = a->width * sizeof(float);
    out = out ? out : counted;
    out[n++] = vv_reads(a->weight, a->streams * row_bytes);
    out[n++] = vv_writes(a->h, rows * a->streams * row_bytes);
    if (a->o) {
        out[n++] = vv_updates(a->x, rows * a->streams * row_bytes);
        out[n++] = vv_reads(a->o, rows * row_bytes);
        out[n++] = vv_reads(a->gamma, rows * a->streams * sizeof(float));
    } else {
        out[n++] = vv_reads(a->x, rows * a->streams * row_bytes);
    }
    return n;
}

static const struct vv_variant norm_variants[] = {
    {"hyper_norm/reference", VV_CPU_ANY, true, NULL, NULL, vv_hyper_norm_reference},
    {"hyper_norm/portable", VV_CPU_ANY, true, NULL, NULL, vv_hyper_norm_portable},
#if defined(__x86_64__)
    {"hyper_norm/portable_avx2", VV_CPU_AVX2, true, NULL, NULL, vv_hyper_norm_portable_avx2},
    {"hyper_norm/portable_avx512", VV_CPU_AVX512, true, NULL, NULL, vv_hyper_norm_portable_avx512},
#endif
    {0},
};

const struct vv_operation vv_hyper_norm = {"hyper_norm", sizeof(struct vv_hyper_norm),
                                           norm_units,   norm_buffers,
                                           NULL,         .variants = norm_variants};

/* ---- hyper_down ---- */

static size_t down_units(const void *args) {
    const struct vv_hyper_down *a = args;
    return a->down->rows + (a->inject ? a->inject->rows : 0);
}

static unsigned down_planes(const struct vv_hyper_down *a) {
    unsigned sets = vv_planes_needed(&a->h, a->down->type);
    return a->inject ? sets | vv_planes_needed(&a->h, a->inject->type) : sets;
}

static size_t down_buffers(const void *args, struct vv_buffer *out) {
    const struct vv_hyper_down *a = args;
    struct vv_buffer counted[VV_BUFFERS_MAX];
    size_t rows = vv_rows(a->rows);
    out = out ? out : counted;
    size_t n = vv_planes_buffers(&a->h, down_planes(a), rows, false, out);
    out[n++] = vv_writes(a->a, rows * a->down->rows * sizeof(float));
    if (a->inject) {
        out[n++] = vv_writes(a->gamma, rows * a->streams * sizeof(float));
    }
    return n;
}

static size_t down_weights(const void *args, struct vv_weight **out) {
    const struct vv_hyper_down *a = args;
    if (out) {
        out[0] = a->down;
        out[1] = a->inject;
    }
    return a->inject ? 2 : 1;
}

static bool down_fits_panels(const void *args) {
    const struct vv_hyper_down *a = args;
    return vv_panel_format(a->down->type) && !a->h.float_only;
}

static const struct vv_variant down_variants[] = {
    {"hyper_down/reference", VV_CPU_ANY, true, NULL, NULL, vv_hyper_down_reference},
    {"hyper_down/portable", VV_CPU_ANY, true, NULL, NULL, vv_hyper_down_portable},
#if defined(__x86_64__)
    {"hyper_down/portable_avx2", VV_CPU_AVX2, true, NULL, NULL, vv_hyper_down_portable_avx2},
    {"hyper_down/portable_avx512", VV_CPU_AVX512, true, NULL, NULL, vv_hyper_down_portable_avx512},
#endif
#define PANELS(set, needs)                                                                         \
    {"hyper_down/" #set, needs, true, down_fits_panels, NULL, vv_hyper_down_panels_##set},
    VV_PANEL_SETS(PANELS)
#undef PANELS
        {0},
};

const struct vv_operation vv_hyper_down = {"hyper_down",
                                           sizeof(struct vv_hyper_down),
                                           down_units,
                                           down_buffers,
                                           down_weights,
                                           .variants = down_variants,
                                           .grain = VV_PANEL_ROWS};

/* ---- hyper_up ---- */

static size_t up_units(const void *args) {
    return ((const struct vv_hyper_up *)args)->width;
}

static size_t up_buffers(const void *args, struct vv_buffer *out) {
    const struct vv_hyper_up *a = args;
    struct vv_buffer counted[VV_BUFFERS_MAX];
    size_t rows = vv_rows(a->rows), row_bytes = a->width * sizeof(float);
    out = out ? out : counted;
    size_t n = vv_planes_buffers(&a->a, vv_planes_needed(&a->a, a->up->type), rows, false, out);
    out[n++] = vv_reads(a->h, rows * a->streams * row_bytes);
    out[n++] = vv_writes(a->u, rows * row_bytes);
    return n;
}

static size_t up_weights(const void *args, struct vv_weight **out) {
    if (out) {
        out[0] = ((const struct vv_hyper_up *)args)->up;
    }
    return 1;
}

static bool up_fits_panels(const void *args) {
    const struct vv_hyper_up *a = args;
    return vv_panel_format(a->up->type) && !a->a.float_only;
}

static const struct vv_variant up_variants[] = {
    {"hyper_up/reference", VV_CPU_ANY, true, NULL, NULL, vv_hyper_up_reference},
    {"hyper_up/portable", VV_CPU_ANY, true, NULL, NULL, vv_hyper_up_portable},
#if defined(__x86_64__)
    {"hyper_up/portable_avx2", VV_CPU_AVX2, true, NULL, NULL, vv_hyper_up_portable_avx2},
    {"hyper_up/portable_avx512", VV_CPU_AVX512, true, NULL, NULL, vv_hyper_up_portable_avx512},
#endif
#define PANELS(set, needs)                                                                         \
    {"hyper_up/" #set, needs, true, up_fits_panels, NULL, vv_hyper_up_panels_##set},
    VV_PANEL_SETS(PANELS)
#undef PANELS
        {0},
};

const struct vv_operation vv_hyper_up = {"hyper_up",
                                         sizeof(struct vv_hyper_up),
                                         up_units,
                                         up_buffers,
                                         up_weights,
                                         .variants = up_variants,
                                         .grain = VV_PANEL_ROWS};

/* ---- the folder ---- */

static const struct vv_operation *const operations[] = {&vv_hyper_norm, &vv_hyper_down,
                                                        &vv_hyper_up, NULL};

const struct vv_operation_folder vv_folder_hyper_read = {"hyper_read", operations,
                                                         vv_hyper_read_check, vv_hyper_read_bench};

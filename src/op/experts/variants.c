#include "op/buffers.h"
#include "op/experts/contract.h"
#include "op/experts/internal.h"
#include "op/quantize_rows/contract.h"
#include "quant/panel/products.h"

/* active, begin and pair. */
static size_t group_buffers(const int32_t *active, const int32_t *begin, const int32_t *pair,
                            size_t experts, size_t pairs, struct vv_buffer *out) {
    out[0] = vv_reads(active, (1 + experts) * sizeof *active);
    out[1] = vv_reads(begin, (1 + experts) * sizeof *begin);
    out[2] = vv_reads(pair, pairs * sizeof *pair);
    return 3;
}

/* The separate scales of a weight's slices, if it has them. */
static size_t scale_buffer(const struct vv_weight *w, struct vv_buffer *out) {
    if (w->scale) {
        *out = vv_reads(w->scale, w->slices * sizeof *w->scale);
    }
    return w->scale ? 1 : 0;
}

/* ---- expert_up ---- */

static size_t up_units(const void *args) {
    const struct vv_expert_up *a = args;
    return (size_t)a->active[0] * a->hidden;
}

static size_t up_buffers(const void *args, struct vv_buffer *out) {
    const struct vv_expert_up *a = args;
    struct vv_buffer counted[VV_BUFFERS_MAX];
    size_t rows = vv_rows(a->rows), pairs = rows * a->used;
    unsigned sets = vv_planes_needed(&a->u, a->gate->type) | vv_planes_needed(&a->u, a->up->type);
    out = out ? out : counted;
    size_t n = vv_planes_buffers(&a->u, sets, rows, false, out);
    n += group_buffers(a->active, a->begin, a->pair, a->gate->slices, pairs, out + n);
    n += scale_buffer(a->gate, out + n);
    n += a->up != a->gate ? scale_buffer(a->up, out + n) : 0;
    if (a->weight) {
        out[n++] = vv_reads(a->weight, pairs * sizeof(float));
    }
    out[n++] = vv_writes(a->h, pairs * a->hidden * sizeof(float));
    return n;
}

static size_t up_weights(const void *args, struct vv_weight **out) {
    const struct vv_expert_up *a = args;
    if (out) {
        out[0] = a->gate;
        out[1] = a->up;
    }
    return a->up != a->gate ? 2 : 1;
}

static bool up_fits_panels(const void *args) {
    const struct vv_expert_up *a = args;
    return vv_panel_format(a->gate->type) && vv_panel_format(a->up->type) && !a->u.float_only &&
           vv_taken_most(a->u.width) > 0;
}

/* The slices of active experts alone, once a window. */
static size_t up_bytes(const void *args) {
    const struct vv_expert_up *a = args;
    size_t pairs = vv_rows(a->rows) * a->used, active = (size_t)a->active[0];
    return active * a->hidden * (a->gate->row_bytes + a->up->row_bytes) +
           pairs * (a->gate->width + a->hidden * sizeof(float));
}

static const struct vv_variant up_variants[] = {
    {"expert_up/reference", VV_CPU_ANY, true, NULL, NULL, vv_expert_up_reference},
    {"expert_up/portable", VV_CPU_ANY, true, NULL, NULL, vv_expert_up_portable},
#if defined(__x86_64__)
    {"expert_up/portable_avx2", VV_CPU_AVX2, true, NULL, NULL, vv_expert_up_portable_avx2},
    {"expert_up/portable_avx512", VV_CPU_AVX512, true, NULL, NULL, vv_expert_up_portable_avx512},
#endif
#define PANELS(set, needs)                                                                         \
    {"expert_up/" #set, needs, true, up_fits_panels, NULL, vv_expert_up_panels_##set},
    VV_PANEL_SETS(PANELS)
#undef PANELS
        {0},
};

const struct vv_operation vv_expert_up = {"expert_up",
                                          sizeof(struct vv_expert_up),
                                          up_units,
                                          up_buffers,
                                          up_weights,
                                          up_variants,
                                          .bytes = up_bytes,
                                          .looks_at = offsetof(struct vv_expert_up, active),
                                          .grain = VV_PANEL_ROWS,
                                          .varies = true};

/* ---- expert_down ---- */

static size_t down_units(const void *args) {
    const struct vv_expert_down *a = args;
    return (size_t)a->active[0] * a->width;
}

static size_t down_buffers(const void *args, struct vv_buffer *out) {
    const struct vv_expert_down *a = args;
    struct vv_buffer counted[VV_BUFFERS_MAX];
    size_t pairs = vv_rows(a->rows) * a->used;
    out = out ? out : counted;
    size_t n = vv_planes_buffers(&a->h, vv_planes_needed(&a->h, a->down->type), pairs, false, out);
    n += group_buffers(a->active, a->begin, a->pair, a->down->slices, pairs, out + n);
    n += scale_buffer(a->down, out + n);
    out[n++] = vv_writes(a->y, pairs * a->width * sizeof(float));
    return n;
}

static size_t down_weights(const void *args, struct vv_weight **out) {
    if (out) {
        out[0] = ((const struct vv_expert_down *)args)->down;
    }
    return 1;
}

static bool down_fits_panels(const void *args) {
    const struct vv_expert_down *a = args;
    return vv_panel_format(a->down->type) && !a->h.float_only && vv_taken_most(a->h.width) > 0;
}

static size_t down_bytes(const void *args) {
    const struct vv_expert_down *a = args;
    size_t pairs = vv_rows(a->rows) * a->used, active = (size_t)a->active[0];
    return active * a->width * a->down->row_bytes +
           pairs * (a->down->width + a->width * sizeof(float));
}

static const struct vv_variant down_variants[] = {
    {"expert_down/reference", VV_CPU_ANY, true, NULL, NULL, vv_expert_down_reference},
    {"expert_down/portable", VV_CPU_ANY, true, NULL, NULL, vv_expert_down_portable},
#if defined(__x86_64__)
    {"expert_down/portable_avx2", VV_CPU_AVX2, true, NULL, NULL, vv_expert_down_portable_avx2},
    {"expert_down/portable_avx512", VV_CPU_AVX512, true, NULL, NULL,
     vv_expert_down_portable_avx512},
#endif
#define PANELS(set, needs)                                                                         \
    {"expert_down/" #set, needs, true, down_fits_panels, NULL, vv_expert_down_panels_##set},
    VV_PANEL_SETS(PANELS)
#undef PANELS
        {0},
};

const struct vv_operation vv_expert_down = {"expert_down",
                                            sizeof(struct vv_expert_down),
                                            down_units,
                                            down_buffers,
                                            down_weights,
                                            down_variants,
                                            .bytes = down_bytes,
                                            .looks_at = offsetof(struct vv_expert_down, active),
                                            .grain = VV_PANEL_ROWS,
                                            .varies = true};

/* ---- expert_sum ---- */

static size_t sum_units(const void *args) {
    return vv_rows(((const struct vv_expert_sum *)args)->rows);
}

static size_t sum_buffers(const void *args, struct vv_buffer *out) {
    const struct vv_expert_sum *a = args;
    struct vv_buffer counted[VV_BUFFERS_MAX];
    size_t n = 0, rows = vv_rows(a->rows), row = rows * a->width * sizeof(float);
    out = out ? out : counted;
    out[n++] = vv_reads(a->y, row * a->used);
    out[n++] = vv_reads(a->shared, row);
    if (a->weight) {
        out[n++] = vv_reads(a->weight, rows * a->used * sizeof(float));
    }
    if (a->shared_gate) {
        out[n++] = vv_reads(a->shared_gate, rows * sizeof(float));
    }
    out[n++] = vv_writes(a->o, row);
    return n;
}

static const struct vv_variant sum_variants[] = {
    {"expert_sum/reference", VV_CPU_ANY, true, NULL, NULL, vv_expert_sum_reference},
    {"expert_sum/portable", VV_CPU_ANY, true, NULL, NULL, vv_expert_sum_portable},
#if defined(__x86_64__)
    {"expert_sum/portable_avx2", VV_CPU_AVX2, true, NULL, NULL, vv_expert_sum_portable_avx2},
    {"expert_sum/portable_avx512", VV_CPU_AVX512, true, NULL, NULL, vv_expert_sum_portable_avx512},
#endif
    {0},
};

const struct vv_operation vv_expert_sum = {"expert_sum", sizeof(struct vv_expert_sum),
                                           sum_units,    sum_buffers,
                                           NULL,         .variants = sum_variants};

static const struct vv_operation *const operations[] = {&vv_expert_up, &vv_expert_down,
                                                        &vv_expert_sum, NULL};

const struct vv_operation_folder vv_folder_experts = {"experts", operations, vv_experts_check,
                                                      vv_experts_bench};

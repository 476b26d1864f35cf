#include "op/buffers.h"
#include "op/route/contract.h"
#include "op/route/internal.h"
#include "registry/check.h"

static size_t route_units(const void *args) {
    return vv_rows(((const struct vv_route *)args)->rows);
}

static size_t route_buffers(const void *args, struct vv_buffer *out) {
    const struct vv_route *a = args;
    size_t rows = vv_rows(a->rows);
    if (out) {
        out[0] = vv_reads(a->logits, rows * a->experts * sizeof(float));
        out[1] = vv_writes(a->expert, rows * a->used * sizeof(int32_t));
        out[2] = vv_writes(a->weight, rows * a->used * sizeof(float));
    }
    return 3;
}

static size_t group_units(const void *args) {
    (void)args;
    return 1;
}

static size_t group_buffers(const void *args, struct vv_buffer *out) {
    const struct vv_route_group *a = args;
    size_t pairs = vv_rows(a->rows) * a->used * sizeof(int32_t);
    size_t experts = (a->experts + 1) * sizeof(int32_t);
    if (out) {
        out[0] = vv_reads(a->expert, pairs);
        out[1] = vv_writes(a->active, experts);
        out[2] = vv_writes(a->begin, experts);
        out[3] = vv_writes(a->pair, pairs);
    }
    return 4;
}

static const struct vv_variant route_variants[] = {
    {"route/reference", VV_CPU_ANY, true, NULL, NULL, vv_route_reference},
    {"route/portable", VV_CPU_ANY, true, NULL, NULL, vv_route_portable},
#if defined(__x86_64__)
    {"route/portable_avx2", VV_CPU_AVX2, true, NULL, NULL, vv_route_portable_avx2},
    {"route/portable_avx512", VV_CPU_AVX512, true, NULL, NULL, vv_route_portable_avx512},
#endif
    {0},
};

static const struct vv_variant group_variants[] = {
    {"route_group/reference", VV_CPU_ANY, true, NULL, NULL, vv_route_group_reference},
    {"route_group/portable", VV_CPU_ANY, true, NULL, NULL, vv_route_group_portable},
    {0},
};

const struct vv_operation vv_route = {
    "route", sizeof(struct vv_route), route_units, route_buffers, NULL, .variants = route_variants};

const struct vv_operation vv_route_group = {"route_group", sizeof(struct vv_route_group),
                                            group_units,   group_buffers,
                                            NULL,          .variants = group_variants};

static const struct vv_operation *const operations[] = {&vv_route, &vv_route_group, NULL};

const struct vv_operation_folder vv_folder_route = {"route", operations, vv_route_check,
                                                    vv_route_bench};

/* The operations' variants and shapes, for this folder alone. */
#pragma once
#include "op/panels.h"
#include "registry/check.h"

/* A weight that isn't given is 1. */
static inline float vv_pair_weight(const float *weight, size_t pair) {
    return weight ? weight[pair] : 1.0f;
}

int vv_expert_up_reference(const void *args, size_t begin, size_t end);
int vv_expert_up_portable(const void *args, size_t begin, size_t end);
int vv_expert_up_portable_avx2(const void *args, size_t begin, size_t end);
int vv_expert_up_portable_avx512(const void *args, size_t begin, size_t end);

int vv_expert_down_reference(const void *args, size_t begin, size_t end);
int vv_expert_down_portable(const void *args, size_t begin, size_t end);
int vv_expert_down_portable_avx2(const void *args, size_t begin, size_t end);
int vv_expert_down_portable_avx512(const void *args, size_t begin, size_t end);

int vv_expert_sum_reference(const void *args, size_t begin, size_t end);
int vv_expert_sum_portable(const void *args, size_t begin, size_t end);
int vv_expert_sum_portable_avx2(const void *args, size_t begin, size_t end);
int vv_expert_sum_portable_avx512(const void *args, size_t begin, size_t end);

#define VV_EXPERTS_PANELS(set, needs)                                                              \
    int vv_expert_up_panels_##set(const void *args, size_t begin, size_t end);                     \
    int vv_expert_down_panels_##set(const void *args, size_t begin, size_t end);
VV_PANEL_SETS(VV_EXPERTS_PANELS)
#undef VV_EXPERTS_PANELS

void vv_experts_check(struct vv_check *check);
void vv_experts_bench(struct vv_bench *bench);

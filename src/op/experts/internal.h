/* The operations' variants and shapes, for this folder alone. */
#pragma once
#include "registry/check.h"

int vv_expert_up_reference(const void *args, size_t begin, size_t end);
int vv_expert_up_portable(const void *args, size_t begin, size_t end);
int vv_expert_up_portable_avx2(const void *args, size_t begin, size_t end);
int vv_expert_up_portable_avx512(const void *args, size_t begin, size_t end);
bool vv_expert_up_avx512vnni_fits(const void *args);
int vv_expert_up_avx512vnni(const void *args, size_t begin, size_t end);

int vv_expert_down_reference(const void *args, size_t begin, size_t end);
int vv_expert_down_portable(const void *args, size_t begin, size_t end);
int vv_expert_down_portable_avx2(const void *args, size_t begin, size_t end);
int vv_expert_down_portable_avx512(const void *args, size_t begin, size_t end);
bool vv_expert_down_avx512vnni_fits(const void *args);
int vv_expert_down_avx512vnni(const void *args, size_t begin, size_t end);

int vv_expert_sum_reference(const void *args, size_t begin, size_t end);
int vv_expert_sum_portable(const void *args, size_t begin, size_t end);
int vv_expert_sum_portable_avx2(const void *args, size_t begin, size_t end);
int vv_expert_sum_portable_avx512(const void *args, size_t begin, size_t end);

struct vv_experts_shape {
    size_t experts, used, width, hidden, calls; /* calls a token */
};
extern const struct vv_experts_shape vv_experts_shapes[]; /* ends with {0} */

void vv_experts_check(struct vv_check *check);

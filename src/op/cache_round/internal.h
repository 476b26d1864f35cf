/* The operations' variants and what they share, for this folder alone. */
#pragma once
#include "op/cache_round/round.h"
#include "registry/check.h"

int vv_round_fp8_reference(const void *args, size_t begin, size_t end);
int vv_round_fp8_portable(const void *args, size_t begin, size_t end);
int vv_round_fp8_portable_avx2(const void *args, size_t begin, size_t end);
int vv_round_fp8_portable_avx512(const void *args, size_t begin, size_t end);
int vv_round_fp4_reference(const void *args, size_t begin, size_t end);
int vv_round_fp4_portable(const void *args, size_t begin, size_t end);
int vv_round_fp4_portable_avx2(const void *args, size_t begin, size_t end);
int vv_round_fp4_portable_avx512(const void *args, size_t begin, size_t end);

void vv_cache_round_check(struct vv_check *check);
void vv_cache_round_bench(struct vv_bench *bench);

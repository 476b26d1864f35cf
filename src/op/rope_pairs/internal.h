/* The operation's variants, for this folder alone. */
#pragma once
#include "op/rope_pairs/contract.h"
#include "registry/check.h"

int vv_rope_pairs_reference(const void *args, size_t begin, size_t end);
int vv_rope_pairs_portable(const void *args, size_t begin, size_t end);
int vv_rope_pairs_portable_avx2(const void *args, size_t begin, size_t end);
int vv_rope_pairs_portable_avx512(const void *args, size_t begin, size_t end);
void vv_rope_pairs_check(struct vv_check *check);
void vv_rope_pairs_bench(struct vv_bench *bench);

/* The operation's variants, for this folder alone. */
#pragma once
#include "registry/check.h"

int vv_sample_reference(const void *args, size_t begin, size_t end);

void vv_sample_check(struct vv_check *check);
struct vv_bench;
void vv_sample_bench(struct vv_bench *bench);

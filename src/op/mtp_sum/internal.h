/* The operation's reference and check, for variants.c. */
#pragma once
#include "registry/check.h"

int vv_mtp_sum_reference(const void *args, size_t begin, size_t end);
void vv_mtp_sum_check(struct vv_check *check);

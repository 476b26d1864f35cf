/* For variants.c and check.c alone. */
#pragma once
#include "op/mtp_wide/contract.h"

int vv_mtp_wide_reference(const void *args, size_t begin, size_t end);

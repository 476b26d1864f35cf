/* The operation's variants, for variants.c alone. */
#pragma once
#include "op/swiglu/contract.h"

int vv_swiglu_reference(const void *args, size_t begin, size_t end);
int vv_swiglu_portable(const void *args, size_t begin, size_t end);
#ifdef __x86_64__
int vv_swiglu_portable_avx2(const void *args, size_t begin, size_t end);
int vv_swiglu_portable_avx512(const void *args, size_t begin, size_t end);
#endif

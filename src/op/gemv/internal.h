/* The operation's variants, for variants.c alone. */
#pragma once
#include "op/gemv/contract.h"
#include "op/gemv/rows4.h"

int vv_gemv_reference(const void *args, size_t begin, size_t end);

int vv_gemv_portable(const void *args, size_t begin, size_t end);
int vv_gemv_rows4(const void *args, size_t begin, size_t end);
#ifdef __x86_64__
int vv_gemv_portable_avx2(const void *args, size_t begin, size_t end);
int vv_gemv_rows4_avx2(const void *args, size_t begin, size_t end);
int vv_gemv_portable_avx512(const void *args, size_t begin, size_t end);
int vv_gemv_rows4_avx512(const void *args, size_t begin, size_t end);
#endif

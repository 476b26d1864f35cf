/*
 * The instruction sets that multiply by panels (quant/panel), S(set, what it needs), slower to
 * faster: src/op/NAME/panels.c is compiled for each of them with vv_panel_kernel_set.
 */
#pragma once
#include "quant/panel/panel.h"
#include "registry/operation.h"

#if defined(__x86_64__)
#define VV_PANEL_SETS(S)                                                                           \
    S(avx2, VV_CPU_AVX2)                                                                           \
    S(avxvnni, VV_CPU_AVX2 | VV_CPU_AVX_VNNI)                                                      \
    S(avx512vnni, VV_CPU_AVX512 | VV_CPU_AVX512_VNNI)                                              \
    S(amx, VV_CPU_AVX512 | VV_CPU_AVX512_VNNI | VV_CPU_AMX_INT8)
#elif defined(__aarch64__)
#define VV_PANEL_SETS(S)                                                                           \
    S(neon, VV_CPU_NEON)                                                                           \
    S(dotprod, VV_CPU_NEON | VV_CPU_DOTPROD)                                                       \
    S(i8mm, VV_CPU_NEON | VV_CPU_DOTPROD | VV_CPU_I8MM)
#else
#define VV_PANEL_SETS(S)
#endif

/* What processors can do, as bits that variants ask for. */
#pragma once
#include "base/error.h"
#include <stdint.h>

/* What a CPU can do; several bits together are all needed. */
enum {
    VV_CPU_ANY = 0,
    VV_CPU_AVX2 = 1 << 0,   /* with FMA, F16C, BMI2 */
    VV_CPU_AVX512 = 1 << 1, /* x86-64-v4: F, BW, CD, DQ, VL */
    VV_CPU_AVX512_VNNI = 1 << 2,
    VV_CPU_AVX_VNNI = 1 << 3, /* the same products on 256-bit registers, without AVX-512 */
    VV_CPU_AMX_INT8 = 1 << 4, /* tiles of bytes, the system's leave to use them, and AVX512-VBMI */
    VV_CPU_NEON = 1 << 5,     /* every AArch64 CPU */
    VV_CPU_DOTPROD = 1 << 6,  /* Armv8.2 sdot, udot */
    VV_CPU_I8MM = 1 << 7,     /* Armv8.6 smmla, usdot */

    /* And what an NVIDIA GPU can do, by its compute capability. */
    VV_CUDA_ANY = 1 << 16, /* 8.0 */
    VV_CUDA_90 = 1 << 17,
    VV_CUDA_100 = 1 << 18,
};

/*
 * What this CPU can do, VV_CPU_… bits: from CPUID and what the system saves of the registers, or
 * from the auxiliary vector. The first call asks the system for the use of AMX tiles.
 */
uint32_t vv_cpu_features(void);

/*
 * The features of a level by its name: portable; avx2, avxvnni, avx512, vnni, amx; neon, dotprod,
 * i8mm. A level has all that it needs (amx: all of vnni) and nothing else. VV_ERROR_UNSUPPORTED:
 * this machine lacks some of it; VV_ERROR_INVALID: no such level. The sentence lists those here.
 */
int vv_cpu_level(const char *name, uint32_t *features, struct vv_error *error);

/*
 * One source, several instruction sets. A file that the build compiles once per instruction set
 * (every `portable.c` in src/op) wraps the names it exports in VV_ISA(name): the copy built for
 * AVX2 and FMA then exports name_avx2, the plain one name. What such a file includes must be static
 * inline, so that no code built for one set is ever linked into another.
 */
#pragma once

#define VV_ISA_JOIN_(name, suffix) name##suffix
#define VV_ISA_JOIN(name, suffix) VV_ISA_JOIN_(name, suffix)
#ifdef VV_ISA_SUFFIX
#define VV_ISA(name) VV_ISA_JOIN(name, VV_ISA_SUFFIX)
#else
#define VV_ISA(name) name
#endif

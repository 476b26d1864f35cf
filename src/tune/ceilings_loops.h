/* The loops of the ceilings for one instruction set; for src/tune/ceilings*.c alone. */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* Each returns something of what it computed, so that no compiler leaves it out. */
struct vv_loops {
    uint32_t needs;                                   /* VV_CPU_… */
    uint64_t (*read)(const void *from, size_t bytes); /* `bytes` a multiple of 512 */
    uint64_t (*int8)(size_t turns);
    uint64_t (*f32)(size_t turns);
    double int8_turn, f32_turn; /* operations of a turn */
};

/* Slower to faster; the first needs nothing. */
extern const struct vv_loops vv_portable_loops, vv_avx2_loops, vv_avx512_loops, vv_vnni_loops,
    vv_amx_loops;

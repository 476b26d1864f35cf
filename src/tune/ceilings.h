/*
 * What this machine can do at most, by loops that do nothing else: the measure that figures of
 * kernels are held against.
 */
#pragma once
#include "base/error.h"
#include <stddef.h>
#include <stdint.h>

struct vv_ceilings {
    double read; /* bytes a second, of memory far larger than the caches */
    double copy; /* bytes read and written a second */
    double int8; /* operations a second on 8-bit integers: a product and its addition are two */
    double f32;  /* the same on floats */
    unsigned threads;
};

/* With that many threads (0: physical cores that this process may use) and the best of the
 * instruction sets in `features` (VV_CPU_…). Takes about a second, and two gigabytes where caches
 * are large. */
int vv_measure_ceilings(unsigned threads, uint32_t features, struct vv_ceilings *ceilings,
                        struct vv_error *error);

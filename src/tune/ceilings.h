/*
 * What this machine can do at most, by loops that do nothing else: the measure that figures of
 * kernels are held against.
 */
#pragma once
#include "device/device.h"
#include "device/launch.h"
#include <stddef.h>
#include <stdint.h>

struct vv_ceilings {
    double read; /* bytes a second, of memory far larger than the caches */
    double copy; /* bytes read and written a second */
    double int8; /* operations a second on 8-bit integers: a product and its addition are two */
    double f32;  /* the same on floats */
    unsigned threads;
};

/* Of a device that launches kernels. */
int vv_measure_device(struct vv_device *device, struct vv_ceilings *ceilings,
                      struct vv_error *error);

/* What exact products reach at most there, by the kind of format. VV_ERROR_UNSUPPORTED: the device
 * has no such measurement. */
int vv_measure_roofs(struct vv_device *device, struct vv_device_roof roofs[VV_ROOFS],
                     struct vv_error *error);
/* The kind of a type of weights; -1: of floats, which are no integers. */
int vv_roof_of(int type);
extern const char *const vv_roof_names[VV_ROOFS];

/* On a CPU device with these options, by the best of their instruction sets. Takes about a second,
 * and two gigabytes where caches are large. */
int vv_measure_ceilings(const struct vv_cpu_options *options, struct vv_ceilings *ceilings,
                        struct vv_error *error);

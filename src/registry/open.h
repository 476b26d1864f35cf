/* Opening a device of any kind. One that is loaded brings variants of operations with it, so this
 * lies above devices. */
#pragma once
#include "device/device.h"

enum vv_device_kind {
    VV_DEVICE_CPU,
    VV_DEVICE_MOCK,
    VV_DEVICE_CUDA,
    VV_DEVICE_CUDA_EMULATED,
};
/* Whether its kernels are the CPU's. */
static inline bool vv_device_is_host(enum vv_device_kind kind) {
    return kind == VV_DEVICE_CPU || kind == VV_DEVICE_MOCK;
}
/* Any of them; `options` count for the first two. */
int vv_device_open(enum vv_device_kind kind, const struct vv_cpu_options *options,
                   struct vv_device **device, struct vv_error *error);

/* For tests: sees every device that was opened, and may put other calls in place of its own. NULL:
 * nobody does. */
extern void (*vv_device_opened)(struct vv_device *device);

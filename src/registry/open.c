/* Devices by their kind. */
#include "registry/open.h"
#include "registry/cuda_module.h"

void (*vv_device_opened)(struct vv_device *device);

static int open_kind(enum vv_device_kind kind, const struct vv_cpu_options *options,
                     struct vv_device **device, struct vv_error *error) {
    switch (kind) {
    case VV_DEVICE_MOCK:
        return vv_mock_device(options, device, error);
    case VV_DEVICE_CUDA:
    case VV_DEVICE_CUDA_EMULATED:
        return vv_cuda_device(kind == VV_DEVICE_CUDA_EMULATED, device, error);
    default:
        return vv_cpu_device(options, device, error);
    }
}

int vv_device_open(enum vv_device_kind kind, const struct vv_cpu_options *options,
                   struct vv_device **device, struct vv_error *error) {
    int code = open_kind(kind, options, device, error);
    if (code == VV_OK && vv_device_opened) {
        vv_device_opened(*device);
    }
    return code;
}

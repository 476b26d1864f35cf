/*
 * What the module of CUDA kernels (a shared object, loaded when a GPU is asked for, so that one
 * build of varve runs with and without one) gives to the engine.
 */
#pragma once
#include "device/device.h"
#include "registry/operation.h"

struct vv_cuda_module {
    const char *version; /* of varve: engine and module must be of one build */
    size_t sizes; /* of the structs that both sides use, added up: a second look at the same */
    const struct vv_more_variants *variants;
    int (*open)(struct vv_device **device, struct vv_error *error);
};

#define VV_CUDA_MODULE_SIZES                                                                       \
    (sizeof(struct vv_device) + sizeof(struct vv_variant) + sizeof(struct vv_weight) +             \
     sizeof(struct vv_state_view))

/* The module's only exported symbol. */
#define VV_CUDA_MODULE_SYMBOL "vv_cuda_module"
#ifdef __cplusplus
extern "C"
#endif
    const struct vv_cuda_module *
    vv_cuda_module(void);

/* The first NVIDIA GPU; or, `emulated`, the same kernels on the CPU, slowly: for tests where there
 * is no GPU. VV_ERROR_UNSUPPORTED: there is none, or no module of kernels for it; the sentence says
 * which. */
int vv_cuda_device(bool emulated, struct vv_device **device, struct vv_error *error);

/* The list of all variants, and the module's entry. */
#include "op/cuda/kernel.cuh"
#include "registry/cuda_module.h"

#include <mutex>
#include <vector>

/* Every src/op/NAME/cuda.cu exports its operations' variants as vv_cuda_folder_NAME; ends with {0}.
 */
#define VV_CUDA_FOLDER(name) extern const vv_more_variants vv_cuda_folder_##name[];
#include "cuda_folders.inc"
#undef VV_CUDA_FOLDER

static const vv_more_variants *const folders[] = {
#define VV_CUDA_FOLDER(name) vv_cuda_folder_##name,
#include "cuda_folders.inc"
#undef VV_CUDA_FOLDER
};

static const vv_more_variants *all_variants() {
    static std::vector<vv_more_variants> list;
    static std::once_flag once;
    std::call_once(once, [] {
        for (const vv_more_variants *folder : folders) {
            for (; folder->operation; folder++) {
                list.push_back(*folder);
            }
        }
        list.push_back({nullptr, nullptr});
    });
    return list.data();
}

extern "C" __attribute__((visibility("default"))) const struct vv_cuda_module *
vv_cuda_module(void) {
    static const struct vv_cuda_module module = {VARVE_VERSION, VV_CUDA_MODULE_SIZES,
                                                 all_variants(), vv_cuda_open};
    return &module;
}

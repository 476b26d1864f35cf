/*
 * Finds and loads the module of CUDA kernels: beside the program (a build tree), in ../lib/varve
 * from there (an installation), else where the system looks for libraries. A module stays loaded.
 */
#include "device/cuda/module.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 };

static const char *const names[] = {"libvarve_cuda.so", "libvarve_cuda_emulated.so"};

static void *load_from(const char *folder, const char *sub, const char *name) {
    char path[PATH_BYTES + 64];
    snprintf(path, sizeof path, "%s%s%s", folder, sub, name);
    return access(path, R_OK) == 0 ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
}

static void *load(const char *name) {
    char folder[PATH_BYTES];
    ssize_t n = readlink("/proc/self/exe", folder, sizeof folder - 1);
    void *module = NULL;
    if (n > 0) {
        folder[n] = 0;
        char *slash = strrchr(folder, '/');
        if (slash) {
            slash[1] = 0;
        }
        static const char *const subs[] = {"", "../", "../lib/varve/"};
        for (size_t i = 0; i < sizeof subs / sizeof *subs && !module; i++) {
            module = load_from(folder, subs[i], name);
        }
    }
    return module ? module : dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

static int find(bool emulated, const struct vv_cuda_module **module, struct vv_error *error) {
    const char *name = names[emulated];
    void *handle = load(name);
    if (!handle) {
        const char *why = dlerror();
        return vv_fail(error, VV_ERROR_UNSUPPORTED,
                       "the module of %sCUDA kernels, %s, can't be loaded (%s): build varve with "
                       "-DVARVE_CUDA=%s",
                       emulated ? "emulated " : "", name, why ? why : "no reason given",
                       emulated ? "emulated" : "on");
    }
    const struct vv_cuda_module *(*entry)(void) = NULL;
    void *symbol = dlsym(handle, VV_CUDA_MODULE_SYMBOL);
    memcpy(&entry, &symbol, sizeof entry);
    *module = entry ? entry() : NULL;
    if (!*module || strcmp((*module)->version, VARVE_VERSION) != 0 ||
        (*module)->sizes != VV_CUDA_MODULE_SIZES) {
        return vv_fail(error, VV_ERROR_UNSUPPORTED,
                       "%s is of another version of varve than this program (%s): install both "
                       "from one build",
                       name, VARVE_VERSION);
    }
    return VV_OK;
}

int vv_cuda_device(bool emulated, struct vv_device **device, struct vv_error *error) {
    const struct vv_cuda_module *module = NULL;
    int code = find(emulated, &module, error);
    if (code == VV_OK) {
        code = module->open(device, error);
    }
    if (code == VV_OK) {
        vv_add_variants(module->variants);
    }
    return code;
}

/*
 * Finds and loads the module of CUDA kernels: beside the program (a build tree), in ../lib/varve
 * from there (an installation), else where the system looks for libraries. A module stays loaded.
 */
#include "registry/cuda_module.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 4096, WHY_BYTES = 200 };

static const char *const names[] = {"libvarve_cuda.so", "libvarve_cuda_emulated.so"};

/* NULL: none there, or one that can't be loaded; `why`: the first reason, of a module that is
 * there.
 */
static void *load_from(const char *folder, const char *sub, const char *name, char *why) {
    char path[PATH_BYTES + 64];
    snprintf(path, sizeof path, "%s%s%s", folder, sub, name);
    if (access(path, F_OK) != 0) {
        return NULL;
    }
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!module && !why[0]) {
        snprintf(why, WHY_BYTES, "%s", dlerror());
    }
    return module;
}

static void *load(const char *name, char *why) {
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
            module = load_from(folder, subs[i], name, why);
        }
    }
    return module ? module : dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

static int find(bool emulated, const struct vv_cuda_module **module, struct vv_error *error) {
    const char *name = names[emulated], *kind = emulated ? "emulated " : "";
    char why[WHY_BYTES] = "";
    void *handle = load(name, why);
    if (!handle && why[0]) {
        return vv_fail(error, VV_ERROR_UNSUPPORTED,
                       "the module of %sCUDA kernels is there, but can't be loaded (%s): build it "
                       "anew on this machine",
                       kind, why);
    }
    if (!handle) {
        const char *told = dlerror();
        return vv_fail(error, VV_ERROR_UNSUPPORTED,
                       "the module of %sCUDA kernels, %s, can't be found (%s): build varve with "
                       "-DVARVE_%sCUDA=ON",
                       kind, name, told ? told : "no reason given", emulated ? "EMULATED_" : "");
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

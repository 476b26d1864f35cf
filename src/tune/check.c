#include "tune/check.h"
#include "registry/check_internal.h"

#include <stdio.h>
#include <string.h>

static int unknown_folder(const char *name, struct vv_error *error) {
    char list[700] = "";
    size_t used = 0;
    for (const struct vv_operation_folder *const *f = vv_operation_folders; *f; f++) {
        int n = snprintf(list + used, sizeof list - used, " %s", (*f)->name);
        if (n < 0 || (size_t)n >= sizeof list - used) {
            break;
        }
        used += (size_t)n;
    }
    return vv_fail(error, VV_ERROR_INVALID, "no operation is called \"%s\"; there are:%s", name,
                   list);
}

static void check_folder(const struct vv_operation_folder *folder,
                         const struct vv_check_options *options, struct vv_device *device,
                         size_t *passed, size_t *failed) {
    struct vv_check check = {.device = device,
                             .features = device ? device->features : vv_cpu_features(),
                             .folder = folder->name,
                             .filter = options->variant,
                             .seed = options->seed,
                             .state = options->seed,
                             .quick = options->quick,
                             .cases = options->cases,
                             .report = options->failure,
                             .context = options->context};
    if (setjmp(check.out_of_memory) == 0) {
        folder->check(&check);
    } else {
        vv_check_fail(&check, "no memory left for the next case");
    }
    vv_check_reset(&check);
    *passed += check.passed;
    *failed += check.failed;
    if (options->folder_done) {
        options->folder_done(options->context, folder->name, check.passed, check.failed);
    }
}

int vv_check_run(const struct vv_check_options *options, size_t *passed, size_t *failed,
                 struct vv_error *error) {
    bool found = false;
    struct vv_device *device = NULL; /* the CPU's variants are called as they are */
    *passed = *failed = 0;
    if (!vv_device_is_host(options->device)) {
        int code = vv_device_open(options->device, NULL, &device, error);
        if (code != VV_OK) {
            return code;
        }
    }
    for (const struct vv_operation_folder *const *f = vv_operation_folders; *f; f++) {
        if (!options->folder || strcmp((*f)->name, options->folder) == 0) {
            check_folder(*f, options, device, passed, failed);
            found = true;
        }
    }
    if (device) {
        device->calls->close(device);
    }
    return found || !options->folder ? VV_OK : unknown_folder(options->folder, error);
}

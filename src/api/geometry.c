/* Models that are only described. */
#include "tune/geometry.h"
#include "api/internal.h"
#include "registry/open.h"

/* All of the model: by name, or the header of a file. */
static int open_whole(const char *what, const char *types, struct vv_gguf **whole,
                      struct vv_error *error) {
    if (vv_geometry_is_named(what)) {
        return vv_geometry_named(what, types ? types : "q4", whole, error);
    }
    if (types) {
        return vv_fail(error, VV_ERROR_INVALID,
                       "%s is no released model that varve knows by name, and a file has types of "
                       "its own: it can't be of the mix \"%s\"",
                       what, types);
    }
    return vv_gguf_open(what, &(struct vv_gguf_options){.read = true}, whole, error);
}

int varve_geometry_open(const char *what, const struct varve_geometry_options *options,
                        struct varve_file **file, struct varve_error *error) {
    const struct vv_geometry_part part = {options->layers,
                                          options->room ? options->room : UINT64_MAX};
    struct vv_gguf *whole, *kept;
    int code = open_whole(what, options->types, &whole, vv_internal(error));
    if (code != VV_OK) {
        return code;
    }
    code = vv_geometry_part(whole, &part, &kept, vv_internal(error));
    vv_gguf_close(whole);
    return code == VV_OK ? vv_file_of(kept, file, vv_internal(error)) : code;
}

int varve_device_memory(enum varve_device device, uint64_t *bytes, struct varve_error *error) {
    const struct vv_cpu_options one = {.threads = 1};
    struct vv_device *opened;
    int code = vv_device_open((enum vv_device_kind)device, &one, &opened, vv_internal(error));
    if (code == VV_OK) {
        *bytes = opened->memory;
        opened->calls->close(opened);
    }
    return code;
}

/* Files being written. */
#include "api/internal.h"
#include "base/file.h"

int varve_output_open(const char *path, struct varve_output **output, struct varve_error *error) {
    return vv_output_open(path, (struct vv_output **)output, vv_internal(error));
}

int varve_output_write(struct varve_output *output, const void *bytes, size_t size,
                       struct varve_error *error) {
    return vv_output_write((struct vv_output *)output, bytes, size, vv_internal(error));
}

int varve_output_finish(struct varve_output *output, struct varve_error *error) {
    return vv_output_finish((struct vv_output *)output, vv_internal(error));
}

void varve_output_abandon(struct varve_output *output) {
    vv_output_abandon((struct vv_output *)output);
}

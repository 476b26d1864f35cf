/* `varve check`: every variant of this machine against its reference, folder by folder. */
#pragma once
#include "registry/open.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vv_check_options {
    const char *folder;  /* only this operation folder; NULL: all */
    const char *variant; /* only variants whose name contains this; NULL: all */
    uint64_t seed;
    bool quick;
    size_t cases; /* of each kind at most, to run under a tool that makes kernels slow; 0: all */
    enum vv_device_kind device; /* whose variants are checked */
    void (*folder_done)(void *context, const char *folder, size_t passed, size_t failed);
    void (*failure)(void *context, const char *line);
    void *context;
};

/* Runs the checks and counts. VV_ERROR_INVALID: no such folder (the sentence lists them). */
int vv_check_run(const struct vv_check_options *options, size_t *passed, size_t *failed,
                 struct vv_error *error);

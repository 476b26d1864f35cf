/* What the harness keeps between calls; for src/registry/check*.c and the runner. */
#pragma once
#include "device/device.h"
#include "registry/check.h"
#include <setjmp.h>

struct vv_check_block {
    struct vv_check_block *next;
    void *map;
    size_t map_bytes; /* 0: shared with the device */
};

/* Cases of one kind so far. */
enum { VV_CASE_KINDS = 4096 };
struct vv_case_kind {
    uint64_t key; /* 0: none yet */
    size_t count;
};

struct vv_check {
    const char *folder; /* operation being checked */
    const char *filter; /* variants whose name contains it; NULL: all */
    uint64_t seed;      /* as given, printed with a failure */
    uint64_t state;     /* of the generator */
    bool quick;
    size_t cases; /* of each kind at most; 0: all */
    struct vv_case_kind kinds[VV_CASE_KINDS];
    struct vv_device
        *device;       /* whose variants are checked, if it launches kernels; NULL: the CPU */
    uint32_t features; /* of that device or this CPU */
    int32_t depth;     /* positions of all windows of the case are below it */
    size_t passed, failed;
    void (*report)(void *context, const char *line); /* one line a failure */
    void *context;
    struct vv_check_block *blocks;
    jmp_buf out_of_memory;
};

void vv_check_fail(struct vv_check *check, const char *format, ...) VV_PRINTF(2, 3);

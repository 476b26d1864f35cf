/* The operation's variants; all are made of attend's core. */
#pragma once
#include "op/attend/internal.h"
#include "op/attend_window/contract.h"

/* What a row sees: its newest rows, then pooled ones. VV_ERROR_INVALID as the contract says. */
struct vv_seen {
    struct vv_attend_run run[2];
    size_t runs;
};
int vv_attend_window_runs(const struct vv_attend_window *a, size_t row, struct vv_seen *seen);

int vv_attend_window_reference(const void *args, size_t begin, size_t end);
int vv_attend_window_portable(const void *args, size_t begin, size_t end);
int vv_attend_window_portable_avx2(const void *args, size_t begin, size_t end);
int vv_attend_window_portable_avx512(const void *args, size_t begin, size_t end);
void vv_attend_window_check(struct vv_check *check);
void vv_attend_window_bench(struct vv_bench *bench);

/* Seconds of a clock that only goes forward. */
#pragma once
#include <time.h>

static inline double vv_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

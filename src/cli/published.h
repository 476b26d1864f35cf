/* Figures that others published for kernels of the same work, to hold ours against: on another
 * machine, so that rather multiples of one row's time compare than times. */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct published {
    const char *line;   /* of ours: its operation, its variant, or a part of its shape */
    const char *kernel; /* as whoever published it calls it */
    uint32_t rows;
    double us; /* a call */
};
struct published_table {
    const char *source, *machine;
    const struct published *figures;
    size_t count;
};
extern const struct published_table published_hyper_read, published_gdn, published_gemv_cat;

/* A figure's time as a multiple of the same kernel's for one row; 0: that isn't known. */
double published_ratio(const struct published_table *table, const struct published *figure);

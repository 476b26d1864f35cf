#include "tune/series.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int ascending(const void *a, const void *b) {
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static double quantile(const double *sorted, size_t count, double share) {
    double at = share * (double)(count - 1);
    size_t below = (size_t)at, above = below + 1 < count ? below + 1 : below;
    return sorted[below] + (sorted[above] - sorted[below]) * (at - (double)below);
}

struct vv_series vv_series_of(const double *samples, size_t count) {
    double sorted[VV_SAMPLES_MAX];
    memcpy(sorted, samples, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, ascending);
    return (struct vv_series){sorted[0], quantile(sorted, count, 0.25),
                              quantile(sorted, count, 0.5), quantile(sorted, count, 0.75),
                              sorted[count - 1]};
}

/* The swaps are gone through in the order of a Gray code: one pair changes at a time. */
double vv_permutation_p(const double *a, const double *b, size_t pairs) {
    double difference[VV_PAIRS_MAX], sum = 0, size = 0;
    for (size_t i = 0; i < pairs; i++) {
        difference[i] = a[i] - b[i];
        sum += difference[i];
        size += fabs(difference[i]);
    }
    double seen = fabs(sum) - 1e-9 * size; /* what rounding may take from an equal sum */
    uint64_t ways = (uint64_t)1 << pairs, far = 0;
    for (uint64_t way = 0; way < ways; way++) {
        far += fabs(sum) >= seen;
        unsigned changed = (unsigned)__builtin_ctzll(way + 1);
        if (changed < pairs) {
            difference[changed] = -difference[changed];
            sum += 2 * difference[changed];
        }
    }
    return (double)far / (double)ways;
}

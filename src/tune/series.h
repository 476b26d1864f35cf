/* What a row of repeated measurements says. */
#pragma once
#include <stddef.h>

enum {
    VV_SAMPLES_MAX = 1024,
    VV_PAIRS_MAX = 24, /* 2^24 ways to swap them are gone through in a tenth of a second */
};

struct vv_series {
    double least, low, median, high, most; /* low, high: the quartiles */
};
/* Of 1 to VV_SAMPLES_MAX samples. A quantile that falls between two samples lies on the line
 * between them. */
struct vv_series vv_series_of(const double *samples, size_t count);

/*
 * How often chance alone would make a and b differ as they do. Pair i was measured side by side; if
 * the two settings are alike, either could have given either figure. So of all 2^pairs ways to swap
 * the figures within pairs, this is the share in which the sums of a and b are at least as far
 * apart as seen (the exact permutation test of paired samples; ties up to rounding count as equal).
 * 1 to VV_PAIRS_MAX pairs.
 */
double vv_permutation_p(const double *a, const double *b, size_t pairs);

/* The golden cases of the sampling filters (tests/data/sampling/README.md), for a test and for the
 * conformance program. */
#pragma once
#include <stddef.h>

/*
 * Runs all cases of the file: the scores after the penalties, the kept tokens in rank order
 * (exactly), their probabilities (to 1e-6), and some draws against the cumulative distribution.
 * `report` is called for each case that fails. Returns how many cases passed; a file that cannot be
 * read is one failure.
 */
size_t sampling_cases_run(const char *path, void (*report)(const char *name, const char *what),
                          size_t *failed);

/* The same for the draws (draws.json): kept tokens, probabilities and drawn tokens, all to the bit.
 */
size_t sampling_draws_run(const char *path, void (*report)(const char *name, const char *what),
                          size_t *failed);

/* Profiles of `varve tune`: a JSON file with the machine, the version, and the choices. */
#pragma once
#include <varve.h>

struct tuned {
    struct varve_tuning tuning;
    struct varve_tune_threads threads;
};

/* The profile in a file, until the program ends. A file that can't be read, is no profile, or was
 * made by another version, on another machine or for a device of another name is told on standard
 * error, once; then NULL. */
const struct tuned *tuned_read(const char *path, const char *device);

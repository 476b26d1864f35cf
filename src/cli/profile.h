/* What a session measured of itself. */
#pragma once
#include "options.h"

#include <varve.h>

/* Sets what a session needs for --profile, --profile-json and --profile-trace. */
void profile_options(const struct arguments *arguments, struct varve_session_options *options);

/* Says on standard error where the time went and why threads met, and writes the files that were
 * asked for. Returns an exit code. */
int profile_report(const struct arguments *arguments, const struct varve_session *session);

/* ---- for profile*.c ---- */

enum { PROFILE_CLASSES_MOST = 64 };

/* Steps of one class in all passes. */
struct profile_class {
    const char *name;
    size_t steps;
    double seconds;
    uint64_t bytes;
};

struct profile {
    const struct varve_session *session;
    struct varve_profile all;
    char places[VARVE_PLACES_TEXT];                     /* where the threads ran */
    double read_rate;                                   /* bytes a second; 0: unknown */
    struct profile_class classes[PROFILE_CLASSES_MOST]; /* longest first */
    size_t class_count;
};

void profile_table(const struct profile *profile);
void profile_barriers(const struct profile *profile);
int profile_json(const struct profile *profile, const char *path);
int profile_trace(const struct profile *profile, const char *path);

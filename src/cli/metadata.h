/* A file's metadata by name. */
#pragma once
#include <stdbool.h>
#include <varve.h>

/* The place of key `name`; false if the file has no such key, or an empty array there. */
bool find_key(const struct varve_file *file, const char *name, size_t *index);

/* The first element of key `name`; false as above. */
bool file_value(const struct varve_file *file, const char *name, struct varve_value *value);

/* The same as a number; false also if it is none. */
bool file_number(const struct varve_file *file, const char *name, double *number);

/* The number with the fewest digits that is the same float32 (0.8 for 0.800000011920929); `x`
 * itself if it is no float32. */
double shortest(double x);

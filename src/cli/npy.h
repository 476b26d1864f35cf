/* NumPy files of float32, written as the values come; the file appears when it is whole. */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct varve_output;

/* Begins PATH with the given shape, slowest dimension first; varve_output_abandon leaves nothing
 * behind. Each returns an exit code, after an error on standard error. */
int npy_open(const char *path, const uint64_t *shape, size_t dimensions, struct varve_output **out);
int npy_write(struct varve_output *output, const float *values, size_t count);

/* After the last value; frees `output`, on failure too. */
int npy_finish(struct varve_output *output);

/* Random weights in any block format, for measurements without a model's file. */
#pragma once
#include "quant/format.h"

/*
 * Number `first` and the following ones, `blocks` in all, of a row of blocks whose values have
 * about the mean 0 and the deviation `deviation`, all of them valid; the same bytes for a seed on
 * every machine. A format with an encoder encodes normal values. Of the others random bytes are
 * drawn until a block's values have the size wanted: that needs no knowledge of where a format
 * keeps its scales.
 */
void vv_random_blocks(const struct vv_format *format, uint64_t seed, float deviation,
                      uint64_t first, void *to, size_t blocks);

/* Independent values, about normally distributed. */
void vv_random_normals(uint64_t seed, float mean, float deviation, float *to, size_t count);

/* Number `index` of the row of random numbers that belongs to a seed. */
uint64_t vv_random_word(uint64_t seed, uint64_t index);

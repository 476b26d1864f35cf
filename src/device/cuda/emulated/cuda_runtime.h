/*
 * The part of CUDA that varve's kernels and device use, on the CPU: sources that say
 * `#include <cuda_runtime.h>` compile as C++17 against this folder and run there, every thread of
 * every block, so that kernels are compared with the reference on machines without a GPU.
 *
 * What a GPU leaves undefined is an error here, told in a sentence before the process aborts: a
 * rendezvous that not all reach, a shuffle from a lane outside the mask, masks that differ. The
 * order in which threads, warps, blocks, streams and independent graph nodes run is drawn from a
 * seed (control.h), so that what lacks a synchronisation fails on some seed.
 */
#pragma once
#include "keywords.h"

#include "vectors.h"

#include "block.h"

#include "atomics.h"
#include "numbers.h"
#include "runtime.h"

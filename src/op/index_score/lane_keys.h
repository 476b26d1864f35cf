/* Four codes of each of VV_WIDTH keys, and a number for each. */
#pragma once
#include "base/vector.h"
#include <stdint.h>

typedef uint8_t vv_keys __attribute__((vector_size(4 * VV_WIDTH)));
typedef int32_t vv_lanes __attribute__((vector_size(4 * VV_WIDTH)));

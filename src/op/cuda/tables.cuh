/* The constant tables of the formats in a GPU's memory: the same text as on the host. */
#pragma once
#include <cstdint>

#define VV_TABLE alignas(16) static __device__ const
namespace vv_on_gpu {
#define vv_iq4nl_values table_iq4nl
#define vv_e2m1_doubled table_e2m1
#define vv_iq_signs table_signs
#define vv_iq2xxs_grid table_iq2xxs
#define vv_iq2xs_grid table_iq2xs
#define vv_iq2s_grid table_iq2s
#define vv_iq3xxs_grid table_iq3xxs
#define vv_iq3s_grid table_iq3s
#define vv_iq1s_grid table_iq1s
#define VV_TABLES_INLINE
#include "quant/tables.c"
#undef VV_TABLES_INLINE
#undef vv_iq4nl_values
#undef vv_e2m1_doubled
#undef vv_iq_signs
#undef vv_iq2xxs_grid
#undef vv_iq2xs_grid
#undef vv_iq2s_grid
#undef vv_iq3xxs_grid
#undef vv_iq3s_grid
#undef vv_iq1s_grid
} // namespace vv_on_gpu
#undef VV_TABLE

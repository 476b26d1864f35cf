/* Constant tables of the block formats. Made by tools/quant_tables.py from tools/data; don't edit.
 */
#pragma once
#include <stdint.h>

/* IQ4_NL, IQ4_XS: value of a four-bit code. */
extern const int8_t vv_iq4nl_values[16];
/* MXFP4, NVFP4: twice the value of an E2M1 code (-0 is 0). */
extern const int8_t vv_e2m1_doubled[16];
/* seven bits of signs to eight: an even number of ones. */
extern const uint8_t vv_iq_signs[128];
/* IQ2_XXS. */
extern const int8_t vv_iq2xxs_grid[256][8];
/* IQ2_XS. */
extern const int8_t vv_iq2xs_grid[512][8];
/* IQ2_S. */
extern const int8_t vv_iq2s_grid[1024][8];
/* IQ3_XXS. */
extern const int8_t vv_iq3xxs_grid[256][4];
/* IQ3_S. */
extern const int8_t vv_iq3s_grid[512][4];
/* IQ1_S, IQ1_M. */
extern const int8_t vv_iq1s_grid[2048][8];

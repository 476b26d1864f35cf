/* What Python's str methods know of single characters: case, and kinds. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* White space for strip, split, trim: with the separators U+001C to U+001F. */
bool vv_is_space(uint32_t character);
bool vv_is_letter(uint32_t character);
bool vv_is_number(uint32_t character); /* digits, and other characters that stand for a number */
bool vv_is_digit(uint32_t character);
bool vv_is_upper(uint32_t character);
bool vv_is_lower(uint32_t character);
bool vv_is_cased(uint32_t character);     /* upper, lower or title case */
bool vv_is_printable(uint32_t character); /* needs no escape in repr */

enum vv_case { VV_UPPER, VV_LOWER, VV_TITLE };

/* A character in that case, 1 to 3 of them. (Lower case has no rule for a sigma that ends a word.)
 */
size_t vv_to_case(enum vv_case wanted, uint32_t character, uint32_t out[3]);

/* Look-ups in the generated Unicode tables (unicode_tables.h), and normalisation form C. */
#pragma once
#include "text/grow.h"
#include "text/unicode_tables.h"

#include <stddef.h>
#include <stdint.h>

/* VV_CLASS_… bits of a code point. */
uint8_t vv_unicode_class(uint32_t character);

/*
 * Normalisation form C (Unicode Standard Annex 15) of a well-formed text, appended to `out`.
 * Time is linear but for the sorting of marks, n log n.
 */
int vv_nfc(const char *text, size_t length, struct vv_bytes *out, struct vv_error *error);

/* Base64 (RFC 4648, section 4) to bytes. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* Decodes `text` [length], padding included; the caller frees `*bytes`. False for anything that is
 * no base64, and if there is no memory. */
bool base64_decode(const char *text, size_t length, char **bytes, size_t *count);

/* UTF-8: reading characters of a well-formed text, and making any bytes well-formed. */
#pragma once
#include "text/grow.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The character at `text[*at]` of a well-formed text; moves `*at` behind it. Whatever is not known
 * to be well-formed goes through a stream (below) first.
 */
uint32_t vv_utf8_next(const char *text, size_t *at);

/* The length of the well-formed character that `text` [length] begins with, or 0. */
size_t vv_utf8_length(const char *text, size_t length);

/* Writes one character, which is not a surrogate and at most U+10FFFF, and returns its length. */
size_t vv_utf8_write(uint32_t character, char out[4]);

/* The same, appended. */
int vv_utf8_append(struct vv_bytes *out, uint32_t character, struct vv_error *error);

/*
 * Bytes that arrive in parts, passed on as whole characters. Each maximal ill-formed part becomes
 * one U+FFFD (The Unicode Standard 16, section 3.9, "U+FFFD Substitution of Maximal Subparts"; the
 * rule of WHATWG and of most libraries), as soon as it can no longer become a character. {0} is
 * the start; between two calls at most three bytes are held.
 */
struct vv_utf8_stream {
    unsigned char held[4];
    unsigned count;
};

int vv_utf8_feed(struct vv_utf8_stream *stream, const char *bytes, size_t length,
                 struct vv_bytes *out, struct vv_error *error);

/* The end: an unfinished character becomes one U+FFFD. The stream is at its start again. */
int vv_utf8_end(struct vv_utf8_stream *stream, struct vv_bytes *out, struct vv_error *error);

/* Decimal numbers in text, whatever the locale: the shortest that reads back as the same double. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    VV_NUMBER_ROOM = 32,   /* for vv_number_print, with the zero */
    VV_NUMBER_FIXED = 1400 /* for the others: 309 digits, a point, VV_NUMBER_PLACES, a sign */
};

enum { VV_NUMBER_PLACES = 1000 }; /* at most behind the point */

/*
 * As Python's repr: the fewest digits that stand for `x`, of those the nearest; "1.0", "1e+16",
 * "5e-324", "inf", "nan". Returns the length.
 */
size_t vv_number_print(double x, char out[VV_NUMBER_ROOM]);

/* As printf's conversion 'e', 'f' or 'g' (or 'E', 'F', 'G') with so many places, at most
 * VV_NUMBER_PLACES; `alternate` is the flag '#'. */
size_t vv_number_format(double x, char conversion, int places, bool alternate,
                        char out[VV_NUMBER_FIXED]);

/*
 * Digits with an optional sign, point and exponent (all digits may be missing on one side of the
 * point, not on both): the nearest double, infinite where it is too large. False if `text` is not
 * that.
 */
bool vv_number_read(const char *text, size_t length, double *out);

/* Digits with an optional sign. False if `text` is not that, or beyond 64 bits. */
bool vv_integer_read(const char *text, size_t length, int64_t *out);

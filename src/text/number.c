#include "text/number.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DIGITS = 17, EXPONENT_LIMIT = 100000000, KEPT = 800 };

/* x = 0.d₁d₂… · 10^point, the digits without zeros at the end (but one for 0). */
struct decimal {
    char digits[MOST_DIGITS + 1];
    int count, point;
};

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* The double that `digits` [count] · 10^exponent is nearest to: no point, so no locale, matters. */
static double read_scaled(const char *digits, int count, int exponent) {
    char text[MOST_DIGITS + 16];
    snprintf(text, sizeof text, "%.*se%d", count, digits, exponent);
    return strtod(text, NULL);
}

/* `x` ≥ 0 rounded to `count` digits. */
static struct decimal round_to(double x, int count) {
    struct decimal d = {.count = 0};
    char text[MOST_DIGITS + 16];
    snprintf(text, sizeof text, "%.*e", count - 1, x);
    const char *at = text;
    for (; *at != 'e'; at++) {
        if (is_digit(*at)) { /* and not the locale's point */
            d.digits[d.count++] = *at;
        }
    }
    d.point = atoi(at + 1) + 1;
    return d;
}

/* The next larger number of as many digits; false if there is none. */
static bool next_up(struct decimal *d) {
    int i = d->count - 1;
    while (i >= 0 && d->digits[i] == '9') {
        d->digits[i--] = '0';
    }
    if (i < 0) {
        return false;
    }
    d->digits[i]++;
    return true;
}

/*
 * The shortest digits of `x` > 0. Below a power of two the doubles lie closer than above it, so
 * where the nearest number of so many digits falls short, the next larger may still do.
 */
static struct decimal shortest(double x) {
    struct decimal d;
    for (int count = 1;; count++) {
        d = round_to(x, count);
        if (count == MOST_DIGITS || read_scaled(d.digits, d.count, d.point - d.count) == x) {
            break;
        }
        if (next_up(&d) && read_scaled(d.digits, d.count, d.point - d.count) == x) {
            break;
        }
    }
    while (d.count > 1 && d.digits[d.count - 1] == '0') {
        d.count--;
    }
    return d;
}

size_t vv_number_print(double x, char out[VV_NUMBER_ROOM]) {
    if (x != x) {
        return (size_t)snprintf(out, VV_NUMBER_ROOM, "nan");
    }
    bool negative = x < 0 || (x == 0 && 1 / x < 0);
    const char *sign = negative ? "-" : "";
    x = negative ? -x : x;
    if (x > 1.7976931348623157e308) {
        return (size_t)snprintf(out, VV_NUMBER_ROOM, "%sinf", sign);
    }
    struct decimal d =
        x > 0 ? shortest(x) : (struct decimal){.digits = "0", .count = 1, .point = 1};
    size_t used = (size_t)snprintf(out, VV_NUMBER_ROOM, "%s", sign);
    int exponent = d.point - 1;
    if (exponent < -4 || exponent >= 16) {
        used += (size_t)snprintf(out + used, VV_NUMBER_ROOM - used, "%c%s%.*se%c%02d", d.digits[0],
                                 d.count > 1 ? "." : "", d.count - 1, d.digits + 1,
                                 exponent < 0 ? '-' : '+', abs(exponent));
        return used;
    }
    if (d.point <= 0) {
        return used + (size_t)snprintf(out + used, VV_NUMBER_ROOM - used, "0.%.*s%.*s", -d.point,
                                       "0000", d.count, d.digits);
    }
    for (int i = 0; i < d.point || i <= d.count - 1 || i == d.point; i++) {
        if (i == d.point) {
            out[used++] = '.';
        }
        out[used++] = i < d.count ? d.digits[i] : '0';
    }
    out[used] = 0;
    return used;
}

size_t vv_number_format(double x, char conversion, int places, bool alternate,
                        char out[VV_NUMBER_FIXED]) {
    char format[] = {'%', '#', '.', '*', conversion, 0};
    if (!alternate) {
        memmove(format + 1, format + 2, sizeof format - 2);
    }
    places = places > VV_NUMBER_PLACES ? VV_NUMBER_PLACES : places;
    char text[VV_NUMBER_FIXED];
    size_t length = (size_t)snprintf(text, sizeof text, format, places, x), used = 0;
    for (size_t i = 0; i < length; i++) { /* the locale's point, whatever its length, is one '.' */
        unsigned char c = (unsigned char)text[i];
        bool own =
            is_digit(text[i]) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '+' || c == '-';
        if (own) {
            out[used++] = text[i];
        } else if (used == 0 || out[used - 1] != '.') {
            out[used++] = '.';
        }
    }
    out[used] = 0;
    return used;
}

/* Where the digits from `at` on end. */
static size_t skip_digits(const char *text, size_t length, size_t at) {
    while (at < length && is_digit(text[at])) {
        at++;
    }
    return at;
}

static size_t skip_sign(const char *text, size_t length, size_t at) {
    return at < length && (text[at] == '-' || text[at] == '+') ? at + 1 : at;
}

/* An exponent's value, cut off where nothing is left to tell apart. */
static long read_exponent(const char *text, size_t length) {
    long value = 0;
    for (size_t i = skip_sign(text, length, 0); i < length; i++) {
        value = value < EXPONENT_LIMIT ? value * 10 + (text[i] - '0') : value;
    }
    return length > 0 && text[0] == '-' ? -value : value;
}

/*
 * The value of digits and a point, times 10^exponent, read without the point: "12.5e3" as "125e2".
 * No double, and no middle between two of them, has more than KEPT digits; of those behind it only
 * matters whether they are all 0.
 */
static double read_digits(const char *text, size_t length, long exponent) {
    char copy[KEPT + 32];
    size_t used = 0;
    bool behind = false, more = false;
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '.') {
            behind = true;
            continue;
        }
        if (used < KEPT && (used > 0 || text[i] != '0')) {
            copy[used++] = text[i];
        } else if (used > 0) {
            more = more || text[i] != '0';
            exponent++;
        }
        exponent -= behind;
    }
    snprintf(copy + used, sizeof copy - used, more ? "1e%ld" : "e%ld", exponent - more);
    return used > 0 ? strtod(copy, NULL) : 0;
}

bool vv_number_read(const char *text, size_t length, double *out) {
    size_t begin = skip_sign(text, length, 0);
    size_t at = skip_digits(text, length, begin), digits = at - begin;
    if (at < length && text[at] == '.') {
        size_t end = skip_digits(text, length, at + 1);
        digits += end - at - 1;
        at = end;
    }
    size_t end = at;
    long exponent = 0;
    if (at < length && (text[at] == 'e' || text[at] == 'E')) {
        size_t first = skip_sign(text, length, at + 1);
        if (skip_digits(text, length, first) != length || first == length) {
            return false;
        }
        exponent = read_exponent(text + at + 1, length - at - 1);
        at = length;
    }
    if (digits == 0 || at != length) {
        return false;
    }
    double x = read_digits(text + begin, end - begin, exponent);
    *out = text[0] == '-' ? -x : x;
    return true;
}

bool vv_integer_read(const char *text, size_t length, int64_t *out) {
    size_t begin = skip_sign(text, length, 0);
    bool negative = length > 0 && text[0] == '-';
    int64_t value = 0;
    if (begin == length || skip_digits(text, length, begin) != length) {
        return false;
    }
    for (size_t i = begin; i < length; i++) {
        int digit = text[i] - '0';
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, negative ? -digit : digit, &value)) {
            return false;
        }
    }
    *out = value;
    return true;
}

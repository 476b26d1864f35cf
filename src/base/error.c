#include "base/error.h"

#include <stdio.h>
#include <string.h>

/* Length of the well-formed UTF-8 character at `s`, or 0. */
static size_t utf8_length(const unsigned char *s) {
    size_t n = s[0] < 0x80 ? 1 : s[0] >= 0xc2 && s[0] < 0xe0 ? 2 : (s[0] & 0xf0) == 0xe0 ? 3 : 4;
    if (s[0] >= 0x80 && (s[0] < 0xc2 || s[0] > 0xf4)) {
        return 0;
    }
    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80) {
            return 0; /* the terminating zero ends here too */
        }
    }
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
        (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f)) {
        return 0;
    }
    return n;
}

static void make_printable(char *text) {
    unsigned char *s = (unsigned char *)text;
    while (*s) {
        size_t n = utf8_length(s);
        if (n == 0 || *s < 0x20 || *s == 0x7f) {
            *s = '?';
            n = 1;
        }
        s += n;
    }
}

int vv_fail_va(struct vv_error *error, int code, const char *format, va_list list) {
    error->code = code;
    vsnprintf(error->message, sizeof error->message, format, list);
    make_printable(error->message);
    return code;
}

int vv_fail(struct vv_error *error, int code, const char *format, ...) {
    va_list list;
    va_start(list, format);
    vv_fail_va(error, code, format, list);
    va_end(list);
    return code;
}

int vv_fail_memory(struct vv_error *error, unsigned long long bytes, const char *what) {
    return vv_fail(error, VV_ERROR_MEMORY,
                   "no memory for %s (%llu bytes): free some, or choose a smaller setting", what,
                   bytes);
}

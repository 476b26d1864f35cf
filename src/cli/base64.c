#include "base64.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int digit(char c) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

bool base64_decode(const char *text, size_t length, char **bytes, size_t *count) {
    if (length % 4 != 0) {
        return false;
    }
    size_t padding = length == 0               ? 0u
                     : text[length - 2] == '=' ? 2u
                     : text[length - 1] == '=' ? 1u
                                               : 0u;
    char *out = malloc(length / 4 * 3 + 1);
    size_t used = 0;
    uint32_t bits = 0;
    bool ok = out && !(padding == 2 && text[length - 1] != '=');
    for (size_t i = 0; ok && i < length; i++) {
        int d = i >= length - padding ? 0 : digit(text[i]);
        ok = d >= 0;
        bits = bits << 6 | (uint32_t)d;
        if (ok && i % 4 == 3) {
            out[used++] = (char)(bits >> 16);
            out[used++] = (char)(bits >> 8);
            out[used++] = (char)bits;
        }
    }
    if (!ok) {
        free(out);
        return false;
    }
    *bytes = out;
    *count = used - padding;
    return true;
}

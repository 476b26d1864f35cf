#include "utf8.h"

#include <stdlib.h>
#include <string.h>

/* Range of the second byte after a first one, and how many follow in all (Unicode, table 3-7). */
struct lead {
    unsigned char low, high, following;
};

static struct lead lead_of(unsigned char first) {
    switch (first) {
    case 0xe0:
        return (struct lead){0xa0, 0xbf, 2};
    case 0xed:
        return (struct lead){0x80, 0x9f, 2};
    case 0xf0:
        return (struct lead){0x90, 0xbf, 3};
    case 0xf4:
        return (struct lead){0x80, 0x8f, 3};
    default:
        return (struct lead){0x80, 0xbf,
                             first >= 0xc2 && first <= 0xdf   ? 1
                             : first >= 0xe1 && first <= 0xef ? 2
                             : first >= 0xf1 && first <= 0xf3 ? 3
                                                              : 0};
    }
}

size_t utf8_step(const char *text, size_t length, bool *well_formed) {
    const unsigned char *s = (const unsigned char *)text;
    struct lead lead = lead_of(s[0]);
    size_t n = 1;
    while (n < length && n <= lead.following && s[n] >= (n == 1 ? lead.low : 0x80) &&
           s[n] <= (n == 1 ? lead.high : 0xbf)) {
        n++;
    }
    *well_formed = s[0] < 0x80 || (lead.following > 0 && n == 1u + lead.following);
    return n;
}

void utf8_printable(char *text) {
    size_t length = strlen(text);
    for (size_t i = 0; i < length;) {
        bool well;
        size_t n = utf8_step(text + i, length - i, &well);
        bool control = (unsigned char)text[i] < 0x20 || text[i] == 0x7f ||
                       (n == 2 && text[i] == '\xc2' && (unsigned char)text[i + 1] < 0xa0);
        if (!well || control) {
            memset(text + i, '?', n);
        }
        i += n;
    }
}

char *utf8_clean(const char *text, size_t length, size_t *clean_length) {
    char *clean = malloc(3 * length + 1);
    if (!clean) {
        return NULL;
    }
    size_t used = 0;
    for (size_t i = 0; i < length;) {
        bool well;
        size_t n = utf8_step(text + i, length - i, &well);
        memcpy(clean + used, well ? text + i : "\xef\xbf\xbd", well ? n : 3);
        used += well ? n : 3;
        i += n;
    }
    clean[used] = 0;
    *clean_length = used;
    return clean;
}

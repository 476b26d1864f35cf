/* What a person may have meant by a word that is not known. */
#include "options.h"

#include <stdio.h>
#include <string.h>

enum { WORD_MOST = 40, NEAR_MOST = 3 };

static unsigned least(unsigned a, unsigned b) {
    return a < b ? a : b;
}

/* Letters to insert, delete, replace, or swap with their neighbour to turn a into b (optimal string
 * alignment). */
static unsigned distance(const char *a, const char *b) {
    size_t n = strnlen(a, WORD_MOST), m = strnlen(b, WORD_MOST);
    unsigned d[WORD_MOST + 1][WORD_MOST + 1];
    for (size_t i = 0; i <= n; i++) {
        for (size_t j = 0; j <= m; j++) {
            if (i == 0 || j == 0) {
                d[i][j] = (unsigned)(i + j);
                continue;
            }
            d[i][j] = least(least(d[i - 1][j], d[i][j - 1]) + 1,
                            d[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                d[i][j] = least(d[i][j], d[i - 2][j - 2] + 1);
            }
        }
    }
    return d[n][m];
}

/* How far a name is from the word: 0 for a part of it, UINT_MAX where nobody would confuse them. */
static unsigned strangeness(const char *word, const char *name) {
    size_t length = strlen(word);
    if (length >= 2 && strstr(name, word)) {
        return 0;
    }
    unsigned d = distance(word, name);
    return d <= 1 + length / 4 ? d : ~0u;
}

void suggest(const char *word, const char *const *names, const char *prefix, char *out,
             size_t room) {
    size_t used = 0, found = 0;
    out[0] = 0;
    for (unsigned wanted = 0; wanted <= WORD_MOST / 4 + 1 && found < NEAR_MOST; wanted++) {
        for (size_t i = 0; names[i] && found < NEAR_MOST; i++) {
            if (strangeness(word, names[i]) == wanted) {
                int n = snprintf(out + used, room - used, "%s%s%s",
                                 found ? " or " : "; did you mean ", prefix, names[i]);
                used += n > 0 && (size_t)n < room - used ? (size_t)n : 0;
                found++;
            }
        }
    }
    snprintf(out + used, room - used, "%s", found ? "?" : "");
}

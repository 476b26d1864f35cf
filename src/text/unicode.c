#include "text/unicode.h"

#include "text/utf8.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* The value of the stretch (first code point · 256 + value, ascending) that holds `character`. */
static uint8_t stretch_value(const uint32_t *stretches, size_t count, uint32_t character) {
    size_t low = 0, high = count; /* the stretch is in [low, high) */
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if (stretches[middle] >> 8 <= character) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return (uint8_t)stretches[low];
}

uint8_t vv_unicode_class(uint32_t character) {
    return stretch_value(vv_unicode_classes, COUNT(vv_unicode_classes), character);
}

static uint8_t combining_class(uint32_t character) {
    return stretch_value(vv_unicode_combining, COUNT(vv_unicode_combining), character);
}

/* Hangul syllables are counted, not listed: The Unicode Standard 16, section 3.12. */
enum {
    S_BASE = 0xac00,
    L_BASE = 0x1100,
    V_BASE = 0x1161,
    T_BASE = 0x11a7, /* no final consonant */
    L_COUNT = 19,
    V_COUNT = 21,
    T_COUNT = 28,
    S_COUNT = L_COUNT * V_COUNT * T_COUNT,
};

static bool is_hangul_syllable(uint32_t c) {
    return c >= S_BASE && c < S_BASE + S_COUNT;
}

static int compare_whole(const void *key, const void *row) {
    uint32_t a = *(const uint32_t *)key, b = ((const struct vv_unicode_parts *)row)->whole;
    return (a > b) - (a < b);
}

/* One step of decomposition: false if `character` has none. */
static bool decompose_once(uint32_t character, struct vv_unicode_parts *parts) {
    if (is_hangul_syllable(character)) {
        uint32_t s = character - S_BASE, t = s % T_COUNT;
        parts->first = t ? character - t : L_BASE + s / (V_COUNT * T_COUNT);
        parts->second = t ? T_BASE + t : V_BASE + s % (V_COUNT * T_COUNT) / T_COUNT;
        return true;
    }
    const struct vv_unicode_parts *row =
        bsearch(&character, vv_unicode_decompositions, COUNT(vv_unicode_decompositions),
                sizeof *vv_unicode_decompositions, compare_whole);
    if (row) {
        *parts = *row;
    }
    return row != NULL;
}

static int compare_pair(const void *key, const void *index) {
    const struct vv_unicode_parts *a = key;
    const struct vv_unicode_parts *b = &vv_unicode_decompositions[*(const uint16_t *)index];
    return a->first != b->first ? (a->first > b->first) - (a->first < b->first)
                                : (a->second > b->second) - (a->second < b->second);
}

/* The character that `first` and `second` make, or 0. */
static uint32_t compose(uint32_t first, uint32_t second) {
    if (first >= L_BASE && first < L_BASE + L_COUNT && second >= V_BASE &&
        second < V_BASE + V_COUNT) {
        return S_BASE + ((first - L_BASE) * V_COUNT + (second - V_BASE)) * T_COUNT;
    }
    if (is_hangul_syllable(first) && (first - S_BASE) % T_COUNT == 0 && second > T_BASE &&
        second < T_BASE + T_COUNT) {
        return first + (second - T_BASE);
    }
    struct vv_unicode_parts pair = {.first = first, .second = second};
    const uint16_t *row = bsearch(&pair, vv_unicode_compositions, COUNT(vv_unicode_compositions),
                                  sizeof *vv_unicode_compositions, compare_pair);
    return row ? vv_unicode_decompositions[*row].whole : 0;
}

/*
 * A decomposed character: combining class, place in the text and character in one number, so that
 * ordinary sorting is the canonical ordering (by class, and by place within a class).
 */
struct decomposed {
    uint64_t *at;
    size_t count, capacity;
};

static uint64_t mark_of(uint8_t class, size_t place, uint32_t character) {
    return (uint64_t) class << 56 | (uint64_t)place << 21 | character;
}

static uint8_t class_in(uint64_t mark) {
    return (uint8_t)(mark >> 56);
}

static uint32_t character_in(uint64_t mark) {
    return mark & 0x1fffff;
}

static int compare_mark(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Appends the full canonical decomposition; the depth of the recursion is a few steps. */
static int decompose(struct decomposed *d, uint32_t character, struct vv_error *error) {
    struct vv_unicode_parts parts;
    if (decompose_once(character, &parts)) {
        int status = decompose(d, parts.first, error);
        return status == VV_OK && parts.second ? decompose(d, parts.second, error) : status;
    }
    int status = vv_grow(&d->at, &d->capacity, d->count + 1, sizeof *d->at,
                         "the normal form of a text", error);
    if (status == VV_OK) {
        d->at[d->count] = mark_of(combining_class(character), d->count, character);
        d->count++;
    }
    return status;
}

/* Sorts each run of marks (combining class above 0). */
static void order_marks(struct decomposed *d) {
    for (size_t i = 0; i < d->count; i++) {
        size_t begin = i;
        while (i < d->count && class_in(d->at[i]) > 0) {
            i++;
        }
        if (i - begin > 1) {
            qsort(d->at + begin, i - begin, sizeof *d->at, compare_mark);
        }
    }
}

/*
 * Joins each character to the last starter before it (class 0) where the pair has a composite and
 * nothing between them blocks it: no mark of the same or a higher class, and no other starter.
 */
static void compose_all(struct decomposed *d) {
    size_t kept = 0, starter = SIZE_MAX;
    for (size_t i = 0; i < d->count; i++) {
        uint64_t mark = d->at[i];
        uint8_t class = class_in(mark);
        bool next_to = starter != SIZE_MAX && kept == starter + 1;
        if (starter != SIZE_MAX && (next_to || class_in(d->at[kept - 1]) < class)) {
            uint32_t whole = compose(character_in(d->at[starter]), character_in(mark));
            if (whole) {
                d->at[starter] = mark_of(0, 0, whole);
                continue;
            }
        }
        starter = class == 0 ? kept : starter;
        d->at[kept++] = mark;
    }
    d->count = kept;
}

/* Whether NFC leaves the text as it is for want of any character that it could change. */
static bool is_untouched(const char *text, size_t length) {
    for (size_t at = 0; at < length;) {
        if ((unsigned char)text[at] < 0x80) {
            at++;
        } else if (vv_unicode_class(vv_utf8_next(text, &at)) & VV_CLASS_NFC) {
            return false;
        }
    }
    return true;
}

int vv_nfc(const char *text, size_t length, struct vv_bytes *out, struct vv_error *error) {
    if (is_untouched(text, length)) {
        return vv_bytes_append(out, text, length, error);
    }
    struct decomposed d = {0};
    int status = VV_OK;
    for (size_t at = 0; at < length && status == VV_OK;) {
        status = decompose(&d, vv_utf8_next(text, &at), error);
    }
    if (status == VV_OK) {
        order_marks(&d);
        compose_all(&d);
    }
    for (size_t i = 0; i < d.count && status == VV_OK; i++) {
        status = vv_utf8_append(out, character_in(d.at[i]), error);
    }
    free(d.at);
    return status;
}

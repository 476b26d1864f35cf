#include "text/letter.h"

#include "text/letter_tables.h"
#include "text/unicode.h"

static const struct vv_letter_run *find_run(const struct vv_letter_map *map, uint32_t character) {
    size_t low = 0, high = map->run_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct vv_letter_run *run = &map->runs[middle];
        if (character > run->last) {
            low = middle + 1;
        } else if (character < run->first) {
            high = middle;
        } else {
            return (character - run->first) % run->step == 0 ? run : NULL;
        }
    }
    return NULL;
}

static const struct vv_letter_several *find_several(const struct vv_letter_map *map,
                                                    uint32_t character) {
    for (size_t i = 0; i < map->several_count && map->several[i].letter <= character; i++) {
        if (map->several[i].letter == character) {
            return &map->several[i];
        }
    }
    return NULL;
}

bool vv_is_space(uint32_t character) {
    return (vv_unicode_class(character) & VV_CLASS_SPACE) ||
           (character >= 0x1c && character <= 0x1f);
}

bool vv_is_letter(uint32_t character) {
    return vv_unicode_class(character) & VV_CLASS_LETTER;
}

bool vv_is_number(uint32_t character) {
    return vv_unicode_class(character) & VV_CLASS_NUMBER;
}

bool vv_is_digit(uint32_t character) {
    return find_run(&vv_letter_is_digit, character) != NULL;
}

bool vv_is_upper(uint32_t character) {
    return find_run(&vv_letter_is_upper, character) != NULL;
}

bool vv_is_lower(uint32_t character) {
    return find_run(&vv_letter_is_lower, character) != NULL;
}

bool vv_is_cased(uint32_t character) {
    return vv_is_upper(character) || vv_is_lower(character) ||
           find_run(&vv_letter_to_lower, character) != NULL;
}

bool vv_is_printable(uint32_t character) {
    return character == ' ' ||
           (vv_unicode_class(character) & (VV_CLASS_LETTER | VV_CLASS_MARK | VV_CLASS_NUMBER |
                                           VV_CLASS_PUNCTUATION | VV_CLASS_SYMBOL));
}

/* False if the map says nothing of the character. */
static bool apply(const struct vv_letter_map *map, uint32_t character, uint32_t out[3],
                  size_t *count) {
    const struct vv_letter_run *run = find_run(map, character);
    if (run) {
        out[0] = (uint32_t)((int32_t)character + run->delta);
        *count = 1;
        return true;
    }
    const struct vv_letter_several *several = find_several(map, character);
    for (size_t i = 0; several && i < 3; i++) {
        out[i] = several->becomes[i];
        *count = several->becomes[2] ? 3 : 2;
    }
    return several != NULL;
}

size_t vv_to_case(enum vv_case wanted, uint32_t character, uint32_t out[3]) {
    size_t count = 1;
    out[0] = character;
    if (character < 0x80) {
        bool lower = character >= 'a' && character <= 'z';
        bool upper = character >= 'A' && character <= 'Z';
        if (wanted == VV_LOWER ? upper : lower) {
            out[0] = character ^ 0x20;
        }
    } else if (wanted == VV_LOWER) {
        apply(&vv_letter_to_lower, character, out, &count);
    } else if (wanted == VV_UPPER || !apply(&vv_letter_to_title, character, out, &count)) {
        apply(&vv_letter_to_upper, character, out, &count);
    }
    return count;
}

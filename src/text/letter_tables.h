/* Tables of src/text/letter_tables.c, for letter.c. */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* Every `step`th code point from `first` to `last`, each of which becomes itself + `delta`. */
struct vv_letter_run {
    uint32_t first, last;
    uint8_t step;
    int32_t delta;
};

/* A code point that becomes two or three; the third is 0 where there are two. */
struct vv_letter_several {
    uint32_t letter, becomes[3];
};

/* Both ascending. Where it is a set of letters, `delta` means nothing. */
struct vv_letter_map {
    const struct vv_letter_run *runs;
    size_t run_count;
    const struct vv_letter_several *several;
    size_t several_count;
};

extern const struct vv_letter_map vv_letter_to_upper, vv_letter_to_lower;
extern const struct vv_letter_map vv_letter_to_title; /* where that is not the upper case */
extern const struct vv_letter_map vv_letter_is_upper, vv_letter_is_lower, vv_letter_is_digit;

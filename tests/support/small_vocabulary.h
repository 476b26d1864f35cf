/*
 * A small byte-level vocabulary, made by hand, for tests and fuzzing: ids 0 … 255 are the bytes,
 * then one token a merge, then the special tokens.
 */
#pragma once
#include "text/tokenizer.h"

#include <stdio.h>
#include <string.h>

/* In GPT-2's byte alphabet: Ġ is a space, Ċ a newline, Ã© the two bytes of é. */
static const char *const small_merges[] = {
    "a a",  "b c",  "aa aa", "t h",  "Ġ t",   "Ġ Ġ",  "th e",  "Ġ the", "a b",   "ab c",
    "i n",  "in g", "ĠĠ ĠĠ", "Ċ Ċ",  "ĊĊ ĊĊ", "Ã ©",  "Ċ ĊĊ",  "e r",   "h er",  "1 2",
    "12 3", "< |",  "| >",   "i m",  "s t",   "u s",  "us er", "= =",   "== ==", "' s",
    "g r",  "u g",  "gr h",  "u gr", "Ì ģ",   "e Ìģ", "ð Ł",   "ðŁ ĺ",  "âĢ ĭ",  "â Ģ",
};

static const struct {
    const char *text;
    int32_t type;
} small_specials[] = {
    {"<|im_start|>", VV_TOKEN_CONTROL},  {"<|im_end|>", VV_TOKEN_CONTROL},
    {"<|im", VV_TOKEN_CONTROL},          {"<think>", VV_TOKEN_USER_DEFINED},
    {"</think>", VV_TOKEN_USER_DEFINED}, {"[PAD1]", VV_TOKEN_UNUSED},
    {"<|im_start|>", VV_TOKEN_CONTROL}, /* once more: the lower id is the one */
};

enum {
    SMALL_MERGES = sizeof small_merges / sizeof *small_merges,
    SMALL_SPECIALS = sizeof small_specials / sizeof *small_specials,
    SMALL_FIRST_SPECIAL = 256 + SMALL_MERGES,
    SMALL_COUNT = SMALL_FIRST_SPECIAL + SMALL_SPECIALS,
    SMALL_IM_START = SMALL_FIRST_SPECIAL,
    SMALL_IM_END,
    SMALL_IM,
    SMALL_THINK,
    SMALL_THINK_END,
    SMALL_PAD,
};

struct small_vocabulary {
    struct vv_vocabulary vocabulary;
    struct vv_text tokens[SMALL_COUNT], merges[SMALL_MERGES];
    int32_t types[SMALL_COUNT];
    char text[SMALL_COUNT][40];
};

/* The character of a byte, in UTF-8. */
static inline void small_byte_character(unsigned byte, char *text) {
    unsigned other = 0x100;
    for (unsigned b = 0; b <= byte; b++) {
        bool prints = (b >= '!' && b <= '~') || (b >= 0xa1 && b <= 0xac) || b >= 0xae;
        unsigned c = prints ? b : other++;
        if (b == byte) {
            snprintf(text, 4, c < 0x80 ? "%c" : "%c%c", c < 0x80 ? (int)c : (int)(0xc0 | c >> 6),
                     (int)(0x80 | (c & 0x3f)));
        }
    }
}

/* The id of the merge that makes a token of the text (in the byte alphabet), or -1. */
static inline int32_t small_id(const struct small_vocabulary *small, const char *text) {
    for (int32_t id = 256; id < SMALL_FIRST_SPECIAL; id++) {
        if (strcmp(small->text[id], text) == 0) {
            return id;
        }
    }
    return -1;
}

static inline void small_vocabulary_make(struct small_vocabulary *small, const char *pre) {
    memset(small, 0, sizeof *small);
    for (int id = 0; id < SMALL_COUNT; id++) {
        char *text = small->text[id];
        if (id < 256) {
            small_byte_character((unsigned)id, text);
        } else if (id < SMALL_FIRST_SPECIAL) {
            const char *merge = small_merges[id - 256], *space = strchr(merge, ' ');
            snprintf(text, 40, "%.*s%s", (int)(space - merge), merge, space + 1);
            small->merges[id - 256] = (struct vv_text){merge, strlen(merge)};
        } else {
            snprintf(text, 40, "%s", small_specials[id - SMALL_FIRST_SPECIAL].text);
        }
        small->types[id] = id < SMALL_FIRST_SPECIAL ? VV_TOKEN_NORMAL
                                                    : small_specials[id - SMALL_FIRST_SPECIAL].type;
        small->tokens[id] = (struct vv_text){text, strlen(text)};
    }
    small->vocabulary = (struct vv_vocabulary){
        .tokens = small->tokens,
        .types = small->types,
        .token_count = SMALL_COUNT,
        .merges = small->merges,
        .merge_count = SMALL_MERGES,
        .pre = {pre, strlen(pre)},
        .bos = -1,
        .eos = SMALL_IM_END,
    };
}

#include "published.h"

#include <string.h>

#define COUNT(list) (sizeof(list) / sizeof *(list))
#define MACHINE "an Apple M3 Max"

static const struct published hyper_read[] = {
    {"hyper_down", "8_8", 1, 14.7},  {"hyper_down", "8_8", 2, 27.5},
    {"hyper_down", "8_8", 3, 52.3},  {"hyper_down", "8_4", 1, 12.9},
    {"hyper_down", "8_4", 2, 20.5},  {"hyper_down", "8_4", 3, 37.0},
    {"hyper_down", "4_4", 1, 12.4},  {"hyper_down", "4_4", 2, 19.5},
    {"hyper_down", "4_4", 3, 34.0},  {"hyper_down", "4_2", 1, 13.1},
    {"hyper_down", "4_2", 2, 15.6},  {"hyper_down", "4_2", 3, 20.7},
    {"hyper_up", "plain", 1, 13.1},  {"hyper_up", "plain", 2, 24.5},
    {"hyper_up", "plain", 3, 35.3},  {"hyper_up", "plain", 4, 41.7},
    {"hyper_up", "staged", 1, 13.6}, {"hyper_up", "staged", 2, 20.6},
    {"hyper_up", "staged", 3, 28.7}, {"hyper_up", "staged", 4, 34.4},
};
const struct published_table published_hyper_read = {
    "the notes on kernel systems, section 1, hyper-connection read", MACHINE, hyper_read,
    COUNT(hyper_read)};

static const struct published gdn[] = {
    {"commit", "before", 1, 60.1},  {"commit", "before", 8, 108.4}, {"commit", "after", 1, 60.3},
    {"commit", "after", 8, 91.6},   {"verify", "before", 1, 28.5},  {"verify", "before", 2, 38.4},
    {"verify", "before", 4, 60.2},  {"verify", "before", 8, 89.9},  {"verify", "after", 1, 27.9},
    {"verify", "after", 2, 36.1},   {"verify", "after", 4, 56.0},   {"verify", "after", 8, 73.3},
    {"scan", "before", 2048, 8193}, {"scan", "R = 4", 2048, 7509},  {"scan", "staged", 2048, 7450},
};
const struct published_table published_gdn = {
    "the notes on kernel systems, sections 3 and 4, gated delta rule", MACHINE, gdn, COUNT(gdn)};

static const struct published gemv_cat[] = {
    {"attn_k Q6_K + attn_v IQ4_XS", "two of 512 x 2560", 1, 16.1},
    {"attn_k Q6_K + attn_v IQ4_XS", "two of 512 x 2560", 2, 22.6},
    {"attn_k Q6_K + attn_v IQ4_XS", "two of 512 x 2560", 4, 32.6},
};
const struct published_table published_gemv_cat = {
    "the notes on kernel systems, section 2, gemv_cat", MACHINE, gemv_cat, COUNT(gemv_cat)};

double published_ratio(const struct published_table *table, const struct published *figure) {
    for (size_t i = 0; i < table->count; i++) {
        const struct published *f = &table->figures[i];
        if (f->rows == 1 && strcmp(f->line, figure->line) == 0 &&
            strcmp(f->kernel, figure->kernel) == 0) {
            return figure->us / f->us;
        }
    }
    return 0;
}

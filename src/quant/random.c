#include "quant/random.h"

#include <math.h>
#include <string.h>

enum { VALUES_MOST = 256, TRIES_MOST = 1 << 14 };

/* SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014). */
uint64_t vv_random_word(uint64_t seed, uint64_t index) {
    uint64_t x = seed + (index + 1) * 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* The sum of four even values in [0, 1) has the mean 2 and the deviation sqrt(1/3). */
static float normal(uint64_t word) {
    float sum = 0;
    for (int i = 0; i < 4; i++) {
        sum += (float)(word >> 16 * i & 0xffff) * 0x1p-16f;
    }
    return (sum - 2.0f) * 1.7320508f;
}

void vv_random_normals(uint64_t seed, float mean, float deviation, float *to, size_t count) {
    for (size_t i = 0; i < count; i++) {
        to[i] = mean + deviation * normal(vv_random_word(seed, i));
    }
}

static void random_bytes(uint64_t seed, uint64_t index, uint8_t *to, size_t bytes) {
    for (size_t at = 0; at < bytes; at += sizeof(uint64_t), index++) {
        uint64_t word = vv_random_word(seed, index);
        memcpy(to + at, &word, bytes - at < sizeof word ? bytes - at : sizeof word);
    }
}

/* Whether the root mean square is within half an octave of what is wanted. */
static bool has_the_size(const struct vv_format *f, const uint8_t *block, float deviation) {
    float x[VALUES_MOST], sum = 0;
    f->decode(block, x, f->block_values);
    for (size_t i = 0; i < f->block_values; i++) {
        sum += x[i] * x[i]; /* NaN and infinity are in no range */
    }
    float mean = sum / (float)f->block_values / (deviation * deviation);
    return mean >= 0.5f && mean <= 2.0f;
}

/* One in some dozens of random blocks is right, whatever the format. */
static void draw_block(const struct vv_format *f, uint64_t seed, uint64_t index, float deviation,
                       uint8_t *to) {
    uint64_t words = f->block_bytes / sizeof(uint64_t) + 1;
    for (uint64_t i = 0; i < TRIES_MOST; i++) {
        random_bytes(seed, (index * TRIES_MOST + i) * words, to, f->block_bytes);
        if (has_the_size(f, to, deviation)) {
            return;
        }
    }
    memset(to, 0, f->block_bytes);
}

void vv_random_blocks(const struct vv_format *format, uint64_t seed, float deviation,
                      uint64_t first, void *to, size_t blocks) {
    const size_t values = format->block_values, many = VALUES_MOST / values;
    uint8_t *at = to;
    for (size_t i = 0; format->encode && i < blocks; i += many) {
        float x[VALUES_MOST];
        size_t now = blocks - i < many ? blocks - i : many;
        for (size_t k = 0; k < now * values; k++) {
            x[k] = deviation * normal(vv_random_word(seed, (first + i) * values + k));
        }
        format->encode(x, at + i * format->block_bytes, now * values);
    }
    for (size_t i = 0; !format->encode && i < blocks; i++) {
        draw_block(format, seed, first + i, deviation, at + i * format->block_bytes);
    }
}

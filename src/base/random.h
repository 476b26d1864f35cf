/*
 * Random numbers that depend on a seed and a position alone.
 *
 * Philox 4x32-10 is a counter-based generator: four random words are a pure function of a counter
 * and a key, so the n-th draw needs no draw before it. From J. Salmon, M. Moraes, R. Dror,
 * D. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011 (doi 10.1145/2063384.2063405).
 * Integers alone: equal on every machine.
 */
#pragma once
#include "base/math.h"

/*
 * Ten rounds of: two full products of a constant and a counter word, whose low halves become words
 * and whose high halves are mixed with the other words and the key; then the key takes a step.
 */
VV_MATH void vv_philox4x32(const uint32_t counter[4], const uint32_t key[2], uint32_t word[4]) {
    uint32_t a = counter[0], b = counter[1], c = counter[2], d = counter[3];
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; round++) {
        uint64_t p = (uint64_t)0xd2511f53u * a, q = (uint64_t)0xcd9e8d57u * c;
        a = (uint32_t)(q >> 32) ^ b ^ k0;
        b = (uint32_t)q;
        c = (uint32_t)(p >> 32) ^ d ^ k1;
        d = (uint32_t)p;
        k0 += 0x9e3779b9u; /* the golden ratio - 1, and the root of 3 - 1, times 2^32 */
        k1 += 0xbb67ae85u;
    }
    word[0] = a;
    word[1] = b;
    word[2] = c;
    word[3] = d;
}

/* 64 random bits for `position`: key = seed and counter = position, low halves first. */
VV_MATH uint64_t vv_random_at(uint64_t seed, uint64_t position) {
    uint32_t counter[4] = {(uint32_t)position, (uint32_t)(position >> 32), 0, 0};
    uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)}, word[4];
    vv_philox4x32(counter, key, word);
    return (uint64_t)word[1] << 32 | word[0];
}

/* floor(a b / 2^64), from the four products of halves. */
VV_MATH uint64_t vv_high_product(uint64_t a, uint64_t b) {
    uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
    uint64_t middle = (a0 * b0 >> 32) + (uint32_t)(a1 * b0) + (uint32_t)(a0 * b1);
    return a1 * b1 + (a1 * b0 >> 32) + (a0 * b1 >> 32) + (middle >> 32);
}

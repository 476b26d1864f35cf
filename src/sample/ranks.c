#include "sample/ranks.h"
#include "base/math.h"

static unsigned digit_at(const struct vv_ranked *ranked, int shift) {
    return (unsigned)(ranked->key >> shift) & 255;
}

/* Of the elements in [*begin, *end), moves those whose digit is larger to the front, those with
 * this digit behind them and drops the rest; leaves in *begin and *end where those with this digit
 * lie. */
static void keep_digit(struct vv_ranked *ranked, size_t *begin, size_t *end, int shift,
                       unsigned digit) {
    size_t in = *begin, kept = *begin;
    for (size_t i = *begin; i < *end; i++) {
        struct vv_ranked element = ranked[i];
        unsigned d = digit_at(&element, shift);
        if (d == digit) {
            ranked[kept++] = element;
        } else if (d > digit) {
            ranked[kept++] = ranked[in];
            ranked[in++] = element;
        }
    }
    *begin = in;
    *end = kept;
}

/*
 * A radix selection. [0, begin) is in and the last rank of the run lies in [begin, end), whose keys
 * agree in the bytes looked at so far; each pass looks at one more byte, weighs its 256 values and
 * keeps the one in which the sum reaches `need`.
 */
size_t vv_ranks_reaching(struct vv_ranked *ranked, size_t count, uint64_t need) {
    size_t begin = 0, end = count;
    for (int shift = 56; shift >= 0 && end - begin > 1; shift -= 8) {
        uint64_t weight[256] = {0};
        for (size_t i = begin; i < end; i++) {
            weight[digit_at(&ranked[i], shift)] += ranked[i].weight;
        }
        unsigned digit = 255;
        while (weight[digit] < need) {
            need -= weight[digit--];
        }
        keep_digit(ranked, &begin, &end, shift, digit);
    }
    return begin + 1;
}

enum { LEAST_ROOM = 256 };

size_t vv_ranks_room(size_t count, size_t k) {
    size_t room = k < LEAST_ROOM / 2 ? LEAST_ROOM : k < count / 2 ? 2 * k : count;
    return room < count ? room : count;
}

/*
 * Collects until the room is full, keeps the best k, and from then on takes only what beats the
 * worst of those. (A later token of equal score ranks lower, so "beats" is a larger score.) Each
 * cleaning of 2k elements is paid for by k new ones: linear time for any k and any input.
 */
size_t vv_ranks_best(const float *score, size_t count, size_t k, struct vv_ranked *ranked) {
    size_t room = vv_ranks_room(count, k), n = 0;
    float bar = -INFINITY;
    for (size_t i = 0; i < count; i++) {
        if (score[i] > bar) {
            if (n == room) {
                n = vv_ranks_reaching(ranked, n, k);
                bar = score[vv_ranked_token(&ranked[n - 1])];
                if (!(score[i] > bar)) {
                    continue;
                }
            }
            ranked[n++] = (struct vv_ranked){vv_selection_key(score[i], (uint32_t)i), 1};
        }
    }
    return n > k ? vv_ranks_reaching(ranked, n, k) : n;
}

/* Heads of a row share its angles, which cost more than the rotation. They are laid out as the
 * values are, each twice and the sine with the sign of its term, so that a pair's two values differ
 * in nothing but which neighbour they take. */
#include "base/isa.h"
#include "base/math.h"
#include "op/rope_pairs/internal.h"

enum { BLOCK = 64 };

struct angles {
    float sine[BLOCK], cosine[BLOCK];
};

/* Of `n` values, an even number. x' = fma(x, c, other · s): -(x · s) is x · -s to the bit. */
static void find_angles(const struct vv_rope_pairs *a, size_t row, size_t at, size_t n,
                        struct angles *to) {
    uint64_t position = (uint64_t)a->window->position[row];
    for (size_t i = 0; i < n; i += 2) {
        float s, c;
        vv_sincos_turn(position * a->turn[(at + i) / 2], &s, &c);
        to->cosine[i] = to->cosine[i + 1] = c;
        to->sine[i] = a->back ? s : -s;
        to->sine[i + 1] = a->back ? -s : s;
    }
}

static void rotate(float *x, const struct angles *angles, size_t n) {
    float other[BLOCK];
    for (size_t i = 0; i < n; i += 2) {
        other[i] = x[i + 1];
        other[i + 1] = x[i];
    }
    for (size_t i = 0; i < n; i++) {
        x[i] = fmaf(x[i], angles->cosine[i], other[i] * angles->sine[i]);
    }
}

int VV_ISA(vv_rope_pairs_portable)(const void *args, size_t begin, size_t end) {
    const struct vv_rope_pairs *a = args;
    for (size_t count; begin < end; begin += count) {
        size_t row = begin / a->heads, first = begin % a->heads;
        count = a->heads - first < end - begin ? a->heads - first : end - begin;
        for (size_t at = 0; at < a->dims; at += BLOCK) {
            size_t n = a->dims - at < BLOCK ? a->dims - at : BLOCK;
            struct angles angles;
            find_angles(a, row, at, n, &angles);
            for (size_t head = first; head < first + count; head++) {
                rotate(a->x + row * a->row_stride + head * a->head_stride + at, &angles, n);
            }
        }
    }
    return VV_OK;
}

#include "base/isa.h"
#include "base/math.h"
#include "op/rope/contract.h"
#include "op/rope/internal.h"

enum { BLOCK = 64 };

struct angles {
    float sine[BLOCK], cosine[BLOCK];
};

static void find_angles(const uint64_t *turn, uint64_t position, size_t n, struct angles *to) {
    for (size_t i = 0; i < n; i++) {
        vv_sincos_turn(position * turn[i], &to->sine[i], &to->cosine[i]);
    }
}

static void rotate(float *low, float *high, const struct angles *angles, size_t n) {
    for (size_t i = 0; i < n; i++) {
        float xi = low[i], xj = high[i], s = angles->sine[i], c = angles->cosine[i];
        low[i] = fmaf(xi, c, -(xj * s));
        high[i] = fmaf(xj, c, xi * s);
    }
}

/* Heads [begin, end) of a row share its angles, which cost more than the rotation. */
static void rotate_heads(const struct vv_rope *a, size_t row, size_t begin, size_t end) {
    size_t half = a->dims / 2;
    struct angles angles;
    for (size_t at = 0; at < half; at += BLOCK) {
        size_t n = half - at < BLOCK ? half - at : BLOCK;
        find_angles(a->turn + at, (uint64_t)a->window->position[row], n, &angles);
        for (size_t head = begin; head < end; head++) {
            float *low = a->x + row * a->row_stride + head * a->head_stride + at;
            rotate(low, low + half, &angles, n);
        }
    }
}

int VV_ISA(vv_rope_portable)(const void *args, size_t begin, size_t end) {
    const struct vv_rope *a = args;
    while (begin < end) {
        size_t row = begin / a->heads, head = begin % a->heads;
        size_t n = a->heads - head < end - begin ? a->heads - head : end - begin;
        rotate_heads(a, row, head, head + n);
        begin += n;
    }
    return VV_OK;
}

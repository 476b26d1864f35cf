/*
 * The encoders beside those that made the goldens: conformance_encode FIXTURES. For each format the
 * RMS error of our blocks and of the stored ones, relative to the values, for the rows of either
 * size apart. Ours may be 2 % larger.
 */
#include "support/quant_golden.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROW = 256, HALF = 16 }; /* rows of a size */

static double relative_error(const float *x, const float *y, size_t n) {
    double left = 0, all = 0;
    for (size_t i = 0; i < n; i++) {
        double d = (double)x[i] - (double)y[i];
        left += d * d;
        all += (double)x[i] * (double)x[i];
    }
    return sqrt(left / all);
}

/* `ours` and `stored` are decoded rows; half 0 has values of size 1, half 1 of 0.02. */
static void compare(struct golden *g, const struct vv_format *f, int half, const float *x,
                    const float *ours, const float *stored) {
    size_t from = (size_t)half * HALF * ROW;
    double a = relative_error(x + from, ours + from, HALF * ROW);
    double b = relative_error(x + from, stored + from, HALF * ROW);
    printf("%-8s %-6s %.6f %.6f", f->name, half ? "0.02" : "1", a, b);
    printf(b > 0 ? " %.4f\n" : "\n", a / b);
    golden_verdict(g, a <= 1.02 * b, "%s: error %.6f, of the stored blocks %.6f", f->name, a, b);
}

static void run_format(struct golden *g, const char *folder, const struct vv_format *f) {
    static float ours[2 * HALF * ROW], stored[2 * HALF * ROW];
    size_t rows, blocks = 2 * HALF * ROW / f->block_values;
    const uint8_t *theirs = quant_golden_blocks(g, folder, f, &rows);
    const float *x = golden_tensor(g, "gaussian", VV_TYPE_F32, 2 * HALF * ROW);
    uint8_t *encoded = malloc(blocks * f->block_bytes);
    if (theirs && x && encoded && rows >= 2 * HALF) {
        f->encode(x, encoded, 2 * HALF * ROW);
        f->decode(encoded, ours, 2 * HALF * ROW);
        f->decode(theirs, stored, 2 * HALF * ROW);
        golden_verdict(g, vv_first_bad_block(f, encoded, blocks) == blocks, "%s: a bad scale",
                       f->name);
        compare(g, f, 0, x, ours, stored);
        compare(g, f, 1, x, ours, stored);
    }
    free(encoded);
    golden_close(g);
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: %s FIXTURES\n", argv[0]);
        return 2;
    }
    char folder[4096];
    struct golden g = {0};
    snprintf(folder, sizeof folder, "%s/quant", argv[1]);
    printf("format   sigma  ours     stored   ratio\n");
    for (size_t i = 0; vv_format_at(i); i++) {
        if (vv_format_at(i)->encode) {
            run_format(&g, folder, vv_format_at(i));
        }
    }
    printf("encode: %zu passed, %zu failed\n", g.passed, g.failed);
    return g.failed > 0;
}

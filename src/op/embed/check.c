/*
 * Tables of every format against a decoding of their own; the misreadings are those of the order
 * (streams interleaved element by element) and of the row.
 */
#include "registry/check.h"
#include "op/embed/internal.h"
#include "quant/format.h"

#include <string.h>

void vv_embed_check(struct vv_check *check);

enum { VOCABULARY = 11 };

static struct vv_embed make(struct vv_check *check, int type, size_t width, int32_t rows,
                            size_t streams, bool scaled) {
    struct vv_embed a = {.streams = streams};
    struct vv_window *window = vv_check_window(check, rows, rows > 2 ? 2 : 1, NULL, VOCABULARY);
    window->token[0] = VOCABULARY - 1;
    a.window = window;
    a.rows = (struct vv_rows){&window->rows, 1};
    a.table = vv_check_weight(check, type, width, VOCABULARY, 1);
    if (scaled) {
        float *scale = vv_check_floats(check, 1);
        *scale = 0.3f;
        a.table->scale = scale;
    }
    a.x = vv_check_floats(check, (size_t)rows * streams * width);
    return a;
}

static void check_case(struct vv_check *check, int type, size_t width, int32_t rows) {
    size_t streams = 1 + vv_check_below(check, 4);
    bool scaled = type == VV_TYPE_NVFP4;
    struct vv_embed a = make(check, type, width, rows, streams, scaled);
    vv_check_variants(check, &vv_embed, &a, "%s, %zu values, %d rows, %zu streams",
                      vv_format(type)->name, width, (int)rows, streams);
    vv_check_reset(check);
}

static void check_misreadings(struct vv_check *check, int type) {
    enum { WIDTH = 512, STREAMS = 4, ROWS = 3, N = ROWS * STREAMS * WIDTH };
    struct vv_embed a = make(check, type, WIDTH, ROWS, STREAMS, true);
    vv_check_true(check, vv_embed.variants->run(&a, 0, ROWS) == VV_OK, "fails");
    float *next = vv_check_floats(check, N), *interleaved = vv_check_floats(check, N);
    float *unscaled = vv_check_floats(check, N), *other_row = vv_check_floats(check, N);
    bool same = true;
    for (size_t i = 0; i < N; i++) {
        size_t row = i / (STREAMS * WIDTH), in_row = i % (STREAMS * WIDTH);
        size_t token = (size_t)a.window->token[row];
        float value[WIDTH];
        vv_format(type)->decode(a.table->data + token * a.table->row_bytes, value, WIDTH);
        interleaved[i] = value[in_row / STREAMS] * 0.3f;
        unscaled[i] = value[in_row % WIDTH];
        same = same && a.x[i] == unscaled[i] * 0.3f;
        vv_format(type)->decode(a.table->data + (token + 1) % VOCABULARY * a.table->row_bytes,
                                value, WIDTH);
        next[i] = value[in_row % WIDTH] * 0.3f;
        other_row[i] = a.x[(i + STREAMS * WIDTH) % N];
    }
    vv_check_true(check, same, "a value isn't the table's");
    vv_check_misreading(check, "streams interleaved", a.x, interleaved, N, 0.01);
    vv_check_misreading(check, "without the separate scale", a.x, unscaled, N, 0.01);
    vv_check_misreading(check, "the next token", a.x, next, N, 0.01);
    vv_check_misreading(check, "the token of the next row", a.x, other_row, N, 0.01);
    vv_check_reset(check);
}

static void check_refusals(struct vv_check *check) {
    const int32_t bad[] = {-1, VOCABULARY, INT32_MIN, INT32_MAX};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct vv_embed a = make(check, VV_TYPE_Q8_0, 64, 3, 2, false);
        a.window->token[i % 3] = bad[i];
        vv_check_refuses(check, &vv_embed, &a, VV_ERROR_INVALID, "token %d of %d", (int)bad[i],
                         VOCABULARY);
        vv_check_reset(check);
    }
}

void vv_embed_check(struct vv_check *check) {
    static const size_t widths[] = {1, 33, 64, 96, 128, 160, 256, 640, 2560};
    for (size_t index = 0; vv_format_at(index); index++) {
        const struct vv_format *f = vv_format_at(index);
        if (f->arithmetic == VV_ARITHMETIC_NONE) {
            continue;
        }
        for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
            for (int32_t rows = 1; widths[i] % f->block_values == 0 && rows <= 8; rows++) {
                check_case(check, f->type, widths[i], rows);
            }
        }
    }
    check_misreadings(check, VV_TYPE_NVFP4);
    check_misreadings(check, VV_TYPE_Q4_K);
    check_refusals(check);
}

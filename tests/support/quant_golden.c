#include "support/quant_golden.h"

#include <ctype.h>
#include <stdio.h>

enum { ROW = 256 };

static char path[4096];

static void open_format(struct golden *g, const char *folder, const struct vv_format *format) {
    char name[32];
    size_t n = 0;
    for (; format->name[n] && n + 1 < sizeof name; n++) {
        name[n] = (char)tolower((unsigned char)format->name[n]);
    }
    name[n] = 0;
    snprintf(path, sizeof path, "%s/%s.gguf", folder, name);
    golden_open(g, path);
}

const uint8_t *quant_golden_blocks(struct golden *g, const char *folder,
                                   const struct vv_format *format, size_t *rows) {
    open_format(g, folder, format);
    const struct vv_gguf_tensor *values = g->file ? vv_gguf_find_tensor(g->file, "values") : NULL;
    *rows = values ? values->elements / ROW : 0;
    /* Formats of activations never stand in files as such. */
    bool raw = format->arithmetic == VV_ARITHMETIC_NONE;
    size_t bytes = *rows * (ROW / format->block_values) * format->block_bytes;
    return golden_tensor(g, "blocks", raw ? VV_TYPE_I8 : format->type, raw ? bytes : *rows * ROW);
}

static void run_format(struct golden *g, const char *folder, const struct vv_format *format) {
    size_t rows, row_bytes = ROW / format->block_values * format->block_bytes;
    const uint8_t *blocks = quant_golden_blocks(g, folder, format, &rows);
    const float *values = golden_tensor(g, "values", VV_TYPE_F32, rows * ROW);
    for (size_t r = 0; blocks && values && r < rows; r++) {
        float out[ROW];
        format->decode(blocks + r * row_bytes, out, ROW);
        golden_verdict(g, golden_same_floats(out, values + r * ROW, ROW), "row %zu differs", r);
    }
    golden_close(g);
}

void quant_golden_run(struct golden *g, const char *folder) {
    for (size_t i = 0; vv_format_at(i); i++) {
        if (vv_format_at(i)->type != VV_TYPE_Q2_0_128) {
            run_format(g, folder, vv_format_at(i));
        }
    }
}

#include "gguf/types.h"
#include "op/attend_window/internal.h"
#include "op/buffers.h"

/* Rows of the window of the sequence in `slot`, ascending; NULL: it has none. */
static const int32_t *own_rows(const struct vv_window *w, int32_t slot) {
    for (int32_t i = 0; i < w->sequences; i++) {
        const int32_t *row = w->sequence_row + w->sequence_begin[i];
        if (w->slot[*row] == slot) {
            return row;
        }
    }
    return NULL;
}

static struct vv_attend_run newest(const struct vv_attend_window *a, size_t row) {
    const struct vv_window *w = a->window;
    int32_t slot = w->slot[row];
    const int32_t *own = own_rows(w, slot);
    size_t end = (size_t)w->position[row] + 1, first = end > a->span ? end - a->span : 0;
    size_t held = (size_t)w->position[*own]; /* positions before the window */
    const uint8_t *base = vv_state_at(&a->ring, slot, 0);
    return (struct vv_attend_run){.k = base,
                                  .v = base,
                                  .k_stride = a->ring.entry_stride,
                                  .v_stride = a->ring.entry_stride,
                                  .k_type = a->ring.type,
                                  .v_type = a->ring.type,
                                  .slot = first,
                                  .count = end - first,
                                  .ratio = 1,
                                  .next = first,
                                  .ring = a->ring.ring,
                                  .own = a->own,
                                  .own_row = own + (first > held ? first - held : 0),
                                  .own_stride = a->width,
                                  .held = held > first ? held - first : 0};
}

static struct vv_attend_run pooled(const struct vv_attend_window *a, size_t row, size_t seen) {
    const uint8_t *base = vv_state_at(&a->pooled, a->window->slot[row], 0);
    struct vv_attend_run run = {.k = base,
                                .v = base,
                                .k_stride = a->pooled.entry_stride,
                                .v_stride = a->pooled.entry_stride,
                                .k_type = a->pooled.type,
                                .v_type = a->pooled.type,
                                .count = seen,
                                .ratio = 1};
    if (a->list) {
        run.block = a->list + row * a->keep;
        run.blocks = run.count = (size_t)a->listed[row];
    }
    return run;
}

int vv_attend_window_runs(const struct vv_attend_window *a, size_t row, struct vv_seen *to) {
    to->run[0] = newest(a, row);
    to->runs = 1;
    if (!a->pooled.base) {
        return VV_OK;
    }
    size_t seen = ((size_t)a->window->position[row] + 1) / a->ratio;
    struct vv_attend_run *run = &to->run[1];
    *run = pooled(a, row, seen);
    for (size_t i = 0; i < run->blocks; i++) {
        if (run->blocks > a->keep || (uint32_t)run->block[i] >= seen) {
            return VV_ERROR_INVALID;
        }
    }
    to->runs += run->count > 0;
    return VV_OK;
}

static size_t units(const void *args) {
    const struct vv_attend_window *a = args;
    return vv_rows(a->rows) * a->heads;
}

static size_t buffers(const void *args, struct vv_buffer *out) {
    const struct vv_attend_window *a = args;
    struct vv_buffer counted[VV_BUFFERS_MAX];
    size_t n = 0, rows = vv_rows(a->rows), row = a->width * sizeof(float);
    out = out ? out : counted;
    out[n++] = vv_reads(a->q, rows * a->heads * row);
    out[n++] = vv_reads(a->own, rows * row);
    out[n++] = vv_reads_state(&a->ring);
    out[n++] = vv_reads(a->sink, a->heads * sizeof(float));
    out[n++] = vv_writes(a->y, rows * a->heads * row);
    if (a->pooled.base) {
        out[n++] = vv_reads_state(&a->pooled);
    }
    if (a->list) {
        out[n++] = vv_reads(a->list, rows * a->keep * sizeof(int32_t));
        out[n++] = vv_reads(a->listed, rows * sizeof(int32_t));
    }
    return n;
}

static size_t element(int type) {
    return type == VV_TYPE_F16 ? 2 : 4;
}

/* Keys that rows see, once for all heads. */
static size_t bytes(const void *args) {
    const struct vv_attend_window *a = args;
    size_t rows = vv_rows(a->rows), newest_rows = 0, blocks = 0;
    for (size_t r = 0; r < rows; r++) {
        size_t length = (size_t)a->window->position[r] + 1;
        size_t seen = a->pooled.base ? length / a->ratio : 0;
        newest_rows += length < a->span ? length : a->span;
        blocks += a->list && seen > a->keep ? a->keep : seen;
    }
    return (newest_rows * element(a->ring.type) + blocks * element(a->pooled.type) +
            rows * a->heads * 2 * sizeof(float)) *
           a->width;
}

static const struct vv_variant variants[] = {
    {"attend_window/reference", VV_CPU_ANY, true, NULL, NULL, vv_attend_window_reference},
    {"attend_window/portable", VV_CPU_ANY, true, NULL, NULL, vv_attend_window_portable},
#if defined(__x86_64__)
    {"attend_window/portable_avx2", VV_CPU_AVX2, true, NULL, NULL, vv_attend_window_portable_avx2},
    {"attend_window/portable_avx512", VV_CPU_AVX512, true, NULL, NULL,
     vv_attend_window_portable_avx512},
#endif
    {0},
};

const struct vv_operation vv_attend_window = {"attend_window",
                                              sizeof(struct vv_attend_window),
                                              units,
                                              buffers,
                                              NULL,
                                              variants,
                                              .bytes = bytes,
                                              .varies = true};

static const struct vv_operation *const operations[] = {&vv_attend_window, NULL};

const struct vv_operation_folder vv_folder_attend_window = {
    "attend_window", operations, vv_attend_window_check, vv_attend_window_bench};

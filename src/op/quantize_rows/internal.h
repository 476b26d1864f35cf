/* The operation's variants, for variants.c alone. */
#pragma once
#include "op/quantize_rows/contract.h"

int vv_quantize_rows_reference(const void *args, size_t begin, size_t end);
int vv_quantize_rows_portable(const void *args, size_t begin, size_t end);
#ifdef __x86_64__
int vv_quantize_rows_portable_avx2(const void *args, size_t begin, size_t end);
int vv_quantize_rows_portable_avx512(const void *args, size_t begin, size_t end);
#endif

/* Segment number `unit` of all rows: its row, its number in the row, its first value in x and q. */
struct vv_row_segment {
    size_t row, segment, at, values;
};

static inline struct vv_row_segment vv_row_segment(size_t width, size_t unit) {
    size_t segments = vv_plane_scales(width, VV_COARSE_UNIT);
    size_t row = unit / segments, segment = unit % segments, first = segment * VV_COARSE_UNIT;
    size_t rest = width - first;
    return (struct vv_row_segment){row, segment, row * width + first,
                                   rest < VV_COARSE_UNIT ? rest : VV_COARSE_UNIT};
}

/* The segment for panels, where they are asked for, when its planes are made. */
static inline void vv_panel_rows_of(const struct vv_planes *p, size_t rows,
                                    struct vv_row_segment s) {
    size_t at = s.segment * rows + s.row;
    if (p->coarse_panel) {
        vv_coarse_panel_row(p, s.row, s.segment, &p->coarse_panel[at]);
    }
    if (p->fine_panel) {
        vv_fine_panel_row(p, s.row, s.segment, &p->fine_panel[at]);
    }
}

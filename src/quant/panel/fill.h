/*
 * One function a format that unpacks a segment into a panel; included once for each kind of vector
 * (x86_avx2.c, x86_avx512.c, arm_neon.c), with the flags of that file.
 */
#pragma once
#include "quant/panel/formats.h"
#include "quant/panel/unpack.h"

#define VV_FILL(name, ...)                                                                         \
    static void fill_##name(const struct vv_panel_source *g, size_t segment, size_t values,        \
                            struct vv_panel *panel) {                                              \
        (void)values;                                                                              \
        for (int strip = 0; strip < VV_STRIPS; strip++) {                                          \
            const uint8_t *const *row = g->at + strip * VV_WIDTH;                                  \
            struct vv_strip *to = &panel->strip[strip];                                            \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }
#define VV_FILL_BLOCK(TYPE, name, ...)                                                             \
    VV_FILL(                                                                                       \
        name, for (size_t b = 0; b < values / VV_BLOCK_VALUES_##TYPE; b++) {                       \
            size_t at = (segment * (128 / VV_BLOCK_VALUES_##TYPE) + b) * VV_BLOCK_BYTES_##TYPE;    \
            vv_panel_##name(row, at, (int)b, to);                                                  \
        })
#define VV_FILL_SUPER(TYPE, name, ...)                                                             \
    VV_FILL(                                                                                       \
        name, const size_t parts = VV_BLOCK_VALUES_##TYPE / 128;                                   \
        if (parts == 1 || segment % parts == 0) {                                                  \
            vv_panel_##name(row, segment / parts * VV_BLOCK_BYTES_##TYPE, 0, to);                  \
        } else { vv_panel_##name(row, segment / parts * VV_BLOCK_BYTES_##TYPE, 1, to); })
#define VV_FILL_LOOKED_UP(TYPE, name, ...)                                                         \
    VV_FILL(name, const size_t parts = VV_BLOCK_VALUES_##TYPE / 128;                               \
            vv_panel_of_segments(vv_unpack_##name, row, segment / parts * VV_BLOCK_BYTES_##TYPE,   \
                                 (int)(segment % parts), to);)
VV_PANEL_BLOCKS(VV_FILL_BLOCK)
VV_PANEL_SUPERS(VV_FILL_SUPER)
VV_PANEL_LOOKED_UP(VV_FILL_LOOKED_UP)

static inline vv_panel_fill *fill_of(int type) {
    switch (type) {
#define VV_FILL_CASE(TYPE, name, ...)                                                              \
    case VV_TYPE_##TYPE:                                                                           \
        return fill_##name;
        VV_PANEL_BLOCKS(VV_FILL_CASE)
        VV_PANEL_SUPERS(VV_FILL_CASE)
        VV_PANEL_LOOKED_UP(VV_FILL_CASE)
    default:
        return NULL;
    }
}

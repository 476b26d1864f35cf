/*
 * A panel: one segment (128 values, fewer at a row's end) of sixteen weight rows, as vector and
 * matrix units take them. Four neighbouring values of a row are one 32-bit lane, so that one vector
 * holds the same four of every row, which is what a dot-product instruction multiplies with four
 * activations, and the second operand of a matrix instruction.
 *
 * A kernel unpacks a panel from the file's blocks (unpack.h), and multiplies it while it is in the
 * first cache with as many rows of activations as there are. So everything that depends on a format
 * is written once, everything that depends on an instruction set too.
 */
#pragma once
#include "base/vector.h"
#include "quant/panel/floats.h"
#include "quant/planes.h"
#include "quant/row_dot.h"
#include "quant/segment.h"
#include "quant/weight.h"
#include <stdbool.h>

enum { VV_PANEL_ROWS = 16 };

/* A 32-bit lane for each of the rows that a vector of the file's instruction set holds; arithmetic
 * is lane by lane, on any machine (GCC and Clang). Wider ones would be taken apart in memory. */
typedef uint32_t vv_lanes __attribute__((vector_size(4 * VV_WIDTH)));
typedef int32_t vv_signed_lanes __attribute__((vector_size(4 * VV_WIDTH)));
typedef float vv_float_lanes __attribute__((vector_size(4 * VV_WIDTH)));

struct vv_strip {
    /* Byte j of w[i] is value 4i + j plus the format's shift, which makes it unsigned. */
    vv_lanes w[32];
    /* Super-block formats: sub-scales, as signed integers; of 32 values (four) or 16 (eight). */
    vv_lanes scale[8];
    /* The numbers that sums of activations are multiplied with, signed 16-bit pairs: halves of pair
     * p belong to the sums of values 32p .. 32p + 15 and of the sixteen after. Minimums; in formats
     * with a shift the sub-scales. */
    vv_lanes pair[4];
    union {
        /* Block formats: scale and offset of 32 values; super-block formats: d and dmin in [0]. */
        struct {
            vv_float_lanes d[4], m[4];
        };
        vv_float_lanes step_d[8]; /* block formats: scale of each step of 32 values, or of 16 */
    };
};

enum { VV_STRIPS = VV_PANEL_ROWS / VV_WIDTH };

/* Only files of one instruction set look inside; it takes the same room in all. */
struct vv_panel {
    _Alignas(64) struct vv_strip strip[VV_STRIPS];
};

/* Where the blocks of sixteen rows begin; a row that doesn't exist is one that does, again. */
struct vv_panel_source {
    const uint8_t *at[VV_PANEL_ROWS];
};

/* How a panel's integers meet activations: what a kernel for an instruction set is written for. */
enum vv_panel_kind {
    VV_PANEL_BLOCK,          /* d for each block, values shifted or not */
    VV_PANEL_BLOCK_16,       /* d for 16 values, shifted by 16 */
    VV_PANEL_BLOCK_OFFSET,   /* d and m for each block */
    VV_PANEL_SUPER_4_OFFSET, /* sub-scales and minimums of 32 values */
    VV_PANEL_SUPER_8,        /* sub-scales of 16 values, values shifted */
    VV_PANEL_SUPER_8_OFFSET, /* sub-scales and minimums of 16 values */
    VV_PANEL_KINDS
};

struct vv_panel_format {
    int type; /* VV_TYPE_… */
    enum vv_panel_kind kind;
    int shift;   /* added to every value to make it unsigned */
    int largest; /* that a value plus the shift can be */
};

/* The format of a type, or NULL where weights of it are multiplied another way. */
const struct vv_panel_format *vv_panel_format(int type);

/* Unpacks segment `segment` of sixteen rows; `values` of it. */
typedef void vv_panel_fill(const struct vv_panel_source *g, size_t segment, size_t values,
                           struct vv_panel *to);

/* total[i][r] += s of weight row r and activation row i, i = 0 .. n - 1, of one segment with
 * `values` values. */
typedef void vv_panel_dots(const struct vv_panel *p, const struct vv_panel_format *f, size_t values,
                           const struct vv_panel_row *x, size_t n, float (*total)[VV_PANEL_ROWS]);

/* What an instruction set brings. */
struct vv_panel_kernel {
    vv_panel_fill *(*fill)(int type);
    vv_panel_dots *dots[VV_PANEL_KINDS];
    /* vv_rows_dot (quant/row_dot.h) of the set, for weights that aren't multiplied by panels. */
    vv_rows_dot_copy *rows_dot;
    vv_float_products *floats; /* for float weights and several rows; or NULL */
    void (*release)(void);     /* called when a thread has done its products; or NULL */
};

/* Of each instruction set: src/quant/panel/ARCHITECTURE_set.c. */
extern const struct vv_panel_kernel vv_panel_kernel_avx2, vv_panel_kernel_avxvnni,
    vv_panel_kernel_avx512vnni, vv_panel_kernel_amx, vv_panel_kernel_neon, vv_panel_kernel_dotprod,
    vv_panel_kernel_i8mm;

/* What they share. */
vv_panel_fill *vv_panel_fill_avx2(int type);
vv_panel_fill *vv_panel_fill_avx512(int type);
vv_panel_fill *vv_panel_fill_neon(int type);

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
#include "memory/weight.h"
#include "quant/panel/floats.h"
#include "quant/planes.h"
#include "quant/segment.h"
#include <stdbool.h>

struct vv_weight_row;

enum { VV_PANEL_ROWS = 16 };

/* A 32-bit lane for each weight row; arithmetic is lane by lane, on any machine (GCC and Clang). */
typedef uint32_t vv_lanes __attribute__((vector_size(64)));
typedef int32_t vv_signed_lanes __attribute__((vector_size(64)));
typedef float vv_float_lanes __attribute__((vector_size(64)));

struct vv_panel {
    /* Byte j of w[i] is value 4i + j plus the format's shift, which makes it unsigned. */
    vv_lanes w[32];
    /* Super-block formats: sub-scales, as signed integers; of 32 values (four) or 16 (eight). */
    vv_lanes scale[8];
    /* The numbers that sums of activations are multiplied with, signed 16-bit pairs: halves of pair
     * p belong to the sums of values 32p .. 32p + 15 and of the sixteen after. Minimums; in formats
     * with a shift the sub-scales. */
    vv_lanes pair[4];
    /* Block formats: scale and offset of each block; super-block formats: d and dmin in [0]. */
    vv_float_lanes d[4], m[4];
};

/* Where the blocks of sixteen rows begin; a row that doesn't exist is one that does, again. */
struct vv_panel_source {
    const uint8_t *at[VV_PANEL_ROWS];
};

/* How a panel's integers meet activations: what a kernel for an instruction set is written for. */
enum vv_panel_kind {
    VV_PANEL_BLOCK,          /* d for each block, values shifted or not */
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
    void (*rows_dot)(const struct vv_weight_row *w, const struct vv_planes *x, const int32_t *row,
                     size_t rows, float *y, size_t y_stride);
    vv_float_products *floats; /* for float weights and several rows; or NULL */
    void (*release)(void);     /* called when a thread has done its products; or NULL */
};

/* S(set, what it needs), slower to faster: src/quant/panel/ARCHITECTURE_set.c defines
 * vv_panel_kernel_set, and src/op/NAME/panels.c is compiled for it. */
#if defined(__x86_64__)
#define VV_PANEL_SETS(S)                                                                           \
    S(avx2, VV_CPU_AVX2)                                                                           \
    S(avxvnni, VV_CPU_AVX2 | VV_CPU_AVX_VNNI)                                                      \
    S(avx512vnni, VV_CPU_AVX512 | VV_CPU_AVX512_VNNI)                                              \
    S(amx, VV_CPU_AVX512 | VV_CPU_AVX512_VNNI | VV_CPU_AMX_INT8)
#elif defined(__aarch64__)
#define VV_PANEL_SETS(S)                                                                           \
    S(neon, VV_CPU_NEON)                                                                           \
    S(dotprod, VV_CPU_NEON | VV_CPU_DOTPROD)                                                       \
    S(i8mm, VV_CPU_NEON | VV_CPU_DOTPROD | VV_CPU_I8MM)
#else
#define VV_PANEL_SETS(S)
#endif

#define VV_PANEL_DECLARE(set, needs) extern const struct vv_panel_kernel vv_panel_kernel_##set;
VV_PANEL_SETS(VV_PANEL_DECLARE)
#undef VV_PANEL_DECLARE

vv_panel_fill *vv_panel_fill_avx2(int type);
vv_panel_fill *vv_panel_fill_avx512(int type);
vv_panel_fill *vv_panel_fill_neon(int type);

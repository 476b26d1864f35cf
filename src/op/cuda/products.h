/*
 * Products of weight rows with rows of activations on a GPU, for every format and every operation
 * that multiplies: what differs between those is which rows meet and what is done with a result,
 * and a job says both. The launches are in products.cu, the kernels in products_*.cuh.
 */
#pragma once
#include "device/launch.h"
#include "gguf/types.h"
#include "quant/planes.h"
#include "quant/weight.h"
#include <stdint.h>

/*
 * How a job is done; all ways give the same bits. One row of activations after another; up to
 * four, or eight, at once; tiles of 64 or 128 weight rows and as many rows of activations by matrix
 * units, decoded by their block; strips, decoded by each warp for itself, by 16, 64 or 128 rows of
 * activations: tiles of 64, where a format has none; strips by 128 that four warps multiply
 * together, where the device can and products are stored as they are. Float weights have one tile.
 */
enum vv_product_way {
    VV_BY_RULE,
    VV_ONE_BY_ONE,
    VV_BY_FOUR,
    VV_BY_EIGHT,
    VV_TILES_OF_64,
    VV_TILES_OF_128,
    VV_STRIPS_OF_16,
    VV_STRIPS_OF_64,
    VV_STRIPS_OF_128,
    VV_GROUPS_OF_128
};

/* Formats whose rows are floats. */
VV_BOTH bool vv_is_float_type(int type) {
    return type == VV_TYPE_F32 || type == VV_TYPE_F16 || type == VV_TYPE_BF16;
}

/* What is done with the products y[m], m = 0 .. matrices - 1, of output o and a row. */
enum vv_product_end {
    VV_END_STORE,      /* to[row * to_row + o] = y[0] */
    VV_END_SILU,       /* … = silu(y[0] / streams) */
    VV_END_GAMMA,      /* … = 2 · sigmoid(y[0] / streams) */
    VV_END_GATED_MEAN, /* … = (fma over m of sigmoid(y[m]) and with[(row * streams + m) * outputs +
                        * o]) / streams */
    VV_END_SWIGLU,     /* … = silu(y[0]) · y[1], limited and weighted */
};

enum { VV_MATRICES_MAX = 8, VV_PARTS_MAX = 8 };

/* Some rows of one weight, with one end. */
struct vv_product_part {
    const uint8_t *data[2]; /* split rows; matrix m > 0 of one weight follows by matrix_rows */
    const float *scale[2];  /* [slices], or NULL */
    size_t slice_bytes[2];  /* of the weight that data points to, for experts */
    size_t row_bytes;       /* from one row to the next */
    unsigned outputs;
    unsigned matrices;    /* weight rows an output takes: 1; streams; 2 */
    unsigned matrix_rows; /* rows from one matrix of an output to the next; 0: data[m] has it */
    enum vv_product_end end;
    float *to;
    size_t to_row; /* floats */
    int type;
    uint32_t step; /* of the program, for trouble */
};

struct vv_product_job {
    enum vv_product_way way;
    struct vv_planes x;
    struct vv_product_part part[VV_PARTS_MAX]; /* of any formats; experts: one */
    unsigned parts;
    unsigned rows;    /* of x */
    unsigned streams; /* of the ends that divide */
    const float *with;
    float limit;             /* swiglu: 0: none */
    const float *row_weight; /* swiglu: [pairs], or NULL */
    /* Experts: rows of x and of `to` are pairs of the active experts; or NULL. */
    const int32_t *active, *begin, *pair;
    unsigned slices;      /* experts that there are */
    unsigned slices_most; /* active experts at most */
    unsigned rows_most;   /* rows that an expert can have at most */
    unsigned used;        /* x's row is pair / used */
    /* Who is active was known before the kernel in front of this one began. */
    bool known_before;
    unsigned long long *status;
};

/* Queues the job. Returns VV_OK or VV_ERROR_DEVICE. */
int vv_cuda_products(const struct vv_product_job *job, const struct vv_launch *on);

/* Whether there is the memory to go a way, where an output takes so many weight rows of so many
 * bytes. */
bool vv_cuda_way_fits(enum vv_product_way way, int type, size_t width, size_t row_bytes,
                      unsigned matrices);

/* A weight as a part of a job of a step: data, scale, rows. */
void vv_cuda_part(struct vv_product_part *part, const struct vv_weight *weight, uint32_t step);
